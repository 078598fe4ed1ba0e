"""Changes of a tree by a commit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tests.fake_hub.content import File, Tree
from tests.fake_hub.errors import HubError, build_entry_not_found_error


@dataclass(frozen=True)
class Put:
    """Addition or replacement of a file."""

    path: str
    file: File


@dataclass(frozen=True)
class Delete:
    """Deletion of a file."""

    path: str


Edit = Put | Delete


def apply_edits(tree: Tree, edits: Iterable[Edit]) -> dict[str, File]:
    """Return the tree after the edits, applied in order. Raise an error if one of them cannot be applied."""
    files = dict(tree)
    for edit in edits:
        _check_path(edit.path)
        if isinstance(edit, Put):
            _check_no_clash(files, edit.path)
            files[edit.path] = edit.file
        elif files.pop(edit.path, None) is None:
            raise build_entry_not_found_error(f"A file with this name doesn't exist: {edit.path}")
    return files


def _check_path(path: str) -> None:
    parts = path.rstrip("/").split("/")
    if parts[0] == ".git" or any(part in ("", ".", "..") for part in parts):
        raise HubError(400, f"invalid path in repo: {path!r}")


def _check_no_clash(files: Tree, path: str) -> None:
    parts = path.split("/")
    folders_above = {"/".join(parts[:depth]) for depth in range(1, len(parts))}
    if folders_above & files.keys() or any(other.startswith(path + "/") for other in files):
        raise HubError(400, f"path is both a file and a folder: {path!r}")
