"""Running a command: what goes wrong becomes one line and an exit code."""

import logging
import sys
from collections.abc import Sequence
from typing import Final

import typer

FAILED: Final = 1


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
        # Looked up, not imported: a command of one process need not wait for it.
        if connected := sys.modules.get("unbag.inference.process_group"):
            connected.destroy_process_group()  # not above: where one has failed, the others may wait for it elsewhere
        return done.code if isinstance(done.code, int) else FAILED
    return 0
