"""Results folders: validation before a run, and combination with earlier results.

A folder belongs to the models of its first run. A later run of these models adds its results, and replaces earlier
results on the same set and corpus. A run of another model is rejected before it starts, so that no results are lost.
The same rule applies to the folders of training runs.
"""

import json
import re
import shutil
import tempfile
import weakref
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from unbag.challenge_sets import results
from unbag.challenge_sets.results import Result, SkippedSet
from unbag.challenge_sets.views.examples import ExampleSelection
from unbag.evaluation import metrics, report_examples
from unbag.evaluation import samples as paired_samples
from unbag.inference.distributed import connect_process_group
from unbag.inference.prediction_store import PREDICTIONS
from unbag.scoring.bootstrap import to_json
from unbag.utils.storage import StorageFolder, is_url, upload_files

FILES: Final = (results.FILE, report_examples.FILE)
"""Files that later runs extend, in addition to the files in `evaluation.samples.FOLDER`."""

_VERSION: Final = (
    *("revision", "trusted_code", "label_order", "server_version", "answers_since", "prompt", "template"),
    *("sha256", "imported_sha256"),
)
"""Keys of a model's record that identify its weights, code, labels, prompt, file of predictions or source file."""

_HASH: Final = re.compile(r"(sha256:)?([0-9a-f]{12})[0-9a-f]{28,}")

_REMEDY: Final = "use another --output-dir"


def read_result_folder(folder: Path) -> tuple[list[Result], list[SkippedSet]]:
    """Read the results and skipped sets of a folder. Both lists are empty if there is no results file."""
    file = folder / results.FILE
    if not file.exists():
        return [], []
    try:
        return results.read_results_with_skipped(file)
    except ValueError as error:
        raise ValueError(f"{error}; {_REMEDY}, or remove the file") from None


class FolderContents(NamedTuple):
    """What reports show of a results folder."""

    results: Sequence[Result]  # ordered by model
    examples: Sequence[ExampleSelection | None]  # selected examples of each result; None if it has none
    skipped: Sequence[SkippedSet]

    @classmethod
    def from_selections(
        cls, results: Sequence[Result], selections: Iterable[ExampleSelection], skipped: Sequence[SkippedSet]
    ) -> "FolderContents":
        """Combine results with their examples, which are found by set, model and rows."""
        found = {(one.set, one.model, one.sha256): one for one in selections}
        examples = [found.get((each.set, each.model["name"], each.data["sha256"])) for each in results]
        return cls(results, examples, skipped)

    @classmethod
    def read(cls, folder: Path) -> "FolderContents":
        """Read the contents of a folder."""
        path, examples = folder / results.FILE, folder / report_examples.FILE
        if not path.is_file():
            raise ValueError(
                f"{folder}: expected a {results.FILE}, got none; pass a folder written by `unbag evaluate`"
            )
        stored, skipped = results.read_results_with_skipped(path)
        return cls.from_selections(
            stored, report_examples.read_selections(examples) if examples.is_file() else (), skipped
        )


def validate_result_folder(folder: Path, models: Mapping[str, Mapping[str, Any] | None], sets: Collection[str]) -> None:
    """Validate that a run can write to a folder without losing results or mixing model versions.

    `models` has the record of each model by its name; None for a model that is not loaded yet. Rejected are results of
    another model, of the same model with other options, or of an earlier version of the model on sets that are not part
    of the run.
    """
    earlier, _ = read_result_folder(folder)
    stored = metrics.group_by_model(earlier)
    if not (stored.keys() <= models.keys() or models.keys() <= stored.keys()):
        raise ValueError(
            f"{folder}: expected only results of {', '.join(models)}, got results of {', '.join(stored)}; {_REMEDY}, "
            "or evaluate all of these models in one command"
        )
    for name, record in models.items():
        if record is None or name not in stored:
            continue
        [before, *_] = stored[name]
        if _options(before.model) != _options(record):
            raise ValueError(
                f"{folder}: expected results of {name} with {_named(_options(record))}, got results with "
                f"{_named(_options(before.model))}; {_REMEDY}"
            )
        others = {each.set for each in stored[name]} - set(sets)
        if _version(before.model) != _version(record) and others:
            now, then = (
                ", ".join(f"{field} {value}" for field, value in version.items())
                for version in _find_differences(record, before.model, _VERSION)
            )
            raise ValueError(
                f"{folder}: expected results of {name} at {now}, got results on {', '.join(sorted(others))} at {then}; "
                f"{_REMEDY}, or also evaluate these sets again"
            )


