"""Commits. A client asks how to send each file, uploads the large ones, then commits."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse, Response

from tests.fake_hub import cards
from tests.fake_hub.access import get_repo_for_proposals, get_writable_repo
from tests.fake_hub.call import Call
from tests.fake_hub.content import LFS_THRESHOLD, File, belongs_in_lfs, large_file
from tests.fake_hub.discussions import find_opening_commit
from tests.fake_hub.edits import Delete, Edit, Put
from tests.fake_hub.errors import HubError, build_revision_not_found_error
from tests.fake_hub.hub import Hub
from tests.fake_hub.repository import MAIN
from tests.fake_hub.routing import route
from tests.fake_hub.store import StoredRepository


async def preupload(call: Call) -> Response:
    """Return for each file whether it is large or already stored."""
    repo, body = _target(call), await call.json()
    # The ref of a new pull request does not exist yet and will start at main.
    commit = repo.at("main" if call.asks_for("create_pr") else call.revision)
    answers = []
    for asked in body["files"]:
        path, sample = asked["path"], base64.b64decode(asked.get("sample", ""))
        is_large = belongs_in_lfs(path, asked["size"], LFS_THRESHOLD, sample)
        there = commit.tree.get(path)
        answers.append(
            {
                "path": path,
                "uploadMode": "lfs" if is_large else "regular",
                "shouldIgnore": False,
                # From the oid, the client skips unchanged files, and makes no commit if all are unchanged.
                "oid": there.oid if there else None,
            }
        )
    return JSONResponse({"files": answers})


async def commit(call: Call) -> Response:
    """Commit to a branch or to a pull request. The body has one JSON object per line."""
    repo = _target(call)
    header: Mapping[str, Any] = {}
    edits: list[Edit] = []
    for line in (await call.request.body()).splitlines():
        operation = json.loads(line)
        if operation["key"] == "header":
            header = operation["value"]
        else:
            edits.append(_edit(call.hub, operation["key"], operation["value"]))
    _check_card(call.hub, repo.key.type, edits)

    repo = _target(call)  # load again, since another request may have changed it in the meantime
    as_pull_request = call.asks_for("create_pr")
    author = call.account.name if call.account else ""
    title, message, parent = header.get("summary", ""), header.get("description", ""), header.get("parentCommit")
    if as_pull_request:
        repo.check_head(MAIN, parent)
        ref = repo.open_pull_request()
    else:
        ref = call.revision if call.revision in repo.refs() else f"refs/heads/{call.revision}"
        if ref not in repo.refs():
            raise build_revision_not_found_error(call.revision)
    sha = repo.add_commit(ref, edits, title, message, author, parent)

    url = f"{call.hub.settings.endpoint}/{repo.key.web_path}"
    answer = {"success": True, "commitOid": sha, "commitUrl": f"{url}/commit/{sha}", "hookOutput": ""}
    if as_pull_request:
        answer["pullRequestUrl"] = f"{url}/discussions/{ref.removeprefix('refs/pr/')}"
    return JSONResponse(answer)


async def validate_card(call: Call) -> Response:
    """Validate the metadata of a README.md before the commit."""
    body = await call.json()
    try:
        warnings = cards.check(body.get("repoType") or "model", body["content"])
    except HubError as error:
        return JSONResponse({"errors": [{"message": error.message}], "warnings": []}, 400)
    return JSONResponse({"errors": [], "warnings": [{"message": warning} for warning in warnings]})


def _target(call: Call) -> StoredRepository:
    """Return the repository, or raise an error if the caller may not commit to main or to the pull request."""
    if call.asks_for("create_pr"):
        return get_repo_for_proposals(call)
    if call.revision.startswith("refs/pr/") and call.account is not None:
        repo = get_repo_for_proposals(call)
        if find_opening_commit(repo, call.revision).author == call.account.name:
            return repo
    return get_writable_repo(call)


def _edit(hub: Hub, key: str, value: Mapping[str, Any]) -> Edit:
    if key == "file":
        is_base64 = value.get("encoding") == "base64"
        data = base64.b64decode(value["content"]) if is_base64 else value["content"].encode()
        return Put(value["path"], hub.store.keep_small(data))
    if key == "lfsFile":
        return Put(value["path"], _uploaded(hub, value["oid"], value.get("size")))
    if key == "deletedFile":
        return Delete(value["path"])
    raise HubError(400, f"unknown operation {key!r}")


def _uploaded(hub: Hub, sha256: str, announced_size: int | None) -> File:
    """Describe a large file that was uploaded before the commit."""
    content = hub.large_content(sha256)
    if content is None:
        raise HubError(400, f"LFS object {sha256} was not uploaded")
    size = content.stat().st_size
    if announced_size is not None and announced_size != size:
        raise HubError(400, f"LFS object {sha256} has {size} bytes, not {announced_size}")
    return large_file(sha256, size)


def _check_card(hub: Hub, repo_type: str, edits: list[Edit]) -> None:
    for edit in edits:
        if isinstance(edit, Put) and edit.path == "README.md" and edit.file.sha256 is None:
            cards.check(repo_type, hub.store.blob(edit.file).read_text(encoding="utf-8", errors="replace"))


ROUTES = [
    route("POST", "/api/{kind}/{repo}/preupload/{revision}", preupload),
    route("POST", "/api/{kind}/{repo}/commit/{revision}", commit),
    route("POST", "/api/validate-yaml", validate_card),
]
