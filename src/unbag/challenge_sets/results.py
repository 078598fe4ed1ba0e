"""The result record, and the validation of records by pydantic.

A result holds the scores of one model on one set, with the data, the options and the software versions.

The schemas require only the fields that every reader needs. Further fields may come from a later version or from the
user. The fields that a set's own tables and figures read from its scores are in no schema, so
`convert_record_errors` guards the code that renders them.
"""

import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, NamedTuple, NotRequired

from typing_extensions import TypedDict

from unbag import scripts
from unbag.inference.single_output import RankingResult
from unbag.scoring.bootstrap import Estimate, to_json
from unbag.utils.files import read_json_object, write_json
from unbag.utils.redaction import extract_first_line

_LISTED: Final = 3  # errors named in a message
_LONGEST_NUMBER: Final = 40  # characters of a number in a message


class _Number(TypedDict):
    value: float | None
    low: float | None
    high: float | None
    n: int


class _Model(TypedDict):
    name: str
    kind: NotRequired[str]
    revision: NotRequired[str | None]
    options: NotRequired[dict[str, Any]]
    label_probe: NotRequired[dict[str, str]]
    label_probe_warning: NotRequired[str]
    truncated_pairs: NotRequired[int]
    truncated_share: NotRequired[float]
    n_abstained: NotRequired[int]
    abstained_share: NotRequired[_Number]
    ranking: NotRequired[RankingResult]


class _Data(TypedDict):
    name: str
    split: str
    origin: str
    revision: str
    sha256: str
    rows: NotRequired[int]
    excluded: NotRequired[dict[str, int]]
    load_options: NotRequired[dict[str, Any]]


class _Bin(TypedDict):
    bin: int
    score: float
    share: _Number


class _Calibration(TypedDict):
    brier: _Number
    reliability: float
    resolution: float
    uncertainty: float
    ece: float
    ece_corrected: float
    bins: list[_Bin]


class _RiskCoverage(TypedDict):
    aurc: float
    oracle: float
    random: float
    coverage: list[float]
    risk: list[float]


class _ThresholdRow(TypedDict):
    threshold: float
    false_entailment: float
    recall: float
    precision: float | None


class _SafeThreshold(TypedDict):
    target: float
    threshold: float | None
    chosen: _Number | None
    bound: float | None
    confirmed: _Number | None
    recall: _Number | None
    needed: int
    available: int


class _Verification(TypedDict):
    n_entailed: int
    n_not_entailed: int
    auroc: _Number | None
    average_precision: _Number | None
    balanced_accuracy: _Number
    false_entailment: _Number
    false_contradiction: _Number | None
    calibration: _Calibration | None
    risk_coverage: _RiskCoverage | None
    thresholds: list[_ThresholdRow]
    safe_thresholds: list[_SafeThreshold]


class _Scores(TypedDict):
    # Tables and figures of five sets read these fields, so they are in the schema, unlike those of a set's own metric.
    # The types mirror `scoring.verification.VerificationScores`, whose estimates are objects in JSON.
    verification: NotRequired[_Verification | None]


class ResultRecord(TypedDict):
    """Schema of a result in results.json."""

    set: str
    config: dict[str, Any]
    model: _Model
    data: _Data
    scores: _Scores
    environment: dict[str, str]


class SkippedRecord(TypedDict):
    """Schema of a skipped set in results.json."""

    set: str
    model: str | None
    reason: str


class ResultsRecord(TypedDict):
    """Schema of results.json."""

    schema: int
    results: list[ResultRecord]
    skipped: NotRequired[list[SkippedRecord]]


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
    """Schema of examples.json."""

    schema: int
    selections: list[_Selection]


class _RequestRecord(TypedDict):
    name: str
    config: str | None
    options: dict[str, Any]
    max_examples: int | None
    seed: int


class TaskRecord(TypedDict):
    """Schema of the task file that all shards of an evaluation share."""

    schema: int
    request: _RequestRecord
    model: _Model
    threshold: float | str | None
    may_abstain: bool
    key: str
    fitted_to: dict[str, Any] | None
    control_key: str | None


