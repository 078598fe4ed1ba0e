"""The options that say which pairs a set is made from, and how: the same for every command that takes a set."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from unbag.options import listed

if TYPE_CHECKING:
    from unbag.failures import Failure
    from unbag.request import Request

_WHICH: Final = "Which pairs"


def _complete(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the options of the sets that are named before, or of all sets, as a shell completes them."""
    from unbag import challenge_sets, sets

    # What is being typed cuts click's reading short: arguments may still be among the words it has left.
    named = {*(ctx.params.get("sets") or ()), ctx.params.get("name"), *ctx.args}.intersection(challenge_sets.names())
    options = [option for name in named or challenge_sets.names() for option in sets.described_options(name)]
    meanings = {f"{option.name}=": option.meaning for option in options}
    return [(option, meaning) for option, meaning in sorted(meanings.items()) if option.startswith(incomplete)]


@dataclass(frozen=True)
class PairOptions:
    """Which pairs the sets of a command are made from, and how; see `shared_options.with_shared_options`."""

    corpus: Annotated[
        str | None,
        typer.Option(rich_help_panel=_WHICH, help="Base corpus: snli, mnli, anli, sick or ocnli (default: snli)."),
    ] = None
    split: Annotated[
        str | None, typer.Option(rich_help_panel=_WHICH, help="Its split (default: the one the papers evaluate on).")
    ] = None
    data: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_WHICH,
            help="Pairs of your own instead: a csv, tsv, jsonl or parquet file, or a data set id on the Hub.",
        ),
    ] = None
    columns: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_WHICH,
            help="Its columns where unusually named, such as premise=text,label=gold (also hypothesis, id).",
        ),
    ] = None
    labels: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_WHICH,
            help="Its labels 0, 1, 2 by name, comma between, where it has numbers only.",
        ),
    ] = None
    language: Annotated[
        Literal["en", "zh"] | None, typer.Option(rich_help_panel=_WHICH, help="Its language (default: en).")
    ] = None
    examples: Annotated[
        int | None, typer.Option(rich_help_panel=_WHICH, help="Draw this many examples instead of taking all.")
    ] = None
    seed: Annotated[
        int | None, typer.Option(rich_help_panel=_WHICH, help="Decides all that is drawn (default: 13).")
    ] = None
    file: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_WHICH,
            help="The authors' file of breaking_nli or sicck, or a folder with both; downloaded else.",
        ),
    ] = None
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            "-o",
            metavar="NAME=VALUE",
            rich_help_panel=_WHICH,
            autocompletion=_complete,
            help="An option of the sets, which `unbag sets NAME` lists: -o q=10, -o wordnet=true or "
            "-o training=snli,mnli. Give it again for another.",
        ),
    ] = None

    def requests(
        self, names: Sequence[str], *, on_failure: "Callable[[Failure], None] | None" = None
    ) -> "list[Request]":
        """Return a request for each of these sets.

        Args:
            names: the sets.
            on_failure: told of a set that cannot be made from these pairs, which is then left out.

        Raises:
            typer.BadParameter: if an option is none of any of the sets, or what is given cannot be read.
            ValueError: if there is no such set, corpus or split.
        """
        from unbag import corpora, sets
        from unbag.failures import Failure
        from unbag.request import Request

        known = {name: sets.options(name) for name in names}
        where, texts = self._where(), self._texts()
        for option in texts:
            if not any(option in each for each in known.values()):
                raise typer.BadParameter(_not_an_option(option, known))
        if self.data is None and on_failure is not None:
            # What no set can be made from is a mistake.
            corpora.corpus(self.corpus or sets.DEFAULT_CORPUS).split(self.split)
        drawn = {} if self.seed is None else {"seed": self.seed}
        requests = []
        for name in names:
            # -o seed=… is the set's own, where --seed decides what is drawn of it.
            values = drawn | {option: _value(name, option, texts[option]) for option in texts if option in known[name]}
            options = {option: value for option, value in values.items() if option in known[name]}
            config = None
            if self.data is None:
                # Of all sets, those that have splits take the split.
                split = self.split if on_failure is None or sets.takes_split(name, self.corpus) else None
                try:
                    config, options = sets.config_name(name, self.corpus, split, options)
                except ValueError as error:
                    if on_failure is None:
                        raise
                    on_failure(Failure(name, sets.UnfitError(str(error))))
                    continue
            requests.append(Request(name, config, options | where, self.examples, **drawn))
        return requests

    def _where(self) -> dict[str, Any]:
        """Return what a set is told of pairs of one's own."""
        if self.data is None:
            return {}
        if self.corpus is not None:
            raise typer.BadParameter("name either --corpus or --data")
        where: dict[str, Any] = {"data": self.data, "language": self.language or "en", "source_split": self.split}
        if self.columns:
            where["columns"] = _by_name(self.columns.split(","), "--columns premise=…,hypothesis=…,label=…")
        if self.labels:
            where["labels"] = list(listed(self.labels))
        return where

    def _texts(self) -> dict[str, str]:
        """Return the sets' options by name, as they were written."""
        texts = _by_name(self.option or (), "--option NAME=VALUE")
        if self.file is not None:
            if "file" in texts:
                raise typer.BadParameter("file: given twice, as --file and as -o")
            texts["file"] = self.file
        return texts


def _by_name(parts: Sequence[str], expected: str) -> dict[str, str]:
    by_name: dict[str, str] = {}
    for part in parts:
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise typer.BadParameter(f"expected {expected}; found {part!r}")
        if name in by_name:
            raise typer.BadParameter(f"{name}: given twice; the values of a list have commas between")
        by_name[name] = value
    return by_name


def _value(name: str, option: str, text: str) -> Any:
    from unbag import sets

    try:
        return sets.option_value(name, option, text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _not_an_option(option: str, known: Mapping[str, frozenset[str]]) -> str:
    alike = get_close_matches(option, sorted(frozenset().union(*known.values())), n=1)
    has = "; ".join(f"{name} has {', '.join(sorted(options)) or 'none'}" for name, options in known.items())
    return (
        f"no option {option!r}{f', did you mean {alike[0]}?' if alike else ';'} {has}; "
        f"`unbag sets {next(iter(known)) if len(known) == 1 else 'NAME'}` says what each is"
    )
