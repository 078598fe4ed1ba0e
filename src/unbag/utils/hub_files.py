"""Download of all files that are needed to load a model, before loading starts.

transformers downloads each file when it reads the file, and treats a failed download of an optional file, such as a
chat template, like a missing file. After a network error, a different model would be loaded.
"""

from pathlib import Path, PurePosixPath
from typing import Final

from unbag.utils.hub import read_from_hub
from unbag.utils.offline import use_cache_if_unreachable

_SMALL: Final = frozenset({".json", ".txt", ".model", ".tiktoken", ".jinja", ".spm", ".codes", ".vocab"})
_TEMPLATES: Final = "additional_chat_templates"
_WEIGHTS: Final = ("model*.safetensors", "*.safetensors", "pytorch_model*.bin", "*.bin")
"""Patterns in order of preference. Only the files of the first matching pattern are downloaded."""


def download_model_files(repo: str, revision: str | None, *, weights: bool = True, code: bool = False) -> Path:
    """Download the files of a model, or find them in the cache if offline. Returns their folder.

    Args:
        repo: Id of the repository.
        revision: Branch, tag or commit (default: the main branch).
        weights: Whether to download the weights in addition to config and tokenizer (default: yes).
        code: Whether to download the repository's Python code, if the user trusts it (default: no).

    Raises:
        HubReadError: If the network fails, the Hub has a server error, or the response is malformed.
        HfHubHTTPError: If the repository is missing, private or gated.
        OSError: If the process is offline and the model is not in the cache.
    """
    from huggingface_hub import HfApi, is_offline_mode, snapshot_download

    what = f"the model {repo}" + (f" at {revision}" if revision else "")
    with use_cache_if_unreachable():
        if is_offline_mode():
            return _here(repo, revision, weights=weights)
        listed = read_from_hub(what, lambda: HfApi().list_repo_files(repo, revision=revision))
        wanted = select_model_files(listed, weights=weights, code=code)
        return Path(read_from_hub(what, lambda: snapshot_download(repo, revision=revision, allow_patterns=wanted)))


def _here(repo: str, revision: str | None, *, weights: bool) -> Path:
    """Find the model's folder in the local cache."""
    from huggingface_hub import snapshot_download

    def folder(patterns: list[str]) -> Path:
        # This raises if a file of these patterns is missing and the client has a listing of the repository.
        cached = snapshot_download(
            repo, revision=revision, local_files_only=True, allow_patterns=patterns, ignore_patterns=["*/*"]
        )
        return Path(cached)

    snapshot = folder([f"*{suffix}" for suffix in sorted(_SMALL)])
    if not weights:
        return snapshot
    return folder([next((each for each in _WEIGHTS if any(snapshot.glob(each))), _WEIGHTS[0])])


def select_model_files(names: list[str], *, weights: bool, code: bool = False) -> list[str]:
    """Select the files of a repository that are needed to load its model.

    >>> select_model_files(["config.json", "model.safetensors", "pytorch_model.bin", "onnx/model.onnx"], weights=True)
    ['config.json', 'model.safetensors']
    """
    paths = [PurePosixPath(name) for name in names]
    top = [path for path in paths if len(path.parts) == 1]
    wanted = [path for path in top if path.suffix in _SMALL]
    wanted += [path for path in paths if path.parts[0] == _TEMPLATES]
    if code:
        wanted += [path for path in top if path.suffix == ".py"]
    if weights:
        matches = ([path for path in top if path.match(pattern)] for pattern in _WEIGHTS)
        wanted += next(filter(None, matches), [])
    return [str(path) for path in wanted]
