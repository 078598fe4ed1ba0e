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
def register_command_options(names: Iterable[str]) -> Iterator[None]:
    """Register the long options of the running command until the `with` block ends."""
    global _offered
    before, _offered = _offered, frozenset(names)
    try:
        yield
    finally:
        _offered = before


def extract_options(text: str) -> frozenset[str]:
    """Extract the long options (`--name`) from a message, except those in quoted commands.

    >>> sorted(extract_options("pass --labels, or see `unbag build --output`"))
    ['--labels']
    """
    return frozenset(_OPTION.findall(_COMMAND.sub("", text)))


def has_command_options(text: str) -> bool:
    """Check whether the running command supports all options in a text. True if no command is running."""
    return _offered is None or extract_options(text) <= _offered


def format_option_name(name: str) -> str:
    """Format an option name as a flag if the running command has the option. Otherwise, return the name unchanged.

    >>> with register_command_options(["--label-map"]):
    ...     format_option_name("label_map"), format_option_name("batch_tokens")
    ('--label-map', 'batch_tokens')
    >>> format_option_name("label_map")
    'label_map'
    """
    flag = f"--{name.replace('_', '-')}"
    return flag if _offered is not None and flag in _offered else name


def format_available_option_names(names: Iterable[str]) -> list[str]:
    """Format the names of the options that the running command supports. If no command is running, return all names.

    >>> with register_command_options(["--label-map"]):
    ...     format_available_option_names(["batch_tokens", "label_map"])
    ['--label-map']
    >>> format_available_option_names(["batch_tokens", "label_map"])
    ['batch_tokens', 'label_map']
    """
    named = [format_option_name(name) for name in names]
    return named if _offered is None else [name for name in named if name.startswith("--")]


def choose_advice(*choices: str) -> str:
    """Choose the first text whose options the running command supports. Return "" if there is none.

    >>> with register_command_options(["--dtype"]):
    ...     choose_advice("pass the names with --columns", "rename the columns")
    'rename the columns'
    """
    return next(filter(has_command_options, choices), "")


def join_advice(*choices: str) -> str:
    """Join texts with commas and "or". Texts with options that the running command does not support are omitted.

    >>> with register_command_options(["--dtype"]):
    ...     join_advice("truncate more (--max-length)", "use --dtype bfloat16", "use a larger device")
    'use --dtype bfloat16, or use a larger device'
    """
    *others, last = filter(has_command_options, choices)
    return f"{', '.join(others)}, or {last}" if others else last
