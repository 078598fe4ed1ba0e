"""Options that are lists: their values are comma-separated, or the option is given again for each; or both."""

from pathlib import Path

import typer

from unbag.utils.options import listed


def comma_separated(values: list[str] | None) -> list[str] | None:
    """Return the values of a list, as the callback of its option.

    >>> comma_separated(["permuted, swapped", "plain"])
    ['permuted', 'swapped', 'plain']

    Raises:
        typer.BadParameter: if nothing is named in it; an option that is not given says another thing.
    """
    named = [value for value in listed(*values) if value] if values else values
    if values and not named:
        raise typer.BadParameter(f"expected names with commas between them, found {','.join(values)!r}")
    return named


def comma_separated_names(values: list[str] | None) -> list[str] | None:
    """Return the values of a list of fixed names, as the callback of its option: none with white space around them.

    Python takes no such name either. After a comma a space is part of the list.

    Raises:
        typer.BadParameter: if nothing is named, or there is white space around the names.
    """
    named = comma_separated(values)
    for value in values or ():
        if value != value.strip():
            raise typer.BadParameter(
                f"expected a name without white space around it, got {value!r}; did you mean {value.strip()!r}?"
            )
    return named


def comma_separated_paths(values: list[Path] | None) -> list[Path] | None:
    """Return the paths of a list, as the callback of its option; one that is there may have commas in its name."""
    if not values:
        return values
    return [
        path
        for value in values
        for path in ([value] if value.exists() else map(Path, comma_separated([str(value)]) or ()))
    ]
