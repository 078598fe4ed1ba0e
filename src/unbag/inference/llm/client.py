"""Base class of predictors that query a server: connection, stored answers, concurrent requests, and their cost."""

import os
import threading
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, TypeAlias
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import ArrayLike, NDArray

try:
    import httpx
    import openai
except ImportError as error:
    raise ImportError("an endpoint requires the openai client: pip install 'unbag[llm]'") from error

from unbag.inference.llm.answer_store import AnswerStore
from unbag.inference.predictor import BatchingPredictor, EndpointError, group_equal_pairs
from unbag.utils.files import get_cache_folder
from unbag.utils.redaction import extract_first_line, redact
from unbag.utils.sqlite_cache import SqliteCache

__all__ = ["KEY", "RETRIES", "EndpointClient", "EndpointUsage", "Pair", "httpx", "openai", "shorten_client_error"]

KEY: Final = "OPENAI_API_KEY"
CONCURRENCY: Final = 8
RETRIES: Final = 8
"""Maximum number of retries after a temporary error (429, 5xx) or a broken connection. The wait is the time in
`Retry-After`, up to two minutes; otherwise 0.5 s, doubled after each retry up to 8 s: 40 s in total."""

_LONGEST_URL: Final = 2_000  # characters; the client rejects URLs of some ten thousand
_MILLION: Final = 1_000_000

Pair: TypeAlias = tuple[str, str]


@dataclass
class EndpointUsage:
    """Thread-safe counter of the requests and tokens of a run.

    >>> spending = EndpointUsage(price_in=2.0, price_out=8.0)
    >>> spending.add(tokens_in=1_000_000, tokens_out=500_000)
    >>> spending.cost, str(spending)
    (6.0, '1 request answered (0 more reused from earlier runs), 1,000,000 tokens in, 500,000 out: 6.0000')
    """

    price_in: float | None = None  # price of a million prompt tokens, in any currency; None if unknown
    price_out: float | None = None  # price of a million response tokens
    answered: int = 0  # number of requests that were sent and answered in this run
    kept: int = 0  # number of responses from the cache, which cost nothing now
    tokens_in: int = 0
    tokens_out: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, tokens_in: int, tokens_out: int) -> None:
        """Count a response and its tokens."""
        with self._lock:
            self.answered += 1
            self.tokens_in += tokens_in
            self.tokens_out += tokens_out

    def add_cached(self) -> None:
        """Count a response that was read from the cache."""
        with self._lock:
            self.kept += 1

    @property
    def cost(self) -> float | None:
        """Cost of all tokens in this run, in the currency of the prices. None if no prices are set."""
        if self.price_in is None and self.price_out is None:
            return None
        return (self.tokens_in * (self.price_in or 0) + self.tokens_out * (self.price_out or 0)) / _MILLION

    def __str__(self) -> str:
        requests = f"{self.answered:,} request{'' if self.answered == 1 else 's'} answered"
        tokens = f"{self.tokens_in:,} tokens in, {self.tokens_out:,} out"
        summary = f"{requests} ({self.kept:,} more reused from earlier runs), {tokens}"
        return summary if self.cost is None else f"{summary}: {self.cost:.4f}"


