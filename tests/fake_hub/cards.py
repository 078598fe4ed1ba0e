"""The YAML at the head of a README.md, which the Hub reads tags, license and configurations from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml  # type: ignore[import-untyped]

from tests.fake_hub.errors import HubError

_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(.*?)\n---", re.DOTALL)
# Clients read each of these as a list or a mapping, and fail in odd ways on a plain word.
_STRUCTURED = ("configs", "dataset_info")


def metadata(text: str | None) -> dict[str, Any]:
    """Read the metadata of a card; empty where there is none, or none that can be read."""
    try:
        return _parse(text or "") or {}
    except HubError:
        return {}


def check(repo_type: str, text: str) -> list[str]:
    """Refuse a card whose metadata cannot be read; give warnings about one that can."""
    found = _parse(text)
    if found is None:
        return ["empty or missing yaml metadata in repo card"]
    for name in _STRUCTURED:
        if repo_type == "dataset" and not isinstance(found.get(name, []), list | dict):
            raise HubError(400, f'"{name}" must be an array or an object')
    return []


def tags(card: Mapping[str, Any]) -> Iterator[str]:
    """Return the tags that the Hub derives: the card's own, and some of its fields as pairs (`license:mit`)."""
    yield from (str(tag) for tag in card.get("tags") or [])
    for name in ("license", "language"):
        values = card.get(name) or []
        for value in [values] if isinstance(values, str) else values:
            yield f"{name}:{value}"


def _parse(text: str) -> dict[str, Any] | None:
    found = _FRONT_MATTER.match(text)
    if found is None:
        return None
    try:
        data = yaml.safe_load(found[1])
    except yaml.YAMLError as error:
        raise HubError(400, f"Invalid YAML in README.md: {error}") from error
    if not isinstance(data, dict | None):
        raise HubError(400, f"the metadata of README.md must be a mapping, it is a {type(data).__name__}")
    return data or {}
