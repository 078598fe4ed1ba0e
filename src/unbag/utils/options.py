"""Options of keyword arguments and config dataclasses: declaration, parsing of text, validation and help.

The type hint of an option declares its values: a type, a `Literal`, a list, a mapping, or one of these with a range,
such as `PositiveInt = Annotated[int, Ge(1)]` (`annotated_types`). `validate` checks a value, and `parse_text` also
converts text. A class of keyword arguments describes its options as `Annotated[hint, Option(…)]`; the parameters of
Python functions and the options of commands derive from it. The fields of a config are described in its docstring.

The values are checked here and not by pydantic's `TypeAdapter`: for the same rules (integers of 63 bits, printable
text, empty column names, NumPy integers), its validators take more lines, and 0.2 s when a command starts.
"""

import inspect
import math
import operator
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from difflib import get_close_matches
from numbers import Integral, Real
from pathlib import Path
from textwrap import fill
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt

_Function = TypeVar("_Function", bound=Callable[..., Any])

LIST: Final = "comma-separated names"
"""Description of the values of a list."""

_EXPECTED: Final = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Sequence: LIST,
    tuple: LIST,
    Mapping: "a mapping of names",
    str: "non-empty printable text",
    Path: "a path",
}
_LIMITS: Final = {"gt": "above", "ge": "of at least", "lt": "below", "le": "of at most"}
"""Words for the limits of `annotated_types`, by the name of their attribute and of the function in `operator`."""
_EXAMPLES: Final = {int: "1000", float: "0.5", bool: "true", Sequence: "snli,mnli"}
_LARGEST: Final = 2**63
_BOOLEANS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

PositiveInt = Annotated[int, Ge(1)]
NonNegativeInt = Annotated[int, Ge(0)]
NonNegativeFloat = Annotated[float, Ge(0)]
PositiveFloat = Annotated[float, Gt(0)]
Fraction = Annotated[float, Ge(0), Le(1)]
ProperFraction = Annotated[float, Ge(0), Lt(1)]

COLUMNS_GIVEN: Final = "--columns premise=…,hypothesis=…,label=…"
"""Form of the option for the column names of user-provided data."""


class OptionError(ValueError):
    """Error for an invalid option. A command then exits with code 2."""


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
            raise OptionError(f"expected {expected}, got {part!r}")
        if name in values and name.rpartition(".")[2] not in repeatable_names:  # `-o SET.NAME=VALUE`
            raise OptionError(f"{name}: expected one value, got two; remove one of them")
        values[name] = f"{values[name]},{value}" if name in values else value
    return values


@dataclass(frozen=True)
class Option:
    """Description of an option, declared as `Annotated[type, Option(…)]` in a class of keyword arguments."""

    help: str  # description in one line, for the command line and Python
    details: str = ""  # continuation of the description, for Python only
    default: Any = None  # value that is used if the option is not given
    metavar: str | None = None  # name of the value in the command's help
    affects_predictions: bool = True  # whether the records of results contain the option
    parse: Callable[[Any], Any] | None = None  # from a value of the declared type to the value that is used


DeclaredOptions = Mapping[str, tuple[Any, Option]]


def collect_options(kwargs: type) -> DeclaredOptions:
    """Collect the type and the description of each option that a class of keyword arguments declares."""
    hints = get_type_hints(kwargs, include_extras=True)
    return {name: (hint.__origin__, hint.__metadata__[0]) for name, hint in hints.items()}


def parse_options(
    declared: DeclaredOptions, values: Mapping[str, Any], format_name: Callable[[str], str] = str
) -> dict[str, Any]:
    """Validate the given values of declared options, and parse them. Names that are not declared are not validated.

    Options with the value None, and False for one that is off by default, are left out. A parsed value can be parsed
    again. `format_name` formats the names of options in errors: `format_flag` for a command.
    """
    parsed = {}
    for name, value in values.items():
        hint, option = declared.get(name, (Any, Option("")))
        if value is None or (value is False and option.default is False):
            continue
        validate(format_name(name), hint, value)
        try:
            parsed[name] = value if option.parse is None else option.parse(value)
        except ValueError as error:
            raise OptionError(str(error)) from None
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
    described, hints = [], get_type_hints(config, include_extras=True)
    for field in fields(config):
        hint = hints[field.name]
        [kind] = (get_origin(each) or each for each in list_alternatives(hint))
        example = _EXAMPLES.get(kind) if kind is bool or not field.default else str(field.default)
        meaning = meanings.get(field.name, "")
        described.append(OptionDescription(field.name, field.default, meaning, describe_type(hint), example))
    return described


