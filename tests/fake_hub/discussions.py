"""The list of pull requests. Comments, closing and merging are not supported, so all of them are open."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response

from tests.fake_hub.access import get_readable_repo
from tests.fake_hub.call import Call
from tests.fake_hub.content import Commit
from tests.fake_hub.repository import MAIN, Repository
from tests.fake_hub.routing import route

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


ROUTES = [route("GET", "/api/{kind}/{repo}/discussions", list_discussions)]
