"""`unbag demo`: the whole flow offline, told to who sees it for the first time."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from unbag.cli.output import AsJson, console, echo, leave, report
from unbag.cli.progress import watch
from unbag.cli.typer_utils import folder_to_write

if TYPE_CHECKING:
    from unbag.evaluation.demo import Disagreement

_WHO: Final = (
    "Three models were trained on the same {pairs:,} pairs of captions: reader, a small network that sees the words in "
    "their order; lexical, a bag of words; and hypothesis-only, a bag of words that never sees the premise."
)


def demo(
    output_dir: Annotated[
        Path, typer.Option(callback=folder_to_write, help="Folder for results and predictions.")
    ] = Path("runs/demo"),
    as_json: AsJson = False,
) -> None:
    """Show the whole flow offline, in a minute.

    Every challenge set is made from bundled captions, whose labels follow from
    what they mean, and put to a small network that reads the words in their
    order, to a bag of words, and to one that sees the hypothesis only, all
    trained on the same captions.
    """
    from unbag.challenge_sets import names
    from unbag.evaluation.demo import disagreement, run
    from unbag.reports import html, terminal

    with watch(len(names()), visible=not as_json, quiet=True) as watched:
        found = run(
            output_dir,
            on_set=watched.on_set,
            progress_callback=watched.progress_callback,
            on_result=watched.on_result,
        )
    if as_json:
        report(found, output_dir, as_json=True)
        return
    leave(found, output_dir)
    terminal.show([_who(), *terminal.together(found), *_describe_disagreement(disagreement(output_dir))], console())
    echo(f"Every set's own table is in {output_dir / terminal.FILE}.")
    echo(f"Open {(output_dir / html.FILE).resolve()} in a browser")


def _who() -> str:
    from unbag.data import demo

    return _WHO.format(pairs=sum(1 for _ in demo.pairs("train")))


def _describe_disagreement(found: "Disagreement") -> list[Any]:
    """Describe where the reader and the bag of words disagree, with an example pair."""
    from rich.console import Group
    from rich.table import Table

    summary = (
        f"Reader and lexical predict different labels on {found.n_different:,} of the {found.pairs:,} unchanged pairs: "
        f"reader is right on {found.reader_right:,} of these, lexical on {found.bag_right:,}."
    )
    if found.example is None:
        return [summary]
    pair, reader, bag = found.example
    lines = Table.grid(padding=(0, 2))
    lines.add_row("premise", pair.premise)
    lines.add_row("hypothesis", pair.hypothesis)
    lines.add_row("label", pair.label, style="bold")
    for name, prediction in (("reader", reader), ("lexical", bag)):
        lines.add_row(name, f"{prediction.label}, probability {prediction.probability:.2f}")
    return [Group(f"{summary} One of those that reader gets right:", "", lines)]
