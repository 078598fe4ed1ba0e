"""Predictor for models behind an OpenAI-compatible endpoint: hosted models, or a local vLLM, llama.cpp or Ollama.

Each response is stored on disk as soon as it arrives, so no request is paid for twice. Requests, tokens and cost of a
run are counted.
"""

import hashlib
import json
import logging
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, NamedTuple, cast
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from unbag.data.labels import LABELS
from unbag.inference.label_probe import PAIRS
from unbag.inference.llm.prompts import Prompt, fingerprint
from unbag.inference.llm.reading import first_token_probabilities, parse_label
from unbag.inference.predictor import collect_batches, one_hot_probabilities, validate_pairs, validate_probabilities
from unbag.utils.files import get_cache_folder
from unbag.utils.redaction import extract_first_line, redact
from unbag.utils.sqlite_cache import SqliteCache


class Answer(NamedTuple):
    """Response of an endpoint.

    Attributes:
        text: Text of the response.
        top: Likeliest first tokens with their log-probabilities; empty if the endpoint returns none.
        finish: Finish reason: `stop`, `length`, …
        tokens_in: Tokens of the prompt, as the endpoint counts them; 0 if it does not.
        tokens_out: Tokens of the response.
    """

    text: str
    top: tuple[tuple[str, float], ...]
    finish: str
    tokens_in: int
    tokens_out: int


class AnswerCache:
    """Responses by request, in one SQLite file; safe for several threads and processes.

    The key is a hash of the endpoint's URL and the whole request, with model and parameters. A provider may replace a
    model under the same name without a trace: delete the file to send the requests again.

    Args:
        path: SQLite file; created if absent.
    """

    def __init__(self, path: Path) -> None:
        self._cache = SqliteCache(path, "kept_answers", wal=True)

    def get(self, key: str) -> Answer | None:
        """Load the response to a request; None if it is not stored."""
        values = self._cache.get([key])
        if key not in values:
            return None
        text, top, *rest = json.loads(values[key])
        return Answer(text, tuple((token, log) for token, log in top), *rest)

    def put(self, key: str, answer: Answer) -> None:
        """Store a response, unless another process has stored one for the same request."""
        self._cache.put([(key, json.dumps(answer, ensure_ascii=False))], replace=False)

    def __len__(self) -> int:
        return len(self._cache)


def request_key(base_url: str, request: Mapping[str, Any]) -> str:
    """Compute the cache key of a request to an endpoint."""
    content = json.dumps([base_url, request], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()


_MILLION = 1_000_000


@dataclass
class Spending:
    """Requests and tokens of one run, as the endpoint counts them; safe for several threads.

    Attributes:
        price_in: Price of a million prompt tokens, in any currency; None if unknown.
        price_out: Price of a million response tokens.
        answered: Number of requests that were sent and answered in this run.
        kept: Number of responses from the cache, which cost nothing now.
        tokens_in: Prompt tokens of the requests of this run.
        tokens_out: Response tokens of the requests of this run.

    >>> spending = Spending(price_in=2.0, price_out=8.0)
    >>> spending.add(Answer("Yes", (), "stop", tokens_in=1_000_000, tokens_out=500_000))
    >>> spending.cost, str(spending)
    (6.0, '1 request answered (0 more kept from earlier runs), 1,000,000 tokens in, 500,000 out: 6.0000')
    """

    price_in: float | None = None
    price_out: float | None = None
    answered: int = 0
    kept: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, answer: Answer) -> None:
        """Count a new response."""
        with self._lock:
            self.answered += 1
            self.tokens_in += answer.tokens_in
            self.tokens_out += answer.tokens_out

    def add_kept(self) -> None:
        """Count a response from the cache."""
        with self._lock:
            self.kept += 1

    @property
    def cost(self) -> float | None:
        """Cost of the tokens of this run, in the currency of the prices; None without prices."""
        if self.price_in is None and self.price_out is None:
            return None
        return (self.tokens_in * (self.price_in or 0) + self.tokens_out * (self.price_out or 0)) / _MILLION

    def __str__(self) -> str:
        requests = f"{self.answered:,} request{'' if self.answered == 1 else 's'} answered"
        tokens = f"{self.tokens_in:,} tokens in, {self.tokens_out:,} out"
        summary = f"{requests} ({self.kept:,} more kept from earlier runs), {tokens}"
        return summary if self.cost is None else f"{summary}: {self.cost:.4f}"


try:
    import openai
