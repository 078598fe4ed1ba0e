"""What records must be that anyone may have written or spoilt, by pydantic: results, examples, trainings.

A schema says what every reader of a record relies on, and no more: further fields are a later version's or the user's.
What a set's own tables and figures read of its scores is said nowhere but there, so `whole` stands around those.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final, NotRequired

from typing_extensions import TypedDict

from unbag.one_output import Ranking
from unbag.utils.files import read_object
from unbag.utils.redaction import first_line

_LISTED: Final = 3  # faults that are named
_LONGEST_NUMBER: Final = 40  # characters


class _Model(TypedDict):
    name: str
    kind: NotRequired[str]
    revision: NotRequired[str | None]
    options: NotRequired[dict[str, Any]]
    label_probe: NotRequired[dict[str, str]]
    label_probe_warning: NotRequired[str]
    truncated_pairs: NotRequired[int]
    truncated_share: NotRequired[float]
    unanswered_pairs: NotRequired[int]
    ranking: NotRequired[Ranking]


class _Data(TypedDict):
    name: str
    split: str
    origin: str
    revision: str
    sha256: str
    rows: NotRequired[int]
    left_out: NotRequired[dict[str, int]]
    read_as: NotRequired[dict[str, Any]]


class ResultRecord(TypedDict):
    """One result in results.json."""

    set: str
    config: dict[str, Any]
    model: _Model
    data: _Data
    scores: dict[str, Any]
    environment: dict[str, str]


class LeftOutRecord(TypedDict):
    """A set without a result in results.json."""

    set: str
    model: str | None
    reason: str


class ResultsRecord(TypedDict):
    """results.json."""

    schema: int
    results: list[ResultRecord]
    left_out: NotRequired[list[LeftOutRecord]]


class _Example(TypedDict):
    kind: str
    id: str
    lines: list[list[Any]]
    gold: str
    answer: str
    probability: float | None
    note: str
    before: list[Any] | None
    where: str
    has_order: bool


class _Selection(TypedDict):
    set: str
    model: str
    sha256: str
    rule: str
    examples: list[_Example]
    candidates: list[_Example]


class ExamplesRecord(TypedDict):
    """examples.json."""

    schema: int
    selections: list[_Selection]


class _RequestRecord(TypedDict):
    name: str
    config: str | None
    options: dict[str, Any]
    examples: int | None
    seed: int


class TaskRecord(TypedDict):
    """What shards of an evaluation were asked."""

    schema: int
    request: _RequestRecord
    model: _Model
    threshold: float | str | None
    key: str
    fitted_to: dict[str, Any] | None
    control_key: str | None


class _Trained(TypedDict):
    name: str
    revision: str


class TrainingRecord(TypedDict):
    """training.json."""

    schema: int
    recipe: str
    config: dict[str, Any]
    model: _Trained
    data: dict[str, list[dict[str, Any]]]
    outputs: list[str]
    environment: dict[str, str]


def read(path: Path, schema: type, what: str) -> dict[str, Any]:
    """Return the record in a JSON file.

    Args:
        path: the file.
        schema: one of the records above.
        what: what was expected, in a few words.

    Raises:
        ValueError: naming the file, and what in it is not as expected.
    """
    return checked(read_object(path, what=what), schema, f"{path}: expected {what}")


def checked(record: Mapping[str, Any], schema: type, expected: str) -> dict[str, Any]:
    """Return a record that is as a schema says.

    Raises:
        ValueError: that begins with what was `expected`, and says what is not.
    """
    from pydantic import ValidationError

    if faulty := _not_finite(record):
        raise ValueError(f"{expected}, got {faulty}, which is no finite number; the file is damaged, make it again")
    try:
        _adapter(schema).validate_python(dict(record), strict=True)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        faults = [f"{'.'.join(map(str, each['loc']))}: {each['msg'].lower()}" for each in found[:_LISTED]]
        more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
        raise ValueError(f"{expected}, found {'; '.join(faults)}{more}") from None
    return dict(record)


def _not_finite(record: Mapping[str, Any]) -> str:
    """Return a number of a record that is NaN or infinite, with its path; nothing where all are finite.

    Python reads them, though JSON has none. A whole number beyond every float is infinite too.
    """
    within: list[tuple[str, Any]] = [("", record)]
    while within:
        path, value = within.pop()
        if isinstance(value, Mapping):
            within += [(f"{path}.{name}" if path else str(name), each) for name, each in value.items()]
        elif isinstance(value, list | tuple):
            within += [(f"{path}.{number}", each) for number, each in enumerate(value)]
        elif isinstance(value, int | float) and not abs(value) <= sys.float_info.max:
            return f"{path} = {str(value)[:_LONGEST_NUMBER]}"
    return ""


@contextmanager
def whole(*paths: Path) -> Iterator[None]:
    """Stand around what shows records from these paths: one that lacks what a set's tables read is said to be broken.

    Raises:
        ValueError: in place of what a missing key, or a value of another kind, raises.
    """
    try:
        yield
    except (LookupError, TypeError, AttributeError, ArithmeticError, AssertionError, RuntimeError) as error:
        raise ValueError(
            f"{', '.join(map(str, paths))}: the record cannot be read to its end ({type(error).__name__}: "
            f"{first_line(error, longest=200)}); it is damaged or of another version of unbag: evaluate again"
        ) from error


@cache
def _adapter(schema: type) -> Any:
    from pydantic import TypeAdapter  # a fifth of a second, for whoever reads a record

    return TypeAdapter(schema)
