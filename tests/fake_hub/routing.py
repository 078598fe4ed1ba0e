"""The mapping from requests to handlers.

Routes match the path while it is percent-encoded. Clients encode the slashes in a revision
(`/resolve/refs%2Fpr%2F1/README.md`), so the end of the revision is unknown after decoding.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from starlette.responses import Response

from tests.fake_hub.call import Call

Handler = Callable[[Call], Awaitable[Response]]

# The pattern of each name in a template. Page URLs have no prefix for models, so `kind/` matches "datasets/", "spaces/"
# or nothing.
_PARTS = {
    "kind": r"(?P<kind>models|datasets|spaces)",
    "kind/": r"(?:(?P<kind>datasets|spaces)/)?",
    "repo": r"(?P<repo>[^/]+/[^/]+)",
    "revision": r"(?P<revision>[^/]+)",
    "name": r"(?P<name>[^/]+)",
    "path": r"(?P<path>.+)",
    "access": r"(?P<access>read|write)",
    "number": r"(?P<number>[0-9]+)",
    "hash": r"(?P<hash>[0-9a-f]{64})",
    "any": r".*",
}


@dataclass(frozen=True)
class Route:
    """A method, a path pattern and a handler."""

    method: str
    pattern: re.Pattern[str]
    handler: Handler

    def match(self, method: str, raw_path: str) -> Mapping[str, str] | None:
        """Return the decoded parts of a path if the route matches. A GET route also matches HEAD."""
        if self.method != ("GET" if method == "HEAD" else method):
            return None
        found = self.pattern.fullmatch(raw_path)
        return {name: unquote(part) for name, part in found.groupdict().items() if part} if found else None


def route(method: str, template: str, handler: Handler) -> Route:
    """Build a route from a template such as `/api/{kind}/{repo}/refs`."""
    texts_and_names = re.split(r"\{(.+?)\}", template)  # alternates between text and names
    pattern = "".join(
        _PARTS[piece] if position % 2 else re.escape(piece) for position, piece in enumerate(texts_and_names)
    )
    return Route(method, re.compile(pattern), handler)


def find_handler(routes: Iterable[Route], method: str, raw_path: str) -> tuple[Handler, Mapping[str, str]] | None:
    """Return the handler of the first matching route, with the parts of the path."""
    for each in routes:
        parts = each.match(method, raw_path)
        if parts is not None:
            return each.handler, parts
    return None
