"""Cards as others may have written them: YAML at the head, text below, and blocks of the text that are ours.

A block stands between two HTML comments that nobody sees, so that it can be found and replaced; what stands outside
belongs to whoever wrote it and stays.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import yaml  # type: ignore[import-untyped]

FRONT_MATTER: Final = re.compile(r"\A\ufeff?\s*---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_BLOCK: Final = re.compile(
    r"<!-- unbag: (?P<name>[^\n]+?) -->\n(?P<text>.*?)\n<!-- end of unbag: (?P=name) -->", re.DOTALL
)


def parted(card: bytes | None) -> tuple[dict[str, Any], str]:
    """Return a card's metadata and its text; nothing of both where there is no card.

    Raises:
        ValueError: if the metadata is not YAML that says names and values.
    """
    text = (card or b"").decode("utf-8", errors="replace")
    match = FRONT_MATTER.match(text)
    if match is None:
        return {}, text
    try:
        metadata = yaml.safe_load(match[1]) or {}
    except yaml.YAMLError as error:
        raise ValueError(f"the head of the README.md that is there cannot be read ({error}); mend it first") from None
    if not isinstance(metadata, dict):
        raise ValueError(f"the head of the README.md that is there is no mapping but {metadata!r}; mend it first")
    return metadata, text[match.end() :]


def joined(metadata: Mapping[str, Any], text: str) -> bytes:
    """Return the card of some metadata and text."""
    head = yaml.safe_dump(dict(metadata), sort_keys=False, allow_unicode=True, width=120)
    return f"---\n{head}---\n\n{text.strip()}\n".encode()


def blocks(text: str) -> dict[str, str]:
    """Return our blocks of a card's text, by name, in their order."""
    return {match["name"]: match["text"] for match in _BLOCK.finditer(text)}


def with_block(text: str, name: str, content: str, *, before: str | None = None) -> str:
    """Return a card's text with a block of ours, in its old place if it is there.

    Args:
        text: the card's.
        name: the block's.
        content: what stands in it.
        before: the block that a new one is put before; the end where there is none of that name.
    """
    block = f"<!-- unbag: {name} -->\n{content.strip()}\n<!-- end of unbag: {name} -->"
    for match in _BLOCK.finditer(text):
        if match["name"] == name:
            return text[: match.start()] + block + text[match.end() :]
    for match in _BLOCK.finditer(text):
        if match["name"] == before:
            return text[: match.start()] + block + "\n\n" + text[match.start() :]
    return f"{text.rstrip()}\n\n{block}\n".lstrip()
