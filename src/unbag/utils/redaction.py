"""Redaction of secrets in printed or logged text: API keys, Hub tokens, credentials and signatures in URLs."""

import json
import os
import re
from typing import Final
from urllib.parse import quote

_ENV_VARS: Final = ("OPENAI_API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
_MASK: Final = "…"
_MIN_LENGTH: Final = 4  # characters of a secret; a shorter value is a placeholder
_PLACEHOLDERS: Final = frozenset({"none", "empty", "null", "token", "test", "dummy"})  # common keys of local servers

_URL_CREDENTIALS: Final = re.compile(r"(?<=://)[^/\s?#@'\"]+@")
_URL_SECRET_PARAMETER: Final = re.compile(
    # `access_token`, `api_key` and `X-Amz-Security-Token`; `signature`, `sig` (Azure) and `X-Amz-Signature`.
    r"([?&](?:[\w-]*[_-])?(?:token|api[_-]?key|key|secret|password|signature|sig|credential)=)[^&\s#'\"<>]+",
    re.IGNORECASE,
)
_AUTHORIZATION: Final = re.compile(r"(\bauthorization\W{1,6}(?:basic|bearer)\s+)[^\s'\",;]+", re.IGNORECASE)
_TOKEN_LIKE: Final = re.compile(r"\b(?:hf_|sk-|api_org_)[A-Za-z0-9_-]{16,}")


def redact(text: str) -> str:
    """Replace all secrets in a text with an ellipsis.

    Secrets are the API key and the Hub token, names and passwords in URLs, tokens and signatures in URL queries, values
    of `Authorization` headers, and strings with the prefix of a known token type. Key and token are also replaced if
    they are percent-encoded or escaped as in JSON.

    Truncate a text only after this call, since a part of a secret is not recognized.

    >>> redact("GET https://me:pw@hub.example/file?token=abc&page=2")
    'GET https://…@hub.example/file?token=…&page=2'
    """
    text = _URL_CREDENTIALS.sub(f"{_MASK}@", text)
    text = _URL_SECRET_PARAMETER.sub(rf"\1{_MASK}", text)
    text = _AUTHORIZATION.sub(rf"\1{_MASK}", text)
    forms: set[str] = set()
    for secret in _secrets():
        content = secret.encode("utf-8", "surrogateescape")  # an environment variable may contain any bytes
        forms |= {secret, quote(content, safe=""), json.dumps(secret)[1:-1]}
    for form in sorted(forms, key=len, reverse=True):  # a secret or one of its forms may be part of another one
        text = re.sub(re.escape(form), _MASK, text, flags=re.IGNORECASE)  # percent-encoding uses digits of either case
    return _TOKEN_LIKE.sub(_MASK, text)


def extract_first_line(error: BaseException, *, max_length: int | None = None) -> str:
    """Extract the first line of an error message and redact secrets. Return the error type if the message is empty."""
    lines = (line.strip() for line in redact(str(error)).splitlines())
    return next(filter(None, lines), type(error).__name__)[:max_length]


def _secrets() -> list[str]:
    values = {os.environ.get(name, "").strip() for name in _ENV_VARS}
    values.add(_hub_token())
    return [value for value in values if len(value) >= _MIN_LENGTH and value.lower() not in _PLACEHOLDERS]


def _hub_token() -> str:
    """Read the token of the Hub client, which may be stored in a file. Empty if the client is not imported."""
    import sys

    # Importing the client for an error message would take longer than the rest of a short command.
    if "huggingface_hub" not in sys.modules:
        return ""
    from huggingface_hub import get_token

    try:
        return get_token() or ""
    except OSError:  # for example, HF_HOME names a file
        return ""
