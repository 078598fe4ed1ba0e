"""The handlers of files. A client asks how to send each file, uploads the large ones with git-lfs, then commits."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from starlette.responses import FileResponse, JSONResponse, Response

from tests.fake_hub import cards
from tests.fake_hub.access import get_readable_repo, get_repo_for_proposals, get_writable_repo
from tests.fake_hub.accounts import HubError, build_entry_not_found_error, build_revision_not_found_error
from tests.fake_hub.content import Delete, Edit, File, Put, belongs_in_lfs, large_file
from tests.fake_hub.hub import Hub
from tests.fake_hub.repositories import find_opening_commit
from tests.fake_hub.routing import Call, route
from tests.fake_hub.store import MAIN, StoredRepository


async def preupload(call: Call) -> Response:
    """Return for each file whether it is large or already stored."""
    repo, body = _target(call), await call.json()
    # The ref of a new pull request does not exist yet and will start at main.
    commit = repo.at("main" if call.asks_for("create_pr") else call.revision)
    answers = []
    for asked in body["files"]:
        path, sample = asked["path"], base64.b64decode(asked.get("sample", ""))
        is_large = belongs_in_lfs(path, asked["size"], sample)
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


async def batch(call: Call) -> Response:
    """Return the upload or download URLs of a list of files."""
    body = await call.json()
    if body["operation"] == "upload":
        get_writable_repo(call)
    else:
        get_readable_repo(call)
    answers = []
    for asked in body["objects"]:
        answer = {"oid": asked["oid"], "size": asked["size"]}
        if body["operation"] == "upload":
            answer |= _where_to_put(call, asked["oid"])
        else:
            answer |= _where_to_get(call, asked["oid"])
        answers.append(answer)
    return JSONResponse({"transfer": "basic", "objects": answers}, media_type="application/vnd.git-lfs+json")


async def put(call: Call) -> Response:
    """Receive a whole file."""
    await call.hub.large_files.receive(call["hash"], call.request.stream())
    return Response(headers={"ETag": f'"{call["hash"]}"'})


async def verify(call: Call) -> Response:
    """Confirm that a file is completely stored."""
    body = await call.json()
    content = call.hub.large_files.find(body["oid"])
    if content is None or content.stat().st_size != body["size"]:
        raise HubError(404, "the object is missing")
    return JSONResponse({})


async def get(call: Call) -> Response:
    """Send a file, or the requested range of it."""
    content = call.hub.large_content(call["hash"])
    if content is None:
        raise HubError(404, "no such object")
    return FileResponse(content, headers={"ETag": f'"{call["hash"]}"'}, media_type="application/octet-stream")


def _where_to_put(call: Call, sha256: str) -> dict[str, Any]:
    if call.hub.large_content(sha256) is not None:
        return {}  # no action: nothing to upload
    url = f"{call.hub.settings.other_origin}/_lfs/{sha256}"
    return {"actions": {"upload": {"href": url}, "verify": {"href": f"{call.hub.settings.endpoint}/_lfs/verify"}}}


def _where_to_get(call: Call, sha256: str) -> dict[str, Any]:
    if call.hub.large_content(sha256) is None:
        return {"error": {"code": 404, "message": "Object not found"}}
    return {"actions": {"download": {"href": f"{call.hub.settings.other_origin}/_lfs/{sha256}"}}}


async def resolve(call: Call) -> Response:
    """Send a file, or redirect to it."""
    repo, path = get_readable_repo(call), call["path"]
    commit = repo.at(call.revision)
    file = commit.tree.get(path)
    if file is None:
        raise build_entry_not_found_error(commit_sha=commit.sha)
    headers = {"X-Repo-Commit": commit.sha}  # the client names its snapshot folder after the commit
    if file.sha256 is not None:
        return _redirect(call, file, headers)
    return FileResponse(
        repo.small_content(path, file),
        headers=headers | {"ETag": file.etag},
        media_type="application/octet-stream",
        filename=PurePosixPath(path).name,
        content_disposition_type="inline",
    )


def _redirect(call: Call, file: File, headers: dict[str, str]) -> Response:
    headers |= {
        # Size and ETag of the file, not of this response.
        "X-Linked-Size": str(file.size),
        "X-Linked-ETag": file.etag,
        "Location": f"{call.hub.settings.other_origin}/_lfs/{file.sha256}?sig=x",
    }
    return Response(status_code=302, headers=headers)


ROUTES = [
    route("POST", "/api/{kind}/{repo}/preupload/{revision}", preupload),
    route("POST", "/api/{kind}/{repo}/commit/{revision}", commit),
    route("POST", "/api/validate-yaml", validate_card),
    route("POST", "/{kind/}{repo}.git/info/lfs/objects/batch", batch),
    route("POST", "/_lfs/verify", verify),
    route("PUT", "/_lfs/{hash}", put),
    route("GET", "/_lfs/{hash}", get),
    route("GET", "/{kind/}{repo}/resolve/{revision}/{path}", resolve),
    route("GET", "/{kind/}{repo}/raw/{revision}/{path}", resolve),
]
