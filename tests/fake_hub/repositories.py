"""The handlers that create, describe and list repositories, pull requests and collections."""

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

import yaml  # type: ignore[import-untyped]
from starlette.responses import JSONResponse, Response

from tests.fake_hub.accounts import HubError
from tests.fake_hub.routing import Call, route
from tests.fake_hub.storage import Commit, RepoKey, lfs_pointer

_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(.*?)\n---", re.DOTALL)


@route("GET", "/api/whoami-v2")
async def who_am_i(call: Call) -> Response:
    account = call.account
    if account is None:
        raise HubError(401, "Invalid username or password.")
    orgs = [{"type": "org", "name": org} for org in account.orgs]
    token = {"type": "access_token", "accessToken": {"displayName": "test", "role": account.role}}
    return JSONResponse({"type": "user", "name": account.name, "orgs": orgs, "auth": token})


@route("POST", "/api/repos/create")
async def create(call: Call) -> Response:
    body = await call.request.json()
    owner = body.get("organization") or call.require_writer(None, "Forbidden: you must use a write token.")
    key = RepoKey(body.get("type") or "model", f"{owner}/{body['name']}")
    refusal = f'You don\'t have the rights to create a {key.type} under the namespace "{key.namespace}"'
    author = call.require_writer(key.namespace, refusal)
    url = f"{call.hub.endpoint}/{key.web_path}"
    if call.hub.storage.find(key) is not None:
        # With `exist_ok=True`, the client reads `url` from this error response.
        message = f"You already created this {key.type} repo"
        return JSONResponse({"error": message, "url": url, "name": key.id}, 409, {"X-Error-Message": message})
    private = body.get("visibility") == "private" or bool(body.get("private"))
    call.hub.storage.create(key, author, private=private)
    return JSONResponse({"url": url, "name": key.id})


@route("GET", "/api/{kind}/{repo}")
@route("GET", "/api/{kind}/{repo}/revision/{revision}")
async def describe(call: Call) -> Response:
    repo, commit = call.find_readable_repo(), call.find_commit()
    file = commit.tree.get("README.md")
    try:
        card = {} if file is None else parse_card(file.content.read_text(encoding="utf-8", errors="replace"))
    except HubError:  # a mounted card may be invalid
        card = {}
    description = {
        **{"_id": _build_internal_id(repo.key.folder), "id": repo.key.id, "author": repo.key.namespace},
        **{"sha": commit.sha, "private": repo.private, "lastModified": commit.date, "cardData": card or None},
        "siblings": [{"rfilename": path} for path in sorted(commit.tree)],
    }
    return JSONResponse(json.loads(json.dumps(description, default=str)))  # YAML has dates, JSON does not


