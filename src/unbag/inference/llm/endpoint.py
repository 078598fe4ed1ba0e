"""Any model behind an OpenAI-compatible endpoint as a predictor: hosted ones, or vLLM, llama.cpp, Ollama, … at home.

Each answer is stored on disk as soon as it arrives, so nothing is paid for twice.

Requests, tokens and cost of a run are counted.
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
from unbag.inference.llm.reading import label_in, probabilities_of
from unbag.inference.predictor import checked_pairs, checked_probabilities, from_batches, probabilities_of_label
from unbag.utils.files import cache_folder
from unbag.utils.redaction import first_line, redact
from unbag.utils.sqlite_cache import SqliteCache


class Answer(NamedTuple):
    """What an endpoint answered.

    Attributes:
        text: what it says.
        top: its likeliest first tokens with their log-probabilities; empty where it gives none.
        finish: why it stopped: `stop`, `length`, …
        tokens_in: tokens of the question, as the endpoint counts them; 0 where it does not.
        tokens_out: tokens of the answer.
    """

    text: str
    top: tuple[tuple[str, float], ...]
    finish: str
    tokens_in: int
    tokens_out: int


class AnswerCache:
    """Answers by what was asked, in one SQLite file; for any number of threads and processes.

    The key is a hash of the endpoint's address and the whole request, model and parameters included. A model that is
    changed behind its name is not noticed: remove the file to ask anew.

    Args:
        path: the file; made where absent.
    """

    def __init__(self, path: Path) -> None:
        self._kept = SqliteCache(path, "kept_answers", wal=True)

    def get(self, key: str) -> Answer | None:
        """Return the answer to what was asked, if it is there."""
        kept = self._kept.get([key])
        if key not in kept:
            return None
        text, top, *rest = json.loads(kept[key])
        return Answer(text, tuple((token, log) for token, log in top), *rest)

    def put(self, key: str, answer: Answer) -> None:
        """Keep an answer; where another process was faster, its stays."""
        self._kept.put([(key, json.dumps(answer, ensure_ascii=False))], replace=False)

    def __len__(self) -> int:
        return len(self._kept)


def request_key(base_url: str, request: Mapping[str, Any]) -> str:
    """Return the key of a request to an endpoint."""
    content = json.dumps([base_url, request], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()


_MILLION = 1_000_000


@dataclass
class Spending:
    """Requests and tokens of one run, counted by the endpoint itself; for any number of threads.

    Attributes:
        price_in: of a million tokens of questions, in any currency; None where unknown.
        price_out: of a million tokens of answers.
        answered: requests that were answered in this run.
        kept: answers that were there from earlier runs and cost nothing now.
        tokens_in: tokens of the questions that were answered in this run.
        tokens_out: tokens of their answers.

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
        """Count an answer that was paid for."""
        with self._lock:
            self.answered += 1
            self.tokens_in += answer.tokens_in
            self.tokens_out += answer.tokens_out

    def add_kept(self) -> None:
        """Count an answer that was there already."""
        with self._lock:
            self.kept += 1

    @property
    def cost(self) -> float | None:
        """What the tokens of this run cost, in the currency of the prices; None without prices."""
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
    raise ImportError("asking an endpoint needs the openai client: pip install 'unbag[llm]'") from error


KEY: Final = "OPENAI_API_KEY"
CONCURRENCY: Final = 8
RETRIES: Final = 8
"""How often a request is sent again that was refused for the moment (429, 5xx) or whose connection broke. The client
waits as long as `Retry-After` says, up to two minutes, else 0.5 s, doubled each time up to 8 s: 40 s in all."""

_NONSENSE_TRIES: Final = 3
"""How often a request is sent whose answer is no chat completion at all."""

_TIMEOUT: Final = 120.0  # seconds; an answer of one word is there in one
_THINKING_TIMEOUT: Final = 900.0
_LONGEST_URL: Final = 2_000  # characters; the client refuses some ten thousand

logger = logging.getLogger(__name__)


class EndpointError(ValueError):
    """An endpoint that cannot be asked, or that answers with something else than chat completions."""


class Form(NamedTuple):
    """How a model is asked beside the question itself."""

    name: str
    parameters: Mapping[str, Any]
    timeout: float = _TIMEOUT

    @property
    def gives_probabilities(self) -> bool:
        """Whether the probabilities of the first token are asked for."""
        return "logprobs" in self.parameters