class _Trained(TypedDict):
    name: str
    revision: str


class TrainingRecord(TypedDict):
    """Schema of training.json."""

    schema: int
    recipe: str
    config: dict[str, Any]
    model: _Trained
    data: dict[str, list[dict[str, Any]]]
    label_order: list[str]
    environment: dict[str, str]


def read_record(path: Path, schema: type, description: str) -> dict[str, Any]:
    """Read and validate the record in a JSON file.

    Args:
        path: JSON file.
        schema: One of the record types above.
        description: Noun phrase for the expected file, for messages.

    Raises:
        ValueError: If the file does not match the schema. The message names the file and the fields.
    """
    return validate_record(read_json_object(path, expected=description), schema, f"{path}: expected {description}")


def validate_record(record: Mapping[str, Any], schema: type, expected: str) -> dict[str, Any]:
    """Validate a record against a schema, and return a copy.

    Args:
        record: Parsed JSON object.
        schema: One of the record types above.
        expected: Beginning of the error message, e.g. "results.json: expected a results file".

    Raises:
        ValueError: If the record does not match the schema, or has NaN or infinite numbers.
    """
    from pydantic import ValidationError

    if faulty := _first_nonfinite(record):
        raise ValueError(f"{expected}, got {faulty}, which is not finite; the corrupted file must be created again")
    try:
        _adapter(schema).validate_python(dict(record), strict=True)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        listed = [f"{'.'.join(map(str, each['loc']))}: {each['msg'].lower()}" for each in faults[:_LISTED]]
        more = f" and {len(faults) - _LISTED} more" if len(faults) > _LISTED else ""
        raise ValueError(f"{expected}, got {'; '.join(listed)}{more}") from None
    return dict(record)


def _first_nonfinite(record: Mapping[str, Any]) -> str:
    """Describe a number of a record that is NaN or infinite, with its path; empty if all numbers are finite.

    Python's JSON parser accepts NaN and Infinity, although JSON has neither. An integer above the largest float counts
    as infinite, since the conversion to float would raise later.
    """
    pending: list[tuple[str, Any]] = [("", record)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, Mapping):
            pending += [(f"{path}.{name}" if path else str(name), each) for name, each in value.items()]
        elif isinstance(value, list | tuple):
            pending += [(f"{path}.{number}", each) for number, each in enumerate(value)]
        # `not … <=` rather than `>`: comparisons with NaN are false.
        elif isinstance(value, int | float) and not abs(value) <= sys.float_info.max:
            return f"{path} = {str(value)[:_LONGEST_NUMBER]}"
    return ""


@contextmanager
def convert_record_errors(*paths: Path) -> Iterator[None]:
    """Context manager that converts errors from corrupted records into a `ValueError` that names the files.

    Raises:
        ValueError: In place of the error that a missing key or a value of the wrong type raises.
    """
    try:
        yield
    except (LookupError, TypeError, AttributeError, ArithmeticError, AssertionError, RuntimeError) as error:
        raise ValueError(
            f"{', '.join(map(str, paths))}: the record cannot be read completely ({type(error).__name__}: "
            f"{extract_first_line(error, max_length=200)}); it is corrupted or from another version of unbag; "
            "evaluate again"
        ) from error


@cache
def _adapter(schema: type) -> Any:
    from pydantic import TypeAdapter  # imported here: the import takes a fifth of a second

    return TypeAdapter(schema)


SCHEMA: Final = 2
FILE: Final = "results.json"
_PACKAGES: Final = (
    "unbag",
    "datasets",
    "huggingface_hub",
    "numpy",
    "pyarrow",
    "rjieba",
    "spacy",
    "tokenizers",
    "torch",
    "transformers",
)


