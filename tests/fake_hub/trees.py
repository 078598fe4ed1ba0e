"""Lists of the files and folders of a revision."""

from __future__ import annotations

import hashlib
from typing import Any
from urllib.parse import parse_qs

from starlette.responses import JSONResponse, Response

from tests.fake_hub.access import get_readable_repo
from tests.fake_hub.call import Call
from tests.fake_hub.content import Commit, File, Tree
from tests.fake_hub.errors import build_entry_not_found_error
from tests.fake_hub.routing import route


async def list_root(call: Call) -> Response:
    """List the entries at the root of a revision."""
    return _listing(call, "")


async def list_folder(call: Call) -> Response:
    """List the entries of a folder."""
    return _listing(call, call["path"].strip("/") + "/")


async def describe_paths(call: Call) -> Response:
    """Describe the requested paths, without those that do not exist."""
    body = await call.request.body()
    # huggingface_hub sends an HTML form.
    form = parse_qs(body.decode(), keep_blank_values=True)
    paths, expand = form.get("paths", []), form.get("expand", [""])[0].lower() == "true"
    commit = get_readable_repo(call).at(call.revision)
    wanted = [path.strip("/") for path in paths]
    found = [_entry(commit, path, expand=expand) for path in wanted]
    return JSONResponse([entry for entry in found if entry is not None])


def _listing(call: Call, prefix: str) -> Response:
    commit = get_readable_repo(call).at(call.revision)
    recursive, expand = call.asks_for("recursive"), call.asks_for("expand")
    paths = _paths_below(commit.tree, prefix, recursive=recursive)
    if prefix and not paths:
        raise build_entry_not_found_error(f'{prefix.rstrip("/")} does not exist on "{call.revision}"')
    return JSONResponse([_entry(commit, path, expand=expand) for path in paths])


def _paths_below(tree: Tree, prefix: str, *, recursive: bool) -> list[str]:
    """Return the files and folders below a prefix, at all levels or only at the first."""
    found = set()
    for path in tree:
        if path.startswith(prefix):
            names = path.removeprefix(prefix).split("/")
            deepest = len(names) if recursive else 1
            found |= {prefix + "/".join(names[:depth]) for depth in range(1, deepest + 1)}
    return sorted(found)


def _entry(commit: Commit, path: str, *, expand: bool) -> dict[str, Any] | None:
    """Describe a file or folder. Return None if the commit does not contain it."""
    if path in commit.tree:
        entry = _file_entry(path, commit.tree[path])
    elif any(other.startswith(path + "/") for other in commit.tree):
        entry = _folder_entry(path, commit.tree)
    else:
        return None
    if expand:
        # The requested commit instead of the last one that changed the path, which is not stored.
        entry["lastCommit"] = {"id": commit.sha, "title": commit.title, "date": commit.date}
    return entry


def _file_entry(path: str, file: File) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "file", "oid": file.oid, "size": file.size, "path": path}
    if file.sha256:
        entry["lfs"] = {"oid": file.sha256, "size": file.size, "pointerSize": file.pointer_size}
    return entry


def _folder_entry(path: str, tree: Tree) -> dict[str, Any]:
    content = "".join(f"{file.oid} {name}\n" for name, file in sorted(tree.items()) if name.startswith(path + "/"))
    return {"type": "directory", "oid": hashlib.sha1(content.encode()).hexdigest(), "size": 0, "path": path}


ROUTES = [
    route("GET", "/api/{kind}/{repo}/tree/{revision}", list_root),
    route("GET", "/api/{kind}/{repo}/tree/{revision}/{path}", list_folder),
    route("POST", "/api/{kind}/{repo}/paths-info/{revision}", describe_paths),
]
