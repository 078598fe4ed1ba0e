"""Predictor for models behind an OpenAI-compatible endpoint: hosted models, or a local vLLM, llama.cpp or Ollama.

Each response is stored on disk as soon as it arrives, so no request is paid for twice. Requests, tokens and cost of a
run are counted.
"""

import json
import logging
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from unbag.inference.label_probe import PAIRS
from unbag.inference.llm.answer_store import AnswerStore
from unbag.inference.llm.connection import (
    RETRIES,
    EndpointConnection,
    EndpointError,
    iter_responses,
    openai,
    shorten_client_error,
)
from unbag.inference.llm.prompt_file import PromptFile, choose_prompt
from unbag.inference.llm.prompts import DefaultPrompt, Words, compute_prompt_hash
from unbag.inference.llm.reading import (
    compute_label_probabilities,
    find_answer_token,
    find_visible_answer,
    parse_json_label,
    parse_label,
)
from unbag.inference.predictor import (
    LabelSource,
    build_one_hot_probabilities,
    collect_batches,
    group_equal_pairs,
    validate_probabilities,
)
from unbag.utils.files import get_cache_folder
from unbag.utils.redaction import redact
from unbag.utils.sqlite_cache import SqliteCache


class EndpointResponse(NamedTuple):
    """Response of an LLM endpoint to one request."""

    text: str
    # Likeliest tokens, with their log-probabilities, at the place where the label begins; empty if the endpoint returns
    # none.
    top: tuple[tuple[str, float], ...]
    finish: str  # finish reason: `stop`, `length`, …
    tokens_in: int  # tokens of the prompt, as the endpoint counts them; 0 if it does not
    tokens_out: int
    thoughts: str = ""  # text of the field for reasoning, which some endpoints separate from the answer


_MILLION = 1_000_000


