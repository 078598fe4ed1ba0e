"""Options of keyword arguments and config dataclasses: declaration, parsing of text, type validation and help.

A class of keyword arguments declares its options as `Annotated[type, Option(…)]`; the parameters of Python functions
and the options of commands derive from it. The fields of a config are described in its docstring. The command line
parses their text (`parse_option`); the Python API passes values. `validate_options` validates both with the type hints
of the fields. The config itself validates other limits.

The types are checked here and not by pydantic's `TypeAdapter`: for the same rules (integers of 63 bits, printable text,
empty column names, NumPy integers), its validators take more lines, and 0.2 s when a command starts.
"""

import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from numbers import Integral, Real
from pathlib import Path
from textwrap import fill
from types import NoneType, UnionType
from typing import Any, Final, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

_Function = TypeVar("_Function", bound=Callable[..., Any])

LIST: Final = "names, comma-separated"
"""Description of the values of a list."""

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
_BOOLEANS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

COLUMNS_GIVEN: Final = "--columns premise=…,hypothesis=…,label=…"
"""Form of the option for the column names of user-provided data."""


def suggest_name(name: str, valid: Iterable[str]) -> str:
    """Suggest the most similar valid name for a misspelled name. Return "" if no name is similar.

    >>> suggest_name("SNLI ", ["snli", "mnli"]), suggest_name("nothing", ["snli"])
    (", did you mean 'snli'?", '')
    """
    matches = get_close_matches(name.strip().lower(), valid, n=1)
    return f", did you mean {matches[0]!r}?" if matches else ""


def format_flag(name: str) -> str:
    """Format the name of a Python argument as an option of the command line.

    >>> format_flag("label_map")
    '--label-map'
    """
    return f"--{name.replace('_', '-')}"


def format_option(name: str, value: Any) -> list[str]:
    """Format an option and its value as words of a command line.

    >>> format_option("columns", {"premise": "text", "label": "gold"}), format_option("join_passages", False)
    (['--columns', 'premise=text,label=gold'], ['--no-join-passages'])
    """
    flag = format_flag(name)
    if isinstance(value, bool):
        return [flag if value else f"--no{flag[1:]}"]
    if isinstance(value, Mapping):
        value = [f"{ours}={theirs}" for ours, theirs in value.items()]
    return [flag, ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)]


def parse_name_values(
    texts: Sequence[str], expected: str, repeatable_names: frozenset[str] = frozenset()
) -> dict[str, str]:
    """Parse texts of the form `NAME=VALUE`. The values of `repeatable_names` are joined with commas.

    `expected` describes the form for the error message.

    >>> parse_name_values(["premise=text", "label = gold"], COLUMNS_GIVEN)
    {'premise': 'text', 'label': 'gold'}
    """
    values: dict[str, str] = {}
    for part in texts:
        name, equals, value = (field.strip() for field in part.partition("="))
        if not equals:
            raise ValueError(f"expected {expected}, got {part!r}")
        if name in values and name.rpartition(".")[2] not in repeatable_names:  # `-o SET.NAME=VALUE`
            raise ValueError(f"{name}: expected one value, got two; remove one of them")
        values[name] = f"{values[name]},{value}" if name in values else value
    return values


@dataclass(frozen=True)
class Option:
    """Description of an option, declared as `Annotated[type, Option(…)]` in a class of keyword arguments."""

    help: str  # description in one line, for the command line and Python
    details: str = ""  # continuation of the description, for Python only
    default: Any = None  # value that is used if the option is not given
    metavar: str | None = None  # name of the value in the command's help
    minimum: int | None = None
    affects_predictions: bool = True  # whether the records of results contain the option
    parse: Callable[[Any], Any] | None = None  # from a value of the declared type to the value that is used


DeclaredOptions = Mapping[str, tuple[Any, Option]]


def collect_options(kwargs: type) -> DeclaredOptions:
    """Collect the type and the description of each option that a class of keyword arguments declares."""
    hints = get_type_hints(kwargs, include_extras=True)
    return {name: (hint.__origin__, hint.__metadata__[0]) for name, hint in hints.items()}


def parse_options(declared: DeclaredOptions, values: Mapping[str, Any]) -> dict[str, Any]:
    """Validate the given values of declared options, and parse them. Names that are not declared are not validated.

    Options with the value None, and False for one that is off by default, are left out. A parsed value can be parsed
    again.
    """
    parsed = {}
    for name, value in values.items():
        hint, option = declared.get(name, (None, Option("")))
        if value is None or (value is False and option.default is False):
            continue
        if hint is not None:
            validate_value(name, hint, value)
        if option.minimum is not None:
            validate_int(name, value, minimum=option.minimum)
        parsed[name] = value if option.parse is None else option.parse(value)
    return parsed


