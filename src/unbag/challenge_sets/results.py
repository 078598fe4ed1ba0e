"""The result record, and the validation of records by pydantic.

The schemas contain every field that a reader uses. The scores differ between sets: they are valid if all views of the
result can be built from them. Further fields may come from a later version or from the user.
"""

import json
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NotRequired, TypeAlias

from annotated_types import Ge, Le, Lt
from typing_extensions import TypedDict  # pydantic reads records by it

from unbag import challenge_sets, scripts
from unbag.challenge_sets.result import Result as Result
from unbag.challenge_sets.views import figures, verifier
from unbag.challenge_sets.views.tables import format_interval
from unbag.inference.single_output import RankingResult
from unbag.scoring.bootstrap import Estimate, to_json
from unbag.scoring.nested import iter_estimates
from unbag.utils.files import read_json_object, write_json
from unbag.utils.redaction import extract_first_line

_LISTED: Final = 3  # errors named in a message
_LARGEST: Final = 1e15  # no score is larger, and computations with such numbers do not overflow


Count: TypeAlias = Annotated[int, Ge(0), Lt(2**63)]
Real: TypeAlias = Annotated[float, Ge(-_LARGEST), Le(_LARGEST)]


class _Estimate(TypedDict):
    value: Real | None
    low: Real | None
    high: Real | None
    n: Count


class _ModelOptions(TypedDict):
    train_data: NotRequired[list[str]]
    apply_chat_template: NotRequired[bool]
    trust_labels: NotRequired[Literal[True]]
    trust_remote_code: NotRequired[Literal[True]]


class _Match(TypedDict):
    by: str
    rows: Count
    of: Count
    unmatched: Count
    ambiguous: Count
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
    truncated_pairs: NotRequired[Count]
    truncated_share: NotRequired[Real]
    server_version: NotRequired[str]
    answers_since: NotRequired[str]
    answered: NotRequired[str]
    stored_answers: NotRequired[str]
    n_abstained: NotRequired[Count]
    unanswered: NotRequired[dict[str, Count]]
    abstained_share: NotRequired[_Estimate]
    ranking: NotRequired[RankingResult]


class _LoadOptions(TypedDict):
    text: NotRequired[list[str]]
    columns: NotRequired[dict[str, str]]
    labels: NotRequired[list[str]]
    language: NotRequired[str]
    encoding: NotRequired[str]
    join_passages: NotRequired[bool]


class _AnnotatorAccuracy(TypedDict):
    share: Real | None
    low: Real | None
    high: Real | None
    pairs: Count


class _Data(TypedDict):
    name: str
    split: str
    origin: str
    revision: str
    sha256: str
    rows: Count
    documents: NotRequired[Count]
    shared_documents: NotRequired[Count]  # of the examples, if fewer than examples; intervals are over examples
    excluded: dict[str, Count]
    load_options: NotRequired[_LoadOptions]
    human: NotRequired[_AnnotatorAccuracy]


class _Sampling(TypedDict):
    max_examples: NotRequired[Count]
    sample_seed: NotRequired[int]  # may be negative


class _ExcludedLabel(TypedDict):
    label: str
    rows: Count
    reason: str


class _Skill(TypedDict):
    score: _Estimate
    p: Real | None
    model: Real
    baseline: Real | None
    shuffled: Real | None
    reference: str
    n_labels: Count
    n_sources: Count
    excluded: list[_ExcludedLabel]
    lexical_model: dict[str, str] | None


class _Scores(TypedDict):
    skill: NotRequired[_Skill | None]


class ResultRecord(TypedDict):
    """Schema of a result in results.json."""

    set: str
    config: _Sampling
    model: _Model
    data: _Data
    scores: _Scores
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
    """Schema of results.json. Each result is validated as a `ResultRecord`."""

    schema: Count
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

    `expected` begins the error message, e.g. "results.json: expected a results file". `path` is the path of the record
    in its file, e.g. "results.0".
    """
    from pydantic import ValidationError

    try:
        # Python's JSON parser accepts NaN and Infinity, although JSON has neither.
        text = json.dumps(record, allow_nan=False)
    except ValueError:
        raise ValueError(
            f"{expected}, got a number which is not finite; the corrupted file must be created again"
        ) from None
    try:
        # As JSON, because in strict mode only JSON arrays may become tuples.
        return _adapter(schema).validate_json(text, strict=True)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        paths = [".".join(map(str, (*([path] if path else []), *each["loc"]))) or "the file" for each in faults]
        listed = [f"{place}: {each['msg'].lower()}" for place, each in zip(paths, faults[:_LISTED], strict=False)]
        more = f" and {len(faults) - _LISTED} more" if len(faults) > _LISTED else ""
        raise ValueError(
            f"{expected}, got {'; '.join(listed)}{more}; the file is corrupted or from another version of "
            "unbag, create it again"
        ) from None


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
        parse_record(each, ResultRecord, where, f"results.{number}")
        result = Result(**{field.name: _parse_estimates(each[field.name]) for field in fields(Result)})
        if fault := _find_fault(result):
            raise ValueError(f"{where}, got results.{number}{fault}; the file is corrupted, evaluate again")
        results.append(result)
    return results, skipped


def _find_fault(result: Result) -> str:
    """Describe the first score that is outside its limits, or the view that cannot be built. Return "" if valid."""
    for path, (value, low, high, n) in iter_estimates(result.scores):
        if value is None and (low, high) != (None, None):
            return f".scores.{path}, which has limits although there is no value"
        if not 0 <= n < 2**63 or any(each is not None and abs(each) > _LARGEST for each in (value, low, high)):
            return f".scores.{path} = {[value, low, high, n]}, which is out of range"
    described = challenge_sets.find_challenge_set(result.set)
    if described is None:
        return ""
    if fault := described.find_invalid_score(result.scores):
        return f".scores.{fault}"
    model = figures.ReportModel(result.model["name"], {}, is_baseline=False)
    group = figures.ResultGroup("", "", (figures.ScoredModel(model, result, None),))
    try:
        of_verifier = (verifier.build_verifier_table, verifier.summarize_verifier, verifier.describe_thresholds)
        for view in (described.build_table, described.summarize_result, *of_verifier):
            view(result)
        for _, _, estimate in described.iter_set_metrics(result.scores):
            format_interval(estimate)
        verifier.build_verifier_metrics_table(group)
        for figure in (*described.build_figures(group), *verifier.build_verifier_figures(group)):
            if figure is not None:
                figures.build_figure_table(figure)
    # Whatever is missing or of another type, the view that needs it raises. Options and scores of a set have no schema.
    except Exception as error:
        return f", which cannot be shown ({type(error).__name__}: {extract_first_line(error)})"
    return ""


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