@dataclass
class EndpointUsage:
    """Thread-safe counter of the requests and tokens of a run.

    >>> spending = EndpointUsage(price_in=2.0, price_out=8.0)
    >>> spending.add(EndpointResponse("Yes", (), "stop", tokens_in=1_000_000, tokens_out=500_000))
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

    def add(self, response: EndpointResponse) -> None:
        """Count a response and its tokens."""
        with self._lock:
            self.answered += 1
            self.tokens_in += response.tokens_in
            self.tokens_out += response.tokens_out

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


READING: Final = "3"
"""Version of the rules for reading a response; part of the identity, so that no result of earlier rules is reused."""

_CUT: Final = "length"
_FINISH_REASONS: Final = {
    **dict.fromkeys(("max_tokens", "model_length", "max_output_tokens", "max_length"), _CUT),
    **dict.fromkeys(("safety", "blocked", "recitation", "prohibited_content"), "content_filter"),
}
"""Names that some servers give to the finish reasons `length` and `content_filter`."""
_REFUSED: Final = ("content_filter", "refusal")
_THOUGHT_FIELDS: Final = ("reasoning_content", "reasoning", "reasoning_text", "thinking", "thoughts")

CONCURRENCY: Final = 8
_MALFORMED_TRIES: Final = 3
"""Maximum number of requests if the responses are not chat completions."""

_TIMEOUT: Final = 120.0  # seconds; a response of one word usually takes one second
_THINKING_TIMEOUT: Final = 900.0

logger = logging.getLogger(__name__)


class RequestFormat(NamedTuple):
    """Request format: all parameters of a request except the prompt."""

    name: str
    parameters: Mapping[str, Any]
    timeout: float = _TIMEOUT

    @property
    def requests_probabilities(self) -> bool:
        """Whether requests set `logprobs`, so that responses contain token probabilities."""
        return "logprobs" in self.parameters

    def list_longer(self) -> "list[RequestFormat]":
        """List this format and those with a higher token limit, for responses that are cut at the limit."""
        longer = [self]
        for limit in _LIMITS:
            if self.parameters.get("max_tokens", _LIMITS[-1]) < limit:
                # Up to 20 alternatives for each token of a long thought would be megabytes per response.
                unlisted = ("logprobs", "top_logprobs") if limit == _LIMITS[-1] else ()
                parameters = {key: value for key, value in self.parameters.items() if key not in unlisted}
                form = RequestFormat(f"{self.name}-{limit}", {**parameters, "max_tokens": limit}, _THINKING_TIMEOUT)
                longer.append(form)
        return longer


_LIMITS: Final = (512, 4096)

FORMS: Final = (
    RequestFormat("logprobs-20", {"max_tokens": 8, "temperature": 0, "logprobs": True, "top_logprobs": 20}),
    RequestFormat("logprobs-5", {"max_tokens": 8, "temperature": 0, "logprobs": True, "top_logprobs": 5}),
    RequestFormat("text", {"max_tokens": 8, "temperature": 0}),
    # Reasoning models accept neither `max_tokens` nor a temperature.
    RequestFormat("thinking", {"max_completion_tokens": _LIMITS[-1]}, _THINKING_TIMEOUT),
)
"""Request formats, from the most informative format to the format that every endpoint accepts."""

_JSON_TOKENS: Final = 64  # of an answer as a JSON object with one field
_EXCERPT: Final = 120  # characters of an unreadable answer in warnings
_REFUSAL: Final = re.compile(
    r"\W*(?:(?:i am|i['’]m) (?:sorry|unable|not able)|sorry\b|i (?:can(?:no|['’])t|won['’]t)\b)", re.I
)


def list_request_formats(prompt: DefaultPrompt | PromptFile) -> tuple[RequestFormat, ...]:
    """List the request formats for a prompt. If the prompt asks for JSON, formats with a JSON schema come first.

    `response_format` is that of https://platform.openai.com/docs/guides/structured-outputs, which vLLM, SGLang,
    llama.cpp and Ollama take too.
    """
    if prompt.json_field is None:
        return FORMS
    schema = {
        "type": "object",
        "properties": {
            prompt.json_field: {"type": "string", "enum": [word for listed in prompt.words.values() for word in listed]}
        },
        "required": [prompt.json_field],
        "additionalProperties": False,
    }
    answer = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
    longer = [
        form._replace(
            parameters={**form.parameters, **({"max_tokens": _JSON_TOKENS} if "max_tokens" in form.parameters else {})}
        )
        for form in FORMS
    ]
    strict = [
        form._replace(name=f"json-{form.name}", parameters={**form.parameters, "response_format": answer})
        for form in longer
    ]
    return (*strict, *longer)


class EndpointPredictor:
    """Predictor that queries an LLM behind a `/chat/completions` endpoint. Build it with `load`.

    The prompt is that of `unbag.inference.llm.prompts`, or of a file (`prompt_file`), as a conversation. If the
    endpoint returns the probabilities of the first token, the labels' probabilities are computed from them
    (`reading.compute_label_probabilities`). Otherwise, or if they are on other words, the words of the response
    determine the label (`reading.parse_label`), with probability 1. A response that is cut at the token limit is
    requested again with a higher limit. A response without a label is unanswered: all probabilities are equal.

    Every response is stored on disk as it arrives (`AnswerStore`), and equal prompts are sent once. So a run that was
    killed continues without paying twice, except for one request.

    Attributes:
        identity: Everything that determines the probabilities, by name, with the version of the model if the server
            reports one.
        request_format: First of `list_request_formats` for the prompt that the endpoint accepts.
        has_probabilities: Whether the requests ask for token probabilities.
        unanswered: Reason (`cut`, `empty`, `unreadable` or `refused`) and excerpt of the response, for each pair
            without an answer.
    """

    may_abstain = True
    label_source: ClassVar[LabelSource] = "generated"

    def __init__(
        self,
        model: str,
        connection: EndpointConnection,
        *,
        prompt: DefaultPrompt | PromptFile,
        answers: AnswerStore,
        spending: EndpointUsage,
        concurrency: int = CONCURRENCY,
    ) -> None:
        self.model = model
        self.prompt = prompt
        self.label_space = prompt.label_space
        self.spending = spending
        self._connection = connection
        self._base_url = connection.base_url
        self._answers = answers
        self._concurrency = concurrency
        self.unanswered: dict[tuple[str, str], str] = {}
        self.request_format = self._negotiate_form()
        self.has_probabilities = self.request_format.requests_probabilities
        prompt_hash = prompt.sha256 or compute_prompt_hash(prompt.build_messages("{premise}", "{hypothesis}"))
        self.identity: Mapping[str, str] = {
            "kind": "endpoint",
            "model": model,
            "base_url": self._base_url,
            "prompt": f"sha256:{prompt_hash}",
            "num_fewshot": str(prompt.num_fewshot),
            "form": self.request_format.name,
            "parameters": json.dumps(self.request_format.parameters),
            **answers.identity,
            "reading": READING,
        }

    @classmethod
    def load(
        cls,
        model: str,
        *,
        base_url: str | None = None,
        num_fewshot: int = 0,
        prompt: str | Path | None = None,
        concurrency: int = CONCURRENCY,
        retries: int = RETRIES,
        no_cache: bool = False,
        spending: EndpointUsage | None = None,
        cache: Path | None = None,
    ) -> "EndpointPredictor":
        """Connect to an endpoint and find a request format that it accepts.

        The key is read from the environment variable `OPENAI_API_KEY`, and is sent to no other host. Without a key,
        requests have a placeholder, which local servers accept.

        Args:
            model: Name of the model at the endpoint.
            base_url: URL of the endpoint up to `/v1`, such as `http://localhost:8000/v1`.
            num_fewshot: Number of few-shot examples before each pair: 0, 3 or 6 (default: 0).
            prompt: File of a prompt (`prompt_file`; default: the prompt of `prompts`).
            concurrency: Number of simultaneous requests, 1 or more (default: 8).
            retries: Maximum number of retries of a request (default: 8); see `RETRIES`.
            no_cache: Whether to ignore responses and predictions from earlier runs (default: no).
            spending: Counter for requests and tokens (default: a new one).
            cache: File of the responses (default: one file in the user's cache folder for all endpoints).

        Raises:
            EndpointError: If the URL is invalid or unreachable, the endpoint has no such model, or it rejects the key.
            ValueError: If `num_fewshot` is another number or is combined with `prompt`, `concurrency` is below 1, or
                the file is no prompt.
        """
        chosen = choose_prompt(prompt, num_fewshot)
        if concurrency < 1:
            raise ValueError(
                f"concurrency (--concurrency): expected at least 1 concurrent request, got {concurrency}; pass 1 "
                "or more"
            )
        connection = EndpointConnection.open(base_url, retries=retries)
        file = SqliteCache(cache or get_cache_folder("answers") / "answers.sqlite", "answers", wal=True)
        return cls(
            model,
            connection,
            prompt=chosen,
            answers=AnswerStore(file, connection, model, api_url=connection.base_url, no_cache=no_cache),
            spending=spending or EndpointUsage(),
            concurrency=concurrency,
        )

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Predict the label probabilities of n pairs, shape (n, len(label_space)). Abstentions get equal probabilities.

        Raises:
            EndpointError: If a request fails after all retries; the responses so far stay in the cache.
        """
        return collect_batches(self, premises, hypotheses)

    def iter_batches(
        self,
        premises: Sequence[str],
        hypotheses: Sequence[str],
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float32]]]:
        """Yield the row positions of equal pairs, shape (b,), with their probabilities, as each response arrives."""
        rows_of = group_equal_pairs(premises, hypotheses)  # equal pairs are sent once
        with closing(
            iter_responses(partial(self._ask_in_full, form=self.request_format), list(rows_of), self._concurrency)
        ) as responses:
            for pair, future in responses:
                rows = rows_of[pair]
                try:
                    answer, _ = future.result()
                except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                    raise EndpointError(self._connection.describe_error_response(self.model, error)) from None
                label = self._label(answer)
                if label is None:
                    self.unanswered[pair] = f"{_find_reason(answer)}: {_excerpt(answer)}"
                values = np.tile(np.array(self._probabilities(answer, label), dtype=np.float32), (len(rows), 1))
                yield np.array(rows, dtype=np.intp), validate_probabilities(values, len(rows), self.label_space)
        self._answers.validate_version()

    def pop_answer_dates(self) -> dict[str, bool]:
        """Return the dates of all responses since the last call; see `AnswerStore.pop_dates`."""
        return self._answers.pop_dates()

    def _probabilities(self, answer: EndpointResponse, label: str | None) -> list[float]:
        probabilities = compute_label_probabilities(answer.top, self.prompt.words) if label else None
        # Tokens that disagree with the text belong to a thought or to an echo of the question.
        if probabilities and self.label_space[int(np.argmax(probabilities))] == label:
            return probabilities
        return build_one_hot_probabilities(label, self.label_space)

    def _label(self, answer: EndpointResponse) -> str | None:
        """Extract the label from the text of a response. Return None if there is none, or if the response is cut."""
        # The beginning of a cut response may be a thought without an opening tag.
        if answer.finish == _CUT or answer.finish in _REFUSED:
            return None
        if self.prompt.json_field is None:
            return parse_label(answer.text, self.prompt.words)
        return parse_json_label(answer.text, self.prompt.json_field, self.prompt.words)

    def _negotiate_form(self) -> RequestFormat:
        """Find the first request format that the endpoint accepts and whose response can be parsed."""
        premise, hypothesis, _ = PAIRS["en"][0]
        forms = list_request_formats(self.prompt)
        for form in forms:
            last = form is forms[-1]
            try:
                answer, longer = self._ask_in_full((premise, hypothesis), form)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                if last:
                    raise EndpointError(
                        f"{self._base_url} rejects every request format: {shorten_client_error(error)}; check "
                        "--base-url and the model's name"
                    ) from None
                continue
            if form.requests_probabilities and not answer.top:
                continue  # the endpoint ignores the unknown parameter
            form = longer
            break
        limit = form.parameters.get("max_completion_tokens") or form.parameters["max_tokens"]
        if limit >= _LIMITS[0]:
            logger.warning(
                "%s does not answer in one word; each pair may use up to %s tokens, which costs more", self.model, limit
            )
        return form

    def _ask_in_full(self, pair: tuple[str, str], form: RequestFormat) -> tuple[EndpointResponse, RequestFormat]:
        """Get the response to one pair. Raise the token limit while the response is cut."""
        answer, used = self._ask(pair, form), form
        for longer in form.list_longer()[1:]:
            if answer.finish != _CUT:
                break
            try:
                answer, used = self._ask(pair, longer), longer
            except (openai.BadRequestError, openai.UnprocessableEntityError):
                break  # the limit exceeds the context of the model
        return answer, used

    def _ask(self, pair: tuple[str, str], form: RequestFormat) -> EndpointResponse:
        """Get the response to one pair, from the cache or the endpoint."""
        request = {"model": self.model, "messages": self.prompt.build_messages(*pair), **form.parameters}
        [cached] = self._answers.get([request])
        if cached is not None:
            self.spending.add_cached()
            text, top, *rest = cached
            return EndpointResponse(text, tuple((token, log) for token, log in top), *rest)
        try:
            answer, version = self._answer(request, form)
        except openai.BadRequestError as error:
            if error.code != "content_filter":
                raise
            answer = EndpointResponse("", (), "content_filter", 0, 0)
            version = self._answers.version
        self._answers.put([request], [answer], version)
        self.spending.add(answer)
        return answer

    def _answer(self, request: dict[str, Any], form: RequestFormat) -> tuple[EndpointResponse, str]:
        """Send a request. Returns the response and the version of the model."""
        create = self._connection.client.chat.completions.with_raw_response.create
        body = ""
        for _ in range(_MALFORMED_TRIES):
            try:
                response = create(**cast(Any, request), timeout=form.timeout)
                body = response.text
            except (openai.BadRequestError, openai.UnprocessableEntityError):
                raise
            except openai.APIStatusError as error:
                raise EndpointError(self._connection.describe_error_response(self.model, error)) from None
            except openai.OpenAIError as error:
                raise EndpointError(
                    f"cannot reach {self._base_url}: {shorten_client_error(error)}; run the same command again to "
                    "continue"
                ) from None
            try:
                completion = json.loads(body)
                answer = _parse_completion(completion, self.prompt.words, self.prompt.json_field)
                return answer, self._answers.read_version(response.headers, completion)
            except (ValueError, KeyError, TypeError, IndexError, AttributeError):
                continue
        raise EndpointError(
            f"{self._base_url}: expected a chat completion, got {redact(body)[:200]!r}; check the URL, which "
            "usually ends in /v1"
        )


