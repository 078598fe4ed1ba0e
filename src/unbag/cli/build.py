"""The commands `unbag build` and `unbag sets`."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final

import typer

from unbag.cli.options import Engine, NumProc, Offline, PairOptions
from unbag.cli.output import AsJson, create_cli_console, echo, print_json
from unbag.cli.typer_utils import set_argument, validate_set_output_location

_MAX_EXAMPLES: Final = 2  # options shown in a set's example command


def build(
    pairs: PairOptions,
    name: Annotated[str, set_argument(help="Challenge set, such as permuted.")],
    output: Annotated[
        str,
        typer.Option(
            callback=validate_set_output_location,
            metavar="PATH",
            help="Parquet file, folder for all splits, or a URL such as s3://BUCKET/SET.",
        ),
    ],
    num_proc: NumProc = 1,
    engine: Engine = None,
    offline: Offline = False,
    as_json: AsJson = False,
) -> None:
    """Build a challenge set as Parquet.

    For a path ending in .parquet, writes one file with the evaluation split.
    For other paths, creates a folder with one file per split.

    With --engine ray, writes several files per split, which load_dataset
    reads as one split, and record.json. A stopped build resumes from the
    files in the folder.

      unbag build permuted --corpus snli --split test --output permuted.parquet
      unbag build cs_lambda --corpus snli -o min_lms=0.7 --output cs_0.7.parquet
      unbag build resnli --corpus snli --output resnli
      unbag build permuted --data pairs.parquet --num-proc 8 --output permuted
      unbag build permuted --data pairs.parquet --engine ray --output s3://B/SET
    """
    from unbag.challenge_sets.request import export_challenge_set
    from unbag.challenge_sets.views.tables import summarize_exclusions
    from unbag.evaluation import prefetch
    from unbag.utils import parallel
    from unbag.utils.storage import is_url, upload_files

    [request] = pairs.build_requests([name])
    if offline:
        prefetch.validate_offline_requirements(prefetch.list_run_requirements([request]))
    with parallel.set_num_proc(num_proc):
        if engine is not None:
            from unbag.evaluation.ray import building

            record = building.build_set_on_cluster(request, output)
        elif is_url(output):
            folder, _, file = output.rpartition("/") if output.endswith(".parquet") else (output, "", "")
            with TemporaryDirectory(prefix="unbag-") as here:
                record = export_challenge_set(request, Path(here) / file)
                upload_files(Path(here), folder)
        else:
            record = export_challenge_set(request, Path(output))
    if as_json:
        print_json(record)
    else:
        counts = f"{record['examples']:,} examples, {record['rows']:,} rows"
        echo(f"{output}: {counts}; source: {summarize_exclusions(record['data'])}")
        for split, size in record.get("splits", {}).items():
            echo(f"  {split}: {size['examples']:,} examples, {size['rows']:,} rows")


def list_sets(
    name: Annotated[
        str | None, set_argument(help="Challenge set to describe, with its options (default: list all sets).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List challenge sets and corpora, or the question, paper and options of one set.

    unbag sets
    unbag sets permuted
    """
    from unbag.challenge_sets import get_challenge_set, list_set_names
    from unbag.challenge_sets.loading import describe_set_options
    from unbag.data.corpora import CORPORA

    if name is not None:
        options = describe_set_options(name)
        if as_json:
            print_json([option._asdict() for option in options])
            return
        described = get_challenge_set(name)
        echo(f"{described.title}: {described.question}\n{described.paper}\n")
        if not options:
            echo("The set has no options.")
            return
        from rich.table import Table

        table = Table("option", "default", "value", "description", box=None, header_style="bold")
        for option in options:
            table.add_row(option.name, str(option.default), option.expected, option.meaning)
        create_cli_console().print(table)
        examples = [f"-o {option.name}={option.example}" for option in options if option.example is not None]
        echo(f"\nExample: unbag evaluate MODEL --sets {name} {' '.join(examples[:_MAX_EXAMPLES])}")
        return
    entries = [
        {"name": each.name, "title": each.title, "summary": summary, "paper": each.paper}
        for each in map(get_challenge_set, list_set_names())
        for summary in [(sys.modules[type(each).__module__].__doc__ or "").strip().splitlines()[0]]
    ]
    if as_json:
        print_json({"sets": entries, "corpora": {name: c.splits for name, c in CORPORA.items()}})
        return
    from rich.table import Table

    table = Table("set", "title", "description", box=None, header_style="bold")
    table.add_column("paper", overflow="fold")  # A truncated URL is useless.
    for entry in entries:
        table.add_row(entry["name"], entry["title"], entry["summary"], entry["paper"])
    corpora = Table("corpus", "dataset", "splits (default: the first)", "license", box=None, header_style="bold")
    for c in CORPORA.values():
        corpora.add_row(c.name, c.hub_id, " ".join(c.splits), c.license)
    for part in (table, "", corpora):
        create_cli_console().print(part)
