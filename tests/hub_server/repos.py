"""Repositories as a whole: create, delete, rename, describe, list. And who is asking."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse, Response

from . import cards
from .access import check_gate, check_may_own, is_listed, not_mounted, readable, writable
from .call import Call
from .content import Commit
from .errors import HubError, not_logged_in, repo_not_found
from .keys import RepoKey
from .repository import Repository
from .routing import route


async def who_am_i(call: Call) -> Response:
    """Describe the caller."""
    account = call.account
    if account is None:
        raise not_logged_in()
    return JSONResponse(
        {
            "type": "user",
            "id": account.name,
            "name": account.name,
            "fullname": account.name,
            "email": f"{account.name}@example.test",
            "isPro": False,
            "orgs": [{"type": "org", "name": org} for org in account.orgs],
            "auth": {"type": "access_token", "accessToken": {"displayName": "test", "role": account.role}},
        }
    )


async def create(call: Call) -> Response:
    """Create a repository."""
    body = await call.json()
    key = _key_in(call, body)
    author = check_may_own(call, key)
    url = f"{call.hub.settings.endpoint}/{key.web_path}"
    if call.hub.repository(key) is not None:
        # The client reads `url` from this answer too: that is how `exist_ok=True` works.
        message = f"You already created this {key.type} repo"
        return JSONResponse({"error": message, "url": url, "name": key.id}, 409, {"X-Error-Message": message})
    private = body.get("visibility") == "private" or bool(body.get("private"))
    call.hub.store.create(key, author, private=private, sdk=body.get("sdk"))
    return JSONResponse({"url": url, "name": key.id, "id": _internal_id(key)})


async def delete(call: Call) -> Response:
    """Delete a repository."""
    key = _key_in(call, await call.json())
    check_may_own(call, key)
    call.hub.store.delete(_existing(call, key).key)
    return Response()


async def move(call: Call) -> Response:
    """Give a repository another name."""
    body = await call.json()
    repo_type = body.get("type") or "model"
    old, new = RepoKey(repo_type, body["fromRepo"]), RepoKey(repo_type, body["toRepo"])
    for key in (old, new):
        check_may_own(call, key)
    if call.hub.repository(new) is not None or not new.is_valid:
        raise HubError(409, f"{new.id} is taken, or no valid name")
    call.hub.store.move(_existing(call, old).key, new)
    return JSONResponse({})


async def change_settings(call: Call) -> Response:
    """Change who may see a repository."""
    repo, body = writable(call), await call.json()
    private = body["visibility"] == "private" if "visibility" in body else body.get("private")
    repo.change_settings(private=private, gated=body.get("gated"))
    return JSONResponse({})


async def check_auth(call: Call) -> Response:
    """Say whether the caller may read a repository's files."""
    check_gate(call, readable(call))
    return JSONResponse({})


async def info(call: Call) -> Response:
    """Describe a repository at its main branch."""
    return JSONResponse(_describe(readable(call), "main", with_blobs=call.asks_for("blobs")))


async def info_at_revision(call: Call) -> Response:
    """Describe a repository at a revision."""
    return JSONResponse(_describe(readable(call), call.revision, with_blobs=call.asks_for("blobs")))


async def list_all(call: Call) -> Response:
    """List the repositories of a type, by author, by a part of the id, and by tags."""
    author, search, wanted = call.query.get("author"), call.query.get("search", ""), call.query.getlist("filter")
    found = []
    for repo in call.hub.repositories(call.repo_type):
        if not is_listed(call, repo) or (author and repo.key.namespace != author):
            continue
        description = _describe(repo, "main")
        if search.lower() in repo.key.id.lower() and set(wanted) <= set(description["tags"]):
            found.append(description)
    return JSONResponse(found[: int(call.query.get("limit", call.hub.settings.page_size))])


def _key_in(call: Call, body: Mapping[str, Any]) -> RepoKey:
    """Read which repository a body is about; without an organisation it is one of the caller's own."""
    if call.account is None:
        raise not_logged_in()
    key = RepoKey(body.get("type") or "model", f"{body.get('organization') or call.account.name}/{body['name']}")
    if not key.is_valid:
        raise HubError(400, f"invalid repository name: {key.id}")
    return key


def _existing(call: Call, key: RepoKey) -> Repository:
    repo = call.hub.repository(key)
    if repo is None:
        raise repo_not_found(known_caller=True)
    return not_mounted(repo)


def _describe(repo: Repository, revision: str, *, with_blobs: bool = False) -> dict[str, Any]:
    commit = repo.at(revision)
    card = cards.metadata(repo.text(commit, "README.md"))
    description = {
        "_id": _internal_id(repo.key),
        "id": repo.key.id,
        "author": repo.key.namespace,
        "sha": commit.sha,
        "private": repo.private,
        "gated": repo.gated,
        "disabled": False,
        "likes": 0,
        "downloads": 0,
        "createdAt": repo.created,
        "lastModified": commit.date,
        "tags": list(cards.tags(card)),
        "siblings": _files(commit, with_blobs=with_blobs),
        "cardData": card or None,
        "usedStorage": sum(file.size for file in commit.tree.values()),
    }
    if repo.key.type == "model":
        description["modelId"] = repo.key.id
        description["pipeline_tag"] = card.get("pipeline_tag")
        description["library_name"] = card.get("library_name")
    if repo.key.type == "space":
        description["sdk"] = repo.sdk
    # YAML knows dates, JSON does not.
    plain: dict[str, Any] = json.loads(json.dumps(description, default=str))
    return plain


def _files(commit: Commit, *, with_blobs: bool) -> list[dict[str, Any]]:
    files = []
    for path, file in sorted(commit.tree.items()):
        described: dict[str, Any] = {"rfilename": path}
        if with_blobs:
            described |= {"size": file.size, "blobId": file.oid}
            if file.sha256:
                described["lfs"] = {"sha256": file.sha256, "size": file.size, "pointerSize": file.pointer_size}
        files.append(described)
    return files


def _internal_id(key: RepoKey) -> str:
    return hashlib.md5(key.folder.encode()).hexdigest()[:24]


ROUTES = [
    route("GET", "/api/whoami-v2", who_am_i),
    route("POST", "/api/repos/create", create),
    route("DELETE", "/api/repos/delete", delete),
    route("POST", "/api/repos/move", move),
    route("GET", "/api/{kind}", list_all),
    route("GET", "/api/{kind}/{repo}", info),
    route("GET", "/api/{kind}/{repo}/revision/{revision}", info_at_revision),
    route("GET", "/api/{kind}/{repo}/auth-check", check_auth),
    route("PUT", "/api/{kind}/{repo}/settings", change_settings),
]
