"""The result record, and the validation of records by pydantic.

A result holds the scores of one model on one set, with the data, the options and the software versions.

The schemas contain every field that a reader uses, so that code after reading needs no checks. The schema of the scores
is derived from the types that the metrics in `scoring` return. Further fields may come from a later version or from
the user.
"""

import json
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    TypeAlias,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import typing_extensions

from unbag import challenge_sets, scripts
from unbag.challenge_sets.base import SharedScores
from unbag.challenge_sets.result import Result as Result
from unbag.inference.single_output import RankingResult
from unbag.scoring.bootstrap import Estimate, to_json
from unbag.utils.files import read_json_object, write_json

_LISTED: Final = 3  # errors named in a message
_LARGEST: Final = 1e15  # no score is larger, and computations with such numbers do not overflow
_LONGEST_NUMBER: Final = 40  # characters of a number in a message


Seed: TypeAlias = Annotated[int, "may be negative"]
"""Type of a seed in a schema; other integers are counts or ids."""


class _Number(TypedDict):
    value: float | None
    low: float | None
    high: float | None
    n: int


class _ModelOptions(TypedDict):
    train_data: NotRequired[list[str]]
    apply_chat_template: NotRequired[bool]
    trust_labels: NotRequired[Literal[True]]
    trust_remote_code: NotRequired[Literal[True]]


class _Match(TypedDict):
    by: str
    rows: int
    of: int
    unmatched: int
    ambiguous: int
    warnings: NotRequired[list[str]]


class _ReadOptions(TypedDict):
    columns: NotRequired[dict[str, str]]
    labels: NotRequired[list[str]]
    by_order: NotRequired[bool]


class _Model(TypedDict):
    name: str
    file: NotRequired[str]
    read_options: NotRequired[_ReadOptions]
    kind: NotRequired[str]
    model: NotRequired[str]
    revision: NotRequired[str | None]
    weights: NotRequired[str]
    recipe: NotRequired[str]
    sha256: NotRequired[str]
    imported_sha256: NotRequired[str]
    dtype: NotRequired[str]
    label_order: NotRequired[str]
    options: NotRequired[_ModelOptions]
    label_probe: NotRequired[dict[str, str]]
    label_probe_warning: NotRequired[str]
    matched: NotRequired[_Match]
    truncated_pairs: NotRequired[int]
    truncated_share: NotRequired[float]
    server_version: NotRequired[str]
    answers_since: NotRequired[str]
    answered: NotRequired[str]
    stored_answers: NotRequired[str]
    n_abstained: NotRequired[int]
    unanswered: NotRequired[dict[str, int]]
    abstained_share: NotRequired[Estimate]
    ranking: NotRequired[RankingResult]


class _LoadOptions(TypedDict):
    text: NotRequired[list[str]]
    columns: NotRequired[dict[str, str]]
    labels: NotRequired[list[str]]
    language: NotRequired[str]
    encoding: NotRequired[str]
    join_passages: NotRequired[bool]


class _AnnotatorAccuracy(TypedDict):
    share: float | None
    low: float | None
    high: float | None
    pairs: int


class _Data(TypedDict):
    name: str
    split: str
    origin: str
    revision: str
    sha256: str
    rows: int
    documents: NotRequired[int]
    shared_documents: NotRequired[int]  # of the examples, if fewer than examples; intervals are over examples
    excluded: dict[str, int]
    load_options: NotRequired[_LoadOptions]
    human: NotRequired[_AnnotatorAccuracy]


class _Sampling(TypedDict):
    max_examples: NotRequired[int]
    sample_seed: NotRequired[Seed]


class ResultRecord(TypedDict):
    """Schema of a result in results.json. A set adds types of its own options and scores (`ChallengeSet`)."""

    set: str
    config: _Sampling
    model: _Model
    data: _Data
    scores: SharedScores
    environment: dict[str, str]


class ExportedSetRecord(TypedDict):
    """Schema of the record in a Parquet file of `request.export_challenge_set`."""

    set: str
    language: str
    config: dict[str, Any]
    data: _Data


@dataclass(frozen=True)
class SkippedSet:
    """A skipped set and the reason. `model` is None if the set was skipped for all models."""

    set: str
    model: str | None
    reason: str


