"""Predictor for models behind an OpenAI-compatible endpoint: hosted models, or a local vLLM, llama.cpp or Ollama.

Each response is stored on disk as soon as it arrives, so no request is paid for twice.
"""

import json
import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, cast

import numpy as np

from unbag.inference.label_probe import PAIRS
from unbag.inference.llm.client import EndpointClient, Pair, openai, shorten_client_error
from unbag.inference.llm.prompt_file import PromptFile, choose_prompt
from unbag.inference.llm.prompts import DefaultPrompt, Words, compute_prompt_hash
from unbag.inference.llm.reading import (
    compute_label_probabilities,
    find_answer_token,
    find_visible_answer,
    parse_json_label,
    parse_label,
)
from unbag.inference.predictor import EndpointError, LabelSource, build_one_hot_probabilities
from unbag.utils.redaction import redact


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


READING: Final = "4"
"""Version of the rules for reading a response; part of the identity, so that no result of earlier rules is reused."""

_CUT: Final = "length"
_FINISH_REASONS: Final = {
    **dict.fromkeys(("max_tokens", "model_length", "max_output_tokens", "max_length"), _CUT),
    **dict.fromkeys(("safety", "blocked", "recitation", "prohibited_content"), "content_filter"),
}
"""Names that some servers give to the finish reasons `length` and `content_filter`."""
_REFUSED: Final = ("content_filter", "refusal")
_THOUGHT_FIELDS: Final = ("reasoning_content", "reasoning", "reasoning_text", "thinking", "thoughts")

_REJECTED: Final = (openai.BadRequestError, openai.UnprocessableEntityError)
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
        """List the formats with a higher token limit, for responses that are cut at the limit."""
        longer = []
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
    words = [word for listed in prompt.words.values() for word in listed]
    schema = {
        "type": "object",
        "properties": {prompt.json_field: {"type": "string", "enum": words}},
        "required": [prompt.json_field],
        "additionalProperties": False,
    }
    answer = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
    longer = [
        form._replace(parameters={**form.parameters, "max_tokens": _JSON_TOKENS})
        if "max_tokens" in form.parameters
        else form
        for form in FORMS
    ]
    strict = [
        form._replace(name=f"json-{form.name}", parameters={**form.parameters, "response_format": answer})
        for form in longer
    ]
    return (*strict, *longer)


class EndpointPredictor(EndpointClient):
    """Predictor that queries an LLM behind a `/chat/completions` endpoint.

    The prompt is that of `unbag.inference.llm.prompts`, or of a file (`prompt_file`), as a conversation. If the
    endpoint returns the probabilities of the first token, the labels' probabilities are computed from them
    (`reading.compute_label_probabilities`). Otherwise, or if they are on other words, the words of the response
    determine the label (`reading.parse_label`), with probability 1. A response that is cut at the token limit is
    requested again with a higher limit. A response without a label is unanswered: all probabilities are equal.

    The constructor connects to the endpoint, such as `http://localhost:8000/v1`, and finds a request format that it
    accepts. The options are those of `inference.options.EndpointKwargs` and `EndpointClient`.

    `unanswered` has the reason (`cut`, `empty`, `unreadable` or `refused`) and an excerpt of the response, for each
    pair without an answer.
    """

    CACHE_FILE = "answers.sqlite"
    may_abstain = True
    label_source: ClassVar[LabelSource] = "generated"

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        num_fewshot: int = 0,
        prompt: str | Path | None = None,
        **connection: Any,
    ) -> None:
        chosen = choose_prompt(prompt, num_fewshot)
        super().__init__(model, base_url, **connection)
        self.prompt = chosen
        self.label_space = chosen.label_space
        self.unanswered: dict[Pair, str] = {}
        self.request_format = self._negotiate_form()
        self.has_probabilities = self.request_format.requests_probabilities
        prompt_hash = chosen.sha256 or compute_prompt_hash(chosen.build_messages("{premise}", "{hypothesis}"))
        self.identity = {
            "kind": "endpoint",
            "model": model,
            "base_url": self._base_url,
            "prompt": f"sha256:{prompt_hash}",
            "num_fewshot": str(chosen.num_fewshot),
            "form": self.request_format.name,
            "parameters": json.dumps(self.request_format.parameters),
            **self._answers.identity,
            "reading": READING,
        }

    def _ask(self, pairs: Sequence[Pair]) -> EndpointResponse:
        [pair] = pairs
        with self._explain_errors():
            return self._ask_in_full(pair, self.request_format)[0]

    def _compute_probabilities(self, pairs: Sequence[Pair], answers: EndpointResponse) -> list[list[float]]:
        label = self._label(answers)
        if label is None:
            self.unanswered[pairs[0]] = f"{_find_reason(answers)}: {_excerpt(answers)}"
        probabilities = compute_label_probabilities(answers.top, self.prompt.words) if label else None
        # Tokens that disagree with the text belong to a thought or to an echo of the question.
        if probabilities is None or self.label_space[int(np.argmax(probabilities))] != label:
            probabilities = build_one_hot_probabilities(label, self.label_space)
        return [probabilities]

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
            try:
                answer, longer = self._ask_in_full((premise, hypothesis), form)
            except _REJECTED as error:
                if form is forms[-1]:
                    raise EndpointError(
                        f"{self._base_url} rejects every request format: {shorten_client_error(error)}; check "
                        "--base-url and the model's name"
                    ) from None
                continue
            if answer.top or not form.requests_probabilities:  # otherwise, the endpoint ignores the unknown parameter
                form = longer
                break
        limit = form.parameters.get("max_completion_tokens") or form.parameters["max_tokens"]
        if limit >= _LIMITS[0]:
            logger.warning(
                "%s does not answer in one word; each pair may use up to %s tokens, which costs more", self.model, limit
            )
        return form

    def _ask_in_full(self, pair: Pair, form: RequestFormat) -> tuple[EndpointResponse, RequestFormat]:
        """Get the response to one pair. Raise the token limit while the response is cut."""
        answer, used = self._request(pair, form), form
        for longer in form.list_longer():
            if answer.finish != _CUT:
                break
            try:
                answer, used = self._request(pair, longer), longer
            except _REJECTED:
                break  # the limit exceeds the context of the model
        return answer, used

    def _request(self, pair: Pair, form: RequestFormat) -> EndpointResponse:
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
        self.spending.add(answer.tokens_in, answer.tokens_out)
        return answer

    def _answer(self, request: dict[str, Any], form: RequestFormat) -> tuple[EndpointResponse, str]:
        """Send a request. Returns the response and the version of the model."""
        create = self._client.chat.completions.with_raw_response.create
        body = ""
        for _ in range(_MALFORMED_TRIES):
            with self._explain_errors(*_REJECTED):
                response = create(**cast(Any, request), timeout=form.timeout)
                body = response.text
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


def _parse_completion(completion: Any, words: Words, json_field: str | None = None) -> EndpointResponse:
    """Parse a chat completion. Raises a built-in error, which the caller catches, for any other object."""
    choice = completion["choices"][0]
    message = choice["message"]
    content = message.get("content") or ""
    if isinstance(content, list):  # a list of parts, some of which may be thoughts
        content = "".join(str(part["text"]) for part in content if part.get("type") in ("text", "output_text"))
    if not isinstance(content, str):
        raise TypeError(f"expected text, got {content!r}")
    text = content
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
