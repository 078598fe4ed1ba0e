"""Files of exported models in a folder or a Hub repository: listing, selection, download and hashes.

Needs neither torch nor an engine, so that `unbag prefetch` can download the files.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Final

from huggingface_hub import HfApi, get_cached_repo_tree, is_offline_mode, snapshot_download
from huggingface_hub.errors import CachedRepoTreeNotFoundError

from unbag.inference.hub_files import ModelOrigin, combine_hashes, convert_hub_errors
from unbag.inference.predictor import ModelError
from unbag.utils.hashing import hash_file
from unbag.utils.hub import HubReadError, is_model_name, read_from_hub

_FOLDERS: Final = (".", "onnx", "openvino")  # where optimum and sentence-transformers write
_SUFFIXES: Final = (".onnx", ".xml")
_DATA_SUFFIXES: Final = ("_data", ".data")  # weights of an ONNX file above 2 GB
_TORCH_WEIGHTS: Final = ("*.safetensors", "pytorch_model*.bin")


def find_exported_models(names: Sequence[str]) -> list[str]:
    """Find the paths of exported models in a list of repository files.

    >>> find_exported_models(["config.json", "onnx/model.onnx", "openvino/openvino_model.xml", "test/model.onnx"])
    ['onnx/model.onnx', 'openvino/openvino_model.xml']
    """
    paths = map(PurePosixPath, names)
    return sorted(str(path) for path in paths if str(path.parent) in _FOLDERS and path.suffix in _SUFFIXES)


def has_only_exported_models(model: str | Path, revision: str | None = None) -> bool:
    """Check whether a folder or Hub repository has exported models but no PyTorch weights.

    False if neither exists: loading it as another kind of model then reports the error.

    Raises:
        HubReadError: If the network fails or the Hub has a server error.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        names = _list_folder(folder)
    elif isinstance(model, Path) or not is_model_name(model):
        return False
    else:
        try:
            names = _list_hub(model, revision)
        except HubReadError:
            raise
        except (CachedRepoTreeNotFoundError, OSError, ValueError):
            return False
    # transformers reads only weights at the top of a repository.
    top = [name for name in names if "/" not in name]
    has_weights = any(fnmatchcase(name, pattern) for name in top for pattern in _TORCH_WEIGHTS)
    return not has_weights and bool(find_exported_models(names))


def fetch_exported_model(origin: ModelOrigin, model_file: str | None) -> tuple[str, Path]:
    """Select an exported model: `model_file` or, by default, the only one. Return its name and its path here.

    Hub models are downloaded, or read from the cache in offline mode.
    """
    folder = origin.download()
    with convert_hub_errors(origin.source):
        try:
            listed = _list_folder(folder) if origin.commit is None else _list_hub(origin.source, origin.commit)
        except CachedRepoTreeNotFoundError as error:
            raise ModelError(
                f"{origin} is not in the local cache; run `unbag prefetch {origin}` with network access"
            ) from error
        available = find_exported_models(listed)
        selected = [name for name in available if model_file in (None, name)]
        if len(selected) != 1:
            expected = "one exported model" if model_file is None else f"an exported model {model_file}"
            raise ModelError(
                f"{origin}: expected {expected}, got {', '.join(available) or 'none'}; select a file with --model-file"
            )
        [file] = selected
        if origin.commit is not None:
            wanted = [name for name in (file, *_data_names(file)) if name in listed]
            read_from_hub(
                f"the model {origin}",
                lambda: snapshot_download(origin.source, revision=origin.commit, allow_patterns=wanted),
            )
    return file, folder / file


def hash_exported_model(path: Path) -> str:
    """Compute a hash of an exported model and its external weight files."""
    files = [path, *(each for name in _data_names(path.name) if (each := path.with_name(name)).is_file())]
    return combine_hashes({each.name: hash_file(each) for each in files})


def _list_folder(folder: Path) -> list[str]:
    files = [*folder.glob("*"), *(path for name in _FOLDERS[1:] for path in (folder / name).glob("*"))]
    return [path.relative_to(folder).as_posix() for path in files if path.is_file()]


def _list_hub(repo: str, revision: str | None) -> list[str]:
    """List the files of a Hub repository. In offline mode, the listing comes from the client's cache."""
    if not is_offline_mode():
        return read_from_hub(f"the model {repo}", lambda: HfApi().list_repo_files(repo, revision=revision))
    return [entry.path for entry in get_cached_repo_tree(repo, revision=revision)]


def _data_names(file: str) -> list[str]:
    """List the names that the file of an exported model's weights may have."""
    return [file[:-4] + ".bin"] if file.endswith(".xml") else [file + suffix for suffix in _DATA_SUFFIXES]