def describe_declared_options(declared: DeclaredOptions) -> Callable[[_Function], _Function]:
    """Add declared options to the signature and the docstring of a function that takes them as `**options`."""

    def describe(function: _Function) -> _Function:
        signature = inspect.signature(function)
        *fixed, _ = signature.parameters.values()
        options = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint)
            for name, (hint, _) in declared.items()
        ]
        function.__signature__ = signature.replace(parameters=[*fixed, *options])  # type: ignore[attr-defined]
        # The docstring is None with -OO, and less indented since Python 3.13.
        function.__doc__ = re.sub(r"^( +)options: .*$", list_options, function.__doc__ or "", flags=re.MULTILINE)
        return function

    def list_options(entry: re.Match[str]) -> str:
        text = "\n".join(
            fill(
                f"{name}: {option.help} {option.details}",
                120,
                initial_indent=entry[1],
                subsequent_indent=f"{entry[1]}    ",
                break_on_hyphens=False,
            )
            for name, (_, option) in declared.items()
        )
        # In Python, an option of the command line is an argument.
        return re.sub(r"--([a-z-]+)", lambda flag: f"`{flag[1].replace('-', '_')}`", text)

    return describe


class OptionDescription(NamedTuple):
    """Description of an option of a config class."""

    name: str
    default: Any
    meaning: str  # from the docstring of the class
    expected: str  # description of valid values
    example: str | None  # valid value as text; None if valid values are arbitrary names


def describe_options(config: type) -> list[OptionDescription]:
    """Describe the fields of a config dataclass, based on the `Attributes` section of its docstring.

    Inherited fields are described in the docstring of the base class.
    """
    meanings = {
        name: " ".join(text.split())
        for each in reversed(config.__mro__)
        for name, text in re.findall(
            r"^    (\w+): (.*?)(?=^    \w+: |\Z)", inspect.cleandoc(each.__doc__ or ""), re.M | re.S
        )
    }
    described = []
    for each in fields(config):
        name, default, kind = each.name, each.default, _kind(config, each.name)
        example = _EXAMPLES.get(kind) if kind is bool or not default else str(default)
        described.append(OptionDescription(name, default, meanings.get(name, ""), _EXPECTED[kind], example))
    return described


def split_names(*texts: str) -> tuple[str, ...]:
    """Split comma-separated names, given in one or more texts.

    >>> split_names("snli, mnli", "sick")
    ('snli', 'mnli', 'sick')
    """
    return tuple(name.strip() for text in texts for name in text.split(","))


def parse_option(config: type, name: str, text: str) -> Any:
    """Convert the text of an option to the type of its config field: a number, a Boolean or a list of names."""
    kind = _kind(config, name)
    try:
        if kind is bool:
            return _BOOLEANS[text.lower()]
        return split_names(text) if kind is Sequence else kind(text)
    except (ValueError, KeyError):
        raise ValueError(f"expected {name} to be {_EXPECTED[kind]}, got {text!r}") from None


def validate_options(config: type, values: Mapping[str, Any]) -> None:
    """Validate values against the type hints of dataclass fields. Names without a field are ignored.

    Whole numbers may have up to 63 bits. Texts must not be empty or contain control characters. Truth values are not
    numbers. None is valid if the type allows it. The default of a field is always valid.
    """
    hints = get_type_hints(config)
    for field in fields(config):
        value, default = values.get(field.name, field.default), field.default
        is_default = value is default or (type(value) is type(default) and value == default)
        if not (is_default or _fits(hints[field.name], value)):
            raise ValueError(f"expected {field.name} to be {_expected(hints[field.name])}, got {value!r:.100}")


def validate_value(name: str, hint: Any, value: Any) -> None:
    """Validate a value against a type hint by the rules of `validate_options`. A `Literal` must contain the value."""
    literals = [value for part in list_alternatives(hint) if get_origin(part) is Literal for value in get_args(part)]
    if not _fits(hint, value) or (literals and value not in literals):
        raise ValueError(f"expected {name} to be {_expected(hint)}, got {value!r:.100}")


def validate_int(name: str, value: Any, *, minimum: int = 0) -> None:
    """Validate that a value is an integer of at least `minimum`. `name` is the option in the error message."""
    if not _fits(int, value) or value < minimum:
        raise ValueError(f"expected {name} to be a whole number of at least {minimum}, got {value!r:.100}")


def list_alternatives(hint: Any) -> list[Any]:
    """List the alternatives of a type hint without None.

    >>> list_alternatives(int | str | None)
    [<class 'int'>, <class 'str'>]
    """
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return [part for part in parts if part is not NoneType]


def _fits(hint: Any, value: Any) -> bool:
    """Check whether a value fits a type hint. True for types that options do not use."""
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return any(_fits(part, value) for part in parts)
    if kind is Literal:
        return any(type(value) is type(part) for part in parts)  # the config validates the value
    if kind is int:
        # `True` is an int in Python, and NumPy integers are not.
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
        # An empty value means a missing one.
        return all(_fits(str, name) and (cell == "" or _fits(parts[1], cell)) for name, cell in value.items())
    return isinstance(value, kind) if kind in (bool, NoneType) else True


def _expected(hint: Any) -> str:
    words = {
        ", ".join(map(str, get_args(part)))
        if get_origin(part) is Literal
        else _PRINTABLE
        if part is str
        else _EXPECTED.get(get_origin(part) or part, "something else")
        for part in list_alternatives(hint)
    }
    return " or ".join(sorted(words))


def _kind(config: type, name: str) -> Any:
    """Find the type of a config field, ignoring None. The type is a key of `_EXPECTED`."""
    [kind] = list_alternatives(get_type_hints(config)[name])
    return get_origin(kind) or kind
