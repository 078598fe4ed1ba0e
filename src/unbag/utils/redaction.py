"""What must not be printed, logged or kept: keys, tokens, passwords in addresses."""

import json
import os
import re
from typing import Final
from urllib.parse import quote

_KEYS: Final = ("OPENAI_API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
_BLOT: Final = "…"
_SHORTEST: Final = 4  # characters of a secret; a shorter one is a placeholder
_PIECE: Final = 8  # characters of it that are blotted out wherever they stand, as where a server repeats a part
_NO_SECRETS: Final = frozenset({"none", "empty", "null", "token", "test", "dummy"})  # what servers at home are given
_IN_ADDRESS: Final = re.compile(r"(?<=://)[^/\s?#@'\"]+@")
_LOOKS_LIKE_ONE: Final = re.compile(r"\b(?:hf_|sk-|api_org_)[A-Za-z0-9_-]{16,}")


def redact(text: str) -> str:
    """Return a text without secrets: before it is cut to any length, or a part of one stays.

    Blotted out are the API key and the Hub's token, as they are, as addresses and JSON write them, and any eight
    characters of them; names and passwords in addresses; and whatever looks like a token.
    """
    text = _IN_ADDRESS.sub(f"{_BLOT}@", text)
    for secret in _secrets():
        for form in {secret, quote(secret, safe=""), json.dumps(secret)[1:-1]}:
            text = _without(text, form)
    return _LOOKS_LIKE_ONE.sub(_BLOT, text)


def first_line(error: BaseException, *, longest: int | None = None) -> str:
    """Return the first line of an error's message that says something, else its type; without secrets."""
    lines = (line.strip() for line in redact(str(error)).splitlines())
    return next(filter(None, lines), type(error).__name__)[:longest]


def _secrets() -> list[str]:
    found = {os.environ.get(name, "").strip() for name in _KEYS}
    found.add(_hub_token())
    return [secret for secret in found if len(secret) >= _SHORTEST and secret.lower() not in _NO_SECRETS]


def _hub_token() -> str:
    """Return the token of the Hub's client, if it is at work: it may have read a file."""
    import sys

    if "huggingface_hub" not in sys.modules:
        return ""
    from huggingface_hub import get_token

    try:
        return get_token() or ""
    except OSError:  # a folder for it that is none
        return ""


def _without(text: str, secret: str) -> str:
    if secret in text:
        text = text.replace(secret, _BLOT)
    if len(secret) < 2 * _PIECE:  # too short to tell its pieces from words
        return text
    pieces = {secret[i : i + _PIECE] for i in range(len(secret) - _PIECE + 1)}
    hidden = {
        position
        for start in range(len(text) - _PIECE + 1)
        if text[start : start + _PIECE] in pieces
        for position in range(start, start + _PIECE)
    }
    if not hidden:
        return text
    kept = ((_BLOT if i - 1 not in hidden else "") if i in hidden else character for i, character in enumerate(text))
    return "".join(kept)
