"""The command `unbag demo`: the complete workflow offline, for first-time users."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from unbag.cli.output import AsJson, create_cli_console, echo, show_results, write_tables
from unbag.cli.progress import show_progress
from unbag.cli.typer_utils import folder_option

if TYPE_CHECKING:
    from unbag.evaluation.demo import DemoDisagreement

_MODELS: Final = (
    "Three models were trained on captions: reader, a small network that uses word order, on 27,913 pairs; and on "
    "{pairs:,} of them lexical, a bag of words, and hypothesis-only, a bag of words without the premise."
)


def demo(
    output_dir: Annotated[
        Path, folder_option(show_default=False, help="Folder for results and predictions (default: runs/demo).")
    ] = Path("runs/demo"),
    as_json: AsJson = False,
) -> None:
    """Run the complete workflow offline, in a minute.

    Builds every challenge set from bundled pairs of captions. The grammar that
    generated the captions determines their labels. Evaluates three models
    trained on such pairs:
    a small network that uses word order, a bag of words, and a bag of words
    that uses only the hypothesis.

      unbag demo
    """
    from unbag.challenge_sets import list_set_names
    from unbag.data.demo import iter_demo_pairs
    from unbag.evaluation.demo import compare_demo_models, run_demo
    from unbag.reports import html, terminal

    with show_progress(len(list_set_names()), is_visible=not as_json, quiet=True) as callbacks:
        outcome = run_demo(output_dir, callbacks)
    if as_json:
        show_results(outcome, output_dir, as_json=True)
        return
    assert outcome.contents is not None
    write_tables(outcome.results, output_dir, outcome.contents)
    models = _MODELS.format(pairs=sum(1 for _ in iter_demo_pairs("train")))
    summary = terminal.build_summary_views(outcome.results)
    disagreement = _describe_disagreement(compare_demo_models(output_dir))
    terminal.print_views([models, *summary, *disagreement], create_cli_console())
    echo(f"Tables of all sets: {output_dir / terminal.FILE}")
    echo(f"Report for a browser: {(output_dir / html.FILE).resolve()}")


def _describe_disagreement(found: "DemoDisagreement") -> list[Any]:
    """Describe the disagreement between the models `reader` and `lexical`, with an example pair."""
    from rich.console import Group
    from rich.table import Table

    summary = (
        f"Reader and lexical predict different labels for {found.n_different:,} of {found.pairs:,} unchanged pairs. "
        f"Reader is correct on {found.reader_right:,} of these, lexical on {found.bag_right:,}."
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
    return [Group(f"{summary} Example of a pair that reader predicts correctly:", "", lines)]