FORMS: Final = (
    Form("logprobs-20", {"max_tokens": 8, "temperature": 0, "logprobs": True, "top_logprobs": 20}),
    Form("logprobs-5", {"max_tokens": 8, "temperature": 0, "logprobs": True, "top_logprobs": 5}),
    Form("text", {"max_tokens": 8, "temperature": 0}),
    # Models that think before they answer take neither the older limit nor a temperature.
    Form("thinking", {"max_completion_tokens": 4096}, _THINKING_TIMEOUT),
)
"""The forms of a question, from the most telling to the one that any endpoint takes."""


class EndpointPredictor:
    """A model behind a `/chat/completions` endpoint; made by `load`.

    The question is that of `unbag.inference.llm.prompts`, as a conversation. Where the endpoint tells the
    probabilities of the first token, they are the labels' (`reading.probabilities_of`); else, or where they lie
    elsewhere, the answer's words decide (`reading.label_in`), with probability 1. An answer that names no label is an
    abstention: all probabilities are equal, as with every predictor that may have no answer.

    Every answer is kept on disk as it arrives (`AnswerCache`), equal questions are asked once, and so a run that was
    killed goes on without paying twice.

    Attributes:
        label_space: the labels of the columns of `predict`.
        identity: what decides the numbers, by name. It cannot tell whether another model has taken the name.
        form: how the model is asked; the first of `FORMS` that it takes.
        has_probabilities: whether its form asks for probabilities.
        spending: requests and tokens so far.
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
        self.form = self._agreed_form()
        self.has_probabilities = self.form.gives_probabilities
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
        """Find out how a model can be asked.

        The key is read from the environment, `OPENAI_API_KEY`, and goes to the endpoint and nowhere else; without one
        the endpoint is asked without, as servers at home are.

        Args:
            model: the model's name at the endpoint.
            base_url: the endpoint's address up to `/v1`, such as `http://localhost:8000/v1`.
            num_fewshot: worked examples before each pair: 0, 3 or 6.
            concurrency: requests at the same time, 1 or more.
            retries: how often a request is sent again; see `RETRIES`.
            spending: where to count requests and tokens.
            cache: the file of the answers; by default one in the user's cache folder for all endpoints.

        Raises:
            EndpointError: if there is no such address, the endpoint has no such model, or it refuses the key.
            ValueError: if there are no so many worked examples.
        """
        if concurrency < 1:
            raise ValueError(f"expected at least 1 request at a time, found a concurrency of {concurrency}")
        address = _checked_url(base_url)
        try:
            client = openai.OpenAI(
                api_key=os.environ.get(KEY) or "none",  # the client insists on one
                base_url=address,
                max_retries=retries,
                # Whoever answers at the address may not send pairs and key to another.
                http_client=openai.DefaultHttpxClient(follow_redirects=False),
            )
        except Exception as error:  # of the HTTP client, whose error for a host's name has no base but Exception
            raise EndpointError(
                f"--base-url: expected an address such as http://localhost:8000/v1, got {address!r:.200} "
                f"({first_line(error)}); correct it"
            ) from error
        answers = AnswerCache(cache or cache_folder("answers") / "answers.sqlite")
        return cls(
            model,
            client,
            prompt=Prompt(num_fewshot),
            cache=answers,
            spending=spending or Spending(),
            concurrency=concurrency,
        )

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Return the probabilities of n pairs in their order, shape (n, 3); equal ones are an abstention.

        Raises:
            EndpointError: if a request fails for good; the answers so far are kept.
        """
        return from_batches(self, premises, hypotheses)

    def batches(
        self,
        premises: Sequence[str],
        hypotheses: Sequence[str],
        *,
        done: NDArray[np.bool_] | None = None,
        share: tuple[int, int] | None = None,
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float32]]]:
        """Yield positions of pairs and their probabilities as the answers arrive.

        Raises:
            EndpointError: as `predict`.
        """
        pairs: dict[tuple[str, str], list[int]] = {}
        for row, pair in enumerate(zip(*checked_pairs(premises, hypotheses), strict=True)):
            pairs.setdefault(pair, []).append(row)  # equal questions are asked once
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
                yield np.array(rows, dtype=np.intp), checked_probabilities(values, len(rows), self.label_space)
        finally:
            # What is under way is waited for and kept, since it is paid for.
            pool.shutdown(wait=True, cancel_futures=True)

    def _probabilities(self, answer: Answer) -> list[float]:
        return probabilities_of(answer.top) or probabilities_of_label(label_in(answer.text))

    def _agreed_form(self) -> Form:
        """Return the first form of a question that the endpoint takes and that an answer comes of."""
        premise, hypothesis, _ = PAIRS["en"][0]
        for form in FORMS:
            last = form is FORMS[-1]
            try:
                answer = self._ask((premise, hypothesis), form)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                if last:
                    raise EndpointError(f"{self._base_url} takes no question: {self._message(error)}") from None
                continue
            if form.gives_probabilities and not answer.top:
                continue  # it ignores what it does not know
            readable = probabilities_of(answer.top) or label_in(answer.text)
            if readable or last or answer.finish != "length":  # cut off, in words of its own or in thoughts
                break
        if form.name == "thinking":
            limit = form.parameters["max_completion_tokens"]
            logger.warning("%s does not answer in a word; it gets up to %s tokens a pair", self.model, limit)
        return form

    def _ask(self, pair: tuple[str, str], form: Form) -> Answer:
        """Return the answer to one pair, from the cache or the endpoint."""
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
            answer = Answer("", (), "content_filter", 0, 0)  # it will not speak of this pair: no answer
        self._cache.put(key, answer)
        self.spending.add(answer)
        return answer

    def _answer(self, request: dict[str, Any], form: Form) -> Answer:
        create = self._client.chat.completions.with_raw_response.create
        body = ""
        for _ in range(_NONSENSE_TRIES):
            try:
                body = create(**cast(Any, request), timeout=form.timeout).text
            except (openai.BadRequestError, openai.UnprocessableEntityError):
                raise
            except openai.APIStatusError as error:
                raise EndpointError(self._refusal(error)) from None
            except openai.OpenAIError as error:
                raise EndpointError(
                    f"cannot reach {self._base_url}: {self._message(error)}; the same command goes on from here"
                ) from None
            try:
                return _read(json.loads(body))
            except (ValueError, KeyError, TypeError, IndexError, AttributeError):
                continue
        raise EndpointError(
            f"{self._base_url} answers with something else than a chat completion: {redact(body)[:200]!r}; is "
            "the address right, up to /v1?"
        )

    def _refusal(self, error: "openai.APIStatusError") -> str:
        what = f"{self._base_url} answered {error.status_code} to {self.model}: {self._message(error)}"
        if error.status_code in (401, 403):
            return f"{what}; set {KEY} in the environment to a key that may use it"
        if HTTPStatus.MULTIPLE_CHOICES <= error.status_code < HTTPStatus.BAD_REQUEST:
            to = urlsplit(error.response.headers.get("location", ""))
            there = f"{to.scheme}://{to.hostname}{to.path}" if to.hostname else "another path"
            return (
                f"{self._base_url} answered {error.status_code}: it sends questions on to {there}, which is not "
                "followed; give that address as --base-url if it is to have them"
            )
        if error.status_code == 404:
            return f"{what}; check the model's name and --base-url, which ends in /v1 most often"
        if error.status_code == 429:
            return f"{what}; ask less at a time (--concurrency); the same command goes on from here"
        return f"{what}; the same command goes on from here"

    def _message(self, error: Exception) -> str:
        return first_line(error, longest=300)


