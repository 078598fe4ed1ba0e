"""How much a command says: `-q` and `-v`, options of every command."""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, Final

import typer

from unbag.utils.advice import command_options

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
    except (ValueError, ImportError, OSError) as error:  # of which `running.run` tells a line
        _logger.debug("the error comes from:", exc_info=error)
        raise
    finally:
        for logger, level in zip((root, _logger), before, strict=True):
            logger.setLevel(level)
        for name in _NO_BARS:
            os.environ.pop(name, None)
        os.environ.update({name: value for name, value in settings.items() if value is not None})
