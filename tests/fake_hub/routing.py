"""One request with its permission checks, and the routes of the handlers.

Routes match the path while it is percent-encoded. Clients encode the slashes in a revision
(`/resolve/refs%2Fpr%2F1/README.md`), so the end of the revision is unknown after decoding.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import quote, unquote

from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.fake_hub.accounts import Account, HubError
from tests.fake_hub.storage import TYPES, Commit, RepoKey, Repository, Storage


@dataclass(frozen=True)
class Hub:
    """The state that all handlers share."""

    endpoint: str  # origin of the API, as in HF_ENDPOINT
    tokens: Mapping[str, Account]
    storage: Storage
    collections: dict[str, dict[str, Any]] = field(default_factory=dict)  # by slug

    @property
    def other_origin(self) -> str:
        """A second origin of this server, for the content of large files, as on the Hub.

        A client follows a redirect within one origin automatically, and then misses the headers of the first response.
        """
        return self.endpoint.replace("127.0.0.1", "localhost")


class Call:
    """The argument of a handler: the request, the named parts of its path, and the Hub."""

    def __init__(self, request: Request) -> None:
        self.hub: Hub = request.scope["hub"]
        self.request, self._parts = request, request.path_params

    def __getitem__(self, part: str) -> str:
        """Return a part of the path by its name in the route."""
        return self._parts[part]

    def get(self, part: str, default: str) -> str:
        """Return a part of the path, or the default if the route has no such part."""
        return self._parts.get(part, default)

    @cached_property
    def account(self) -> Account | None:
        """The account of the caller, computed on access, because the addresses of LFS data work without a token."""
        authorization = self.request.headers.get("authorization")
        if not authorization:
            return None
        if (account := self.hub.tokens.get(authorization.removeprefix("Bearer ").strip())) is None:
            raise HubError(401, "Invalid credentials in Authorization header")
        return account

    @property
    def key(self) -> RepoKey:
        """The key of the repository in the path. Pages of models have no prefix."""
        return RepoKey(TYPES[self._parts["kind"].strip("/") or "models"], self["repo"])

    def asks_for(self, flag: str) -> bool:
        """Check whether a query flag is set. Clients send `true` or `True`, and `1` for create_pr."""
        return self.request.query_params.get(flag, "").lower() in ("true", "1")

    def find_readable_repo(self) -> Repository:
        """Find the repository in the path, or raise an error if the caller may not read it."""
        repo = self.hub.storage.find(self.key)
        if repo is None or (repo.private and not self.is_member(self.key.namespace)):
            # As on the Hub: 401 for a caller without a token, who might have access with one.
            status, message = (404, "Repository not found") if self.account else (401, "Invalid username or password.")
            raise HubError(status, message, "RepoNotFound")
        return repo

    def find_commit(self) -> Commit:
        """Find the commit of the repository and revision in the path, by default of the main branch."""
        return self.find_readable_repo().at(self.get("revision", "main"))

    def find_writable_repo(self, *, for_proposal: bool = False) -> Repository:
        """Find the repository in the path, or raise an error if the caller may not commit or propose a commit to it."""
        repo = self.find_readable_repo()
        self.require_writer(
            None if for_proposal else self.key.namespace, "Forbidden: you must use a write token for this repository."
        )
        if repo.is_mounted:
            raise HubError(403, f"{repo.key.folder} is mounted from a folder, and that is served read-only")
        return repo

    def require_writer(self, namespace: str | None, message: str) -> str:
        """Return the caller's name, or raise an error if the caller may not write, to a namespace if it is given."""
        if self.account is None:
            raise HubError(401, "Invalid username or password.")
        if self.account.role != "write" or not (namespace is None or self.is_member(namespace)):
            raise HubError(403, message)
        return self.account.name

    def is_member(self, namespace: str) -> bool:
        """Whether the caller is the namespace or a member of it."""
        return self.account is not None and self.account.belongs_to(namespace)


class _Part(Convertor[str]):
    """Converts a percent-encoded part of a path."""

    convert, to_string = staticmethod(unquote), staticmethod(quote)

    def __init__(self, regex: str) -> None:
        self.regex = regex  # type: ignore[misc]


_PARTS = {
    "kind": "models|datasets|spaces",
    "page_kind": "(?:(?:datasets|spaces)/)?",
    "repo": "[^/]+/[^/]+",
    "revision": "[^/]+",
    "path": ".+",
    "hash": "[0-9a-f]{64}",
}
for _name, _regex in _PARTS.items():
    register_url_convertor(f"hub_{_name}", _Part(_regex))

ROUTES: list[Route] = []
Handler = Callable[[Call], Awaitable[Response]]


def route(method: str, template: str) -> Callable[[Handler], Handler]:
    """Register a handler for a method and a template such as `/api/{kind}/{repo}/tree/{revision}`."""
    path = re.sub(r"\{(\w+)\}", r"{\1:hub_\1}", template).replace("{page_kind:", "{kind:")

    def register(handler: Handler) -> Handler:
        async def endpoint(request: Request) -> Response:
            return await handler(Call(request))

        ROUTES.append(Route(path, endpoint, methods=[method]))
        return handler

    return register
