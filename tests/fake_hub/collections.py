"""Collections: titled lists of repositories in a namespace."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.responses import JSONResponse, Response

from tests.fake_hub.call import Call
from tests.fake_hub.errors import HubError, build_login_error, build_permission_error
from tests.fake_hub.keys import RepoKey
from tests.fake_hub.routing import route

_IN_A_LIST = 4  # the Hub includes only the first items in a list of collections
_LONGEST_DESCRIPTION = 150


async def list_collections(call: Call) -> Response:
    """List the collections of a namespace that are visible to the caller, on one page."""
    owner = call.query.get("owner", "")
    found = [json.loads(file.read_text()) for file in sorted(_folder(call).glob("*.json"))]
    seen = [each for each in found if each["owner"]["name"] == owner and _is_visible_to_caller(call, each)]
    shown = [each | {"items": each["items"][:_IN_A_LIST]} for each in seen]
    # In a list, the client assigns the positions.
    return JSONResponse([{name: value for name, value in each.items() if name != "position"} for each in shown])


async def get_collection(call: Call) -> Response:
    """Return a collection with all its items."""
    return JSONResponse(_load(call))


async def create_collection(call: Call) -> Response:
    """Create a collection. Titles are unique within a namespace."""
    body = await call.json()
    namespace = body["namespace"]
    _check_writer(call, namespace)
    if len(body.get("description") or "") > _LONGEST_DESCRIPTION:
        raise HubError(400, f"description: expected at most {_LONGEST_DESCRIPTION} characters")
    words = "-".join(re.findall(r"\w+", body["title"].lower()))
    slug = f"{namespace}/{words}-{hashlib.md5(f'{namespace}/{words}'.encode()).hexdigest()[:24]}"
    file = _file(call, slug)
    if file.exists():
        return JSONResponse({"error": "Collection already exists", "slug": slug}, 409)
    collection = {
        "slug": slug,
        "title": body["title"],
        "description": body.get("description"),
        "owner": {"name": namespace},
        "items": [],
        "lastUpdated": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "position": 0,
        "private": bool(body.get("private")),
        "theme": "orange",
        "upvotes": 0,
    }
    file.write_text(json.dumps(collection))
    return JSONResponse(collection)


async def add_item(call: Call) -> Response:
    """Add a repository to a collection. Adding it twice has no effect."""
    collection = _load(call)
    _check_writer(call, collection["owner"]["name"])
    item = (await call.json())["item"]
    repo = call.hub.repository(RepoKey(item["type"], item["id"]))
    if repo is None:
        raise HubError(404, f"{item['type']} {item['id']} not found")
    if any((each["type"], each["id"]) == (item["type"], item["id"]) for each in collection["items"]):
        raise HubError(409, "Item already in collection")
    internal = hashlib.md5(f"{item['type']}/{item['id']}".encode()).hexdigest()[:24]
    collection["items"].append({"_id": internal, **item, "position": len(collection["items"])})
    _file(call, collection["slug"]).write_text(json.dumps(collection))
    return JSONResponse(collection)


def _folder(call: Call) -> Path:
    folder = call.hub.settings.data / "collections"
    folder.mkdir(exist_ok=True)
    return folder


def _file(call: Call, slug: str) -> Path:
    return _folder(call) / f"{hashlib.md5(slug.encode()).hexdigest()}.json"


def _load(call: Call) -> dict[str, Any]:
    file = _file(call, call["repo"])
    collection: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    if not collection or not _is_visible_to_caller(call, collection):
        raise HubError(404, "Collection not found")
    return collection


def _is_visible_to_caller(call: Call, collection: dict[str, Any]) -> bool:
    owner = collection["owner"]["name"]
    return not collection["private"] or (call.account is not None and call.account.belongs_to(owner))


def _check_writer(call: Call, namespace: str) -> None:
    if call.account is None:
        raise build_login_error()
    if call.account.role != "write" or not call.account.belongs_to(namespace):
        raise build_permission_error(f"You don't have the rights to write collections of {namespace}")


ROUTES = [
    route("GET", "/api/collections", list_collections),
    route("POST", "/api/collections", create_collection),
    route("GET", "/api/collections/{repo}", get_collection),
    route("POST", "/api/collections/{repo}/items", add_item),
]
