"""A folder of results: which runs may write to it, and what it holds after one more run.

A folder belongs to the models of its first run. A later run of them adds its results; one on the same set and corpus
takes the place of the earlier one. A run of another model is rejected before anything is computed, so that no results
are lost: the same rule as for the folder of a training.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from unbag.challenge_sets import results
from unbag.challenge_sets.results import Result, SkippedSet
from unbag.evaluation import report_examples
from unbag.evaluation import samples as paired_samples
from unbag.scoring.bootstrap import to_json
from unbag.utils.storage import Folder, is_address, local_copy

FILES: Final = (results.FILE, report_examples.FILE)
"""The files that a later run adds to; `evaluation.samples.FOLDER` has the others."""

_VERSION: Final = ("revision", "sha256")
"""Where a model's record names its weights, or the file of its predictions."""

_REMEDY: Final = "name another folder with --output-dir"


class Entry(NamedTuple):
    """A result of a folder.

    Attributes:
        result: the result.
        number: its position in the file before this run; None for a result of this run.
    """

    result: Result
    number: int | None


def read(folder: Path) -> tuple[list[Result], list[SkippedSet]]:
    """Read the results in a folder, and the sets without one; nothing where no run has written.

    Raises:
        ValueError: if its results file cannot be read.
    """
    file = folder / results.FILE
    if not file.exists():
        return [], []
    try:
        return results.read_with_skipped(file)
    except ValueError as error:
        raise ValueError(f"{error}; {_REMEDY}, or remove that file") from None


def check(folder: Path, models: Mapping[str, Mapping[str, Any] | None], sets: Collection[str]) -> None:
    """Reject a folder whose results a run would lose, or mix with those of other weights.

    Args:
        folder: where the run writes.
        models: the record of each model by its name; None where the model is not loaded yet.
        sets: the names of the sets that the run evaluates.

    Raises:
        ValueError: if the folder holds results of another model, of the same with other options, or of an earlier
            version of it on sets that the run does not repeat.
    """
    earlier, _ = read(folder)
    stored: dict[str, list[Result]] = {}
    for result in earlier:
        stored.setdefault(str(result.model["name"]), []).append(result)
    if not (stored.keys() <= models.keys() or models.keys() <= stored.keys()):
        raise ValueError(
            f"{folder}: expected no results but those of {_listed(models)}, got results of {_listed(stored)}; "
            f"{_REMEDY}, or evaluate all of them in one command"
        )
    for name, record in models.items():
        if record is None or name not in stored:
            continue
        [before, *_] = stored[name]
        if _options(before.model) != _options(record):
            raise ValueError(
                f"{folder}: expected results of {name} with {_named(_options(record))}, got some with "
                f"{_named(_options(before.model))}; {_REMEDY}"
            )
        others = {each.set for each in stored[name]} - set(sets)
        if _version(before.model) != _version(record) and others:
            raise ValueError(
                f"{folder}: expected results of {name} at {_short(record)}, got those on {_listed(sorted(others))} at "
                f"{_short(before.model)}; {_REMEDY}, or evaluate these sets again too"
            )


def combined(earlier: Sequence[Result], new: Sequence[Result]) -> list[Entry]:
    """Combine the results of a folder with those of one more run of its models.

    Args:
        earlier: the results in the folder.
        new: the results of the run. One on the set and corpus of an earlier one of its model takes its place.

    Returns:
        All results, model by model: the earlier ones in their order, then the further sets. Results of an earlier
        version of a model are dropped.
    """
    versions = {result.model["name"]: _version(result.model) for result in new}
    repeated = {_slot(result) for result in new}
    entries = [Entry(result, None) for result in new]
    for number, result in enumerate(earlier):
        version = _version(result.model)
        if _slot(result) not in repeated and versions.get(result.model["name"], version) == version:
            entries.append(Entry(result, number))
    has_all_models = {result.model["name"] for result in earlier} <= versions.keys()
    in_order = [*new, *earlier] if has_all_models else [*earlier, *new]
    models = list(dict.fromkeys(result.model["name"] for result in in_order))
    slots = list(dict.fromkeys(map(_slot, [*earlier, *new])))
    return sorted(entries, key=lambda each: (models.index(each.result.model["name"]), slots.index(_slot(each.result))))


def replaced(earlier: Sequence[Result], new: Sequence[Result]) -> list[str]:
    """Describe the earlier results of other rows, options or weights whose place a run takes."""
    described = []
    for result in new:
        before = [each for each in earlier if _slot(each) == _slot(result)]
        if before and all(_basis(each) != _basis(result) for each in before):
            name, set_name, corpus = _slot(result)
            described.append(f"{set_name} of {corpus} for {name}")
    return described


@contextmanager
def local_folder(place: str, *, further: Sequence[str] = ()) -> Iterator[Path]:
    """Provide the folder of a run on this machine; what an address holds is copied there first, and sent at the end.

    Args:
        place: the folder, or its address.
        further: the names of further files that a run adds to.
    """
    with local_copy(place, last=results.FILE) as folder:
        if is_address(place):
            receive(place, folder, further=further)
        yield folder


def receive(place: str, folder: Path, *, further: Sequence[str] = ()) -> None:
    """Copy what earlier runs left at an address into a folder on this machine, for another run to add to.

    Args:
        place: the address.
        folder: the folder.
        further: the names of further files to copy.
    """
    root = Folder(place)
    names = root.names()
    if results.FILE not in names:
        return
    samples = root / paired_samples.FOLDER
    copies = [(root, Folder(folder), name) for name in names if name in (*FILES, *further)]
    copies += [(samples, Folder(folder) / paired_samples.FOLDER, name) for name in samples.names()]
    for source, target, name in copies:
        target.write(name, source.read(name))


def _slot(result: Result) -> tuple[str, ...]:
    """Return what a folder has one result of: a model on a set of a corpus."""
    return str(result.model["name"]), result.set, result.corpus


def _basis(result: Result) -> list[Any]:
    """Return what decides a result beside its slot."""
    return [_as_json(result.config), result.data.get("sha256"), _version(result.model)]


def _options(model: Mapping[str, Any]) -> dict[str, Any]:
    # Whether doubtful labels were trusted becomes known only when the model is asked.
    options = _as_json(model.get("options") or {})
    if isinstance(options.get("train_data"), list):  # files as they were typed, from whichever folder
        options["train_data"] = [str(each).rpartition("/")[2] for each in options["train_data"]]
    return {name: value for name, value in options.items() if name != "trust_labels"}


def _as_json(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping as it is read back from a file."""
    read_back: dict[str, Any] = json.loads(json.dumps(to_json(value), default=str))
    return read_back


def _version(model: Mapping[str, Any]) -> list[Any]:
    return [model.get(name) for name in _VERSION]


def _short(model: Mapping[str, Any]) -> str:
    version = next((str(each) for each in _version(model) if each), None)
    return "no revision" if version is None else f"revision {version.removeprefix('sha256:')[:12]}"


def _named(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items()) or "default options"


def _listed(names: Collection[str]) -> str:
    return ", ".join(names)
