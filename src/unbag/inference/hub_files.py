"""Where a model is (a folder, or a Hub repository at one commit), what identifies its files, and its own code.

Code of a repository runs only where the user allows it, and is recorded.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from huggingface_hub import is_offline_mode, resolve_revision, snapshot_download
from huggingface_hub.errors import (
    HfHubHTTPError,
    HFValidationError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
    RevisionResolutionError,
)

from unbag.inference.predictor import ModelError
from unbag.utils import hub_files
from unbag.utils.hashing import file_hash
from unbag.utils.hub import HubReadError, absence_of, hub_read
from unbag.utils.offline import unless_unreachable
from unbag.utils.redaction import first_line

_FILES: Final = (
    "config.json",
    "model*.safetensors*",
    "pytorch_model*",
    "tokenizer*",
    "vocab*",
    "merges.txt",
    "*.model",  # SentencePiece
    "added_tokens.json",
    "special_tokens_map.json",
)
"""What the library reads to build the model and its tokenizer. A card, results or a trainer's state beside them do not
change a prediction."""


def folder_revision(folder: Path) -> str:
    """Return `sha256:` and a hash of the model's and its tokenizer's files: their names and contents.

    The folder's own name and place are no part of it: a copy is the same model.
    """
    files = (path for path in folder.iterdir() if path.is_file() and is_of_model(path.name))
    return revision_of({path.name: file_hash(path) for path in files})


def is_of_model(name: str) -> bool:
    """Tell whether a file of that name at the top of a folder is one of the model's or its tokenizer's."""
    return any(fnmatchcase(name, pattern) for pattern in _FILES)


def revision_of(hashes: Mapping[str, str]) -> str:
    """Return `sha256:` and a hash of files, from the sha256 of each by its name."""
    digest = hashlib.sha256()
    for name in sorted(hashes):
        digest.update(f"{name}\0{hashes[name]}\n".encode())
    return f"sha256:{digest.hexdigest()}"


def names_code(folder: Path) -> bool:
    """Tell whether a model's files name code of their own for transformers to run (`auto_map`)."""
    return bool(_auto_maps(folder))


def elsewhere(folder: Path) -> str | None:
    """Return the first class of a model whose code lies in another repository, of which no commit is known.

    >>> elsewhere(Path("/nowhere")) is None
    True
    """
    return next((name for each in _auto_maps(folder) for name in _classes(each) if "--" in name), None)


def code_revision(folder: Path) -> str:
    """Return `sha256:` and a hash of the code beside a model's config: which code it was that was trusted."""
    return revision_of({path.name: file_hash(path) for path in folder.glob("*.py")})


