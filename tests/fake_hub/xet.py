"""The Xet protocol: the chunk storage for `hf_xet`, the compiled part of the client."""

from __future__ import annotations

import re
import time
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, JSONResponse, Response

from tests.fake_hub.access import get_readable_repo, get_writable_repo
from tests.fake_hub.call import Call
from tests.fake_hub.errors import HubError
from tests.fake_hub.hub import Hub
from tests.fake_hub.routing import route
from tests.fake_hub.xet_store import Segment

# The storage has separate tokens, which a client receives from the Hub in exchange for a user token.
_STORAGE_TOKEN = "xet-storage-token"
_TOKEN_LIFETIME = 3600  # seconds


async def give_token(call: Call) -> Response:
    """Exchange the user's token for a read or write token of the storage."""
    if not call.hub.settings.xet:
        raise HubError(404, "Xet is not enabled")
    if call["access"] == "write":
        get_writable_repo(call)
    else:
        get_readable_repo(call)
    url, expires = call.hub.settings.endpoint, int(time.time()) + _TOKEN_LIFETIME
    # The Python part of the client reads the headers, the compiled part reads the body.
    return JSONResponse(
        {"accessToken": _STORAGE_TOKEN, "exp": expires, "casUrl": url},
        headers={
            "X-Xet-Cas-Url": url,
            "X-Xet-Access-Token": _STORAGE_TOKEN,
            "X-Xet-Token-Expiration": str(expires),
        },
    )


async def put_xorb(call: Call) -> Response:
    """Receive a xorb."""
    _check_storage_token(call)
    return JSONResponse({"was_inserted": call.hub.xet.add_xorb(call["hash"], await call.request.body())})


async def put_shard(call: Call) -> Response:
    """Receive a shard."""
    _check_storage_token(call)
    call.hub.xet.add_shard(await call.request.body())
    return JSONResponse({"result": 1})


async def find_chunk(call: Call) -> Response:
    """Reply that the chunk is not stored yet. Without deduplication the storage is simpler."""
    raise HubError(404, "not found")


async def get_xorb(call: Call) -> Response:
    """Send a range of a xorb, as returned by `reconstruct`."""
    path = call.hub.xet.xorb(call["hash"])
    if path is None:
        raise HubError(404, "unknown xorb")
    return FileResponse(path, media_type="application/octet-stream")


async def reconstruct(call: Call) -> Response:
    """Return the segments of a file or of a range of it, with the addresses of their bytes."""
    _check_storage_token(call)
    file = call.hub.xet.file(call["hash"])
    if file is None:
        raise HubError(404, "unknown file")
    start, end = _asked_range(call.request.headers.get("range"), file.size)
    if start >= file.size and file.size > 0:
        raise HubError(416, "the range starts past the end")
    terms: list[dict[str, Any]] = []
    places: dict[str, list[dict[str, Any]]] = {}
    skipped = 0
    position = 0
    for segment in file.segments:
        segment_start, position = position, position + segment.size
        if position <= start or segment_start >= end:
            continue
        # Segments are sent whole: the client drops `skipped` bytes of the first, and the end of the last.
        if not terms:
            skipped = start - segment_start
        chunks = {"start": segment.first, "end": segment.end}
        terms.append({"hash": segment.xorb, "unpacked_length": segment.size, "range": chunks})
        place = _place(call.hub, segment) | {"range": chunks}
        if place not in places.setdefault(segment.xorb, []):
            places[segment.xorb].append(place)
    return JSONResponse({"offset_into_first_range": skipped, "terms": terms, "fetch_info": places})


async def unpack(hub: Hub, xet_hash: str, sha256: str) -> None:
    """Reassemble a file from its chunks for clients without Xet.

    The client library reads the chunks from this server and decompresses them. This must run in a thread, because the
    event loop has to answer these requests.
    """
    file = hub.xet.file(xet_hash)
    assert file is not None, f"{xet_hash} comes from this store"
    arriving = hub.large_files.arrival_path()

    def download() -> None:
        import hf_xet  # type: ignore[import-untyped]  # here, since only this needs it

        session = hf_xet.XetSession()
        expires = int(time.time()) + _TOKEN_LIFETIME
        with session.new_file_download_group(
            endpoint=hub.settings.endpoint, token=_STORAGE_TOKEN, token_expiry_unix_secs=expires
        ) as group:
            group.start_download_file(hf_xet.XetFileInfo(xet_hash, file.size), str(arriving))

    await run_in_threadpool(download)
    hub.large_files.adopt(arriving, sha256)


def _place(hub: Hub, segment: Segment) -> dict[str, Any]:
    offsets = hub.xet.chunk_offsets(segment.xorb)
    return {
        "url": f"{hub.settings.endpoint}/_xorb/{segment.xorb}",
        "url_range": {"start": offsets[segment.first], "end": offsets[segment.end] - 1},  # the end is inclusive
    }


def _asked_range(header: str | None, size: int) -> tuple[int, int]:
    """Parse a Range header into start and exclusive end."""
    found = re.fullmatch(r"bytes=(\d+)-(\d*)", header or "")
    if found is None:
        return 0, size
    return int(found[1]), min(int(found[2]) + 1, size) if found[2] else size


def _check_storage_token(call: Call) -> None:
    if call.request.headers.get("authorization") != f"Bearer {_STORAGE_TOKEN}":
        raise HubError(401, "this is no token of the storage")


ROUTES = [
    route("GET", "/api/{kind}/{repo}/xet-{access}-token/{revision}", give_token),
    route("POST", "/v1/xorbs/{name}/{hash}", put_xorb),
    route("POST", "/v1/shards", put_shard),
    route("GET", "/v1/chunks/{name}/{hash}", find_chunk),
    route("GET", "/v1/reconstructions/{hash}", reconstruct),
    route("GET", "/_xorb/{hash}", get_xorb),
]
