"""One request, with typed access to its parts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from starlette.datastructures import QueryParams
from starlette.requests import Request

from tests.fake_hub.accounts import Account
from tests.fake_hub.hub import Hub
from tests.fake_hub.keys import RepoKey, type_of


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
