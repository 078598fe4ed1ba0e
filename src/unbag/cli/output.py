"""What commands show: progress, tables, files."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from unbag.evaluation import OnProgress
    from unbag.failures import Failure

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script to read.")]


def console(*, err: bool = False) -> "Console":
    """Return a console that leaves numbers uncoloured."""
    from rich.console import Console

    return Console(stderr=err, highlight=False)


@contextmanager
def progress(*, visible: bool) -> Iterator["OnProgress | None"]:
    """Give a function that moves a progress bar a set, on standard error; none where not visible."""
    if not visible:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("rows"))
    with Progress(*columns, TimeRemainingColumn(), console=console(err=True)) as bars:
        tasks: dict[str, Any] = {}

        def update(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(f"predicting {name}", total=total)
            bars.update(tasks[name], completed=done)

        yield update


def report(results: Any, folder: Path, *, as_json: bool, cross: bool = False, seen: bool = False) -> None:
    """Show results and leave the tables beside them; only the first of several processes has any.

    Args:
        results: the results.
        folder: where they are.
        as_json: show the file itself instead.
        cross: show one table, of models by corpora.
        seen: each has been shown as it came: what is left is what they are together.
    """
    if not results:
        return
    from unbag.report import terminal

    views = terminal.views(results, crossed=cross)
    together = terminal.together(results) if not cross else []
    terminal.write([*views, *together], folder / "table.txt")
    missing = _html(folder)
    if as_json:
        typer.echo((folder / "results.json").read_text(encoding="utf-8"), nl=False)
        return
    terminal.show(together if seen else [*views, *together], console())
    typer.echo(f"in {folder}: {' '.join(sorted(path.name for path in folder.iterdir()))}")
    if missing:
        typer.echo(missing)


def failed(failures: "Sequence[Failure]", *, several: bool) -> None:
    """Name the sets without a result on standard error, each with the reason.

    Args:
        failures: the sets.
        several: whether there are several models, so that it is to be said of which one.
    """
    for failure in failures:
        outcome = "left out" if failure.is_left_out else "failed"
        of_model = f", {failure.model}" if failure.model and several else ""
        typer.secho(f"{failure.set}{of_model}: {outcome}: {failure.reason}", err=True, fg=typer.colors.YELLOW)


def _html(folder: Path) -> str:
    """Leave the HTML report of a folder's results in it; return what is missing, where that cannot be."""
    from unbag.report import html

    try:
        html.write([folder], folder / html.FILE)
    except ImportError as error:
        return str(error)
    return ""


def print_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    typer.echo(json.dumps(value, ensure_ascii=False))
