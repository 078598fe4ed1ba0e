"""The command `unbag papers`."""

from typing import Annotated

import typer

from unbag.cli.shown import AsJson, console, print_json


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

    found = tables(name)
    if as_json:
        print_json(record(found))
        return
    for table in found:
        console().print(view(table))