class EndpointClient(BatchingPredictor):
    """Base class of predictors that query a server. Subclasses send the pairs of one request, and read the answers.

    Every answer is stored on disk as it arrives (`AnswerStore`), and equal pairs are sent once. So a run that was
    killed continues without paying twice, except for one request. The key is read from the environment variable
    `OPENAI_API_KEY`, and is sent to no other host. Without a key, requests have a placeholder, which local servers
    accept. Temporary errors are retried.

    `url_suffix` is the usual end of the URL: `/v1`, or the route of a classifier.
    """

    CACHE_FILE: ClassVar[str]  # in the user's cache folder, for all endpoints
    identity: Mapping[str, str]  # everything that determines the probabilities, with the version of the model, if known

    def __init__(
        self,
        model: str,
        base_url: str | None,
        *,
        concurrency: int = CONCURRENCY,
        retries: int = RETRIES,
        no_cache: bool = False,
        spending: EndpointUsage | None = None,
        url_suffix: str = "/v1",
    ) -> None:
        self.model = model
        self.spending = spending or EndpointUsage()
        self._concurrency, self._url_suffix = concurrency, url_suffix
        address = _validate_url(base_url)
        try:
            self._client = openai.OpenAI(
                api_key=os.environ.get(KEY) or "none",  # the client requires a key
                base_url=address,
                max_retries=retries,
                # A redirect could send the pairs and the key to another host.
                http_client=openai.DefaultHttpxClient(follow_redirects=False),
            )
        except Exception as error:  # the HTTP client's error for an invalid host name derives from Exception directly
            raise EndpointError(
                f"--base-url: expected a URL such as http://localhost:8000/v1, got {address!r:.200} "
                f"({extract_first_line(error)}); correct it"
            ) from error
        self._base_url = api_url = str(self._client.base_url).rstrip("/")
        if url_suffix != "/v1":
            api_url = f"{api_url.removesuffix(url_suffix).removesuffix('/v1')}/v1"
        file = SqliteCache(get_cache_folder("answers") / self.CACHE_FILE, "answers", wal=True)
        self._answers = AnswerStore(file, self._client, model, api_url=api_url, no_cache=no_cache)

    def iter_batches(
        self, premises: Sequence[str], hypotheses: Sequence[str]
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float32]]]:
        """Yield row positions, shape (b,), and probabilities, shape (b, len(label_space)), as each response arrives."""
        rows_of = group_equal_pairs(premises, hypotheses)
        pool = ThreadPoolExecutor(self._concurrency, thread_name_prefix="endpoint")
        try:
            requests = {pool.submit(self._ask, pairs): pairs for pairs in self._split(list(rows_of))}
            for request in as_completed(requests):
                pairs = requests[request]
                rows = np.array([row for pair in pairs for row in rows_of[pair]], dtype=np.intp)
                probabilities = np.asarray(self._compute_probabilities(pairs, request.result()), np.float32)
                yield rows, np.repeat(probabilities, [len(rows_of[pair]) for pair in pairs], axis=0)
        finally:  # requests in flight are completed, since they are paid for
            pool.shutdown(wait=True, cancel_futures=True)
        self._answers.validate_version()

    def pop_answer_dates(self) -> dict[str, bool]:
        """Return the dates of the answers since the last call, and whether any of this date is from an earlier run."""
        return self._answers.pop_dates()

    def _split(self, pairs: Sequence[Pair]) -> list[list[Pair]]:
        """Split pairs into requests."""
        return [[pair] for pair in pairs]

    @abstractmethod
    def _ask(self, pairs: Sequence[Pair]) -> Any:
        """Get the answers to the pairs of one request, from the cache or the server. Runs in several threads."""

    @abstractmethod
    def _compute_probabilities(self, pairs: Sequence[Pair], answers: Any) -> ArrayLike:
        """Compute the probabilities of b pairs from their answers, shape (b, len(label_space))."""

    @contextmanager
    def _explain_errors(self, *unexplained: type[Exception]) -> Iterator[None]:
        """Convert errors of a request to `EndpointError` with a fix, except those of the given types."""
        again = "run the same command again to continue"
        try:
            yield
        except unexplained:
            raise
        except openai.APIStatusError as error:
            raise EndpointError(self._describe_error_response(error, again)) from None
        except openai.OpenAIError as error:
            raise EndpointError(
                f"cannot reach {self._base_url}: {shorten_client_error(error)}; start the server, or {again}"
            ) from None

    def _describe_error_response(self, error: "openai.APIStatusError", again: str) -> str:
        what = f"{self._base_url} responded with {error.status_code} to {self.model}: {shorten_client_error(error)}"
        if error.status_code in (401, 403):
            return f"{what}; set {KEY} in the environment to a key with access to the model"
        if 300 <= error.status_code < 400:
            to = urlsplit(error.response.headers.get("location", ""))
            there = f"{to.scheme}://{to.hostname}{to.path}" if to.hostname else "another path"
            return (
                f"{self._base_url} responded with {error.status_code}, a redirect to {there}, which unbag does not "
                "follow; pass that URL as --base-url if you trust it"
            )
        if error.status_code == 404:
            return f"{what}; check the model's name and --base-url, which usually ends in {self._url_suffix}"
        return f"{what}; {'reduce --concurrency and ' if error.status_code == 429 else ''}{again}"


def shorten_client_error(error: Exception) -> str:
    """Shorten the message of an API client error to its first line."""
    return extract_first_line(error, max_length=300)


def _validate_url(base_url: str | None) -> str:
    try:
        parts = urlsplit(base_url or "")
        # A connection encodes the host the same way: it fails for an empty label or one of more than 63 characters.
        (parts.hostname or "").encode("idna")
        # The property `port` raises for an invalid port.
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # invalid brackets or port; the `UnicodeError` of a host name is a ValueError too
        is_valid = False
    # `urlsplit` drops line breaks and tabs, which the client would reject later with an error of its own.
    if not base_url or not is_valid or not base_url.isprintable() or " " in base_url or len(base_url) > _LONGEST_URL:
        got = f"{redact(base_url)!r:.200}; correct it" if base_url else "none; pass it"
        raise EndpointError(
            f"--base-url: expected the URL of the endpoint, such as http://localhost:8000/v1, got {got}"
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise EndpointError(  # the address is recorded with the results
            f"--base-url: expected a URL without user name, password or query, got one for {parts.hostname}; "
            f"set the key as {KEY} in the environment"
        )
    return base_url
