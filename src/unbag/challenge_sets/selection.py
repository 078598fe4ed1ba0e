"""Selection of challenge sets by name and source pairs, and the default suite, for commands and the Python API.

The suite is a sample of every challenge set, which a small model evaluates in minutes on a laptop. A source example is
drawn together with all rows made from it, e.g. all permutations. The draw depends only on the seed and the example's id
(`apply_suite_sample`), not on the number of processes or the other sets of the run.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Final

from unbag import challenge_sets
from unbag.challenge_sets import loading
from unbag.challenge_sets.failures import EvaluationFailure
from unbag.challenge_sets.request import SetRequest
from unbag.data import corpora
from unbag.data.corpora import CORPORA
from unbag.data.user_text import LANGUAGE, list_text_files
from unbag.utils.options import validate_options

_OF_DATA: Final = ("columns", "labels", "language", "encoding", "join_passages")
"""Options that describe user-provided pairs."""


class OptionError(ValueError):
    """Raised for an option that no challenge set supports, or that conflicts with another option."""


@dataclass(frozen=True)
class PairSelection:
    """The source pairs of one or more challenge sets, and the options of these sets."""

    corpus: str | None = None  # base corpus (default: each set's own)
    split: str | None = None  # split of the corpus or data set (default: the one that the papers evaluate on)
    data: str | None = None  # file of pairs, folder of `save_to_disk` or Hub data set, instead of a corpus
    # Files or folders of text, or one Hub data set with a text column, instead of pairs.
    text: Sequence[str] | None = None
    columns: Mapping[str, str] | None = None  # names of the columns in `data`, by unbag's names of the columns
    # Names of the label ids 0, 1, 2 in `data`, or the meaning of each label (`E=entailment`).
    labels: Sequence[str] | None = None
    language: str | None = None  # language of `data`, a code such as `de`
    encoding: str | None = None  # encoding of a text file in `data` without a byte-order mark (default: UTF-8)
    join_passages: bool = False  # whether to join premises that are lists of passages
    max_examples: int | None = None  # maximum number of examples (default: all)
    seed: int | None = None  # random seed for sampling, and for the option `seed` of the sets
    # Options of the sets, by name. Each set takes the options that it declares. `SET.NAME` applies to that set only,
    # and takes precedence over `NAME`.
    options: Mapping[str, Any] = field(default_factory=dict)
    # Function that parses the value of an option, called with `(set_name, option, value)`.
    read: Callable[[str, str, Any], Any] = field(default=lambda name, option, value: value)

    def __post_init__(self) -> None:
        """Validate the types of the fields, for commands and for Python callers."""
        validate_options(PairSelection, vars(self))

    def build_requests(
        self, names: Sequence[str], *, on_failure: Callable[[EvaluationFailure], None] | None = None
    ) -> list[SetRequest]:
        """Build one request per set.

        Args:
            names: Names of the sets.
            on_failure: Called with the failure of each set that cannot be built from these pairs. The set is skipped.
                None: such a set raises.
        """
        where = self._where()
        options_of = {name: loading.list_set_options(name) for name in names}
        for option in self.options:
            of_set, _, bare = option.rpartition(".")
            if of_set and of_set not in options_of:
                raise OptionError(
                    f"option {option!r}: expected one of the sets {', '.join(options_of)} before the dot, got "
                    f"{of_set!r}"
                )
            candidates = {of_set: options_of[of_set]} if of_set else options_of
            if not any(bare in each for each in candidates.values()):
                raise OptionError(_unknown_option_message(bare, candidates))
        if self.data is None and self.text is None and on_failure is not None:
            # An unknown corpus or split raises: it is a mistake of the user, not a reason to skip every set.
            corpora.get_corpus(self.corpus or loading.DEFAULT_CORPUS).resolve_split(self.split)
        seed = {} if self.seed is None else {"seed": self.seed}
        requests = []
        for name in names:
            # `seed` is both an option of most sets, for their perturbations, and the seed of the sample.
            given = self._options_of_set(name, options_of[name])
            values = {option: value for option, value in seed.items() if option in options_of[name]}
            values |= {option: self.read(name, option, value) for option, value in given.items()}
            config = None
            if self.data is None and self.text is None:
                # In a run of all sets, a set that merges the splits of a corpus ignores `split`.
                split = self.split if on_failure is None or loading.has_split_config(name, self.corpus) else None
                try:
                    config, values = loading.resolve_config(name, self.corpus, split, values)
                except ValueError as error:
                    if on_failure is None:
                        raise
                    on_failure(EvaluationFailure(name, loading.UnsuitablePairsError(str(error))))
                    continue
            self._validate_official_file(name, config, values)
            requests.append(SetRequest(name, config, values | where, self.max_examples, **seed))
        return requests

    def _validate_official_file(self, name: str, config: str | None, values: Mapping[str, Any]) -> None:
        """Validate that a set with an authors' file is the set of the authors' pairs, before any set is built."""
        official = loading.get_official_config(name)
        if official is None or "file" not in values or (config or "").startswith(official):
            return
        source = "--text" if self.text is not None else "--data" if self.data is not None else f"--corpus {self.corpus}"
        raise OptionError(
            f"--official-file (-o {name}.file): cannot be combined with {source}, which generates {name} from other "
            "pairs instead of the official file; omit one of them"
        )

    def has_explicit_values(self) -> bool:
        """Check whether any field differs from its default."""
        return self != PairSelection(read=self.read)

    def collect_shared_options(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Collect the given options that several sets declare, with the names of these sets."""
        options_of = {name: loading.list_set_options(name) for name in names}
        # No set declares an option `SET.NAME`, which applies to one set only.
        sets_of = {option: [name for name in names if option in options_of[name]] for option in self.options}
        return {option: sets for option, sets in sets_of.items() if len(sets) > 1}

    def _options_of_set(self, name: str, set_options: Collection[str]) -> dict[str, Any]:
        """Select the options of one set, by their names without the set."""
        for_all = {option: value for option, value in self.options.items() if option in set_options}
        own = {f"{name}.{option}": option for option in set_options}
        return for_all | {own[option]: value for option, value in self.options.items() if option in own}

    def _where(self) -> dict[str, Any]:
        """Collect the options that describe user-provided pairs; empty for a corpus."""
        if self.text is not None:
            return self._where_text()
        if self.data is None:
            if given := next((name for name in _OF_DATA if getattr(self, name)), None):
                raise OptionError(f"{given}: expected data, got none; pass --data, or omit {given}")
            return {}
        if self.corpus is not None:
            raise OptionError("expected one of --corpus and --data, got both; omit one of them")
        where: dict[str, Any] = {"data": self.data, "language": self.language or "en", "source_split": self.split}
        if self.columns:
            where["columns"] = dict(self.columns)
        if self.labels:
            where["labels"] = list(self.labels)
        if self.encoding:
            where["encoding"] = self.encoding
        if self.join_passages:
            where["join_passages"] = True
        return where

    def _where_text(self) -> dict[str, Any]:
        """Collect the options that describe a user-provided text."""
        if self.corpus is not None or self.data is not None:
            raise OptionError("expected one of --corpus, --data and --text, got several; pass only one")
        if self.labels:
            raise OptionError(
                "labels: cannot be combined with a text, because its sentences are unlabelled; omit labels"
            )
        if given := next((name for name in ("encoding", "join_passages") if getattr(self, name)), None):
            raise OptionError(f"{given}: expected data, got a text, which must be UTF-8; omit {given}")
        if self.language not in (None, LANGUAGE):
            raise OptionError(
                f"language: expected {LANGUAGE} for a text, got {self.language}, which is not supported; "
                "omit the language"
            )
        files = list_text_files(self.text or ())
        where: dict[str, Any] = {"text": files, "source_split": self.split}
        if self.columns:
            where["columns"] = dict(self.columns)
        return where


