"""Inputs (arguments and files), and the corruption of valid values."""

from __future__ import annotations

import copy
import gzip
import io
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Special = Literal["fifo", "folder", "zero", "loop", "absent"]


@dataclass(frozen=True)
class Input:
    """One input.

    Attributes:
        kind: the class of the input, a row of the table.
        arguments: the arguments of `unbag`, or code if `door` is Python.
        files: the additional files by path: the content, or the object in place of a file.
        uses: the names of the valid files that are copied for the input.
        expected: the required verdict, if known: refused if the input is invalid by construction.
        about: a description of the corruption.
        door: the command or Python.
    """

    kind: str
    arguments: tuple[str, ...]
    files: Mapping[str, bytes | Special] = field(default_factory=dict)
    uses: tuple[str, ...] = ()
    expected: Literal["refuse", "succeed", ""] = ""
    about: str = ""
    door: Literal["command", "python"] = "command"

    @property
    def size(self) -> int:
        """The total size of the input."""
        contents = sum(len(content) for content in self.files.values())
        return contents + sum(map(len, self.arguments))


Make = Callable[[random.Random], Input]

TEXTS = (
    *("", " ", "\n", "\t", "\r", "\0", "-", "#", "\x1b[31mred", "[red]x[/b]", "\u202eabc", "a\u0300\u0301", "😀" * 5),
    *("ﬁ", "İ", "ß", "\ufeffA dog.", "𐐷", "\u2028", "'", '"', '"""', "a,b", "a\tb", "<b>x</b>", "{{7*7}}", "$(id)"),
    *("../../etc/passwd", "NaN", "null", "None", "1e309", "٣", "%s%n", "x" * 5000, "a " * 2000, "\x07\x08\x7f\x9b31m"),
)
"""Sentences, names and values that somebody's file may hold."""

VALUES = (
    *(None, True, False, -1, 0, 1.5, 1e999, float("nan"), 10**30, -(10**20), "", "x", "\x1b[31m", "\ud800"),
    *([], [None], [[]], {}, {"x": {}}, [1, "a", None], "x" * 3000, [0] * 1000, {"": None}),
)
"""Values of JSON where others are expected."""


def iter_paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all parts of a JSON value except the root."""
    if path:
        yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from iter_paths(part, (*path, key))


def corrupt(record: Any, rng: random.Random, times: int = 1) -> tuple[Any, str]:
    """Return JSON with some values replaced, removed or duplicated, and a description."""
    record, said = copy.deepcopy(record), []
    for _ in range(times):
        found = list(iter_paths(record))
        if not found:
            break
        # Sample the depth first, since most places are deep.
        depth = rng.choice(sorted({len(place) for place in found}))
        *above, last = rng.choice([place for place in found if len(place) == depth])
        inner = record
        for key in above:
            inner = inner[key]
        how = rng.randrange(5)
        if how == 0:
            del inner[last]
            said.append(f"without {[*above, last]}")
        elif how == 1 and isinstance(inner, list):
            inner.append(copy.deepcopy(inner[last]))
            said.append(f"{[*above, last]} twice")
        else:
            inner[last] = copy.deepcopy(rng.choice(VALUES))  # a copy, since the next change may be inside the value
            said.append(f"{[*above, last]} = {repr(inner[last])[:40]}")
    return record, "; ".join(said)


def as_json(value: Any) -> bytes:
    """Return JSON as bytes. Lone surrogates are escaped, as JSON allows."""
    return json.dumps(value).encode()


def damage(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Return a file damaged as by a disk, a network or an editor, and a description."""
    n = max(1, len(content))
    start, stop = sorted((rng.randrange(n), rng.randrange(n)))
    flip = bytearray(content or b"?")
    for _ in range(rng.choice((1, 1, 10, 100))):
        flip[rng.randrange(len(flip))] ^= 1 << rng.randrange(8)
    make_lfs_pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize {n}\n".encode()
    junk = rng.randbytes(rng.randrange(1, 30))
    made: dict[str, bytes] = {
        "truncated": content[:start],
        "without a part": content[:start] + content[stop:],
        "a part twice": content[:stop] + content[start:],
        "bits flipped": bytes(flip),
        "its end zeroed": content[:start] + bytes(n - start),
        "an LFS pointer": make_lfs_pointer,
        "empty": b"",
        "one byte": rng.randbytes(1),
        "noise": rng.randbytes(rng.randrange(1, 400)),
        "noise within": content[:start] + junk + content[start:],
        "noise before": junk + content,
        "noise behind": content + junk,
        "a page of HTML": b"<!doctype html><html><body>Sign in</body></html>",
        "UTF-16": content.decode("utf-8", "replace").encode("utf-16"),
        "NUL within": content[:start] + b"\0" + content[start:],
        "gzip": gzip.compress(content, mtime=0),
        "brackets": b"[" * rng.choice((10, 100_000)),
    }
    name = rng.choice(list(made))
    return made[name], name


def compress(content: bytes) -> bytes:
    """Return deterministically compressed content."""
    file = io.BytesIO()
    with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
        packed.write(content)
    return file.getvalue()