def _read(completion: Any) -> Answer:
    """Return what a chat completion says.

    Raises:
        KeyError, TypeError, IndexError, AttributeError, ValueError: if it is none.
    """
    choice = completion["choices"][0]
    text = choice["message"].get("content") or ""
    if not isinstance(text, str):
        raise TypeError(f"expected text, found {text!r}")
    first = ((choice.get("logprobs") or {}).get("content") or [{}])[0]
    top = tuple((str(entry["token"]), float(entry["logprob"])) for entry in first.get("top_logprobs") or ())
    usage = completion.get("usage") or {}
    counts = (int(usage.get(name) or 0) for name in ("prompt_tokens", "completion_tokens"))
    return Answer(text, top, str(choice.get("finish_reason")), *counts)


def _checked_url(base_url: str | None) -> str:
    if not base_url:
        raise EndpointError("expected the endpoint's address, such as --base-url http://localhost:8000/v1, found none")
    # `urlsplit` drops line breaks and tabs, which the client then refuses with an error of its own.
    for position, character in enumerate(base_url, start=1):
        if character == " " or not character.isprintable():
            raise EndpointError(  # without the address, which may hold a password
                f"--base-url: expected an address such as http://localhost:8000/v1, got {character!r} as its character "
                f"{position}; remove it"
            )
    try:
        parts = urlsplit(base_url)
        (parts.hostname or "").encode("idna")  # as a connection does: no empty label, none of more than 63 characters
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0  # reading it checks
    except ValueError:  # brackets or a port that are none; `UnicodeError` of a host's name is one too
        is_address = False
    if not is_address or len(base_url) > _LONGEST_URL:
        raise EndpointError(f"expected an address such as http://localhost:8000/v1, found {redact(base_url)!r:.200}")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise EndpointError(  # the address is recorded with the results
            f"expected an address without name, password or ?…, found one with them for {parts.hostname}; the key is "
            f"read from {KEY} in the environment"
        )
    return base_url
