"""The YAML metadata of a README.md, from which the Hub reads tags, license and configurations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml  # type: ignore[import-untyped]

from tests.fake_hub.accounts import HubError

_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(.*?)\n---", re.DOTALL)
# Clients expect a list or a mapping here and fail with unclear errors on a string.
_STRUCTURED = ("configs", "dataset_info")


def metadata(text: str | None) -> dict[str, Any]:
    """Parse the metadata of a card. Return an empty dict if it is missing or invalid."""
    try:
        return _parse(text or "") or {}
    except HubError:
        return {}


def check(repo_type: str, text: str) -> list[str]:
    """Raise an error if the metadata of a card is invalid. Otherwise return a list of warnings."""
    found = _parse(text)
    if found is None:
        return ["empty or missing yaml metadata in repo card"]
    for name in _STRUCTURED:
        if repo_type == "dataset" and not isinstance(found.get(name, []), list | dict):
            raise HubError(400, f'"{name}" must be an array or an object')
    return []


def tags(card: Mapping[str, Any]) -> Iterator[str]:
    """Yield the tags that the Hub derives: the tags of the card, and fields as pairs such as `license:mit`."""
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