class ResultsRecord(TypedDict):
    """Schema of results.json. Each result is validated with the types of its set (`validate_set_record`)."""

    schema: int
    results: list[dict[str, Any]]
    skipped: NotRequired[list[SkippedSet]]


def read_record(path: Path, schema: type, description: str) -> dict[str, Any]:
    """Read and validate the record in a JSON file.

    `schema` is one of the record types above. `description` is a noun phrase for the expected file, for messages.
    """
    record = read_json_object(path, expected=description)
    parse_record(record, schema, f"{path}: expected {description}")
    return record


def parse_record(record: Mapping[str, Any], schema: type, expected: str, path: str = "") -> Any:
    """Validate a record, and convert it to the types of the schema without further fields.

    Args:
        record: Parsed JSON object.
        schema: One of the record types above. Its fields may also be dataclasses and named tuples.
        expected: Beginning of the error message, e.g. "results.json: expected a results file".
        path: Path of the record in its file, for the error message, e.g. "results.0".
    """
    from pydantic import ValidationError

    if faulty := _first_nonfinite(record):
        raise ValueError(f"{expected}, got {faulty}, which is not finite; the corrupted file must be created again")
    try:
        # As JSON, because in strict mode only JSON arrays may become tuples.
        return _adapter(schema).validate_json(json.dumps(record), strict=True)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        paths = [".".join(map(str, (*([path] if path else []), *each["loc"]))) or "the file" for each in faults]
        listed = [f"{place}: {each['msg'].lower()}" for place, each in zip(paths, faults[:_LISTED], strict=False)]
        more = f" and {len(faults) - _LISTED} more" if len(faults) > _LISTED else ""
        raise ValueError(
            f"{expected}, got {'; '.join(listed)}{more}; the file is corrupted or from another version of "
            "unbag, create it again"
        ) from None


def validate_set_record(record: Any, schema: type, expected: str, path: str = "") -> None:
    """Validate a record that names a challenge set, with the types of the set's options and scores if installed."""
    name = record.get("set") if isinstance(record, dict) else None
    described = challenge_sets.find_challenge_set(name) if isinstance(name, str) else None
    own = (None, None) if described is None else (described.options_type, described.scores_type)
    parse_record(record, _add_types(schema, *own), expected, path)


@cache
def _add_types(schema: type, options: type | None, scores: type | None) -> type:
    """Add the fields of a set's types of options and scores to the fields `config` and `scores` of a schema."""
    hints = _get_fields(schema)
    for field, own in (("config", options), ("scores", scores)):
        if own is not None and field in hints:
            parts = [each for each in (hints[field], own) if typing_extensions.is_typeddict(each)]
            hints[field] = _create_type({name: hint for each in parts for name, hint in _get_fields(each).items()})
    return _create_type(hints)


def _get_fields(schema: Any) -> dict[str, Any]:
    """Get the types of the fields of a `TypedDict`, in which all optional fields are marked."""
    hints = get_type_hints(schema, include_extras=True)
    for name in schema.__optional_keys__:  # `total=False` does not mark the types of the fields
        if get_origin(hints[name]) is not NotRequired:
            hints[name] = NotRequired[hints[name]]
    return hints


def _create_type(fields: Mapping[str, Any]) -> type:
    # pydantic rejects the `TypedDict` of `typing` before Python 3.12.
    create: Any = typing_extensions.TypedDict
    created: type = create("Record", dict(fields))
    return created


def _first_nonfinite(record: Mapping[str, Any]) -> str:
    """Describe the first number of a record that is NaN or infinite, with its path; empty if all numbers are finite."""
    pending: list[tuple[str, Any]] = [("", record)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, Mapping):
            pending += [(f"{path}.{name}" if path else str(name), each) for name, each in value.items()]
        elif isinstance(value, list | tuple):
            pending += [(f"{path}.{number}", each) for number, each in enumerate(value)]
        # `not … <=` rather than `>`: comparisons with NaN are false.
        # Python's JSON parser accepts NaN and Infinity, although JSON has neither. An integer above the largest float
        # would raise in a later conversion.
        elif isinstance(value, int | float) and not abs(value) <= sys.float_info.max:
            return f"{path} = {str(value)[:_LONGEST_NUMBER]}"
    return ""


