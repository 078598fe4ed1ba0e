"""What is asked for: sets by name, and which pairs they are made from, as requests; for commands and from Python."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from unbag.challenge_sets import loading
from unbag.challenge_sets.failures import Failure
from unbag.challenge_sets.request import Request
from unbag.data import corpora
from unbag.utils.options import validate_options


class OptionError(ValueError):
    """An option that none of the sets has, or that does not go with another."""


@dataclass(frozen=True)
class Pairs:
    """Which pairs sets are made from, and how.

    Attributes:
        corpus: a base corpus; by default each set's own.
        split: of the corpus or data set; by default the one that the papers evaluate on.
        data: a file of pairs or a data set of the Hub instead.
        columns: its names of our columns.
        labels: what its label ids 0, 1, 2 are called, or what each label means (`E=entailment`).
        language: one of `data.corpora.LANGUAGES`.
        examples: how many examples to draw; None for all.
        seed: decides all that is drawn.
        options: of the sets, by name. Each set takes those that it has; `SET.NAME` is for that set alone, and wins over
            `NAME`. `read` makes values of them.
        read: called with a set's name, an option's, and its value here.
    """

    corpus: str | None = None
    split: str | None = None
    data: str | None = None
    columns: Mapping[str, str] | None = None
    labels: Sequence[str] | None = None
    language: str | None = None
    examples: int | None = None
    seed: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    read: Callable[[str, str, Any], Any] = field(default=lambda name, option, value: value)

    def __post_init__(self) -> None:
        """Refuse what is of another kind, whether a command or Python says it.

        Raises:
            ValueError: naming the first that is.
        """
        validate_options(Pairs, vars(self))

    def requests(self, names: Sequence[str], *, on_failure: Callable[[Failure], None] | None = None) -> list[Request]:
        """Return a request for each of these sets.

        Args:
            names: the sets.
            on_failure: told of a set that cannot be made from these pairs, which is then left out.

        Raises:
            OptionError: if an option is none of any of the sets, or pairs are named in two ways.
            ValueError: if there is no such set, corpus or split.
        """
        where = self._where()
        known = {name: loading.options(name) for name in names}
        for option in self.options:
            of_set, _, bare = option.rpartition(".")
            if of_set and of_set not in known:
                raise OptionError(f"option {option!r}: expected one of the sets {', '.join(known)}, got {of_set!r}")
            among = {of_set: known[of_set]} if of_set else known
            if not any(bare in each for each in among.values()):
                raise OptionError(_not_an_option(bare, among))
        if self.data is None and on_failure is not None:
            # What no set can be made from is a mistake.
            corpora.corpus(self.corpus or loading.DEFAULT_CORPUS).split(self.split)
        drawn = {} if self.seed is None else {"seed": self.seed}
        requests = []
        for name in names:
            # The option `seed` is the set's own; the other decides what is drawn of it too.
            given = self._of_set(name, known[name])
            values = {option: value for option, value in drawn.items() if option in known[name]}
            values |= {option: self.read(name, option, value) for option, value in given.items()}
            config = None
            if self.data is None:
                # Of all sets, those that have splits take the split.
                split = self.split if on_failure is None or loading.takes_split(name, self.corpus) else None
                try:
                    config, values = loading.config_name(name, self.corpus, split, values)
                except ValueError as error:
                    if on_failure is None:
                        raise
                    on_failure(Failure(name, loading.UnfitError(str(error))))
                    continue
            requests.append(Request(name, config, values | where, self.examples, **drawn))
        return requests

    def is_given(self) -> bool:
        """Tell whether anything is said of the pairs."""
        return self != Pairs(read=self.read)

    def shared_options(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Return the options that are given without a set and that several of these sets take, with these sets."""
        known = {name: loading.options(name) for name in names}
        taken = {option: [name for name in names if option in known[name]] for option in self.options}
        return {option: takers for option, takers in taken.items() if len(takers) > 1}

    def _of_set(self, name: str, known: Collection[str]) -> dict[str, Any]:
        """Return the options that a set takes, by their names in that set."""
        for_all = {option: value for option, value in self.options.items() if option in known}
        own = {f"{name}.{option}": option for option in known}
        return for_all | {own[option]: value for option, value in self.options.items() if option in own}

    def _where(self) -> dict[str, Any]:
        """Return what a set is told of pairs of one's own."""
        if self.data is None:
            if self.columns or self.labels or self.language:
                given = next(name for name in ("columns", "labels", "language") if getattr(self, name))
                raise OptionError(f"{given} says how data of your own is read, and no data is named (--data)")
            return {}
        if self.corpus is not None:
            raise OptionError("name either a corpus or data of your own, not both (--corpus, --data)")
        where: dict[str, Any] = {"data": self.data, "language": self.language or "en", "source_split": self.split}
        if self.columns:
            where["columns"] = dict(self.columns)
        if self.labels:
            where["labels"] = list(self.labels)
        return where


def _not_an_option(option: str, known: Mapping[str, Iterable[str]]) -> str:
    alike = get_close_matches(option, sorted(frozenset().union(*known.values())), n=1)
    has = "; ".join(f"{name} has {', '.join(sorted(options)) or 'none'}" for name, options in known.items())
    return (
        f"no option {option!r}{f', did you mean {alike[0]}?' if alike else ';'} {has}; "
        f"`unbag sets {next(iter(known)) if len(known) == 1 else 'NAME'}` says what each is"
    )
