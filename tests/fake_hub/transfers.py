"""The handlers of files. A client asks how to send each file, uploads the large ones with git-lfs, then commits."""

import base64
import json
from typing import Any

from starlette.responses import FileResponse, JSONResponse, Response

from tests.fake_hub.accounts import HubError
from tests.fake_hub.routing import Call, route
from tests.fake_hub.storage import File, Repository, belongs_in_lfs


@route("POST", "/api/{kind}/{repo}/preupload/{revision}")
async def preupload(call: Call) -> Response:
    """Return for each file whether it is large or already stored."""
    # The ref of a new pull request does not exist yet and will start at main.
    commit = _find_target(call).at("main" if call.asks_for("create_pr") else call["revision"])
    answers = []
    for asked in (await call.request.json())["files"]:
        path = asked["path"]
        is_large = belongs_in_lfs(path, asked["size"], base64.b64decode(asked.get("sample", "")))
        # From the oid, the client skips unchanged files, and makes no commit if all are unchanged.
        oid = commit.tree[path].oid if path in commit.tree else None
        mode = "lfs" if is_large else "regular"
        answers.append({"path": path, "uploadMode": mode, "shouldIgnore": False, "oid": oid})
    return JSONResponse({"files": answers})


def _find_target(call: Call) -> Repository:
    """Find the repository, or raise an error if the caller may not commit to main or to the pull request."""
    repo, revision = call.find_readable_repo(), call["revision"]
    is_own_proposal = (
        revision in repo.refs
        and revision.startswith("refs/pr/")
        and call.account is not None
        and repo.find_opening_commit(revision).author == call.account.name
    )
    return call.find_writable_repo(for_proposal=call.asks_for("create_pr") or is_own_proposal)


@route("POST", "/api/{kind}/{repo}/commit/{revision}")
async def commit(call: Call) -> Response:
    """Commit to a branch or to a pull request. The body has one JSON object per line, first a header."""
    header, *operations = map(json.loads, (await call.request.body()).splitlines())
    about, repo = header["value"], _find_target(call)
    ref = call["revision"] if call["revision"] in repo.refs else f"refs/heads/{call['revision']}"
    repo.check_head(ref, about.get("parentCommit"))
    tree = _apply(call, dict(repo.at(ref).tree), operations)
    if call.asks_for("create_pr"):
        ref = repo.open_pull_request()
    author = call.account.name if call.account else ""
    sha = repo.add_commit(ref, tree, about["summary"], author)
    url = f"{call.hub.endpoint}/{repo.key.web_path}"
    answer = {"success": True, "commitOid": sha, "commitUrl": f"{url}/commit/{sha}", "hookOutput": ""}
    if call.asks_for("create_pr"):
        answer["pullRequestUrl"] = f"{url}/discussions/{ref.rpartition('/')[2]}"
    return JSONResponse(answer)


def _apply(call: Call, tree: dict[str, File], operations: list[dict[str, Any]]) -> dict[str, File]:
    """Apply the operations of a commit to a tree."""
    storage = call.hub.storage
    for operation in operations:
        key, value = operation["key"], operation["value"]
        path = value["path"]
        if key == "deletedFile":
            del tree[path]
        elif key == "file":
            tree[path] = storage.keep_small(base64.b64decode(value["content"]))
        elif value["oid"] in storage.large:
            tree[path] = storage.describe_large(value["oid"])
        else:
            raise HubError(400, f"LFS object {value['oid']} was not uploaded")
    return tree


@route("POST", "/{page_kind}{repo}.git/info/lfs/objects/batch")
async def batch(call: Call) -> Response:
    """Return the upload URLs of a list of large files. Files that are stored need no upload."""
    call.find_writable_repo()
    answers: list[dict[str, Any]] = []
    for asked in (await call.request.json())["objects"]:
        upload = {"href": f"{call.hub.other_origin}/_lfs/{asked['oid']}"}
        actions = {"upload": upload, "verify": {"href": f"{call.hub.endpoint}/_lfs/verify"}}
        stored = asked["oid"] in call.hub.storage.large
        answers.append({"oid": asked["oid"], "size": asked["size"]} | ({} if stored else {"actions": actions}))
    return JSONResponse({"transfer": "basic", "objects": answers}, media_type="application/vnd.git-lfs+json")


@route("PUT", "/_lfs/{hash}")
async def put(call: Call) -> Response:
    await call.hub.storage.receive_large(call["hash"], call.request.stream())
    return Response(headers={"ETag": f'"{call["hash"]}"'})


@route("POST", "/_lfs/verify")
async def verify(call: Call) -> Response:
    """Confirm that a file is completely stored."""
    if (await call.request.json())["oid"] not in call.hub.storage.large:
        raise HubError(404, "the object is missing")
    return JSONResponse({})


@route("GET", "/_lfs/{hash}")
async def get(call: Call) -> Response:
    """Send a file, or the requested range of it."""
    content = call.hub.storage.large.get(call["hash"])
    if content is None:
        raise HubError(404, "no such object")
    return FileResponse(content, headers={"ETag": f'"{call["hash"]}"'}, media_type="application/octet-stream")


@route("GET", "/{page_kind}{repo}/resolve/{revision}/{path}")
async def resolve(call: Call) -> Response:
    """Send a small file, or redirect to a large one."""
    commit = call.find_commit()
    headers = {"X-Repo-Commit": commit.sha}  # the client names its snapshot folder after the commit
    file = commit.tree.get(call["path"])
    if file is None:
        # With the sha of the commit, clients cache that the file is missing.
        raise HubError(404, "Entry not found", "EntryNotFound", headers)
    if file.sha256 is not None:
        # Size and ETag of the file, not of this response.
        headers |= {"X-Linked-Size": str(file.size), "X-Linked-ETag": file.etag}
        headers["Location"] = f"{call.hub.other_origin}/_lfs/{file.sha256}?sig=x"
        return Response(status_code=302, headers=headers)
    return FileResponse(file.content, headers=headers | {"ETag": file.etag}, media_type="application/octet-stream")
