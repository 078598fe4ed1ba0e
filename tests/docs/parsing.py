"""Parse command lines of unbag without running them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest import mock

import typer.main

from unbag import cli

COMMANDS: Any = typer.main.get_command(cli.app)


def parse_command(arguments: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Parse a command line completely: types, choices, required arguments and callbacks.

    Returns:
        The name of the command without `unbag`, and its parameters.
    """
    with mock.patch("unbag.utils.offline.enable_offline_mode"):  # would change this process
        context = COMMANDS.make_context("unbag", list(arguments))
        path = []
        while hasattr(context.command, "commands") and (rest := [*context._protected_args, *context.args]):
            name, command, rest = context.command.resolve_command(context, rest)
            path.append(name)
            context = command.make_context(name, rest, parent=context)
    return " ".join(path), context.params
