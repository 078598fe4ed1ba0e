"""Advice in error messages, limited to options of the running command."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

_OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_COMMAND: Final = re.compile(r"`[^`]*`")  # a quoted command has its own options

# Not a context variable, since messages are also built in threads, which do not inherit one.
_offered: frozenset[str] | None = None


@contextmanager
def command_options(names: Iterable[str]) -> Iterator[None]:
    """Register the long options of the running command within this block."""
    global _offered
    before, _offered = _offered, frozenset(names)
    try:
        yield
    finally:
        _offered = before


def options_in(text: str) -> frozenset[str]:
    """Extract the long options in a message, except those in quoted commands.

    >>> sorted(options_in("pass --labels, or see `unbag build --output`"))
    ['--labels']
    """
    return frozenset(_OPTION.findall(_COMMAND.sub("", text)))


def fits_command(text: str) -> bool:
    """Check whether the running command has all options in a text. True if no command is running."""
    return _offered is None or options_in(text) <= _offered


def first_fitting(*choices: str) -> str:
    """Choose the first text whose options the running command has. Empty if there is none.

    >>> with command_options(["--dtype"]):
    ...     first_fitting("pass the names with --columns", "rename the columns")
    'rename the columns'
    """
    return next(filter(fits_command, choices), "")


def all_fitting(*choices: str) -> str:
    """Join the texts whose options the running command has as alternatives.

    >>> with command_options(["--dtype"]):
    ...     all_fitting("truncate more (--max-length)", "use --dtype bfloat16", "use a larger device")
    'use --dtype bfloat16, or use a larger device'
    """
    *others, last = filter(fits_command, choices)
    return f"{', '.join(others)}, or {last}" if others else last
