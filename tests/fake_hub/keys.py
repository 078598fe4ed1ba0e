"""The names of repositories: type and id."""

from __future__ import annotations

import re
from typing import NamedTuple

_PLURALS = {"model": "models", "dataset": "datasets", "space": "spaces"}
_TYPES = {plural: repo_type for repo_type, plural in _PLURALS.items()}
# The first character is a letter, digit or underscore, so that no part can be `.` or `..` and leave the folder.
_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")


class RepoKey(NamedTuple):
    """The type ("model", "dataset" or "space") and the id ("org/name") of a repository.

    The type is needed because a model and a dataset can have the same id.
    """

    type: str
    id: str

    @property
    def namespace(self) -> str:
        """The user or organisation that owns the repository."""
        return self.id.split("/")[0]

    @property
    def folder(self) -> str:
        """The folder of the repository below a root: `datasets/org/name`."""
        return f"{_PLURALS[self.type]}/{self.id}"

    @property
    def web_path(self) -> str:
        """The path of the repository's page. Models have no prefix."""
        return self.id if self.type == "model" else self.folder

    @property
    def is_valid(self) -> bool:
        """Whether the id consists of two valid names."""
        return _ID.fullmatch(self.id) is not None


def type_of(plural: str) -> str:
    """Return "dataset" for "datasets"."""
    return _TYPES[plural]


def parse_key(text: str) -> RepoKey:
    """Parse a key such as `datasets/org/name`.

    >>> parse_key("datasets/stanfordnlp/snli")
    RepoKey(type='dataset', id='stanfordnlp/snli')
    """
    plural, _, repo_id = text.partition("/")
    if plural not in _TYPES or not RepoKey(_TYPES[plural], repo_id).is_valid:
        raise ValueError(f"expected {'|'.join(_TYPES)}/<org>/<name>, got {text!r}")
    return RepoKey(_TYPES[plural], repo_id)
