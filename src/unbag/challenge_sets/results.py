"""The result record, and the validation of records by pydantic.

A result says what was measured, on which data, of which model, with what software.

A schema requires what every reader of a record relies on, and no more: further fields belong to a later version or to
the user. What a set's own tables and figures read of its scores is in no schema, so `whole` guards the code that
renders it.
"""

import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, NamedTuple, NotRequired

from typing_extensions import TypedDict

from unbag import scripts
from unbag.inference.single_output import Ranking
from unbag.scoring.bootstrap import Estimate, to_json
from unbag.utils.files import read_json_object, write_json
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


def read_record(path: Path, schema: type, what: str) -> dict[str, Any]:
    """Return the record in a JSON file.

    Args:
        path: the file.
        schema: one of the records above.
        what: what was expected, in a few words.

    Raises:
        ValueError: naming the file, and what in it is not as expected.
    """
    return checked(read_json_object(path, what=what), schema, f"{path}: expected {what}")


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


SCHEMA: Final = 1
FILE: Final = "results.json"
_PACKAGES: Final = (
    "unbag",
    "datasets",
    "huggingface_hub",
    "jieba",
    "numpy",
    "pyarrow",
    "scikit-learn",
    "spacy",
    "tokenizers",
    "torch",
    "transformers",
)


@dataclass(frozen=True)
class Result:
    """One challenge set's scores for one model.

    It holds what the scores depend on and nothing else, so that a run that was killed and resumed leaves the same file
    as an unbroken one: no times, no paths of the machine.

    Attributes:
        set: the challenge set.
        config: its options: mode, q, seed, … and the examples drawn, if not all.
        model: what was asked: `name`, and all that decides its numbers (revision, dtype, label order, …). `options`
            are those that it was named with, where they are not as by default; a Python object has none.
        data: where the pairs come from (`origin`, `split`, `revision`), how they were read (`read_as`), what was left
            out of them, the sha256 of the rows that were predicted, and what `people` get on them (`annotated`).
        scores: the metric's output, each number an `Estimate`.
        environment: versions of Python and the packages.
    """

    set: str
    config: Mapping[str, Any]
    model: Mapping[str, Any]
    data: Mapping[str, Any]
    scores: Mapping[str, Any]
    environment: Mapping[str, str]

    @property
    def corpus(self) -> str:
        """What the pairs come from, with its split where it has any: `snli validation`."""
        return f"{self.data['name']} {self.data['split']}".strip()

    @property
    def truncated_share(self) -> float:
        """The share of the pairs that were longer than the model reads, so that it did not see their ends."""
        return float(self.model.get("truncated_share", 0.0))


def environment() -> dict[str, str]:
    """Return the versions of what computes the numbers, where installed, and our commit in a checkout."""
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    if (scripts.ROOT / ".git").exists():
        with suppress(OSError, subprocess.CalledProcessError):  # no git on the machine, or not ours to read
            command = ["git", "-C", str(scripts.ROOT), "describe", "--always", "--dirty", "--abbrev=40", "--match="]
            versions["unbag_commit"] = subprocess.run(
                command, check=True, capture_output=True, text=True
            ).stdout.strip()
    return versions


class SkippedSet(NamedTuple):
    """A set without a result: its name, the model's where it is one model's alone, and why."""

    set: str
    model: str | None
    reason: str


def write(results: Sequence[Result], path: Path, left_out: Sequence[SkippedSet] = ()) -> None:
    """Write results as JSON; an estimate becomes an object with `value`, `low`, `high` and `n`.

    Args:
        results: the results.
        path: the file.
        left_out: the sets that were asked for and have none.
    """
    record: dict[str, Any] = {"schema": SCHEMA, "results": [to_json(vars(result)) for result in results]}
    if left_out:
        record["left_out"] = [each._asdict() for each in left_out]
    write_json(record, path)


def read(path: Path) -> list[Result]:
    """Read the results that `write` wrote.

    Raises:
        ValueError: if the file is not a results file, or one of another schema.
    """
    return read_whole(path)[0]


def read_whole(path: Path) -> tuple[list[Result], list[SkippedSet]]:
    """Read the results, and which sets have none.

    Raises:
        ValueError: see `read`.
    """
    record = _record(path)
    found = [Result(**_typed(result)) for result in record["results"]]
    return found, [SkippedSet(**each) for each in record.get("left_out", ())]


def _record(path: Path) -> dict[str, Any]:
    what = "a results file of unbag"
    record = read_json_object(path, what=what)
    if record.get("schema", SCHEMA) != SCHEMA:
        raise ValueError(f"{path}: expected results of schema {SCHEMA}, found schema {record['schema']!r:.40}")
    return checked(record, ResultsRecord, f"{path}: expected {what}")


def _typed(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == set(Estimate._fields):
            return Estimate(**value)  # its numbers are seen to where they are read
        return {key: _typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    return value
