"""An OpenAI-compatible endpoint for tests, which records every request, and returns configurable answers and faults.

It runs in a thread of the test process, so tests can inspect and change it while it runs.
"""

import asyncio
import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from starlette.requests import Request as HTTPRequest
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import Receive, Scope, Send

from tests.fake_hub.faults import ConnectionCut, FaultList
from tests.fake_hub.serving import close_connection, listen, serve
from tests.fake_llm.classifier import PATHS, Classifier

WORDS = ("Yes", "Maybe", "No")
_PATH = "/v1/chat/completions"


class Request(NamedTuple):
    """A received request."""

    body: Mapping[str, Any]  # JSON
    key: str  # API key


def answer_by_letters(question: str) -> str:
    """Return an answer that depends only on the sum of the character codes of the question."""
    return WORDS[sum(question.partition("Premise:")[2].encode()) % len(WORDS)]


@dataclass
class Endpoint:
    """The application with its settings and recorded requests."""

    base_url: str = ""  # address for OpenAI clients
    # A function from the last message to the text of the answer, or to the fields of its message.
    answers: Callable[[str], Any] = answer_by_letters
    most_logprobs: int = 20  # With 0, requests with `logprobs` are rejected.
    ignores_logprobs: bool = False
    key: str | None = None  # None accepts any key.
    # Requests with other parameters are rejected with an error that names the first.
    takes: frozenset[str] = frozenset(
        {"model", "messages", "max_tokens", "temperature", "logprobs", "top_logprobs", "response_format"}
    )
    classifier: Classifier = field(default_factory=Classifier)
    info: Mapping[str, Any] = field(default_factory=dict)  # JSON of `/info` and `/v1/models`, by path
    version: Mapping[str, str] = field(default_factory=dict)  # further fields of each response
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0  # seconds before each answer
    requests: list[Request] = field(default_factory=list)  # all so far, including rejected ones
    busiest: int = 0  # maximum number of concurrent requests
    faults: FaultList = field(default_factory=FaultList)
    _busy: int = 0

    def route(self, name: str) -> str:
        """Return the URL of a classification route."""
        return f"{self.base_url.removesuffix('/v1')}/{name}"

    def reset(self) -> None:
        """Restore the initial state."""
        vars(self).update(vars(Endpoint(self.base_url)))

    def arm(self, *faults: dict[str, Any]) -> None:
        """Replace the armed faults."""
        self.faults.arm(faults)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        http, path = HTTPRequest(scope, receive), scope["path"]
        content = await http.body()
        if http.method == "GET" and path in self.info:
            await JSONResponse(self.info[path])(scope, receive, send)
            return
        if http.method != "POST" or path not in (_PATH, *PATHS):
            await PlainTextResponse("Not Found", 404)(scope, receive, send)
            return
        request = Request(json.loads(content), http.headers.get("authorization", "").removeprefix("Bearer "))
        self.requests.append(request)
        self._busy += 1
        self.busiest = max(self.busiest, self._busy)
        try:
            fault = self.faults.take("POST", path)
            await asyncio.sleep(self.delay + (fault.delay if fault else 0.0))
            response = (fault and fault.response()) or self.answer(request, path)
            response.headers.update(self.headers)
            if fault:
                receive, send = fault.break_connection("POST", receive, send)
            await response(scope, receive, send)
        except ConnectionCut:
            close_connection(scope)
        finally:
            self._busy -= 1

    def answer(self, request: Request, path: str) -> JSONResponse:
        """Return the answer to a request."""
        body = request.body
        if self.key is not None and request.key != self.key:
            return _build_error_response(401, f"Incorrect API key provided: {request.key}")
        if path != _PATH:
            return self.classifier.answer(path, body)
        if body["model"] == "missing":
            return _build_error_response(404, "The model 'missing' does not exist")
        if unknown := sorted(set(body) - self.takes):
            return _build_error_response(400, f"Unsupported parameter: {unknown[0]}")
        has_logprobs = body.get("logprobs") and not self.ignores_logprobs
        if has_logprobs and body["top_logprobs"] > self.most_logprobs:
            return _build_error_response(400, f"top_logprobs must be at most {self.most_logprobs}")
        answer = self.answers(str(body["messages"][-1]["content"]))
        message = {"role": "assistant", **(answer if isinstance(answer, dict) else {"content": answer})}
        text = message["content"] or ""
        if text == "<filtered>":
            return _build_error_response(400, "The response was filtered", code="content_filter")
        tokens = [text]
        if "response_format" in body:
            [name] = body["response_format"]["json_schema"]["schema"]["properties"]
            tokens = ['{"', name, '":', ' "', text, '"}']
            text = "".join(tokens)
        most, words = body.get("max_tokens", body.get("max_completion_tokens", 100)), text.split()
        message["content"] = " ".join(words[:most])
        choice: dict[str, Any] = {"index": 0, "message": message}
        choice["finish_reason"] = "length" if len(words) > most else "stop"
        if has_logprobs:
            content = []
            for token in tokens:
                likely = _get_first_tokens(token) if token in WORDS or len(tokens) == 1 else [(token, 0.0)]
                top = [{"token": each, "logprob": log} for each, log in likely[: body["top_logprobs"]]]
                content.append({"token": token, "logprob": top[0]["logprob"], "top_logprobs": top})
            choice["logprobs"] = {"content": content}
        size, said = sum(len(turn["content"].split()) for turn in body["messages"]), len(words[:most])
        usage = {"prompt_tokens": size, "completion_tokens": said, "total_tokens": size + said}
        named = {"id": f"chatcmpl-{len(self.requests)}", "created": 0, "model": body["model"], **self.version}
        return JSONResponse({**named, "object": "chat.completion", "choices": [choice], "usage": usage})


def _get_first_tokens(text: str) -> list[tuple[str, float]]:
    """Return the most likely first tokens of an answer: 0.7 for the answer, 0.2 and 0.1 for the next two words."""
    first = (text.split() or [""])[0]
    if first not in WORDS:
        return [(first, math.log(0.9)), ("Yes", math.log(0.1))]
    place = WORDS.index(first)
    others = (WORDS[(place + 1) % 3], WORDS[(place + 2) % 3])
    return [(first, math.log(0.7)), (f" {others[0].lower()}", math.log(0.2)), (others[1][:1], math.log(0.1))]


def _build_error_response(status: int, message: str, code: str | None = None) -> JSONResponse:
    return JSONResponse({"error": {"message": message, "type": "invalid_request_error", "code": code}}, status)


@contextmanager
def running_endpoint() -> Iterator[Endpoint]:
    """Run an endpoint on a free port of this machine until the block ends."""
    listener = listen()
    app = Endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}/v1")
    with serve(app, listener):
        yield app
