"""Base class of predictors that query a server: stored answers, concurrent requests, and their cost."""

import threading
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.inference.llm.answer_store import AnswerStore
from unbag.inference.llm.connection import EndpointConnection
from unbag.inference.predictor import BatchingPredictor, group_equal_pairs, validate_probabilities
from unbag.utils.files import get_cache_folder
from unbag.utils.sqlite_cache import SqliteCache

CONCURRENCY: Final = 8
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
    accept.

    Args:
        model: Name of the model at the endpoint.
        base_url: URL of the endpoint.
        cache: File of the answers (default: `CACHE_FILE` in the user's cache folder, for all endpoints).
        spending: Counter for requests and tokens (default: a new one).
        route: Part of the URL after that of the server, if it does not end in `/v1`.

    Raises:
        EndpointError: If the URL is invalid.
    """

    CACHE_FILE: ClassVar[str]
    identity: Mapping[str, str]  # everything that determines the probabilities, with the version of the model, if known

    def __init__(
        self,
        model: str,
        base_url: str | None,
        *,
        concurrency: int,
        retries: int,
        no_cache: bool,
        cache: Path | None,
        spending: EndpointUsage | None,
        route: str = "",
    ) -> None:
        if concurrency < 1:
            raise ValueError(
                f"concurrency (--concurrency): expected at least 1 concurrent request, got {concurrency}; pass 1 "
                "or more"
            )
        self.model = model
        self.spending = spending or EndpointUsage()
        self._concurrency = concurrency
        self._connection = EndpointConnection.open(base_url, retries=retries)
        self._base_url = api_url = self._connection.base_url
        if route:
            api_url = f"{api_url.removesuffix(f'/{route}').removesuffix('/v1')}/v1"
        file = SqliteCache(cache or get_cache_folder("answers") / self.CACHE_FILE, "answers", wal=True)
        self._answers = AnswerStore(file, self._connection, model, api_url=api_url, no_cache=no_cache)

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
                probabilities = np.asarray(self._compute_probabilities(pairs, request.result()))
                values = np.repeat(probabilities, [len(rows_of[pair]) for pair in pairs], axis=0)
                yield rows, validate_probabilities(values, len(rows), self.label_space)
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