@cache
def _adapter(schema: type) -> Any:
    from pydantic import TypeAdapter  # imported here: the import takes a fifth of a second

    return TypeAdapter(_to_json_type(schema))


@cache
def _to_json_type(hint: Any) -> Any:
    """Convert a type to that of its JSON form, which pydantic can validate."""
    from pydantic import AfterValidator, Field

    if hint is Estimate:
        return Annotated[_to_json_type(_Number), AfterValidator(_validate_number)]
    if hint is int:
        return Annotated[int, Field(ge=0, lt=2**63)]  # except for seeds, integers are counts or ids
    if hint is float:
        return Annotated[float, Field(ge=-_LARGEST, le=_LARGEST)]
    if typing_extensions.is_typeddict(hint):
        return _create_type({name: _to_json_type(each) for name, each in _get_fields(hint).items()})
    origin, arguments = get_origin(hint), tuple(map(_to_json_type, get_args(hint)))
    if origin in (Union, UnionType):
        return Union[arguments]  # noqa: UP007
    if origin in (list, dict, tuple, NotRequired):
        return origin[arguments[0] if len(arguments) == 1 else arguments]
    return hint


def _validate_number(number: _Number) -> _Number:
    if number["value"] is None and (number["low"] is not None or number["high"] is not None):
        raise ValueError("expected no limits, since there is no value")
    return number


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


def group_skipped_sets(skipped_sets: Iterable[SkippedSet]) -> dict[str, list[SkippedSet]]:
    """Group skipped sets by reason, in order of first occurrence."""
    by_reason: dict[str, list[SkippedSet]] = {}
    for each in skipped_sets:
        by_reason.setdefault(each.reason, []).append(each)
    return by_reason


def write_results(results: Sequence[Result], path: Path, skipped: Sequence[SkippedSet] = ()) -> None:
    """Write results and requested sets without a result as JSON. An estimate has `value`, `low`, `high` and `n`."""
    write_json(build_results_record(results, skipped), path)


def build_results_record(results: Sequence[Result], skipped: Sequence[SkippedSet] = ()) -> dict[str, Any]:
    """Build the JSON record that `write_results` writes."""
    record: dict[str, Any] = {"schema": SCHEMA, "results": [to_json(vars(result)) for result in results]}
    if skipped:
        record["skipped"] = [asdict(each) for each in skipped]
    return record


def read_results(path: Path) -> list[Result]:
    """Read the results that `write_results` wrote."""
    return read_results_with_skipped(path)[0]


def read_results_with_skipped(path: Path) -> tuple[list[Result], list[SkippedSet]]:
    """Read the results and the skipped sets that `write_results` wrote."""
    expected = "a results file of unbag"
    record = read_json_object(path, expected=expected)
    if record.get("schema", SCHEMA) != SCHEMA:
        raise ValueError(
            f"{path}: expected results with schema {SCHEMA}, got schema {record['schema']!r:.40}; evaluate again"
        )
    where = f"{path}: expected {expected}"
    skipped: list[SkippedSet] = parse_record(record, ResultsRecord, where).get("skipped", [])
    results = []
    for number, each in enumerate(record["results"]):
        validate_set_record(each, ResultRecord, where, f"results.{number}")
        result = Result(**{field.name: _parse_estimates(each[field.name]) for field in fields(Result)})
        described = challenge_sets.find_challenge_set(result.set)
        if described is not None and (fault := described.find_invalid_score(result.scores)):
            raise ValueError(f"{where}, got results.{number}.scores.{fault}; the file is corrupted, evaluate again")
        results.append(result)
    return results, skipped


def _parse_estimates(value: Any) -> Any:
    """Convert objects with the fields of an `Estimate` into estimates, at every depth."""
    if isinstance(value, dict):
        numbers = [value.get(name, "") for name in Estimate._fields]  # "" is no number; a later version may add fields
        if isinstance(numbers[-1], int) and all(isinstance(each, int | float | None) for each in numbers):
            return Estimate(*numbers)
        return {key: _parse_estimates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_parse_estimates(item) for item in value]
    return value