except ImportError as error:
    raise ImportError("an endpoint needs the openai client: pip install 'unbag[llm]'") from error


KEY: Final = "OPENAI_API_KEY"
CONCURRENCY: Final = 8
RETRIES: Final = 8
"""Maximum number of retries after a temporary error (429, 5xx) or a broken connection. The client waits for the time in
`Retry-After`, up to two minutes, else 0.5 s, doubled each time up to 8 s: 40 s in all."""

_MALFORMED_TRIES: Final = 3
"""Maximum number of requests if the responses are not chat completions."""

_TIMEOUT: Final = 120.0  # seconds; a response of one word usually takes one second
_THINKING_TIMEOUT: Final = 900.0
_LONGEST_URL: Final = 2_000  # characters; the client rejects URLs of some ten thousand

logger = logging.getLogger(__name__)


class EndpointError(ValueError):
    """Endpoint that is unreachable or rejects a request, or whose responses are not chat completions."""


class Form(NamedTuple):
    """Parameters of a request, apart from the prompt."""

    name: str
    parameters: Mapping[str, Any]
    timeout: float = _TIMEOUT

    @property
    def requests_probabilities(self) -> bool:
        """Whether the request asks for the probabilities of the first token."""
        return "logprobs" in self.parameters


FORMS: Final = (
    Form("logprobs-20", {"max_tokens": 8, "temperature": 0, "logprobs": True, "top_logprobs": 20}),
    Form("logprobs-5", {"max_tokens": 8, "temperature": 0, "logprobs": True, "top_logprobs": 5}),
    Form("text", {"max_tokens": 8, "temperature": 0}),
    # Reasoning models accept neither `max_tokens` nor a temperature.
    Form("thinking", {"max_completion_tokens": 4096}, _THINKING_TIMEOUT),
)
"""Forms of a request, from the most informative one to the one that every endpoint accepts."""


