"""Selection of challenge sets by name and source pairs, and the default suite, for commands and the Python API.

The suite is a sample of every challenge set, which a small model evaluates in minutes on a laptop. A source example is
drawn together with all rows made from it, e.g. all permutations. The draw depends only on the seed and the example's id
(`apply_suite_sample`), not on the number of processes or the other sets of the run.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Final, Unpack, cast, get_type_hints

from unbag import challenge_sets
from unbag.challenge_sets import loading
from unbag.challenge_sets.failures import EvaluationFailure
from unbag.challenge_sets.pairs import OFFICIAL_FILE, list_own_options
from unbag.challenge_sets.request import SetRequest
from unbag.data import corpora
from unbag.data.corpora import CORPORA
from unbag.data.pair_options import PAIR_OPTIONS, PairKwargs
from unbag.data.user_text import LANGUAGE, list_text_files
from unbag.utils.options import OptionError, parse_options, parse_text, suggest_name, validate

_OF_DATA: Final = ("columns", "labels", "language", "encoding", "join_passages")
"""Options that describe user-provided pairs."""


class PairSelection:
    """The source pairs of one or more challenge sets, and the options of these sets (`data.pair_options.PairKwargs`).

    The value of a set option may be text, as on the command line. `format_name` formats the names of options in error
    messages.
    """

    def __init__(self, format_name: Callable[[str], str] = str, /, **given: Unpack[PairKwargs]) -> None:
        if unknown := sorted(given.keys() - PAIR_OPTIONS.keys()):
            raise TypeError(f"expected an option of pairs, got {unknown[0]!r}{suggest_name(unknown[0], PAIR_OPTIONS)}")
        self.given: PairKwargs = cast("PairKwargs", parse_options(PAIR_OPTIONS, given, format_name))
        self.set_options: Mapping[str, Any] = self.given.get("options") or {}
        self.has_corpus = "data" not in self.given and "text" not in self.given
        self._source = self._describe_source(format_name)

    def build_requests(
        self, names: Sequence[str], *, on_failure: Callable[[EvaluationFailure], None] | None = None
    ) -> list[SetRequest]:
        """Build one request per set.

        `on_failure` is called with the failure of each set that cannot be built from these pairs, which is skipped.
        Without it, such a set raises.
        """
        corpus, max_examples = self.given.get("corpus"), self.given.get("max_examples")
        options_of = {name: list_own_options(challenge_sets.get_challenge_set(name).Options) for name in names}
        for option in self.set_options:
            of_set, _, bare = option.rpartition(".")
            if of_set and of_set not in options_of:
                raise OptionError(
                    f"option {option!r}: expected one of the sets {', '.join(options_of)} before the dot, got "
                    f"{of_set!r}"
                )
            candidates = {of_set: options_of[of_set]} if of_set else options_of
            if not any(bare in each for each in candidates.values()):
                raise OptionError(_unknown_option_message(bare, candidates))
        if self.has_corpus and on_failure is not None:
            # An unknown corpus or split raises: it is a mistake of the user, not a reason to skip every set.
            corpora.get_corpus(corpus or loading.DEFAULT_CORPUS).resolve_split(self.given.get("split"))
        seed: dict[str, Any] = {"seed": self.given["seed"]} if "seed" in self.given else {}
        requests = []
        for name in names:
            # `seed` is both an option of most sets, for their perturbations, and the seed of the sample.
            given = self._options_of_set(name, options_of[name])
            values = {option: value for option, value in seed.items() if option in options_of[name]}
            values |= {option: _parse_set_option(name, option, value) for option, value in given.items()}
            config = None
            if self.has_corpus:
                split = self.given.get("split")
                # In a run of all sets, a set that merges the splits of a corpus ignores `split`.
                if on_failure is not None and not loading.has_split_config(name, corpus):
                    split = None
                try:
                    config, values = loading.resolve_config(name, corpus, split, values)
                except ValueError as error:
                    if on_failure is None:
                        raise
                    on_failure(EvaluationFailure(name, loading.UnsuitablePairsError(str(error))))
                    continue
            self._validate_official_file(name, config, values)
            requests.append(SetRequest(name, config, values | self._source, max_examples, **seed))
        return requests

    def _validate_official_file(self, name: str, config: str | None, values: Mapping[str, Any]) -> None:
        """Validate that a set with an authors' file is the set of the authors' pairs, before any set is built."""
        is_official = (config or "").startswith(corpora.OFFICIAL)
        if is_official or OFFICIAL_FILE not in values or not challenge_sets.get_challenge_set(name).official:
            return
        kind = next(each for each in ("text", "data", "corpus") if each in self.given)
        source = f"--corpus {self.given.get('corpus')}" if kind == "corpus" else f"--{kind}"
        raise OptionError(
            f"--official-file (-o {name}.file): cannot be combined with {source}, which generates {name} from other "
            "pairs instead of the official file; omit one of them"
        )

    def _options_of_set(self, name: str, set_options: Collection[str]) -> dict[str, Any]:
        """Select the options of one set, by their names without the set."""
        for_all = {option: value for option, value in self.set_options.items() if option in set_options}
        own = {f"{name}.{option}": option for option in set_options}
        return for_all | {own[option]: value for option, value in self.set_options.items() if option in own}

    def _describe_source(self, format_name: Callable[[str], str]) -> dict[str, Any]:
        """Collect the options that describe user-provided pairs or text; empty for a corpus."""
        given = self.given
        described = {name: value for name in _OF_DATA if (value := given.get(name))}
        sources = [format_name(name) for name in ("corpus", "data", "text") if name in given]
        if len(sources) > 1:
            raise OptionError(f"expected one source of pairs, got {' and '.join(sources)}; omit all but one")
        if "data" in given:
            return {"data": given["data"], "language": "en", "source_split": given.get("split"), **described}
        data = format_name("data")
        if "text" not in given:
            if described:
                name = format_name(next(iter(described)))
                raise OptionError(f"{name}: expected {data}, got none; pass {data}, or omit {name}")
            return {}
        if described.pop("language", LANGUAGE) != LANGUAGE:
            language = format_name("language")
            raise OptionError(f"{language}: expected {LANGUAGE} for a text, got {given['language']}; omit {language}")
        if unused := [format_name(name) for name in described if name != "columns"]:
            raise OptionError(f"{unused[0]}: expected {data}, got a text; omit {unused[0]}")
        texts: Any = given["text"]  # parsed to a list
        return {"text": list_text_files(texts), "source_split": given.get("split"), **described}


def _parse_set_option(name: str, option: str, value: Any) -> Any:
    hint = get_type_hints(challenge_sets.get_challenge_set(name).Options, include_extras=True)[option]
    if isinstance(value, str):
        return parse_text(option, hint, value)
    validate(option, hint, value)
    return value


def _unknown_option_message(option: str, options_of: Mapping[str, Iterable[str]]) -> str:
    similar = get_close_matches(option, sorted(frozenset().union(*options_of.values())), n=1)
    has = "; ".join(f"{name} has {', '.join(sorted(options)) or 'none'}" for name, options in options_of.items())
    return (
        f"no option {option!r}{f', did you mean {similar[0]}?' if similar else ';'} {has}; "
        f"run `unbag sets {next(iter(options_of)) if len(options_of) == 1 else 'NAME'}` for their meanings"
    )


def list_suite_sets(*, from_text: bool = False) -> list[str]:
    """List the names of all challenge sets, or only those that can be made from a text, cheap sets first."""
    return [each.name for each in challenge_sets.list_challenge_sets() if each.from_text or not from_text]


def build_suite_request(name: str) -> SetRequest:
    """Build a request for a complete challenge set (no sampling) with default options."""
    config, options = loading.resolve_config(name, None, None, {})
    return SetRequest(name, config, options)


def apply_suite_sample(request: SetRequest) -> SetRequest:
    """Add a set's default sample size and sampling options to a request. Values in the request take precedence."""
    challenge_set = challenge_sets.get_challenge_set(request.name)
    options = dict(request.options)
    explicit = {*challenge_set.sample_options, *challenge_set.sample_options_unless} & set(options)
    language, corpus = challenge_set.sample_options_language, CORPORA.get((request.config or "").split("-")[0])
    # All or none: the options of the suite are not combined with those of the user.
    if not explicit and (not language or (corpus is not None and corpus.language == language)):
        options |= challenge_set.sample_options
    max_examples = challenge_set.sample if request.max_examples is None else request.max_examples
    return replace(request, options=options, max_examples=max_examples)