@dataclass(frozen=True)
class Result:
    """Scores of one model on one challenge set.

    The record holds only what the scores depend on, without times and local paths. A run that was killed and resumed
    therefore writes the same file as an uninterrupted run.

    Attributes:
        set: Name of the challenge set.
        config: Options of the set: mode, q, seed, … and the number of examples drawn, if not all.
        model: Description of the model: `name`, and everything that determines its numbers (revision, dtype, label
            order, …). `options` are the options that the user set to other values than the default; a model given as a
            Python object has none.
        data: Origin of the pairs (`origin`, `split`, `revision`), their reading options (`load_options`), the counts of
            excluded rows, the sha256 of the predicted rows, and the agreement of their annotators (`human`).
        scores: Output of the metric. Each number is an `Estimate`.
        environment: Versions of Python and the packages.
    """

    set: str
    config: Mapping[str, Any]
    model: Mapping[str, Any]
    data: Mapping[str, Any]
    scores: Mapping[str, Any]
    environment: Mapping[str, str]

    @property
    def corpus(self) -> str:
        """Name of the corpus and, if it has one, of its split, e.g. `snli validation`."""
        return f"{self.data['name']} {self.data['split']}".strip()

    @property
    def truncated_share(self) -> float:
        """Fraction of the pairs that were truncated to the model's maximum length."""
        return float(self.model.get("truncated_share", 0.0))


def collect_environment() -> dict[str, str]:
    """Collect the versions of Python and of the packages that affect the numbers. In a git checkout, add the commit."""
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    if (scripts.ROOT / ".git").exists():
        with suppress(OSError, subprocess.CalledProcessError):  # git is missing, or rejects another user's checkout
            command = ["git", "-C", str(scripts.ROOT), "describe", "--always", "--dirty", "--abbrev=40", "--match="]
            versions["unbag_commit"] = subprocess.run(
                command, check=True, capture_output=True, text=True
            ).stdout.strip()
    return versions


class SkippedSet(NamedTuple):
    """A skipped set and the reason. `model` is None if the set was skipped for all models."""

    set: str
    model: str | None
    reason: str


def group_skipped_sets(skipped_sets: Iterable[SkippedSet]) -> dict[str, list[SkippedSet]]:
    """Group skipped sets by reason, in order of first occurrence."""
    by_reason: dict[str, list[SkippedSet]] = {}
    for each in skipped_sets:
        by_reason.setdefault(each.reason, []).append(each)
    return by_reason


def write_results(results: Sequence[Result], path: Path, skipped: Sequence[SkippedSet] = ()) -> None:
    """Write results as JSON. An estimate becomes an object with `value`, `low`, `high` and `n`.

    Args:
        results: Results to write.
        path: JSON file.
        skipped: Requested sets without a result.
    """
    record: dict[str, Any] = {"schema": SCHEMA, "results": [to_json(vars(result)) for result in results]}
    if skipped:
        record["skipped"] = [each._asdict() for each in skipped]
    write_json(record, path)


def read_results(path: Path) -> list[Result]:
    """Read the results that `write_results` wrote.

    Raises:
        ValueError: If the file is not a results file, or has another schema version.
    """
    return read_results_with_skipped(path)[0]


def read_results_with_skipped(path: Path) -> tuple[list[Result], list[SkippedSet]]:
    """Read the results and the skipped sets that `write_results` wrote.

    Raises:
        ValueError: As `read_results`.
    """
    record = _record(path)
    results = [Result(**_parse_estimates(result)) for result in record["results"]]
    return results, [SkippedSet(**each) for each in record.get("skipped", ())]


def _record(path: Path) -> dict[str, Any]:
    what = "a results file of unbag"
    record = read_json_object(path, expected=what)
    if record.get("schema", SCHEMA) != SCHEMA:
        raise ValueError(
            f"{path}: expected results with schema {SCHEMA}, got schema {record['schema']!r:.40}; evaluate again"
        )
    return validate_record(record, ResultsRecord, f"{path}: expected {what}")


def _parse_estimates(value: Any) -> Any:
    """Convert objects with the fields of an `Estimate` into estimates, at every depth."""
    if isinstance(value, dict):
        if set(value) == set(Estimate._fields):
            return Estimate(**value)  # unvalidated types: `convert_record_errors` guards their use
        return {key: _parse_estimates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_parse_estimates(item) for item in value]
    return value