def split_names(*texts: str) -> tuple[str, ...]:
    """Split comma-separated names, given in one or more texts. Empty names are omitted.

    >>> split_names("snli, mnli", "sick")
    ('snli', 'mnli', 'sick')
    """
    return tuple(name.strip() for text in texts for name in text.split(",") if name.strip())


def parse_text(name: str, hint: Any, text: str) -> Any:
    """Convert the text of an option to a value of its type, and validate it. `name` is the option in the error message.

    >>> parse_text("folds", PositiveInt | None, "5"), parse_text("names", Sequence[str], "snli, mnli")
    (5, ('snli', 'mnli'))
    """
    value: Any = text
    alternative = list_alternatives(hint)[0]
    kind = get_origin(alternative) or alternative
    if kind in (Sequence, tuple):
        value = tuple(parse_text(name, get_args(alternative)[0], part) for part in split_names(text)) or text
    with suppress(ValueError, KeyError):  # `validate` rejects the text
        value = _BOOLEANS[text.lower()] if kind is bool else kind(text) if kind in (int, float) else value
    validate(name, hint, value)
    return value


def validate_options(config: type, values: Mapping[str, Any], format_name: Callable[[str], str] = str) -> None:
    """Validate values against the type hints of dataclass fields. Names without a field are ignored.

    The default of a field is always valid. The error lists all invalid values, with names formatted by `format_name`.
    """
    hints, errors = get_type_hints(config, include_extras=True), []
    for field in fields(config):
        value, default = values.get(field.name, field.default), field.default
        if not (value is default or (type(value) is type(default) and value == default)):
            try:
                validate(format_name(field.name), hints[field.name], value)
            except OptionError as error:
                errors.append(str(error))
    if errors:
        raise OptionError("; ".join(errors))


def validate(name: str, hint: Any, value: Any) -> None:
    """Validate the value of an option against its type hint. `name` is the option in the error message.

    Whole numbers may have up to 63 bits, and other numbers are finite. Texts must not be empty or contain control
    characters. Truth values are not numbers. None is valid if the type allows it.
    """
    if not _fits(hint, value):
        raise OptionError(f"{name}: expected {describe_type(hint)}, got {value!r:.100}")


def list_alternatives(hint: Any) -> list[Any]:
    """List the alternatives of a type hint, without None and without ranges.

    >>> list_alternatives(PositiveInt | str | None)
    [<class 'int'>, <class 'str'>]
    """
    if get_origin(hint) is Annotated:
        return list_alternatives(hint.__origin__)
    if get_origin(hint) in (Union, UnionType):
        return [each for part in get_args(hint) if part is not NoneType for each in list_alternatives(part)]
    return [hint]


def describe_type(hint: Any) -> str:
    """Describe the values of a type hint, as in "expected a whole number of at least 1".

    >>> describe_type(Fraction | None), describe_type(Literal["bf16", "fp16"])
    ('a number from 0 to 1', 'one of bf16, fp16')
    """
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind is Annotated:
        limits = {name: f"{bound:,}" for name, bound in _iter_limits(hint)}
        words = " and ".join(f"{_LIMITS[name]} {bound}" for name, bound in limits.items())
        if limits.keys() in ({"ge", "le"}, {"ge", "lt"}):
            words = f"from {limits['ge']} to {limits.get('le') or 'less than ' + limits['lt']}"
        return f"{describe_type(parts[0])} {words}".rstrip()
    if kind in (Union, UnionType):
        return " or ".join(sorted({describe_type(part) for part in parts if part is not NoneType}))
    if kind in (Sequence, tuple) and parts[0] is not str:
        return f"comma-separated values, each {describe_type(parts[0])}"
    return f"one of {', '.join(map(str, parts))}" if kind is Literal else _EXPECTED.get(kind, str(kind))


def _iter_limits(hint: Any) -> Iterator[tuple[str, float]]:
    for limit in hint.__metadata__:
        for name in _LIMITS:
            if (bound := getattr(limit, name, None)) is not None:
                yield name, bound


def _fits(hint: Any, value: Any) -> bool:
    """Check whether a value fits a type hint. True for types that options do not use."""
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind is Annotated:
        return _fits(parts[0], value) and (
            value is None or all(getattr(operator, name)(value, n) for name, n in _iter_limits(hint))
        )
    if kind in (Union, UnionType):
        return any(_fits(part, value) for part in parts)
    if kind is Literal:
        return isinstance(value, str) and value in parts
    if kind is int:
        # `True` is an int in Python, and NumPy integers are not.
        return isinstance(value, Integral) and not isinstance(value, bool) and abs(int(value)) < _LARGEST
    if kind is float:
        return issubclass(type(value), Real) and not isinstance(value, bool) and abs(value) < math.inf
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
