"""Output of commands: tables, JSON, files, and log levels."""

import json
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from unbag.utils import terminal
from unbag.utils.redaction import redact

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from unbag.challenge_sets.failures import EvaluationFailure
    from unbag.challenge_sets.results import Result
    from unbag.evaluation.comparison import Comparison
    from unbag.evaluation.outcome import EvaluationOutcome
    from unbag.evaluation.result_folder import FolderContents
    from unbag.reports.formats import ExportedTable, Format


_NO_BARS: Final = ("HF_HUB_DISABLE_PROGRESS_BARS", "HF_DATASETS_DISABLE_PROGRESS_BARS")
_logger = logging.getLogger("unbag")


def is_quiet() -> bool:
    """Check whether `--quiet` limits the output to results and errors."""
    return logging.getLogger().getEffectiveLevel() >= logging.ERROR


@contextmanager
def set_log_level(*, quiet: bool, verbose: bool) -> Iterator[None]:
    """Configure log levels and progress bars while a command runs."""
    root, before = logging.getLogger(), (logging.getLogger().level, _logger.level)
    if quiet:
        root.setLevel(logging.ERROR)
        os.environ.update(dict.fromkeys(_NO_BARS, "1"))  # The clients read these variables at import.
    if verbose:
        _logger.setLevel(logging.DEBUG)
    try:
        yield
    except (ValueError, ImportError, OSError) as error:  # `app.run` prints them in one line
        _logger.debug("traceback of the error:", exc_info=error)
        raise
    finally:
        for logger, level in zip((root, _logger), before, strict=True):
            logger.setLevel(level)


_COLUMNS: Final = 80

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True)
class TableOptions:
    """Options of the commands that print a table."""

    form: Annotated[
        Literal["table", "md", "csv", "latex", "json"],
        typer.Option(
            "--format",
            metavar="FORMAT",
            show_default=False,
            help="Output format: table, md, csv, latex or json (default: table).",
        ),
    ] = "table"
    as_json: AsJson = False

    def __post_init__(self) -> None:
        """Validate that the options are compatible, before the command starts."""
        validate_output_format(self.form, as_json=self.as_json)

    def print(self, table: "RenderableType", exported_table: "ExportedTable") -> None:
        """Print a table for the terminal, or export it as Markdown, CSV, LaTeX or JSON."""
        form = "json" if self.as_json else self.form
        if form == "table":
            create_cli_console().print(table)
        else:
            print_export(exported_table.text(form), form)


def validate_output_format(output_format: str, *, as_json: bool) -> None:
    """Validate that `--format` and `--json` are compatible, before the run starts."""
    if as_json and output_format not in ("table", "html", "json"):
        raise typer.BadParameter(f"expected one of --json and --format {output_format}, got both; remove one")


def print_export(text: str, export_format: "Format") -> None:
    """Print exported text with control characters escaped, because terminals interpret them."""
    typer.echo(terminal.escape_json(text) if export_format == "json" else terminal.escape_control_chars(text), nl=False)


def create_cli_console(*, err: bool = False) -> "Console":
    """Create a console without number highlighting."""
    return terminal.create_console(stderr=err)


def echo(text: str, *, err: bool = False, fg: str | None = None, nl: bool = True) -> None:
    """Print text from untrusted files, with credentials redacted and control characters escaped."""
    typer.secho(terminal.escape_control_chars(redact(text)), err=err, fg=fg, nl=nl)


def show_results(
    outcome: "EvaluationOutcome",
    folder: Path,
    *,
    as_json: bool,
    cross_domain: bool = False,
    are_tables_printed: bool = False,
    output_location: str | None = None,
    comparison: "Comparison | None" = None,
) -> None:
    """Print the results of a run and write their tables to a folder. Does nothing if there are no results.

    The summary covers all results in the folder. If `are_tables_printed`, only the summary is printed.
    `output_location` is the final location of the folder, such as a URL (default: `folder`). The tables of a
    `comparison` of the models replace those of each result.
    """
    contents = outcome.contents
    if contents is None:
        return
    from unbag.reports import terminal

    views, summary = write_tables(outcome.results, folder, contents, cross_domain=cross_domain, comparison=comparison)
    if as_json:
        from unbag.challenge_sets.results import build_results_record
        from unbag.evaluation.metrics import compute_verdicts, summarize_verdicts
        from unbag.evaluation.prompt_spread import compute_prompt_spreads

        spreads = [each._asdict() for each in compute_prompt_spreads(contents.results)]
        more = summarize_verdicts(compute_verdicts(contents.results)) | ({"over_prompts": spreads} if spreads else {})
        print_json(build_results_record(contents.results, contents.skipped) | more)
        return
    # With --quiet and several sets, only the summary is printed.
    is_summarized = bool(summary) and len(outcome.results) > 1 if is_quiet() else are_tables_printed
    terminal.print_views(summary if is_summarized else [*views, *summary], create_cli_console())
    files = " ".join(sorted(path.name for path in folder.iterdir()))
    separator = "\n  " if len(f"in {output_location or folder}: {files}") > _COLUMNS else " "
    echo(f"in {output_location or folder}:{separator}{files}")


def write_tables(
    results: "Sequence[Result]",
    folder: Path,
    contents: "FolderContents",
    *,
    cross_domain: bool = False,
    comparison: "Comparison | None" = None,
) -> "tuple[list[RenderableType], list[RenderableType]]":
    """Write the tables and the HTML report of a results folder, whose `contents` include earlier runs.

    Returns the tables of this run, and the summary of all results in the folder. The table of a `comparison` replaces
    those of the results, which are still written to the file.
    """
    from unbag.reports import html, terminal

    views = of_results = terminal.build_result_views(results, cross_domain=cross_domain)
    if comparison is not None:
        from unbag.reports.comparison import build_model_table

        views = [build_model_table(results, comparison), *terminal.build_remark_views(results)]
        of_results = [*views, *of_results]
    of_run = set(map(id, results))
    others = [each for each in contents.results if id(each) not in of_run]
    summary = [] if cross_domain else terminal.build_summary_views(contents.results)
    terminal.write_views([*of_results, *terminal.build_result_views(others), *summary], folder / terminal.FILE)
    html.write_report([contents], folder / html.FILE)
    return views, summary


def print_failures(failures: "Sequence[EvaluationFailure]", *, with_model: bool, is_named: bool = False) -> None:
    """Print the failed and skipped sets to standard error, one line per reason.

    With `is_named`, the user listed the sets, so that each one is required (`EvaluationFailure.is_fatal`).
    """
    sets_of: dict[tuple[str, str], list[str]] = {}
    for failure in failures:
        outcome = "failed" if failure.is_fatal(is_named=is_named) else "skipped"
        of_model = f" ({failure.model})" if failure.model and with_model else ""
        sets_of.setdefault((outcome, failure.reason), []).append(f"{failure.set}{of_model}")
    for (outcome, reason), sets in sets_of.items():
        echo(f"{', '.join(dict.fromkeys(sets))}: {outcome}: {reason}", err=True, fg="yellow")


def print_json(value: Any) -> None:
    """Print a value as JSON on one line."""
    typer.echo(terminal.escape_json(json.dumps(value, ensure_ascii=False)))