def combine_results(earlier: Sequence[Result], new: Sequence[Result]) -> list[tuple[Result, int | None]]:
    """Combine earlier results in a folder with the results of a new run, ordered by model.

    New results replace earlier results of the model on the same set and corpus, and results on additional sets follow.
    Results of an earlier version of a model are dropped.

    Returns:
        The results, with the previous index of each earlier one (None for a new result).
    """
    versions = {result.model["name"]: _version(result.model) for result in new}
    repeated = {_slot(result) for result in new}
    entries: list[tuple[Result, int | None]] = [(result, None) for result in new]
    for number, result in enumerate(earlier):
        version = _version(result.model)
        if _slot(result) not in repeated and versions.get(result.model["name"], version) == version:
            entries.append((result, number))
    has_all_models = {result.model["name"] for result in earlier} <= versions.keys()
    # A run of all models determines their order. Otherwise, new models follow the earlier ones.
    in_order = [*new, *earlier] if has_all_models else [*earlier, *new]
    models = list(dict.fromkeys(result.model["name"] for result in in_order))
    slots = list(dict.fromkeys(map(_slot, [*earlier, *new])))
    return sorted(entries, key=lambda each: (models.index(each[0].model["name"]), slots.index(_slot(each[0]))))


def describe_replaced_results(earlier: Sequence[Result], new: Sequence[Result]) -> list[str]:
    """Describe the earlier results that a run replaces with different results, and the reasons."""
    described = []
    for result in new:
        # A set may occur with several options, of which one may be that of the new result.
        reasons = [_describe_differences(result, each) for each in earlier if _slot(each) == _slot(result)]
        if reasons and all(reasons):
            name, set_name, corpus = _slot(result)
            described.append(f"{set_name} of {corpus} for {name} ({reasons[0]})")
    return described


class RunFolder:
    """Local folder that a run writes to.

    For a URL, the folder is a temporary copy of the earlier results there, which `upload` writes back. A temporary
    folder is deleted together with this object.

    Args:
        location: Path or URL of the run; None for a temporary folder.
        extra_files: Names of additional files that a run extends.
    """

    def __init__(self, location: str | Path | None = None, *, extra_files: Sequence[str] = ()) -> None:
        if location is not None and not is_url(location):
            self.path = StorageFolder(location).path
        else:
            self.path = Path(tempfile.mkdtemp(prefix="unbag-"))
            # Unlike `__del__`, a finalizer also runs when Python exits.
            weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
        self.location = str(location or self.path)
        if is_url(self.location):
            download_result_folder(self.location, self.path, extra_files=extra_files)

    @property
    def predictions(self) -> str:
        """Path or URL of the predictions in this folder."""
        return StorageFolder(self.location).get_location(PREDICTIONS)

    def upload(self) -> None:
        """Upload the results of the first process, if the run is at a URL: results.json last, which completes them."""
        if is_url(self.location) and connect_process_group().rank == 0:
            upload_files(self.path, self.location, last_file=results.FILE)


def download_result_folder(url: str, folder: Path, *, extra_files: Sequence[str] = ()) -> None:
    """Download the results of earlier runs, and `extra_files`, to a local folder, so that a new run can extend them."""
    root = StorageFolder(url)
    names = root.list_names()
    if results.FILE not in names:
        return
    samples = root / paired_samples.FOLDER
    copies = [(root, StorageFolder(folder), name) for name in names if name in (*FILES, *extra_files)]
    copies += [(samples, StorageFolder(folder) / paired_samples.FOLDER, name) for name in samples.list_names()]
    for source, target, name in copies:
        target.write(name, source.read(name))


def _slot(result: Result) -> tuple[str, ...]:
    """Build the key of a result. A folder has one result per model, set and corpus."""
    return str(result.model["name"]), result.set, result.corpus


def _describe_differences(result: Result, before: Result) -> str:
    """Describe the differences between the inputs of two results: options, version of the model, and rows."""
    now, then = _as_json(result.config), _as_json(before.config)
    pairs = (
        _find_differences(now, then, sorted({**now, **then})),
        _find_differences(result.model, before.model, _VERSION),
    )
    differences = [f"{name} {ours[name]}, before {theirs[name]}" for ours, theirs in pairs for name in ours]
    has_same_rows = result.data.get("sha256") == before.data.get("sha256")
    return "; ".join(differences) or ("" if has_same_rows else "other rows")


def _options(model: Mapping[str, Any]) -> dict[str, Any]:
    # `trust_labels` is recorded only after the label probe, so it is not compared.
    options = _as_json(model.get("options") or {})
    # Paths may be relative to different folders, so only file names are compared.
    if isinstance(options.get("train_data"), list):
        options["train_data"] = [str(each).rpartition("/")[2] for each in options["train_data"]]
    return {name: value for name, value in options.items() if name != "trust_labels"}


def _as_json(value: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a mapping to its form after writing and reading it as JSON."""
    read_back: dict[str, Any] = json.loads(json.dumps(to_json(value), default=str))
    return read_back


def _version(model: Mapping[str, Any]) -> list[Any]:
    return [model.get(name) for name in _VERSION]


def _find_differences(
    one: Mapping[str, Any], other: Mapping[str, Any], names: Iterable[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Collect the differing values as text. A missing value equals None. Hashes are short if these differ."""
    names = [name for name in names if one.get(name) != other.get(name)]
    values = [{n: "none" if each.get(n) is None else str(each[n]) for n in names} for each in (one, other)]
    short = [{name: _HASH.sub(r"\2", value) for name, value in each.items()} for each in values]
    ours, theirs = short if all(short[0][name] != short[1][name] for name in names) else values
    return ours, theirs


def _named(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items()) or "default options"
