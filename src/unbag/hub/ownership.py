"""Whose results a file holds: those of a model on the Hub, or of a folder with the same files."""

import hashlib
from collections.abc import Iterable
from typing import Final

from unbag.challenge_sets.results import Result
from unbag.hub import model_code
from unbag.hub.push import explain_hub_errors, fetch_remote
from unbag.inference.hub_files import combine_hashes, is_model_file

FOLDER: Final = "folder"
"""What is named as the model where it came from a folder."""

_HEAD: Final = "head"


def is_own_head(result: Result) -> bool:
    """Tell whether the model's own head answered, as it does for whoever loads the model."""
    return _HEAD not in result.model


def result_model_name(result: Result) -> str | None:
    """Return the Hub id, or the built-in model's or predictions' name, of what a result is about; None of a folder."""
    name: str = result.model.get("model", result.model["name"])
    return None if name == FOLDER else name


def select_model_results(repo: str, results: Iterable[Result]) -> list[Result]:
    """Return the results of a model on the Hub.

    Those of a folder are its results if the files that decide the predictions are the repository's.

    Raises:
        ValueError: if there are none.
        HubError: if the Hub does not say what it holds.
    """
    results = list(results)
    held = fetch_files_revision(repo) if _has_folder_results(results) else None
    own = [
        result
        for result in results
        if result_model_name(result) == repo or (result_model_name(result) is None and result.model["revision"] == held)
    ]
    if not own:
        others = sorted({result_model_name(result) or f"the folder {result.model['name']}" for result in results})
        hint = "; publish the folder's model there first (unbag publish model)" if _has_folder_results(results) else ""
        raise ValueError(f"expected results of {repo}, found those of {', '.join(others) or 'nothing'}{hint}")
    return own


def _has_folder_results(results: Iterable[Result]) -> bool:
    return any(result_model_name(result) is None for result in results)


def fetch_files_revision(repo: str) -> str | None:
    """Return what `folder_revision` gives for a folder with the files of a repository; None if there is none.

    Of a repository with code of ours: for the folder that it was published from, which had none.

    Raises:
        HubError: if the Hub does not say.
    """
    with explain_hub_errors(repo, "model"):
        remote = fetch_remote(repo, "model")
        if remote is None:
            return None
        hashes = {
            path: file.sha256 or hashlib.sha256(remote.read(path) or b"").hexdigest()
            for path, file in remote.files.items()
            if is_model_file(path)
        }
        if model_code.FILE in remote.files:
            before = model_code.remove_code(remote.read("config.json") or b"{}")
            hashes["config.json"] = hashlib.sha256(before).hexdigest()
    return combine_hashes(hashes)
