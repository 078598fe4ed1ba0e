"""Commands that show what is there: `unbag papers` and `unbag report`."""

from pathlib import Path
from typing import Annotated

import typer

from unbag.cli.output import AsJson, console, print_json


def papers(
    name: Annotated[str | None, typer.Argument(metavar="[SET]", help="Only the tables about this set.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print the papers' own figures, with their source.

    unbag papers cs_lambda
    unbag papers --json
    """
    from unbag.papers import tables
    from unbag.report.published import record, view

    paper_tables = tables(name)
    if as_json:
        print_json(record(paper_tables))
        return
    for table in paper_tables:
        console().print(view(table))


def report(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="RUN_FOLDER...", help="What unbag evaluate left: results.json, examples.json."),
    ],
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("report.html"),
    as_json: AsJson = False,
) -> None:
    """Make the HTML report of stored results, models side by side.

    Nothing is computed anew. Models on the same rows share tables and charts;
    the first model is the one that the report is about.

      unbag report runs/my-model/permuted-snli runs/other/permuted-snli
    """
    from unbag.report import html

    html.write(folders, out)
    if as_json:
        print_json({"report": str(out), "bytes": out.stat().st_size})
    else:
        typer.echo(f"{out}: {out.stat().st_size / 1e6:.2f} MB")
