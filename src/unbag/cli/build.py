"""Commands that make and list challenge sets: `unbag build`, `unbag sets`."""

from pathlib import Path
from typing import Annotated, Final

import typer

from unbag.cli import typer_utils
from unbag.cli.options import Engine, NumProc, Offline, PairOptions, with_shared_options
from unbag.cli.output import AsJson, console, echo, print_json
from unbag.cli.typer_utils import set_or_address_to_write

_EXAMPLES: Final = 2  # of a set's options: enough to show how they are given


@with_shared_options
def build(
    pairs: PairOptions,
    name: Annotated[str, typer.Argument(autocompletion=typer_utils.sets, help="The challenge set, e.g. permuted.")],
    output: Annotated[
        str,
        typer.Option(
            callback=set_or_address_to_write,
            metavar="PATH",
            help="The Parquet file to write; without .parquet a folder, with a file for each split. Or an address, "
            "such as s3://BUCKET/SET.parquet.",
        ),
    ],
    num_proc: NumProc = 1,
    engine: Engine = None,
    offline: Offline = False,
    as_json: AsJson = False,
) -> None:
    """Build a challenge set as a Parquet file, or a folder of them.

    unbag build permuted --corpus snli --split test --output snli-test-permuted.parquet
    unbag build cs_lambda --corpus snli -o min_lms=0.7 --output cs_0.7.parquet
    unbag build resnli --corpus snli --output resnli
    unbag build permuted --data pairs.jsonl --num-proc 8 --output pairs-permuted.parquet
    unbag build permuted --data pairs.parquet --engine ray --output s3://bucket/permuted

    The third one has three splits, which become resnli/train.parquet,
    resnli/validation.parquet and resnli/test.parquet. A single file has the
    split that models are evaluated on. With --engine ray a folder has several
    files a split, which load_dataset reads as one, and record.json; a build that
    was stopped goes on from the files that are there.
    """
    from unbag.challenge_sets.request import export
    from unbag.challenge_sets.views.tables import exclusion_summary
    from unbag.evaluation import prefetch
    from unbag.utils import parallel
    from unbag.utils.storage import is_address, local_copy

    [request] = pairs.requests([name])
    if offline:
        prefetch.require(prefetch.of_run([request]))
    with parallel.worker_count(num_proc):
        if engine is not None:
            from unbag.evaluation.ray import building

            record = building.build(request, output)
        elif is_address(output):
            folder, _, file = output.rpartition("/") if output.endswith(".parquet") else (output, "", "")
            with local_copy(folder) as here:
                record = export(request, here / file)
        else:
            record = export(request, Path(output))
    if as_json:
        print_json(record)
    else:
        used = f"{record['examples']:,} examples, {record['rows']:,} rows"
        echo(f"{output}: {used} ({exclusion_summary(record['data'])})")
        for split, counted in record.get("splits", {}).items():
            echo(f"  {split}: {counted['examples']:,} examples, {counted['rows']:,} rows")


def list_sets(
    name: Annotated[
        str | None, typer.Argument(autocompletion=typer_utils.sets, help="One set, whose options to list.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the challenge sets and the corpora they can be built from; or the options of one set."""
    from unbag.challenge_sets.loading import described_options, summaries
    from unbag.data.corpora import CORPORA

    if name is not None:
        options = described_options(name)
        if as_json:
            print_json([option._asdict() for option in options])
            return
        if not options:
            echo(f"{name} has no options.")
            return
        from rich.table import Table

        listed = Table("option", "default", "value", "what it is", box=None, header_style="bold")
        for option in options:
            listed.add_row(option.name, str(option.default), option.expected, option.meaning)
        console().print(listed)
        examples = [f"-o {option.name}={option.example}" for option in options if option.example is not None]
        echo(f"\nFor instance: unbag evaluate MODEL --sets {name} {' '.join(examples[:_EXAMPLES])}")
        return
    entries = summaries()
    if as_json:
        print_json({"sets": entries, "corpora": {name: c.splits for name, c in CORPORA.items()}})
        return
    from rich.table import Table

    table = Table("set", "shown as", "what it is", box=None, header_style="bold")
    table.add_column("paper", overflow="fold")  # an address that is cut off is none
    for entry in entries:
        table.add_row(entry["name"], entry["title"], entry["summary"], entry["paper"])
    corpora = Table(
        "corpus", "data set", "splits (the first is evaluated by default)", "licence", box=None, header_style="bold"
    )
    for c in CORPORA.values():
        corpora.add_row(c.name, c.hub_id, " ".join(c.splits), c.licence)
    for part in (table, "", corpora):
        console().print(part)