def _build_internal_id(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()[:24]


def parse_card(text: str) -> dict[str, Any]:
    """Parse the YAML metadata of a card, which may be missing. Raise an error if it is invalid."""
    if (found := _FRONT_MATTER.match(text)) is None:
        return {}
    try:
        data = yaml.safe_load(found[1]) or {}
    except yaml.YAMLError as error:
        raise HubError(400, f"Invalid YAML in README.md: {error}") from error
    if not isinstance(data, dict):
        raise HubError(400, f"the metadata of README.md must be a mapping, it is a {type(data).__name__}")
    return data


@route("POST", "/api/validate-yaml")
async def validate_card(call: Call) -> Response:
    """Validate the metadata of a README.md before the commit."""
    try:
        parse_card((await call.request.json())["content"])
    except HubError as error:
        return JSONResponse({"errors": [{"message": str(error)}], "warnings": []}, 400)
    return JSONResponse({"errors": [], "warnings": []})


@route("GET", "/api/{kind}/{repo}/commits/{revision}")
async def list_commits(call: Call) -> Response:
    return JSONResponse(
        [
            {"id": each.sha, "title": each.title, "message": "", "date": each.date, "authors": [{"user": each.author}]}
            for each in call.find_readable_repo().list_history(call["revision"])
        ]
    )


@route("GET", "/api/{kind}/{repo}/discussions")
async def list_discussions(call: Call) -> Response:
    """List the pull requests, which are all open, on one page."""
    repo, found = call.find_readable_repo(), []
    for ref in repo.refs:
        opened = repo.find_opening_commit(ref)
        if ref.startswith("refs/pr/") and call.request.query_params.get("author") in (None, opened.author):
            about = {"num": int(ref.rpartition("/")[2]), "title": opened.title, "author": {"name": opened.author}}
            about |= {"createdAt": opened.date, "status": "open", "isPullRequest": True}
            found.append(about | {"repo": {"name": repo.key.id, "type": repo.key.type}})
    return JSONResponse({"discussions": found, "count": len(found), "start": 0})


_IN_A_LIST = 4  # the Hub includes only the first items in a list of collections
_LONGEST_DESCRIPTION = 150


@route("GET", "/api/collections")
async def list_collections(call: Call) -> Response:
    owner = call.request.query_params.get("owner", "")
    found = [each for each in call.hub.collections.values() if each["owner"]["name"] == owner]
    shown = [each | {"items": each["items"][:_IN_A_LIST]} for each in found if _is_visible(call, each)]
    # In a list, the client assigns the positions.
    return JSONResponse([{name: value for name, value in each.items() if name != "position"} for each in shown])


@route("GET", "/api/collections/{repo}")
async def get_collection(call: Call) -> Response:
    return JSONResponse(_find_collection(call))


@route("POST", "/api/collections")
async def create_collection(call: Call) -> Response:
    """Create a collection. Titles are unique within a namespace."""
    body = await call.request.json()
    namespace = body["namespace"]
    call.require_writer(namespace, f"You don't have the rights to write collections of {namespace}")
    if len(body.get("description") or "") > _LONGEST_DESCRIPTION:
        raise HubError(400, f"description: expected at most {_LONGEST_DESCRIPTION} characters")
    words = "-".join(re.findall(r"\w+", body["title"].lower()))
    slug = f"{namespace}/{words}-{_build_internal_id(f'{namespace}/{words}')}"
    if slug in call.hub.collections:
        return JSONResponse({"error": "Collection already exists", "slug": slug}, 409)
    call.hub.collections[slug] = {
        **{"slug": slug, "title": body["title"], "description": body.get("description")},
        **{"owner": {"name": namespace}, "items": [], "private": bool(body.get("private"))},
        **{"position": 0, "theme": "orange", "upvotes": 0},
        "lastUpdated": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }
    return JSONResponse(call.hub.collections[slug])


@route("POST", "/api/collections/{repo}/items")
async def add_item(call: Call) -> Response:
    collection, item = _find_collection(call), (await call.request.json())["item"]
    owner = collection["owner"]["name"]
    call.require_writer(owner, f"You don't have the rights to write collections of {owner}")
    if call.hub.storage.find(RepoKey(item["type"], item["id"])) is None:
        raise HubError(404, f"{item['type']} {item['id']} not found")
    if any((each["type"], each["id"]) == (item["type"], item["id"]) for each in collection["items"]):
        raise HubError(409, "Item already in collection")
    internal = _build_internal_id(f"{item['type']}/{item['id']}")
    collection["items"].append({"_id": internal, **item, "position": len(collection["items"])})
    return JSONResponse(collection)


def _find_collection(call: Call) -> dict[str, Any]:
    collection = call.hub.collections.get(call["repo"])
    if collection is None or not _is_visible(call, collection):
        raise HubError(404, "Collection not found")
    return collection


def _is_visible(call: Call, collection: Mapping[str, Any]) -> bool:
    return not collection["private"] or call.is_member(collection["owner"]["name"])


@route("GET", "/api/{kind}/{repo}/tree/{revision}")
@route("GET", "/api/{kind}/{repo}/tree/{revision}/{path}")
async def list_folder(call: Call) -> Response:
    """List the files and folders below a folder, at all levels or only at the first."""
    prefix = f"{path}/" if (path := call.get("path", "").strip("/")) else ""
    commit, found = call.find_commit(), set()
    for path in commit.tree:
        if path.startswith(prefix):
            names = path.removeprefix(prefix).split("/")
            deepest = len(names) if call.asks_for("recursive") else 1
            found |= {prefix + "/".join(names[:depth]) for depth in range(1, deepest + 1)}
    if prefix and not found:
        raise HubError(404, f'{prefix.rstrip("/")} does not exist on "{call["revision"]}"', "EntryNotFound")
    return JSONResponse([_describe_entry(commit, path) for path in sorted(found)])


@route("POST", "/api/{kind}/{repo}/paths-info/{revision}")
async def describe_paths(call: Call) -> Response:
    """Describe the requested paths, without those that do not exist."""
    # huggingface_hub sends an HTML form.
    paths = parse_qs((await call.request.body()).decode()).get("paths", [])
    entries = [_describe_entry(call.find_commit(), path.strip("/")) for path in paths]
    return JSONResponse([entry for entry in entries if entry is not None])


def _describe_entry(commit: Commit, path: str) -> dict[str, Any] | None:
    """Describe a file or folder. Return None if the commit does not contain it."""
    if (file := commit.tree.get(path)) is not None:
        entry: dict[str, Any] = {"type": "file", "oid": file.oid, "size": file.size, "path": path}
        if file.sha256:
            pointer = len(lfs_pointer(file.sha256, file.size))
            entry["lfs"] = {"oid": file.sha256, "size": file.size, "pointerSize": pointer}
        return entry
    below = "".join(f"{each.oid} {name}\n" for name, each in commit.tree.items() if name.startswith(f"{path}/"))
    oid = hashlib.sha1(below.encode()).hexdigest()
    return {"type": "directory", "oid": oid, "size": 0, "path": path} if below else None
