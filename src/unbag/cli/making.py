"""Commands that make and list challenge sets: `unbag build`, `unbag sets`, `unbag demo`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from unbag.cli.output import AsJson, console, failed, print_json, report
from unbag.cli.prefetching import Offline
from unbag.cli.request_options import PairOptions
from unbag.cli.shared_options import with_shared_options
from unbag.cli.watching import watch

if TYPE_CHECKING:
    from unbag.failures import Failure

_EXAMPLES: Final = 2  # of a set's options: enough to show how they are given


@with_shared_options
def build(
    pairs: PairOptions,
    name: Annotated[str, typer.Argument(help="The challenge set, e.g. permuted.")],
    out: Annotated[
        Path,
        typer.Option(help="The Parquet file to write; without .parquet a folder, with a file for each split."),
    ],
    offline: Offline = False,
    as_json: AsJson = False,
) -> None:
    """Build a challenge set as a Parquet file, or a folder of them.

    unbag build permuted --corpus snli --split test --out snli-test-permuted.parquet
    unbag build cs_lambda --corpus snli -o least_lms=0.7 --out cs_0.7.parquet
    unbag build resnli --corpus snli --out resnli

    The last one has three splits, which become resnli/train.parquet,
    resnli/validation.parquet and resnli/test.parquet. A single file has the
    split that models are evaluated on.
    """
    from unbag import prefetch
    from unbag.request import export
    from unbag.views.cells import left_out

    [request] = pairs.requests([name])
    if offline:
        prefetch.require(prefetch.of_run([request]))
    record = export(request, out)
    if as_json:
        print_json(record)
    else:
        used = f"{record['examples']:,} examples, {record['rows']:,} rows"
        typer.echo(f"{out}: {used} ({left_out(record['data'])})")
        for split, counted in record.get("splits", {}).items():
            typer.echo(f"  {split}: {counted['examples']:,} examples, {counted['rows']:,} rows")


def list_sets(
    name: Annotated[str | None, typer.Argument(help="One set, whose options to list.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the challenge sets and the corpora they can be built from; or the options of one set."""
    from unbag.corpora import CORPORA
    from unbag.sets import described_options, summaries

    if name is not None:
        options = described_options(name)
        if as_json:
            print_json([option._asdict() for option in options])
            return
        if not options:
            typer.echo(f"{name} has no options.")
            return
        from rich.table import Table

        listed = Table("option", "default", "value", "what it is", box=None, header_style="bold")
        for option in options:
            listed.add_row(option.name, str(option.default), option.expected, option.meaning)
        console().print(listed)
        examples = [f"-o {option.name}={option.example}" for option in options if option.example is not None]
        typer.echo(f"\nFor instance: unbag evaluate MODEL --sets {name} {' '.join(examples[:_EXAMPLES])}")
        return
    entries = summaries()
    if as_json:
        print_json({"sets": entries, "corpora": {name: c.splits for name, c in CORPORA.items()}})
        return
    from rich.table import Table

    table = Table("set", "what it is", box=None, header_style="bold")
    table.add_column("paper", overflow="fold")  # an address that is cut off is none
    for entry in entries:
        table.add_row(entry["name"], entry["summary"], entry["paper"])
    corpora = Table(
        "corpus", "data set", "splits (the first is evaluated by default)", "licence", box=None, header_style="bold"
    )
    for c in CORPORA.values():
        corpora.add_row(c.name, c.hub_id, " ".join(c.splits), c.licence)
    for part in (table, "", corpora):
        console().print(part)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for results and predictions.")] = Path("runs/demo"),
    as_json: AsJson = False,
) -> None:
    """Show the whole flow offline, in half a minute.

    Every challenge set is made from bundled captions, whose labels follow from
    what they mean. A bag of words is fitted to some of them and evaluated on
    others, beside one that sees the hypothesis only. A set that needs what is
    not on this machine, such as a parser, is left out and named at the end.
    """
    from unbag.challenge_sets import names
    from unbag.demo.run import MODELS, run

    failures: list[Failure] = []
    with watch(len(names()), visible=not as_json) as watched:
        results = run(
            out,
            on_set=watched.on_set,
            on_progress=watched.on_progress,
            on_result=watched.on_result,
            on_failure=failures.append,
        )
    report(results, out, as_json=as_json, seen=True)
    failed(failures, several=len(MODELS) > 1)
