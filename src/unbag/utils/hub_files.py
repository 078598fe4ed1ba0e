"""The files of a model repository that loading it reads, fetched from the Hub: all of them before any is read.

transformers fetches files one by one as it reads, and takes one that it does not get for one that is not there (a chat
template, say): a model of whose files the network lost one would be another model.
"""

from pathlib import Path, PurePosixPath
from typing import Final

from unbag.utils.hub import hub_read
from unbag.utils.offline import unless_unreachable

_SMALL: Final = frozenset({".json", ".txt", ".model", ".tiktoken", ".jinja", ".spm", ".codes", ".vocab"})
_TEMPLATES: Final = "additional_chat_templates"
_WEIGHTS: Final = ("model*.safetensors", "*.safetensors", "pytorch_model*.bin", "*.bin")
"""The first of these that there is any of: one set of weights is enough."""


def fetched(repo: str, revision: str | None, *, weights: bool = True, code: bool = False) -> Path:
    """Return the folder, named by the commit, with the files of a model; offline, as far as they are on this machine.

    Args:
        repo: the repository.
        revision: branch, tag or commit.
        weights: whether the weights too, or only what is small.
        code: whether the repository's own code too, for who trusts it.

    Raises:
        HubReadError: if the network fails, the Hub is out of order, or what it answers is something else.
        HfHubHTTPError: if there is no such repository, or it may not be read.
        OSError: if it is not on this machine, which is offline.
    """
    from huggingface_hub import HfApi, is_offline_mode, snapshot_download

    what = f"the model {repo}" + (f" at {revision}" if revision else "")
    with unless_unreachable():
        if is_offline_mode():
            return _here(repo, revision, weights=weights)
        listed = hub_read(what, lambda: HfApi().list_repo_files(repo, revision=revision))
        wanted = read_of(listed, weights=weights, code=code)
        return Path(hub_read(what, lambda: snapshot_download(repo, revision=revision, allow_patterns=wanted)))


def _here(repo: str, revision: str | None, *, weights: bool) -> Path:
    """Return the folder on this machine, seen to be complete where it is known what the repository has."""
    from huggingface_hub import snapshot_download

    def folder(patterns: list[str]) -> Path:
        there = snapshot_download(
            repo, revision=revision, local_files_only=True, allow_patterns=patterns, ignore_patterns=["*/*"]
        )
        return Path(there)

    found = folder([f"*{suffix}" for suffix in sorted(_SMALL)])
    return folder([next((each for each in _WEIGHTS if any(found.glob(each))), _WEIGHTS[0])]) if weights else found


def read_of(listed: list[str], *, weights: bool, code: bool = False) -> list[str]:
    """Return those of a repository's files that loading its model reads.

    >>> read_of(["config.json", "model.safetensors", "pytorch_model.bin", "onnx/model.onnx"], weights=True)
    ['config.json', 'model.safetensors']
    """
    paths = [PurePosixPath(name) for name in listed]
    top = [path for path in paths if len(path.parts) == 1]
    wanted = [path for path in top if path.suffix in _SMALL]
    wanted += [path for path in paths if path.parts[0] == _TEMPLATES]
    if code:
        wanted += [path for path in top if path.suffix == ".py"]
    if weights:
        found = ([path for path in top if path.match(pattern)] for pattern in _WEIGHTS)
        wanted += next(filter(None, found), [])
    return [str(path) for path in wanted]
