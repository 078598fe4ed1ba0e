"""The options of a challenge set as a person writes and reads them: `test_size=1000`."""

import inspect
import re
from collections.abc import Sequence
from dataclasses import fields
from types import UnionType
from typing import Any, Final, NamedTuple, Union, get_args, get_origin, get_type_hints

_TRUE: Final = frozenset({"true", "yes", "1"})
_FALSE: Final = frozenset({"false", "no", "0"})


class Option(NamedTuple):
    """An option of a config class: its name, its default, and what its docstring says of it."""

    name: str
    default: Any
    meaning: str


def described(config: type, names: frozenset[str]) -> list[Option]:
    """Return some fields of a config dataclass, in its order, with what the Attributes of docstrings say.

    The docstrings are its own and those of the classes it derives from.
    """
    said = {
        name: " ".join(text.split())
        for each in reversed(config.__mro__)
        for name, text in re.findall(
            r"^    (\w+): (.*?)(?=^    \w+: |\Z)", inspect.cleandoc(each.__doc__ or ""), re.M | re.S
        )
    }
    return [Option(f.name, f.default, said.get(f.name, "")) for f in fields(config) if f.name in names]


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
    hint = get_type_hints(config)[name]
    kinds = [kind for kind in (get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,))]
    [kind] = [kind for kind in kinds if kind is not type(None)]
    try:
        if kind is bool:
            [value] = [value for value, words in ((True, _TRUE), (False, _FALSE)) if text.lower() in words]
            return value
        if get_origin(kind) is Sequence:
            return listed(text)
        return kind(text)
    except ValueError:
        expected = {int: "a whole number", float: "a number", bool: "true or false"}[kind]
        raise ValueError(f"expected {name} to be {expected}, found {text!r}") from None
