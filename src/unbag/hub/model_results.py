"""Publishing of results in an existing model repository: `.eval_results` files and the card's `model-index`.

A result belongs to a model on the Hub if it names the model, or a folder with the same files.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final

from unbag.challenge_sets.results import Result
from unbag.hub import cards, eval_results, vendoring
from unbag.hub.push import HubUpload, explain_hub_errors, fetch_remote_repository
from unbag.inference.hub_files import combine_hashes, is_model_file

FOLDER: Final = "folder"
"""Model name in the results of a model loaded from a folder."""


def is_standard_head(result: Result) -> bool:
    """Check whether predictions come from the model's standard head, as loaded with transformers."""
    return "head" not in result.model


def find_result_model_name(result: Result) -> str | None:
    """Get the name of the evaluated model from a result, such as a Hub id. Return None for a local folder."""
    name: str = result.model.get("model", result.model["name"])
    return None if name == FOLDER else name


def select_model_results(repo: str, results: Iterable[Result]) -> list[Result]:
    """Select the results that belong to a Hub model, including results of a local folder with the same model files."""
    named = [(result, find_result_model_name(result)) for result in results]
    has_folder = any(name is None for _, name in named)
    # A folder has no Hub id, so the hash of its files identifies the model.
    held = _compute_remote_folder_revision(repo) if has_folder else None
    own = [r for r, name in named if name == repo or (name is None and r.model["revision"] == held)]
    if not own:
        others = sorted({name or f"the folder {result.model['name']}" for result, name in named})
        hint = "; publish the model in the folder first (unbag publish model)" if has_folder else ""
        raise ValueError(f"expected results of {repo}, got results of {', '.join(others) or 'nothing'}{hint}")
    return own


def _compute_remote_folder_revision(repo: str) -> str | None:
    """Compute the revision that a local copy of a Hub model would have, without downloading the weights.

    Returns None if the repository does not exist. For a repository with bundled code, the revision is that of the
    folder before the code was added.
    """
    with explain_hub_errors(repo, "model"):
        remote = fetch_remote_repository(repo, "model")
        if remote is None:
            return None
        hashes = {
            # The Hub lists the hashes of large files, so that only small files are downloaded.
            path: file.lfs.sha256 if file.lfs else hashlib.sha256(remote.read(path) or b"").hexdigest()
            for path, file in remote.files.items()
            if is_model_file(path)
        }
        if vendoring.MODEL_CODE_FILE in remote.files:
            before = vendoring.remove_model_code(remote.read("config.json") or b"{}")
            hashes["config.json"] = hashlib.sha256(before).hexdigest()
    return combine_hashes(hashes)


MESSAGE: Final = "Add results on challenge sets that test whether models use sentence structure"
"""Commit message, and title that identifies the user's open pull request."""


def build_model_results_upload(
    repo: str, results: Sequence[Result], organization: str, result_context: eval_results.ResultContext | None = None
) -> HubUpload:
    """Build the files that add results to a model repository. The rest of the model card is unchanged.

    Results of other models are ignored. For the other parameters, see `eval_results.build_eval_results`.
    """
    own = [result for result in select_model_results(repo, results) if is_standard_head(result)]
    index = eval_results.build_model_index(own, organization)
    if not index:
        raise ValueError(
            f"{repo}: expected results of the model on a published challenge set, got only results on user-provided "
            "pairs or with another head (--head); evaluate the model on a corpus"
        )

    def card(existing: bytes | None) -> bytes:
        earlier = cards.split_card(existing)[0].get("model-index")
        merged = eval_results.merge_model_index(earlier, repo.partition("/")[2], index)
        return cards.set_metadata_entry((existing or b"").decode(), "model-index", merged).encode()

    files = eval_results.build_eval_results(own, organization, result_context)
    return HubUpload(repo, "model", {"README.md": card, **files}, MESSAGE)