def _find_reason(answer: EndpointResponse) -> str:
    """Find the reason why a response has no label."""
    if answer.finish in _REFUSED:
        return "refused"
    if answer.finish == _CUT:
        return "cut"
    if not answer.text[slice(*find_visible_answer(answer.text))].strip():
        return "empty"
    return "refused" if _REFUSAL.match(answer.text) else "unreadable"


def _excerpt(answer: EndpointResponse) -> str:
    """Shorten a response for warnings."""
    text = " ".join(answer.text.split())
    if not text and answer.thoughts:
        return f"the content is empty, and the reasoning is “{answer.thoughts[:_EXCERPT]}”"
    return f"“{text if len(text) <= _EXCERPT else text[: _EXCERPT // 2] + ' … ' + text[-_EXCERPT // 2 :]}”"


def _read_text(content: Any) -> str:
    """Read the text of a message's content: text, or a list of parts of which some may be thoughts."""
    if isinstance(content, list):
        return "".join(str(part["text"]) for part in content if part.get("type") in ("text", "output_text"))
    if not isinstance(content, str):
        raise TypeError(f"expected text, got {content!r}")
    return content


def _parse_completion(completion: Any, words: Words, json_field: str | None = None) -> EndpointResponse:
    """Parse a chat completion. Raises a built-in error, which the caller catches, for any other object."""
    choice = completion["choices"][0]
    message = choice["message"]
    text = _read_text(message.get("content") or "")
    thoughts = next((str(message[name]) for name in _THOUGHT_FIELDS if message.get(name)), "")
    finish = str(choice.get("finish_reason")).lower()
    finish = _FINISH_REASONS.get(finish, finish)
    if message.get("refusal") and not text:
        text, finish = str(message["refusal"]), "refusal"
    tokens = (choice.get("logprobs") or {}).get("content") or []
    place = find_answer_token([str(each["token"]) for each in tokens], text, words, json_field)
    first = tokens[place or 0] if tokens else {}
    # In JSON, the quotation mark may be part of the value's first token.
    top = tuple(
        (str(entry["token"]).lstrip(' "' if json_field else ""), float(entry["logprob"]))
        for entry in first.get("top_logprobs") or ()
    )
    usage = completion.get("usage") or {}
    tokens_in, tokens_out = (int(usage.get(name) or 0) for name in ("prompt_tokens", "completion_tokens"))
    excerpt = " ".join(thoughts[: 2 * _EXCERPT].split())
    return EndpointResponse(text, top, finish, tokens_in, tokens_out, excerpt)
