"""The options of a challenge set as a person writes and reads them: `test_size=1000`."""

import inspect
import re
from collections.abc import Sequence
from dataclasses import fields
from types import UnionType
from typing import Any, Final, NamedTuple, Union, get_args, get_origin, get_type_hints

_EXPECTED: Final = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Sequence: "names, comma between",
    str: "text",
}
_EXAMPLES: Final = {int: "1000", float: "0.5", bool: "true", Sequence: "snli,mnli"}
_TRUE: Final = frozenset({"true", "yes", "1"})
_FALSE: Final = frozenset({"false", "no", "0"})


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
    """Return the names of a list: comma between, or in several texts.

    >>> listed("snli, mnli", "sick")
    ('snli', 'mnli', 'sick')
    """
    return tuple(name.strip() for text in texts for name in text.split(","))


def read(config: type, name: str, text: str) -> Any:
    """Return the value of a config's field from text: a number, a truth value, or names with commas between.

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


def _kind(config: type, name: str) -> Any:
    """Return what a value of a config's field is, if it is not None: one of `_EXPECTED`."""
    hint = get_type_hints(config)[name]
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    [kind] = [kind for kind in kinds if kind is not type(None)]
    return get_origin(kind) or kind


def _example(kind: Any, default: Any) -> str | None:
    return _EXAMPLES.get(kind) if kind is bool or not default else str(default)
