"""The Xet storage format: files are lists of segments, and "xorbs" contain the chunks of the segments.

If `hf_xet` is installed, `huggingface_hub` uploads all large files in this format without negotiation. A Hub that
accepts uploads has to support this part of the format:

* a *xorb* is a sequence of compressed chunks, each with a header of 8 bytes;
* a *shard* lists the chunks and xorbs that form the files of an upload.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.fake_hub.errors import HubError

_HASH_SIZE = 32
_RECORD_SIZE = 48  # size of each record of a shard, including the header
_SHARD_TAG = b"HFRepoMetaData"
_LAST_FILE = b"\xff" * _HASH_SIZE  # replaces the hash of a file at the end of the list of files
_HAS_VERIFICATION = 1 << 31  # flag of a file: one additional record per segment
_HAS_SHA256 = 1 << 30  # flag of a file: one additional record with the sha256
_CHUNK_HEADER_SIZE = 8  # version, packed size (3 bytes), compression, plain size (3 bytes)


@dataclass(frozen=True)
class Segment:
    """A run of chunks `first` to `end` (exclusive) of one xorb. `size` is in bytes after decompression."""

    xorb: str
    first: int
    end: int
    size: int


@dataclass(frozen=True)
class XetFile:
    """The segments of a file."""

    sha256: str | None
    segments: tuple[Segment, ...]

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return sum(segment.size for segment in self.segments)


class XetStore:
    """Xorbs and the files that consist of them, in a folder."""

    def __init__(self, folder: Path) -> None:
        """Open `folder`, which may contain files of an earlier server."""
        self._xorbs = folder / "xorbs"
        self._xorbs.mkdir(parents=True, exist_ok=True)
        self._index = folder / "files.json"
        self._files: dict[str, XetFile] = {}
        if self._index.exists():
            for xet_hash, document in json.loads(self._index.read_text()).items():
                segments = tuple(Segment(**segment) for segment in document["segments"])
                self._files[xet_hash] = XetFile(document["sha256"], segments)

    def file(self, xet_hash: str) -> XetFile | None:
        """Return the segments of a file, or None if it is not stored."""
        return self._files.get(xet_hash)

    def hash_of(self, sha256: str) -> str | None:
        """Return the Xet hash of the content with this sha256, or None if it was not uploaded through Xet."""
        return next((xet_hash for xet_hash, file in self._files.items() if file.sha256 == sha256), None)

    def xorb(self, xorb: str) -> Path | None:
        """Return the path of a xorb, or None if it is not stored."""
        path = self._xorbs / xorb
        return path if path.exists() else None

    def add_xorb(self, xorb: str, data: bytes) -> bool:
        """Store a xorb. Return whether it is new."""
        is_new = self.xorb(xorb) is None
        (self._xorbs / xorb).write_bytes(data)
        return is_new

    def add_shard(self, data: bytes) -> None:
        """Add the files of a shard. Their xorbs must be stored already."""
        files = dict(_files_in_shard(data))
        for segment in (segment for file in files.values() for segment in file.segments):
            if self.xorb(segment.xorb) is None:
                raise HubError(400, f"the shard names a xorb that was not uploaded: {segment.xorb}")
        self._files |= files
        partial = self._index.with_suffix(".partial")
        partial.write_text(json.dumps({xet_hash: asdict(file) for xet_hash, file in self._files.items()}))
        os.replace(partial, self._index)

    def chunk_offsets(self, xorb: str) -> list[int]:
        """Return the byte offset of each chunk of a xorb, and the end of the last chunk."""
        data = (self._xorbs / xorb).read_bytes()
        offset, offsets = 0, [0]
        # Data after the last chunk does not start with version 0.
        while offset + _CHUNK_HEADER_SIZE <= len(data) and data[offset] == 0:
            packed_size = int.from_bytes(data[offset + 1 : offset + 4], "little")
            offset += _CHUNK_HEADER_SIZE + packed_size
            offsets.append(offset)
        return offsets


def _files_in_shard(data: bytes) -> Iterator[tuple[str, XetFile]]:
    """Yield the hash and the segments of each file in a shard."""
    if not data.startswith(_SHARD_TAG):
        raise HubError(400, "this is no shard")
    offset = _RECORD_SIZE
    while True:
        file_hash, flags, count = struct.unpack_from("<32sII", data, offset)
        offset += _RECORD_SIZE
        if file_hash == _LAST_FILE:
            return
        segments = []
        for _ in range(count):
            xorb, _flags, size, first, end = struct.unpack_from("<32sIIII", data, offset)
            segments.append(Segment(_format_hash(xorb), first, end, size))
            offset += _RECORD_SIZE
        if flags & _HAS_VERIFICATION:
            offset += _RECORD_SIZE * count
        sha256 = None
        if flags & _HAS_SHA256:
            sha256 = _format_hash(data[offset : offset + _HASH_SIZE])
            offset += _RECORD_SIZE
        yield _format_hash(file_hash), XetFile(sha256, tuple(segments))


def _format_hash(raw_hash: bytes) -> str:
    """Format a hash as Xet does: as four little-endian 64-bit numbers."""
    return "".join(f"{number:016x}" for number in struct.unpack("<4Q", raw_hash))
