"""The mapping from requests to handlers.

Routes match the path while it is percent-encoded. Clients encode the slashes in a revision
(`/resolve/refs%2Fpr%2F1/README.md`), so the end of the revision is unknown after decoding.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from tests.fake_hub.accounts import Account
from tests.fake_hub.content import RepoKey, type_of
from tests.fake_hub.hub import Hub


class Call:
    """The argument of a handler: the request, the named parts of its path, and the hub."""

    def __init__(self, hub: Hub, request: Request, parts: Mapping[str, str]) -> None:
        self.hub = hub
        self.request = request
        self._parts = parts

    def __getitem__(self, part: str) -> str:
        """Return a part of the path by its name in the route."""
        return self._parts[part]

    @cached_property
    def account(self) -> Account | None:
        """The account of the caller.

        Computed only on access, because the handlers of LFS data do not need it: their addresses work without the
        user's token.
        """
        return self.hub.accounts.identify(self.request.headers.get("authorization"))

    @property
    def repo_type(self) -> str:
        """The type of the repository in the path."""
        return type_of(self._parts.get("kind") or "models")

    @property
    def key(self) -> RepoKey:
        """The key of the repository in the path."""
        return RepoKey(self.repo_type, self["repo"])

    @property
    def revision(self) -> str:
        """The branch, tag, ref or commit in the path."""
        return self["revision"]

    @property
    def query(self) -> QueryParams:
        """The query parameters of the URL."""
        return self.request.query_params

    def asks_for(self, flag: str) -> bool:
        """Check whether a query flag is set. Clients send `true` or `True`, and `1` for create_pr."""
        return self.query.get(flag, "").lower() in ("true", "1")

    async def json(self) -> Any:
        """Parse the body as JSON. An empty body is an empty object."""
        return await self.request.json() if await self.request.body() else {}


Handler = Callable[[Call], Awaitable[Response]]

# The pattern of each name in a template. Page URLs have no prefix for models, so `kind/` matches "datasets/", "spaces/"
# or nothing.
_PARTS = {
    "kind": r"(?P<kind>models|datasets|spaces)",
    "kind/": r"(?:(?P<kind>datasets|spaces)/)?",
    "repo": r"(?P<repo>[^/]+/[^/]+)",
    "revision": r"(?P<revision>[^/]+)",
    "path": r"(?P<path>.+)",
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