class EndpointPredictor:
    """Predictor of a model behind a `/chat/completions` endpoint; built by `load`.

    The prompt is that of `unbag.inference.llm.prompts`, as a conversation. If the endpoint returns the probabilities of
    the first token, the labels' probabilities are computed from them (`reading.first_token_probabilities`). Otherwise,
    or if they are on other words, the words of the response determine the label (`reading.parse_label`), with
    probability 1. A response that names no label is an abstention: all probabilities are equal.

    Every response is stored on disk as it arrives (`AnswerCache`), and equal prompts are sent once. So a run that was
    killed continues without paying twice.

    Attributes:
        label_space: Labels of the columns of `predict`.
        identity: Everything that determines the probabilities, by name. It does not change if the provider replaces the
            model under the same name.
        form: Form of the requests, the first of `FORMS` that the endpoint accepts.
        has_probabilities: Whether the form requests probabilities.
        spending: Requests and tokens so far.
    """

    label_space: Final = LABELS

    def __init__(
        self,
        model: str,
        client: "openai.OpenAI",
        *,
        prompt: Prompt,
        cache: AnswerCache,
        spending: Spending,
        concurrency: int = CONCURRENCY,
    ) -> None:
        self.model = model
        self.prompt = prompt
        self.spending = spending
        self._client = client
        self._base_url = str(client.base_url).rstrip("/")
        self._cache = cache
        self._concurrency = concurrency
        self.form = self._negotiate_form()
        self.has_probabilities = self.form.requests_probabilities
        self.identity: Mapping[str, str] = {
            "kind": "endpoint",
            "model": model,
            "base_url": self._base_url,
            "prompt": f"sha256:{fingerprint(prompt.messages('{premise}', '{hypothesis}'))}",
            "num_fewshot": str(prompt.num_fewshot),
            "form": self.form.name,
            "parameters": json.dumps(self.form.parameters),
        }

    @classmethod
    def load(
        cls,
        model: str,
        *,
        base_url: str | None = None,
        num_fewshot: int = 0,
        concurrency: int = CONCURRENCY,
        retries: int = RETRIES,
        spending: Spending | None = None,
        cache: Path | None = None,
    ) -> "EndpointPredictor":
        """Connect to an endpoint, and find the form of requests that it accepts.

        The key is read from the environment variable `OPENAI_API_KEY`, and is sent to no other host. Without a key,
        requests have a placeholder, which local servers accept.

        Args:
            model: Name of the model at the endpoint.
            base_url: URL of the endpoint up to `/v1`, such as `http://localhost:8000/v1`.
            num_fewshot: Number of few-shot examples before each pair: 0, 3 or 6 (default: 0).
            concurrency: Number of simultaneous requests, 1 or more (default: 8).
            retries: Maximum number of retries of a request (default: 8); see `RETRIES`.
            spending: Counter for requests and tokens (default: a new one).
            cache: File of the responses (default: one file in the user's cache folder for all endpoints).

        Raises:
            EndpointError: If the URL is invalid or unreachable, the endpoint has no such model, or it rejects the key.
            ValueError: If `num_fewshot` is another number, or `concurrency` is below 1.
        """
        if concurrency < 1:
            raise ValueError(f"concurrency (--concurrency): expected at least 1 request at a time, got {concurrency}")
        address = _validate_url(base_url)
        try:
            client = openai.OpenAI(
                api_key=os.environ.get(KEY) or "none",  # the client requires a key
                base_url=address,
                max_retries=retries,
                # A redirect could send the pairs and the key to another host.
                http_client=openai.DefaultHttpxClient(follow_redirects=False),
            )
        except Exception as error:  # the HTTP client's error for an invalid host name derives from Exception directly
            raise EndpointError(
                f"--base-url: expected an address such as http://localhost:8000/v1, got {address!r:.200} "
                f"({extract_first_line(error)}); correct it"
            ) from error
        answers = AnswerCache(cache or get_cache_folder("answers") / "answers.sqlite")
        return cls(
            model,
            client,
            prompt=Prompt(num_fewshot),
            cache=answers,
            spending=spending or Spending(),
            concurrency=concurrency,
        )

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Predict the probabilities of n pairs in their order, shape (n, 3); equal ones are an abstention.

        Raises:
            EndpointError: If a request fails after all retries; the responses so far stay in the cache.
        """
        return collect_batches(self, premises, hypotheses)

    def batches(
        self,
        premises: Sequence[str],
        hypotheses: Sequence[str],
        *,
        done: NDArray[np.bool_] | None = None,
        share: tuple[int, int] | None = None,
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float32]]]:
        """Iterate over responses as they arrive: positions of b equal pairs, shape (b,), and probabilities, (b, 3).

        Raises:
            EndpointError: As `predict`.
        """
        pairs: dict[tuple[str, str], list[int]] = {}
        for row, pair in enumerate(zip(*validate_pairs(premises, hypotheses), strict=True)):
            pairs.setdefault(pair, []).append(row)  # equal pairs are sent once
        number, of = share or (0, 1)
        pool = ThreadPoolExecutor(self._concurrency, thread_name_prefix="endpoint")
        try:
            futures = {
                pool.submit(self._ask, pair, self.form): rows
                for place, (pair, rows) in enumerate(pairs.items())
                if place % of == number and (done is None or not done[rows].all())
            }
            for future in as_completed(futures):
                rows = futures[future]
                try:
                    answer = future.result()
                except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                    raise EndpointError(self._refusal(error)) from None
                values = np.tile(np.array(self._probabilities(answer), dtype=np.float32), (len(rows), 1))
                yield np.array(rows, dtype=np.intp), validate_probabilities(values, len(rows), self.label_space)
        finally:
            # Requests in flight are completed and cached, since they are paid for.
            pool.shutdown(wait=True, cancel_futures=True)

    def _probabilities(self, answer: Answer) -> list[float]:
        return first_token_probabilities(answer.top) or one_hot_probabilities(parse_label(answer.text))

    def _negotiate_form(self) -> Form:
        """Find the first form of a request that the endpoint accepts and that gives a readable response."""
        premise, hypothesis, _ = PAIRS["en"][0]
        for form in FORMS:
            last = form is FORMS[-1]
            try:
                answer = self._ask((premise, hypothesis), form)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                if last:
                    raise EndpointError(
                        f"{self._base_url} rejects every form of a request: {self._message(error)}; check --base-url "
                        "and the model's name"
                    ) from None
                continue
            if form.requests_probabilities and not answer.top:
                continue  # the endpoint ignores the unknown parameter
            readable = first_token_probabilities(answer.top) or parse_label(answer.text)
            if readable or last or answer.finish != "length":  # `length`: truncated within a sentence or a thought
                break
        if form.name == "thinking":
            limit = form.parameters["max_completion_tokens"]
            logger.warning(
                "%s does not answer in one word; each pair may use up to %s tokens, which costs more", self.model, limit
            )
        return form

    def _ask(self, pair: tuple[str, str], form: Form) -> Answer:
        """Get the response to one pair, from the cache or the endpoint."""
        request = {"model": self.model, "messages": self.prompt.messages(*pair), **form.parameters}
        key = request_key(self._base_url, request)
        if cached := self._cache.get(key):
            self.spending.add_kept()
            return cached
        try:
            answer = self._answer(request, form)
        except openai.BadRequestError as error:
            if error.code != "content_filter":
                raise
            answer = Answer("", (), "content_filter", 0, 0)  # a filtered pair is an abstention
        self._cache.put(key, answer)
        self.spending.add(answer)
        return answer

    def _answer(self, request: dict[str, Any], form: Form) -> Answer:
        create = self._client.chat.completions.with_raw_response.create
        body = ""
        for _ in range(_MALFORMED_TRIES):
            try:
                body = create(**cast(Any, request), timeout=form.timeout).text
            except (openai.BadRequestError, openai.UnprocessableEntityError):
                raise
            except openai.APIStatusError as error:
                raise EndpointError(self._refusal(error)) from None
            except openai.OpenAIError as error:
                raise EndpointError(
                    f"cannot reach {self._base_url}: {self._message(error)}; run the same command again to continue"
                ) from None
            try:
                return _parse_completion(json.loads(body))
            except (ValueError, KeyError, TypeError, IndexError, AttributeError):
                continue
        raise EndpointError(
            f"{self._base_url}: expected a chat completion, got {redact(body)[:200]!r}; check the address, which "
            "usually ends in /v1"
        )

    def _refusal(self, error: "openai.APIStatusError") -> str:
        what = f"{self._base_url} answered {error.status_code} to {self.model}: {self._message(error)}"
        if error.status_code in (401, 403):
            return f"{what}; set {KEY} in the environment to a key that may use it"
        if HTTPStatus.MULTIPLE_CHOICES <= error.status_code < HTTPStatus.BAD_REQUEST:
            to = urlsplit(error.response.headers.get("location", ""))
            there = f"{to.scheme}://{to.hostname}{to.path}" if to.hostname else "another path"
            return (
                f"{self._base_url} answered {error.status_code}: it redirects requests to {there}, which is not "
                "followed; pass that address as --base-url if you trust it"
            )
        if error.status_code == 404:
            return f"{what}; check the model's name and --base-url, which usually ends in /v1"
        if error.status_code == 429:
            return f"{what}; reduce --concurrency and run the same command again to continue"
        return f"{what}; run the same command again to continue"

    def _message(self, error: Exception) -> str:
        return extract_first_line(error, longest=300)


def _parse_completion(completion: Any) -> Answer:
    """Parse a chat completion; raises one of several built-in errors, which the caller catches, for anything else."""
    choice = completion["choices"][0]
    text = choice["message"].get("content") or ""
    if not isinstance(text, str):
        raise TypeError(f"expected text, got {text!r}")
    first = ((choice.get("logprobs") or {}).get("content") or [{}])[0]
    top = tuple((str(entry["token"]), float(entry["logprob"])) for entry in first.get("top_logprobs") or ())
    usage = completion.get("usage") or {}
    counts = (int(usage.get(name) or 0) for name in ("prompt_tokens", "completion_tokens"))
    return Answer(text, top, str(choice.get("finish_reason")), *counts)


def _validate_url(base_url: str | None) -> str:
    if not base_url:
        raise EndpointError("expected the endpoint's address, such as --base-url http://localhost:8000/v1, got none")
    # `urlsplit` drops line breaks and tabs, which the client would reject later with an error of its own.
    for position, character in enumerate(base_url, start=1):
        if character == " " or not character.isprintable():
            raise EndpointError(  # the message omits the address, which may hold a password
                f"--base-url: expected an address such as http://localhost:8000/v1, got {character!r} as its character "
                f"{position}; remove it"
            )
    try:
        parts = urlsplit(base_url)
        # A connection encodes the host the same way: it fails for an empty label or one of more than 63 characters.
        (parts.hostname or "").encode("idna")
        # The property `port` raises for an invalid port.
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # invalid brackets or port; the `UnicodeError` of a host name is a ValueError too
        is_address = False
    if not is_address or len(base_url) > _LONGEST_URL:
        raise EndpointError(
            f"--base-url: expected an address such as http://localhost:8000/v1, got {redact(base_url)!r:.200}"
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise EndpointError(  # the address is recorded with the results
            f"--base-url: expected an address without name, password or ?…, got one with them for {parts.hostname}; "
            f"set the key as {KEY} in the environment"
        )
    return base_url