def _auto_maps(folder: Path) -> list[dict[str, Any]]:
    maps = []
    for name in ("config.json", "tokenizer_config.json"):
        try:
            record = json.loads((folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):  # what is wrong with it, its reader says
            continue
        if isinstance(record, dict) and isinstance(record.get("auto_map"), dict) and record["auto_map"]:
            maps.append(record["auto_map"])
    return maps


def _classes(auto_map: dict[str, Any]) -> list[str]:
    """Return the classes that a map names: one, or for a tokenizer a slow and a fast one."""
    values = [each for value in auto_map.values() for each in (value if isinstance(value, list) else [value])]
    return [value for value in values if isinstance(value, str)]


@dataclass(frozen=True)
class Origin:
    """Where a model is read from.

    Config, weights and tokenizer are read from one commit, though a branch may move meanwhile.

    Attributes:
        source: the Hub id or the folder, which transformers is given and messages name.
        commit: of the Hub; None for a folder.
        trust: whether code of the repository is run.
    """

    source: str
    commit: str | None
    trust: bool = False

    def __str__(self) -> str:
        return self.source

    def fetched(self, *, weights: bool = False) -> Path:
        """Return the folder with the files; those of the Hub are brought to this machine first.

        Args:
            weights: whether the weights too, or only what is small.

        Raises:
            ModelError: if they cannot be had, or there is no config among them.
        """
        if self.commit is None:
            return Path(self.source)
        try:
            with unless_unreachable():
                if is_offline_mode():  # transformers takes what is here
                    return Path(
                        snapshot_download(
                            self.source, revision=self.commit, local_files_only=True, allow_patterns="config.json"
                        )
                    )
                folder = hub_files.fetched(self.source, self.commit, weights=weights, code=self.trust)
        except HubReadError as error:
            raise ModelError(str(error)) from error
        except (HfHubHTTPError, OSError) as error:
            absent = absence_of(error, "model", self.source)
            raise ModelError(absent or f"cannot fetch {self.source} from the Hub: {first_line(error)}") from error
        if not (folder / "config.json").is_file():
            raise ModelError(
                f"expected a model of transformers in {self.source}, found no config.json in the repository"
            )
        return folder

    def options(self) -> dict[str, Any]:
        """Return how transformers reads it: what was fetched, and code of others only if the user trusts it."""
        return {
            "revision": self.commit,
            "local_files_only": self.commit is not None,
            "trust_remote_code": self.trust,
        }

    def identity(self) -> tuple[str, str]:
        """Return the name and the revision by which a model is known."""
        return ("folder", folder_revision(Path(self.source))) if self.commit is None else (self.source, self.commit)

    def code(self) -> str | None:
        """Return a hash of the repository's code where that is run, else None."""
        return code_revision(self.fetched(weights=True)) if self.trust else None


def origin_of(model: str | Path, revision: str | None, *, trust: bool = False) -> Origin:
    """Return where a model is.

    Args:
        model: a Hub id such as `org/name`, or a folder made by `save_pretrained`.
        revision: the branch, tag or commit of a Hub model.
        trust: whether code of the repository is run.

    Raises:
        ModelError: if there is no such model.
    """
    folder = _folder(model, revision)
    if folder is not None:
        return Origin(str(folder), None, trust)
    return Origin(str(model), _commit(str(model), revision), trust)


def _folder(model: str | Path, revision: str | None) -> Path | None:
    """Return the folder that is meant, or None if it is a Hub id."""
    path = Path(model).expanduser()
    if not path.is_dir():
        if isinstance(model, Path) or model.startswith((".", "/", "~")) or model.count("/") > 1:
            raise ModelError(f"expected a folder with a model or a Hub id such as org/name, found no folder {model}")
        return None
    if not (path / "config.json").is_file():
        entries = sorted(entry.name for entry in path.iterdir())[:10]
        raise ModelError(f"expected a model made by save_pretrained in {path}, found no config.json but {entries}")
    for entry in path.iterdir():
        if entry.exists() and not (entry.is_file() or entry.is_dir()):  # whoever opens a named pipe waits for ever
            raise ModelError(f"{entry}: expected a file of a model, found a named pipe, a socket or a device")
    if revision is not None:
        raise ModelError(f"{path} is a folder, which has no revision {revision!r}; leave the revision out")
    return path


def _commit(source: str, revision: str | None) -> str:
    """Return the commit that a branch, a tag or nothing stands for; from the cache if the Hub is out of reach."""
    try:
        with unless_unreachable() as unreachable:
            return hub_read(
                f"the model {source}", lambda: resolve_revision(source, revision=revision), unreachable=not unreachable
            ).resolved
    except RevisionNotFoundError as error:
        raise ModelError(f"the model {source} has no revision {revision!r}; see its history on the Hub") from error
    except RepositoryNotFoundError as error:
        raise ModelError(absence_of(error, "model", source)) from error
    except HubReadError as error:
        raise ModelError(str(error)) from error
    except (HfHubHTTPError, HFValidationError, RevisionResolutionError) as error:
        if unreachable:
            raise ModelError(f"the model {source} is not on this machine, and {unreachable}") from error
        raise ModelError(f"cannot look up {source} on the Hub: {first_line(error)}") from error
