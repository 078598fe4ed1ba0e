"""The commands `unbag papers` and `unbag report`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from unbag.cli.output import AsJson, create_cli_console, echo, print_export, print_json, validate_output_format
from unbag.cli.typer_utils import Badge, set_argument, validate_output_file


def papers(
    name: Annotated[str | None, set_argument(help="Challenge set (default: all).")] = None,
    as_json: AsJson = False,
) -> None:
    """Print the scores published in the papers, with sources.

    unbag papers cs_lambda
    unbag papers --json
    """
    from unbag.challenge_sets.papers import list_paper_tables
    from unbag.reports.papers import build_paper_view, convert_tables_to_json

    paper_tables = list_paper_tables(name)
    if as_json:
        print_json(convert_tables_to_json(paper_tables))
        return
    for table in paper_tables:
        create_cli_console().print(build_paper_view(table))


def report(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="RUN", help="Results folders of `unbag evaluate`."),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            callback=validate_output_file, help="Output file (default: report.html; other formats are printed)."
        ),
    ] = None,
    form: Annotated[
        Literal["html", "md", "csv", "latex", "json"],
        typer.Option(
            "--format",
            metavar="FORMAT",
            show_default=False,
            help="Output format: html, md, csv, latex or json (default: html).",
        ),
    ] = "html",
    badge: Badge = None,
    as_json: AsJson = False,
) -> None:
    """Write an HTML report or tables from stored results.

    Models evaluated on the same rows share tables and charts. The text of the
    report describes the first model. The csv format has one line per metric,
    with direction, interval and n. The command does not run a model.

      unbag report runs/my-model/permuted-snli runs/other/permuted-snli
      unbag report runs/my-model/suite-snli-validation --format latex
      unbag report runs/my-model/suite-snli-validation --badge badge.svg
    """
    from unbag.reports import badge as badges
    from unbag.reports import html, run_tables
    from unbag.utils.files import atomic_write

    validate_output_format(form, as_json=as_json)
    if badge is not None:
        badges.write_badge(run_tables.compute_main_model_verdicts(folders), badge)
    if form == "html":
        file = output or Path(html.FILE)
        html.write_report(folders, file)
        size = file.stat().st_size
        if as_json:
            print_json({"report": str(file), "bytes": size})
        else:
            echo(f"{file}: {size / 1e6:.2f} MB")
        return
    text = run_tables.export_runs(folders).text(form)
    if output is None:
        print_export(text, form)
        return
    with atomic_write(output) as tmp:
        tmp.write_text(text, encoding="utf-8")
    echo(f"{output}: {len(text.splitlines()):,} lines")
