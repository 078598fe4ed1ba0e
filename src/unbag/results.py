"""The result record: what was measured, on which data, of which model, with what software."""

import platform
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, NamedTuple

from unbag import schemas, scripts
from unbag.scoring.bootstrap import Estimate, plain
from unbag.utils.files import read_object, write_json

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


class LeftOut(NamedTuple):
    """A set without a result: its name, the model's where it is one model's alone, and why."""

    set: str
    model: str | None
    reason: str


def write(results: Sequence[Result], path: Path, left_out: Sequence[LeftOut] = ()) -> None:
    """Write results as JSON; an estimate becomes an object with `value`, `low`, `high` and `n`.

    Args:
        results: the results.
        path: the file.
        left_out: the sets that were asked for and have none.
    """
    record: dict[str, Any] = {"schema": SCHEMA, "results": [plain(vars(result)) for result in results]}
    if left_out:
        record["left_out"] = [each._asdict() for each in left_out]
    write_json(record, path)


def read(path: Path) -> list[Result]:
    """Read the results that `write` wrote.

    Raises:
        ValueError: if the file is not a results file, or one of another schema.
    """
    return read_whole(path)[0]


def read_whole(path: Path) -> tuple[list[Result], list[LeftOut]]:
    """Read the results, and which sets have none.

    Raises:
        ValueError: see `read`.
    """
    record = _record(path)
    found = [Result(**_typed(result)) for result in record["results"]]
    return found, [LeftOut(**each) for each in record.get("left_out", ())]


def _record(path: Path) -> dict[str, Any]:
    what = "a results file of unbag"
    record = read_object(path, what=what)
    if record.get("schema", SCHEMA) != SCHEMA:
        raise ValueError(f"{path}: expected results of schema {SCHEMA}, found schema {record['schema']!r:.40}")
    return schemas.checked(record, schemas.ResultsRecord, f"{path}: expected {what}")


def _typed(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == set(Estimate._fields):
            return Estimate(**value)  # its numbers are seen to where they are read
        return {key: _typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    return value
