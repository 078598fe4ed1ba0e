"""Origin of a model (a folder, or a Hub repository at one commit), file hashes, and custom code.

Code of a repository runs only if the user allows it, and its hash is recorded.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple

from huggingface_hub import is_offline_mode, resolve_revision, snapshot_download
from huggingface_hub.errors import (
    HfHubHTTPError,
    HFValidationError,
    RevisionNotFoundError,
    RevisionResolutionError,
)

from unbag.inference.predictor import ModelError
from unbag.utils import hub
from unbag.utils.hashing import hash_file
from unbag.utils.hub import MODULE_FOLDER, HubReadError, describe_missing_repo, read_from_hub
from unbag.utils.redaction import extract_first_line

_OTHER_FILES: Final = (
    ".*",
    "*.md",
    "LICENSE*",
    "NOTICE*",
    "*.py",  # hashed by `ModelOrigin.compute_identity`, if the user trusts the code
    *("*.onnx", "*.onnx_data", "*.onnx.data", "openvino_*"),  # hashed by `exported_files`, if they are run
    *("*.h5", "*.msgpack", "*.gguf", "*.tflite"),  # weights that torch does not read
    *("*.csv", "*.tsv", "*.log", "*.html", "*.yaml", "*.yml", "*.pdf", "*.png", "*.jpg", "*.svg", "events.out.*"),
    *("trainer_state.json", "training_args.bin", "optimizer*", "scheduler*", "scaler*", "rng_state*"),
    *("*results*.json", "examples.json", "predictions*", "table.txt", "*.lock"),
    *("training.json", "hardware.json", "checksums.json", "made_with.json", "seeds.json", "kfold.json", "mend.json"),
    *("interpolation.json", "rearranged.json"),
)
"""Files in a model folder that cannot affect predictions: documentation, results, states of a training. All others are
hashed, because a tokenizer or a head may read a file of any name."""


def compute_folder_revision(folder: Path) -> str:
    """Compute a hash, with prefix `sha256:`, of the names and contents of all files that can affect predictions.

    The path of the folder is not part of the hash: a copy is the same model.
    """
    files = {path.relative_to(folder).as_posix(): path for path in (*folder.iterdir(), *folder.glob("[0-9]*_*/*"))}
    return combine_hashes(
        {name: hash_file(path) for name, path in files.items() if is_model_file(name) and path.is_file()}
    )


def is_model_file(name: str) -> bool:
    """Check whether a file in a model folder can affect predictions, based on its path.

    >>> [is_model_file(name) for name in ("bpe.codes", "2_Dense/config.json", "README.md", "onnx/model.onnx")]
    [True, True, False, False]
    """
    folder, _, file = name.rpartition("/")
    is_read = not folder or MODULE_FOLDER.fullmatch(folder) is not None
    return is_read and not any(fnmatchcase(file, pattern) for pattern in _OTHER_FILES)


def combine_hashes(hashes: Mapping[str, str]) -> str:
    """Combine a mapping from file names to sha256 hashes into one hash with the prefix `sha256:`."""
    digest = hashlib.sha256()
    for name in sorted(hashes):
        digest.update(f"{name}\0{hashes[name]}\n".encode())
    return f"sha256:{digest.hexdigest()}"


def list_custom_classes(folder: Path) -> list[str]:
    """List the classes of custom code that a model needs, declared as `auto_map` in its config files.

    transformers writes a class whose code is in another repository as `org/name--module.Class`.
    """
    classes: list[Any] = []
    for name in ("config.json", "tokenizer_config.json"):
        # transformers reports an invalid file when it reads the file.
        with suppress(OSError, ValueError, RecursionError, AttributeError, LookupError, TypeError):
            for value in json.loads((folder / name).read_text(encoding="utf-8"))["auto_map"].values():
                classes += value if isinstance(value, list) else [value]  # a slow and a fast tokenizer
    return [str(each) for each in classes]


@contextmanager
def convert_hub_errors(source: str) -> Iterator[None]:
    """Convert errors of the Hub and its clients in this context to `ModelError`."""
    try:
        yield
    except HubReadError as error:
        raise ModelError(str(error)) from error
    except (HfHubHTTPError, HFValidationError, RevisionResolutionError, OSError) as error:
        raise ModelError(
            describe_missing_repo(error, "model", source)
            or f"cannot read {source} from the Hub: {extract_first_line(error)}; check the name and the network"
        ) from error


class ModelIdentity(NamedTuple):
    """Name and version of a model."""

    source: str  # Hub id, folder or class, for messages
    name: str  # Hub id, `folder` (the path does not affect the predictions), or `memory`
    revision: str  # commit, or hash of the folder's files or of the model in memory
    code: str | None = None  # hash of the repository's code, if trusted

    def to_record(self) -> dict[str, str]:
        """Build the fields of a predictor's identity that describe the model."""
        trusted = {} if self.code is None else {"trusted_code": self.code}
        return {"model": self.name, "revision": self.revision, **trusted}


