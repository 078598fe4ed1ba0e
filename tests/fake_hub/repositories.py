"""The handlers that create, describe and list repositories, pull requests and collections."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from starlette.responses import JSONResponse, Response

from tests.fake_hub import cards
from tests.fake_hub.access import get_readable_repo, require_namespace_permission
from tests.fake_hub.accounts import HubError, build_entry_not_found_error, build_login_error, build_permission_error
from tests.fake_hub.content import Commit, File, RepoKey, Tree
from tests.fake_hub.routing import Call, route
from tests.fake_hub.store import MAIN, Repository


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


_GROUPS = {"refs/heads/": "branches", "refs/convert/": "converts", "refs/tags/": "tags", "refs/pr/": "pullRequests"}


async def list_refs(call: Call) -> Response:
    """List the refs by type. Refs of pull requests are included only on request."""
    groups = [group for group in _GROUPS.values() if group != "pullRequests" or call.asks_for("include_prs")]
    listing: dict[str, list[dict[str, str]]] = {group: [] for group in groups}
    for ref, sha in get_readable_repo(call).refs().items():
        for prefix, group in _GROUPS.items():
            if ref.startswith(prefix) and group in listing:
                listing[group].append({"name": ref.removeprefix(prefix), "ref": ref, "targetCommit": sha})
    return JSONResponse(listing)


async def list_commits(call: Call) -> Response:
    """List the commits from a revision back to the first."""
    repo = get_readable_repo(call)
    commit = repo.at(call.revision)
    commits = [commit]
    while commit.parent and (parent := repo.commit(commit.parent)):
        commits.append(parent)
        commit = parent
    return JSONResponse(
        [
            {
                "id": commit.sha,
                "title": commit.title,
                "message": commit.message,
                "authors": [{"user": commit.author}],
                "date": commit.date,
            }
            for commit in commits
        ]
    )


_PULL_REQUESTS = "refs/pr/"


async def list_discussions(call: Call) -> Response:
    """List the pull requests on one page, optionally of one author."""
    repo = get_readable_repo(call)
    found = []
    for ref in repo.refs():
        if not ref.startswith(_PULL_REQUESTS) or call.query.get("status", "open") == "closed":
            continue
        opened = find_opening_commit(repo, ref)
        if call.query.get("author") in (None, opened.author):
            found.append(
                {
                    "num": int(ref.removeprefix(_PULL_REQUESTS)),
                    "title": opened.title,
                    "author": {"name": opened.author},
                    "createdAt": opened.date,
                    "status": "open",
                    "isPullRequest": True,
                    "repo": {"name": repo.key.id, "type": repo.key.type},
                }
            )
    return JSONResponse({"discussions": found, "count": len(found), "start": 0})


def find_opening_commit(repo: Repository, ref: str) -> Commit:
    """Return the first commit of a pull request, which has its title and author."""
    main = set()
    commit: Commit | None = repo.at(MAIN)
    while commit is not None:
        main.add(commit.sha)
        commit = repo.commit(commit.parent) if commit.parent else None
    commit = repo.at(ref)
    while commit.parent and commit.parent not in main:
        commit = repo.at(commit.parent)
    return commit


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
    route("GET", "/api/whoami-v2", who_am_i),
    route("POST", "/api/repos/create", create),
    route("GET", "/api/{kind}/{repo}", info),
    route("GET", "/api/{kind}/{repo}/revision/{revision}", info_at_revision),
    route("GET", "/api/{kind}/{repo}/refs", list_refs),
    route("GET", "/api/{kind}/{repo}/commits/{revision}", list_commits),
    route("GET", "/api/{kind}/{repo}/discussions", list_discussions),
    route("GET", "/api/collections", list_collections),
    route("POST", "/api/collections", create_collection),
    route("GET", "/api/collections/{repo}", get_collection),
    route("POST", "/api/collections/{repo}/items", add_item),
    route("GET", "/api/{kind}/{repo}/tree/{revision}", list_root),
    route("GET", "/api/{kind}/{repo}/tree/{revision}/{path}", list_folder),
    route("POST", "/api/{kind}/{repo}/paths-info/{revision}", describe_paths),
]
