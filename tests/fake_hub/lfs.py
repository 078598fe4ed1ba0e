"""The git-lfs protocol: a client lists its large files and receives upload URLs for the missing ones.

These URLs need no token: as with the signed URLs of the Hub's storage, the sha256 is enough to read and write a file.
"""

from __future__ import annotations

from typing import Any

from starlette.responses import FileResponse, JSONResponse, Response

from tests.fake_hub.access import get_readable_repo, get_writable_repo
from tests.fake_hub.call import Call
from tests.fake_hub.errors import HubError
from tests.fake_hub.routing import route


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


ROUTES = [
    route("POST", "/{kind/}{repo}.git/info/lfs/objects/batch", batch),
    route("POST", "/_lfs/verify", verify),
    route("PUT", "/_lfs/{hash}", put),
    route("GET", "/_lfs/{hash}", get),
]
