"""Create and describe repositories, and describe the caller."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse, Response

from tests.fake_hub import cards
from tests.fake_hub.access import get_readable_repo, require_namespace_permission
from tests.fake_hub.call import Call
from tests.fake_hub.errors import HubError, build_login_error
from tests.fake_hub.keys import RepoKey
from tests.fake_hub.repository import Repository
from tests.fake_hub.routing import route


async def who_am_i(call: Call) -> Response:
    """Describe the caller."""
    account = call.account
    if account is None:
        raise build_login_error()
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
    author = require_namespace_permission(call, key)
    url = f"{call.hub.settings.endpoint}/{key.web_path}"
    if call.hub.repository(key) is not None:
        # With `exist_ok=True`, the client reads `url` from this error response.
        message = f"You already created this {key.type} repo"
        return JSONResponse({"error": message, "url": url, "name": key.id}, 409, {"X-Error-Message": message})
    private = body.get("visibility") == "private" or bool(body.get("private"))
    call.hub.store.create(key, author, private=private, sdk=body.get("sdk"))
    return JSONResponse({"url": url, "name": key.id, "id": _internal_id(key)})


async def info(call: Call) -> Response:
    """Describe a repository at its main branch."""
    return JSONResponse(_describe(get_readable_repo(call), "main"))


async def info_at_revision(call: Call) -> Response:
    """Describe a repository at a revision."""
    return JSONResponse(_describe(get_readable_repo(call), call.revision))


def _key_in(call: Call, body: Mapping[str, Any]) -> RepoKey:
    """Parse the key of the repository in a body. The default namespace is the caller's."""
    if call.account is None:
        raise build_login_error()
    key = RepoKey(body.get("type") or "model", f"{body.get('organization') or call.account.name}/{body['name']}")
    if not key.is_valid:
        raise HubError(400, f"invalid repository name: {key.id}")
    return key


def _describe(repo: Repository, revision: str) -> dict[str, Any]:
    commit = repo.at(revision)
    card = cards.metadata(repo.text(commit, "README.md"))
    description = {
        "_id": _internal_id(repo.key),
        "id": repo.key.id,
        "author": repo.key.namespace,
        "sha": commit.sha,
        "private": repo.private,
        "gated": False,
        "disabled": False,
        "likes": 0,
        "downloads": 0,
        "createdAt": repo.created,
        "lastModified": commit.date,
        "tags": list(cards.tags(card)),
        "siblings": [{"rfilename": path} for path in sorted(commit.tree)],
        "cardData": card or None,
        "usedStorage": sum(file.size for file in commit.tree.values()),
    }
    if repo.key.type == "model":
        description["modelId"] = repo.key.id
        description["pipeline_tag"] = card.get("pipeline_tag")
        description["library_name"] = card.get("library_name")
    if repo.key.type == "space":
        description["sdk"] = repo.sdk
    # YAML has dates, JSON does not.
    plain: dict[str, Any] = json.loads(json.dumps(description, default=str))
    return plain


def _internal_id(key: RepoKey) -> str:
    return hashlib.md5(key.folder.encode()).hexdigest()[:24]


ROUTES = [
    route("GET", "/api/whoami-v2", who_am_i),
    route("POST", "/api/repos/create", create),
    route("GET", "/api/{kind}/{repo}", info),
    route("GET", "/api/{kind}/{repo}/revision/{revision}", info_at_revision),
]
