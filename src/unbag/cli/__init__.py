"""The command line: `unbag …`.

Nothing heavy is imported before a command needs it, so that `unbag --help` answers at once.
"""

import logging
import sys
from collections.abc import Sequence
from typing import Final

import typer

from unbag.cli import (
    comparing,
    evaluating,
    exporting,
    lexical,
    making,
    natlog,
    prefetching,
    published,
    publishing,
    publishing_all,
    publishing_dataset,
    publishing_model,
    publishing_results,
    publishing_spaces,
    training,
)

FAILED: Final = 1
USAGE: Final = 2

app = typer.Typer(
    name="unbag",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Does an NLI model read sentences, or count words?\n\n"
    "[bold]unbag evaluate ORG/MODEL[/bold] asks a model of the Hub; [bold]unbag demo[/bold] shows the flow offline.",
)
app.command()(evaluating.evaluate)
app.command()(evaluating.score)
app.command()(comparing.compare)
app.command()(making.build)
app.command()(exporting.export)
app.command(name="sets")(making.list_sets)
app.command()(published.papers)
app.command()(published.report)
app.add_typer(lexical.app, name="lexical")
app.add_typer(natlog.app, name="natlog")
app.add_typer(training.app, name="train")
app.add_typer(publishing.app, name="publish")
publishing.app.command()(publishing_dataset.dataset)
publishing.app.command()(publishing_spaces.metric)
publishing.app.command()(publishing_model.model)
publishing.app.command()(publishing_results.results)
publishing.app.command()(publishing_results.results_dataset)
publishing.app.command()(publishing_spaces.leaderboard)
publishing.app.command(name="all")(publishing_all.everything)
app.command()(prefetching.prefetch)
app.command()(making.demo)


def main() -> None:
    """Run the command: exit 0 when done, 1 when failed, 2 on wrong usage."""
    sys.exit(run(app))


def run(command: typer.Typer, arguments: Sequence[str] | None = None) -> int:
    """Run a command with some arguments, by default those of the process, and return its exit code."""
    logging.basicConfig(format="%(levelname)s %(message)s", level=logging.WARNING)
    try:
        command(args=arguments)
    except (ValueError, ImportError, OSError) as error:  # ours, or what a disk or network says: no traceback needed
        typer.secho(f"unbag: {error}", err=True, fg=typer.colors.RED)
        return FAILED
    except KeyboardInterrupt:
        typer.secho("unbag: stopped; the same command goes on from here", err=True)
        return FAILED
    except SystemExit as done:  # how click ends a command, well or not
        if processes := sys.modules.get("unbag.inference.processes"):  # no command of one process waits for the import
            processes.part()  # not above: where one has failed, the others may wait for it elsewhere
        return done.code if isinstance(done.code, int) else FAILED
    return 0
