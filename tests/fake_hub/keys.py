"""How a repository is named: its type and its id."""

from __future__ import annotations

import re
from typing import NamedTuple

_PLURALS = {"model": "models", "dataset": "datasets", "space": "spaces"}
_TYPES = {plural: repo_type for repo_type, plural in _PLURALS.items()}
# Starts with a letter, a digit or an underscore, so that no part can be `.` or `..` and lead out of a folder.
_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")


class RepoKey(NamedTuple):
    """A repository's type ("model", "dataset" or "space") and its id ("org/name").

    Both are needed: a model and a data set may have the same id.
    """

    type: str
    id: str

    @property
    def namespace(self) -> str:
        """The user or organisation that owns the repository."""
        return self.id.split("/")[0]

    @property
    def folder(self) -> str:
        """Where the repository lies below a root: `datasets/org/name`."""
        return f"{_PLURALS[self.type]}/{self.id}"

    @property
    def web_path(self) -> str:
        """The path of the repository's page: like the folder, but models have no prefix."""
        return self.id if self.type == "model" else self.folder

    @property
    def is_valid(self) -> bool:
        """Whether the id is two plain names."""
        return _ID.fullmatch(self.id) is not None


def type_of(plural: str) -> str:
    """Return "dataset" for "datasets"."""
    return _TYPES[plural]


def parse_key(text: str) -> RepoKey:
    """Read `datasets/org/name` as a key.

    >>> parse_key("datasets/stanfordnlp/snli")
    RepoKey(type='dataset', id='stanfordnlp/snli')
    """
    plural, _, repo_id = text.partition("/")
    if plural not in _TYPES or not RepoKey(_TYPES[plural], repo_id).is_valid:
        raise ValueError(f"expected {'|'.join(_TYPES)}/<org>/<name>, got {text!r}")
    return RepoKey(_TYPES[plural], repo_id)
