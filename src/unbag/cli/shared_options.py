"""Options that several commands have: a dataclass whose fields are the options, which a command is handed whole."""

from collections.abc import Callable
from dataclasses import is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

import typer


def with_shared_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that the fields of its dataclass parameters declare, behind its own.

    It is handed each dataclass, made of what was given:

        @dataclass(frozen=True)
        class Place:
            to: Annotated[str, typer.Option(help="Where to.")]

        @with_shared_options
        def send(place: Place, name: str) -> None: ...  # send NAME --to …
    """
    declared = signature(command).parameters.values()
    kinds: dict[str, Any] = {p.name: p.annotation for p in declared if is_dataclass(p.annotation)}
    shared = {name: signature(kind).parameters for name, kind in kinds.items()}

    @wraps(command)
    def run(**arguments: Any) -> None:
        groups = {name: kind(**{field: arguments.pop(field) for field in shared[name]}) for name, kind in kinds.items()}
        command(**groups, **arguments)

    # typer reads a command's options off its signature and its annotations.
    options = [p for p in declared if p.name not in kinds] + [p for each in shared.values() for p in each.values()]
    options = [option.replace(kind=Parameter.KEYWORD_ONLY) for option in options]
    run.__signature__ = Signature(options)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in options}
    return run


def _go_offline(offline: bool) -> bool:
    if offline:
        from unbag.utils.offline import go_offline

        go_offline()
    return offline


# Eager: the clients read the setting when they are imported, and other options import them.
Offline = Annotated[
    bool,
    typer.Option(
        "--offline",
        callback=_go_offline,
        is_eager=True,
        help="Use no network; what is missing is named at once (`unbag prefetch` gets it beforehand).",
    ),
]
