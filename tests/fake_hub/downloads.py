"""Downloads: small files are sent directly, large files through a redirect to their storage."""

from __future__ import annotations

from pathlib import PurePosixPath

from starlette.responses import FileResponse, Response

from tests.fake_hub.access import get_readable_repo
from tests.fake_hub.call import Call
from tests.fake_hub.content import File
from tests.fake_hub.errors import build_entry_not_found_error
from tests.fake_hub.routing import route


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
    route("GET", "/{kind/}{repo}/resolve/{revision}/{path}", resolve),
    route("GET", "/{kind/}{repo}/raw/{revision}/{path}", resolve),
]
