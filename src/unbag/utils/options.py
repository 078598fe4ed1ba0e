"""Options as a person writes and reads them, `test_size=1000`, and what every option must be, whoever gives it.

A command reads text (`read`), Python gives values: both come to `require`, by what the fields of a dataclass say they
are. What is impossible beyond that, each config says itself.
"""

import inspect
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

LIST: Final = "names, comma-separated"
"""What the values of an option are that is a list."""

_EXPECTED: Final = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Sequence: LIST,
    tuple: LIST,
    Mapping: "names by name",
    str: "text",
    Path: "a path",
}
_PRINTABLE: Final = "text without control characters"
_EXAMPLES: Final = {int: "1000", float: "0.5", bool: "true", Sequence: "snli,mnli"}
_LARGEST: Final = 2**63
_TRUE: Final = frozenset({"true", "yes", "1"})
_FALSE: Final = frozenset({"false", "no", "0"})


COLUMNS_GIVEN: Final = "--columns premise=…,hypothesis=…,label=…"
"""How the columns of data of one's own are written."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question after a wrong name, with the known name that it is most like; empty if none is like it.

    >>> did_you_mean("SNLI ", ["snli", "mnli"]), did_you_mean("nothing", ["snli"])
    (", did you mean 'snli'?", '')
    """
    alike = get_close_matches(name.strip().lower(), known, n=1)
    return f", did you mean {alike[0]!r}?" if alike else ""


def by_name(parts: Sequence[str], expected: str, lists: frozenset[str] = frozenset()) -> dict[str, str]:
    """Split `NAME=VALUE` parts.

    Args:
        parts: the parts.
        expected: how they are written, for the message.
        lists: names that may be given again, their values joined by commas.

    Raises:
        ValueError: if a part has no `=`, or a name comes twice.

    >>> by_name(["premise=text", "label = gold"], COLUMNS_GIVEN)
    {'premise': 'text', 'label': 'gold'}
    """
    values: dict[str, str] = {}
    for part in parts:
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise ValueError(f"expected {expected}; found {part!r}")
        if name in values and name.rpartition(".")[2] not in lists:  # `-o SET.NAME=VALUE`
            raise ValueError(f"{name}: given twice")
        values[name] = f"{values[name]},{value}" if name in values else value
    return values


class Option(NamedTuple):
    """An option of a config class.

    Attributes:
        name: as it is written.
        default: its value where none is given.
        meaning: what the class's docstring says of it.
        expected: what its values are.
        example: a value, as it is written; None where only a name of something would be one.
    """

    name: str
    default: Any
    meaning: str
    expected: str
    example: str | None


def described(config: type, names: frozenset[str]) -> list[Option]:
    """Return some fields of a config dataclass, in its order, with what the Attributes of docstrings say.

    The docstrings are its own and those of the classes it derives from.
    """
    meanings = {
        name: " ".join(text.split())
        for each in reversed(config.__mro__)
        for name, text in re.findall(
            r"^    (\w+): (.*?)(?=^    \w+: |\Z)", inspect.cleandoc(each.__doc__ or ""), re.M | re.S
        )
    }
    return [
        Option(f.name, f.default, meanings.get(f.name, ""), _EXPECTED[kind], _example(kind, f.default))
        for f in fields(config)
        if f.name in names
        for kind in [_kind(config, f.name)]
    ]


def listed(*texts: str) -> tuple[str, ...]:
    """Return the names of a list: comma-separated, or in several texts.

    >>> listed("snli, mnli", "sick")
    ('snli', 'mnli', 'sick')
    """
    return tuple(name.strip() for text in texts for name in text.split(","))


def read(config: type, name: str, text: str) -> Any:
    """Return the value of a config's field from text: a number, a truth value, or comma-separated names.

    Raises:
        ValueError: if the text is no such value.
    """
    kind = _kind(config, name)
    try:
        if kind is bool:
            [value] = [value for value, words in ((True, _TRUE), (False, _FALSE)) if text.lower() in words]
            return value
        return listed(text) if kind is Sequence else kind(text)
    except ValueError:
        raise ValueError(f"expected {name} to be {_EXPECTED[kind]}, found {text!r}") from None


def require(config: type, values: Mapping[str, Any]) -> None:
    """Refuse values that are not what the fields of a dataclass are said to be.

    Whole numbers have no more than 63 bits, texts are not empty and hold no
    control characters; a truth value is no number. None is fine where the field may be None, and so is its default.

    Args:
        config: the dataclass.
        values: some of its fields' values, by name; other names are left alone.

    Raises:
        ValueError: naming the first that is something else.
    """
    hints = get_type_hints(config)
    for field in fields(config):
        if field.name in values and field.name in hints:
            value = values[field.name]
            if not (_is_default(value, field.default) or _fits(hints[field.name], value)):
                expected = _expected(hints[field.name])
                raise ValueError(f"expected {field.name} to be {expected}, found {_shown(value)}")


def check_int(name: str, value: Any, *, least: int = 0) -> None:
    """Refuse what is no whole number of at least so much.

    Raises:
        ValueError: if it is something else.
    """
    if not _fits(int, value) or value < least:
        raise ValueError(f"expected {name} to be a whole number of at least {least}, found {_shown(value)}")


def _fits(hint: Any, value: Any) -> bool:
    """Tell whether a value is what a type hint says; of kinds that are not options', yes."""
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return any(_fits(part, value) for part in parts)
    if kind is Literal:
        return any(type(value) is type(part) for part in parts)  # which of them, the config says with all the rest
    if kind is int:
        return isinstance(value, Integral) and not isinstance(value, bool) and abs(int(value)) < _LARGEST
    if kind is float:
        return isinstance(value, Real) and not isinstance(value, bool)
    if kind is str or kind is Path:
        text = str(value) if isinstance(value, str | os.PathLike) else ""
        return bool(text.strip()) and text.isprintable()
    if kind in (Sequence, tuple, list):
        return isinstance(value, list | tuple) and all(_fits(parts[0], part) for part in value)
    if kind is Mapping:
        if not isinstance(value, Mapping):
            return False
        # An empty value says that there is none.
        return all(_fits(str, name) and (cell == "" or _fits(parts[1], cell)) for name, cell in value.items())
    return isinstance(value, kind) if kind in (bool, NoneType) else True


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


def _expected(hint: Any) -> str:
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    words = {
        ", ".join(map(str, get_args(part)))
        if get_origin(part) is Literal
        else _PRINTABLE
        if part is str
        else _EXPECTED.get(get_origin(part) or part, "something else")
        for part in parts
        if part is not NoneType
    }
    return " or ".join(sorted(words))


def _shown(value: Any) -> str:
    return repr(value)[:100]


def _kind(config: type, name: str) -> Any:
    """Return what a value of a config's field is, if it is not None: one of `_EXPECTED`."""
    hint = get_type_hints(config)[name]
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    [kind] = [kind for kind in kinds if kind is not type(None)]
    return get_origin(kind) or kind


def _example(kind: Any, default: Any) -> str | None:
    return _EXAMPLES.get(kind) if kind is bool or not default else str(default)