@dataclass(frozen=True)
class ModelOrigin:
    """Origin of a model: a Hub repository at one commit, or a local folder.

    Config, weights and tokenizer are read from one commit, even if the branch moves meanwhile.
    """

    source: str  # Hub id or folder, for transformers and for messages
    commit: str | None  # None for a folder
    trust_remote_code: bool = False  # whether code of the repository is run

    def __str__(self) -> str:
        return self.source

    def download(self, *, weights: bool = False) -> Path:
        """Get the folder with config, tokenizer and, if requested, weights. The files of a Hub model are downloaded."""
        if self.commit is None:
            return Path(self.source)
        with convert_hub_errors(self.source):
            if is_offline_mode():  # transformers reads the cache itself; this only finds the folder
                return Path(
                    snapshot_download(
                        self.source, revision=self.commit, local_files_only=True, allow_patterns="config.json"
                    )
                )
            folder = hub.download_model_files(self.source, self.commit, weights=weights, code=self.trust_remote_code)
        if not (folder / "config.json").is_file():
            raise ModelError(
                f"expected a transformers model in {self.source}, got a repository without config.json; check the name"
            )
        return folder

    def build_loading_options(self) -> dict[str, Any]:
        """Build keyword arguments for `from_pretrained`. Hub models are loaded from the cache only."""
        return {
            "revision": self.commit,
            "local_files_only": self.commit is not None,
            "trust_remote_code": self.trust_remote_code,
        }

    def compute_identity(self) -> ModelIdentity:
        """Compute the identity of the model. The revision of a folder is a hash of its files."""
        code = self.download(weights=True).glob("*.py") if self.trust_remote_code else None
        return ModelIdentity(
            self.source,
            "folder" if self.commit is None else self.source,
            self.commit or compute_folder_revision(Path(self.source)),
            None if code is None else combine_hashes({path.name: hash_file(path) for path in code}),
        )


def resolve_origin(model: str | Path, revision: str | None, *, trust_remote_code: bool = False) -> ModelOrigin:
    """Locate a model (a Hub id such as `org/name`, or a folder), and resolve its revision to a commit."""
    source, path = str(model), Path(model).expanduser()
    if path.is_file():
        advice = advise_on_other_weights(path.parent) or "pass the folder of the file"
        raise ModelError(f"{path}: expected a model folder or a Hub id such as org/name, got a file; {advice}")
    if path.is_dir():
        if not (path / "config.json").is_file():
            names = sorted(entry.name for entry in path.iterdir())
            if any(name.endswith((".onnx", ".xml")) or name in ("onnx", "openvino") for name in names):
                advice = "copy config.json and the tokenizer files of the model from which the file was exported"
            else:
                advice = advise_on_other_weights(path) or "pass a folder written by save_pretrained"
            raise ModelError(f"{path}: expected a model folder with config.json, got only {names[:10]}; {advice}")
        if revision is not None:
            raise ModelError(f"{path}: expected no revision for a folder, got {revision!r}; omit the revision")
        return ModelOrigin(str(path), None, trust_remote_code)
    if isinstance(model, Path) or model.startswith((".", "/", "~")) or model.count("/") > 1:
        raise ModelError(
            f"expected a model folder or a Hub id such as org/name, got {model}, which does not exist; check the name"
        )
    with convert_hub_errors(source):
        try:
            found = read_from_hub(f"the model {source}", lambda: resolve_revision(source, revision=revision))
        except RevisionNotFoundError as error:
            raise ModelError(
                f"the model {source} has no revision {revision!r}; look up its revisions on the Hub"
            ) from error
    return ModelOrigin(source, found.resolved, trust_remote_code)


def advise_on_other_weights(folder: Path) -> str:
    """Build the advice for a folder that has weights in other formats only; "" for other folders."""
    names = [entry.name for entry in folder.iterdir()]
    if any(name.endswith((".safetensors", ".bin")) and not name.startswith("adapter_") for name in names):
        return ""
    if "adapter_config.json" in names:
        return "merge the adapter with its base model (merge_and_unload), and pass the folder of the merged model"
    if any(name.endswith(".gguf") for name in names):
        return "serve the GGUF file, for example with llama-server, and pass endpoint:NAME and --base-url"
    return ""