def _unknown_option_message(option: str, options_of: Mapping[str, Iterable[str]]) -> str:
    similar = get_close_matches(option, sorted(frozenset().union(*options_of.values())), n=1)
    has = "; ".join(f"{name} has {', '.join(sorted(options)) or 'none'}" for name, options in options_of.items())
    return (
        f"no option {option!r}{f', did you mean {similar[0]}?' if similar else ';'} {has}; "
        f"run `unbag sets {next(iter(options_of)) if len(options_of) == 1 else 'NAME'}` for their meanings"
    )


def list_suite_sets(*, from_text: bool = False) -> list[str]:
    """List the names of all challenge sets, or only those that can be made from a text, cheap sets first."""
    if from_text:
        return challenge_sets.list_text_set_names()
    return [each.name for each in challenge_sets.list_challenge_sets()]


def build_suite_request(name: str) -> SetRequest:
    """Build a request for a complete challenge set (no sampling) with default options."""
    config, options = loading.resolve_config(name, None, None, {})
    return SetRequest(name, config, options)


def apply_suite_sample(request: SetRequest) -> SetRequest:
    """Add a set's default sample size and sampling options to a request. Values in the request take precedence."""
    challenge_set = challenge_sets.get_challenge_set(request.name)
    options = dict(request.options)
    explicit = {*challenge_set.sample_options, *challenge_set.sample_options_unless} & set(options)
    language = challenge_set.sample_options_language
    # All or none: the options of the suite are not combined with those of the user.
    if not explicit and language in ("", _language_of_corpus(request)):
        options |= challenge_set.sample_options
    max_examples = challenge_set.sample if request.max_examples is None else request.max_examples
    return replace(request, options=options, max_examples=max_examples)


def _language_of_corpus(request: SetRequest) -> str | None:
    """Look up the language of the corpus; None for data of the user's own."""
    corpus = CORPORA.get((request.config or "").split("-")[0])
    return None if corpus is None else corpus.language
