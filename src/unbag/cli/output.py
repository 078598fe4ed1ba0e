"""Output of commands: tables, JSON, files, and how much they print (`-q` and `-v`)."""

import json
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from unbag.utils import terminal
from unbag.utils.advice import command_options
from unbag.utils.redaction import redact

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from unbag.challenge_sets.failures import Failure
    from unbag.evaluation.evaluator import OnProgress
    from unbag.reports.formats import ExportedTable, Format


_OPTIONS: Final = {
    "quiet": typer.Option("--quiet", "-q", help="Show results and errors only: no progress, no warnings."),
    "verbose": typer.Option("--verbose", "-v", help="Say more, and where an error comes from."),
}
_CONTEXT: Final = "context"
_NO_BARS: Final = ("HF_HUB_DISABLE_PROGRESS_BARS", "HF_DATASETS_DISABLE_PROGRESS_BARS")
_logger = logging.getLogger("unbag")


def add_to(app: typer.Typer) -> None:
    """Give every command of an app the options, those of its groups too."""
    for command in app.registered_commands:
        if command.callback is not None:
            command.callback = _with_options(command.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            add_to(group.typer_instance)


def is_quiet() -> bool:
    """Tell whether to show no more than results and errors."""
    return logging.getLogger().getEffectiveLevel() >= logging.ERROR


def _with_options(command: Callable[..., None]) -> Callable[..., None]:
    parameters = signature(command)
    own_context = next((name for name, each in parameters.parameters.items() if each.annotation is typer.Context), None)

    @wraps(command)
    def run(*, quiet: bool, verbose: bool, **arguments: Any) -> None:
        ctx = arguments[own_context] if own_context else arguments.pop(_CONTEXT)
        if quiet and verbose:
            raise typer.BadParameter("--quiet and --verbose: name one of them")
        with _said(quiet=quiet, verbose=verbose), command_options(_long_options(ctx)):
            command(**arguments)

    more = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, option])
        for name, option in _OPTIONS.items()
    ]
    if not own_context:  # typer hands a command one context
        more.append(Parameter(_CONTEXT, Parameter.KEYWORD_ONLY, annotation=typer.Context))
    run.__signature__ = parameters.replace(  # type: ignore[attr-defined]
        parameters=[*(each.replace(kind=Parameter.KEYWORD_ONLY) for each in parameters.parameters.values()), *more]
    )
    run.__annotations__ = dict(command.__annotations__) | {each.name: each.annotation for each in more}
    return run


def _long_options(ctx: typer.Context) -> Iterator[str]:
    """Yield the long options of a command."""
    for param in ctx.command.params:
        yield from (name for name in (*param.opts, *param.secondary_opts) if name.startswith("--"))


@contextmanager
def _said(*, quiet: bool, verbose: bool) -> Iterator[None]:
    """Say less or more for the time of a command."""
    root, before = logging.getLogger(), (logging.getLogger().level, _logger.level)
    settings = {name: os.environ.get(name) for name in _NO_BARS}
    if quiet:
        root.setLevel(logging.ERROR)
        os.environ.update(dict.fromkeys(_NO_BARS, "1"))  # read when the clients are imported
    if verbose:
        _logger.setLevel(logging.DEBUG)
    try:
        yield
    except (ValueError, ImportError, OSError) as error:  # of which `app.run` tells a line
        _logger.debug("the error comes from:", exc_info=error)
        raise
    finally:
        for logger, level in zip((root, _logger), before, strict=True):
            logger.setLevel(level)
        for name in _NO_BARS:
            os.environ.pop(name, None)
        os.environ.update({name: value for name, value in settings.items() if value is not None})


_COLUMNS: Final = 80

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script to read.")]
Shown = Annotated[
    Literal["table", "md", "csv", "latex", "json"],
    typer.Option("--format", metavar="FORMAT", help="table (default); or to paste: md, csv, latex or json."),
]


def show(form: Shown, view: "RenderableType", to_paste: "ExportedTable", *, as_json: bool) -> None:
    """Show something as a table that fits the terminal, or print it in a form to paste, of which --json is one.

    Raises:
        typer.BadParameter: if --json and another form are asked for.
    """
    validate_output_form(form, as_json=as_json)
    if as_json or form != "table":
        in_form: Format = "json" if as_json or form == "table" else form
        print_to_paste(to_paste.text(in_form), in_form)
    else:
        console().print(view)


