"""Branches, tags and commit history."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response

from tests.fake_hub.access import get_readable_repo
from tests.fake_hub.call import Call
from tests.fake_hub.routing import route

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


ROUTES = [
    route("GET", "/api/{kind}/{repo}/refs", list_refs),
    route("GET", "/api/{kind}/{repo}/commits/{revision}", list_commits),
]