def validate_output_form(form: str, *, as_json: bool) -> None:
    """Refuse two forms at once, before anything is worked out.

    Raises:
        typer.BadParameter: if --json and another form are asked for.
    """
    if as_json and form not in ("table", "html", "json"):
        raise typer.BadParameter(f"--json and --format {form}: name one of them")


def print_to_paste(text: str, form: "Format") -> None:
    """Print what is in a form to paste, as a terminal may have it."""
    typer.echo(terminal.escape_json(text) if form == "json" else terminal.escape_control_chars(text), nl=False)


def console(*, err: bool = False) -> "Console":
    """Return a console that leaves numbers uncoloured."""
    return terminal.console(stderr=err)


def echo(text: str, *, err: bool = False, fg: str | None = None, nl: bool = True) -> None:
    """Print text that may hold what others wrote."""
    typer.secho(terminal.escape_control_chars(redact(text)), err=err, fg=fg, nl=nl)


@contextmanager
def progress(*, visible: bool) -> Iterator["OnProgress | None"]:
    """Give a function that moves a progress bar a set, on standard error; none where not visible."""
    if not visible or is_quiet():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TextColumn("rows"))
    with Progress(*columns, TimeRemainingColumn(), console=console(err=True)) as bars:
        tasks: dict[str, Any] = {}

        def update(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(terminal.escape_control_chars(name), total=total)
            bars.update(tasks[name], completed=done)

        yield update


def report(
    results: Any, folder: Path, *, as_json: bool, cross: bool = False, seen: bool = False, place: str | None = None
) -> None:
    """Show results and leave the tables beside them; only the first of several processes has any.

    What the results are together is shown of all in the folder, to which earlier runs may have written too.

    Args:
        results: the results of this run.
        folder: where they are.
        as_json: show what the file has instead, and every number by name with its direction.
        cross: show one table, of models by corpora.
        seen: each has been shown as it came: what is left is what they are together.
        place: where the folder goes in the end, if it is not there already.
    """
    if not results:
        return
    from unbag.reports import terminal

    views, together = leave(results, folder, cross=cross)
    if as_json:
        from unbag.challenge_sets.results import FILE, read
        from unbag.evaluation.quantities import summarize_verdicts, verdicts

        file = folder / FILE
        print_json(json.loads(file.read_text(encoding="utf-8")) | summarize_verdicts(verdicts(read(file))))
        return
    terminal.show(together if seen or (together and is_quiet()) else [*views, *together], console())
    files = " ".join(sorted(path.name for path in folder.iterdir()))
    apart = "\n  " if len(f"in {place or folder}: {files}") > _COLUMNS else " "
    echo(f"in {place or folder}:{apart}{files}")


def leave(results: Any, folder: Path, *, cross: bool = False) -> "tuple[list[RenderableType], list[RenderableType]]":
    """Leave the tables and the report of a folder in it; return the tables of a run, and what all are together.

    Args:
        results: the results of the run.
        folder: where they are, with those of earlier runs.
        cross: give those of the run one table, of models by corpora.
    """
    from unbag.challenge_sets.results import FILE, read
    from unbag.evaluation.result_folder import combined
    from unbag.reports import html, terminal

    views = terminal.views(results, crossed=cross)
    # Those of this run as they were scored, and those of earlier runs as they are in the file.
    together = combined(read(folder / FILE), results)
    others = [entry.result for entry in together if entry.number is not None]
    summary = [] if cross else terminal.together([entry.result for entry in together])
    terminal.write([*views, *terminal.views(others), *summary], folder / terminal.FILE)
    html.write([folder], folder / html.FILE)
    return views, summary


def failed(failures: "Sequence[Failure]", *, several: bool, named: bool = False) -> None:
    """Print the sets without a result on standard error with the reason, those of one reason together.

    Args:
        failures: the sets.
        several: whether there are several models, so that the model is named too.
        named: whether the user named the sets, so that each of them is required (`Failure.counts`).
    """
    sets_of: dict[tuple[str, str], list[str]] = {}
    for failure in failures:
        outcome = "failed" if failure.counts(named=named) else "left out"
        of_model = f" ({failure.model})" if failure.model and several else ""
        sets_of.setdefault((outcome, failure.reason), []).append(f"{failure.set}{of_model}")
    for (outcome, reason), sets in sets_of.items():
        echo(f"{', '.join(dict.fromkeys(sets))}: {outcome}: {reason}", err=True, fg="yellow")


def print_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    typer.echo(terminal.escape_json(json.dumps(value, ensure_ascii=False)))
