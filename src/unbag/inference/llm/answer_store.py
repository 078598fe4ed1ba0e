"""Stored answers of endpoints, by version of the served model, with the time of each answer.

A server may replace a model under the same name. Therefore, the key of an answer contains everything that the server
reports about the version of its model:

- `/info` of text-embeddings-inference and text-generation-inference
- `created` and `root` of the model in `/v1/models`, unless `created` is the time of the request (vLLM, llama.cpp)
- `model` and `system_fingerprint` in the response to the first request, and headers that name a version of the model

Many servers report none of these. Then the date of the stored answers is all that is known about them.
"""

import hashlib
import json
import logging
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from unbag.inference.distributed import connect_process_group
from unbag.inference.predictor import EndpointError
from unbag.utils.redaction import redact
from unbag.utils.sqlite_cache import SqliteCache

if TYPE_CHECKING:
    import openai

logger = logging.getLogger(__name__)

_INFO_FIELDS: Final = ("model_id", "model_sha", "model_dtype")
_MODEL_FIELDS: Final = ("created", "root")
_RESPONSE_FIELDS: Final = ("model", "system_fingerprint")
_VERSION_HEADER: Final = re.compile(
    r"model.*(sha|version|revision|commit|hash|digest)|^(openai-model|x-(sha|revision|repo-commit))$"
)
_TIMEOUT: Final = 10.0  # seconds
_NOW: Final = 60.0  # seconds; maximum difference between the clocks of a server and this machine
_ONE_SECOND: Final = 1.1  # `created` is a number of seconds
_LONGEST: Final = 100  # characters of a reported value


class AnswerStore:
    """Answers of one model behind an endpoint in an SQLite file, safe for concurrent threads and processes.

    The first request of a run is always sent, because the response may contain the version of the model. `api_url` is
    the URL of the server's API, which usually ends in `/v1`. With `no_cache`, answers from earlier runs are ignored,
    now and in later runs.
    """

    def __init__(
        self, cache: SqliteCache, client: "openai.OpenAI", model: str, *, api_url: str, no_cache: bool
    ) -> None:
        self._no_cache, self._base_url = no_cache, str(client.base_url).rstrip("/")
        self._cache, self._client, self._model, self._api_url = cache, client, model, api_url
        self._served = self._read_served_version()
        created = self._served.get("created", "")
        if created.isdecimal() and abs(time.time() - float(created)) < _NOW:
            # Either the model is a minute old, or this is the time of the request, which is no version.
            time.sleep(_ONE_SECOND)
            if self._read_served_version().get("created") != created:
                del self._served["created"]
        self._first_response: str | None = None  # version in the first response
        self._is_mixed = False
        self._started = connect_process_group().broadcast(_now())
        self._since = ""  # time before which all answers are ignored
        self._dates: dict[str, bool] = {}
        self._lock = threading.Lock()

    @property
    def version(self) -> str:
        """Version of the model as the server reports it; empty if it reports none."""
        return self._join_versions(self._first_response or "")

    @property
    def identity(self) -> dict[str, str]:
        """Version of the model (`server_version`), and the time before which answers are ignored (`answers_since`)."""
        fields = {"server_version": self.version, "answers_since": self._since}
        return {name: value for name, value in fields.items() if value}

    def read_version(self, headers: Mapping[str, str], body: Any) -> str:
        """Read the version of the model from a response. Warn if it differs from that of the first response."""
        found = {name: value for name, value in headers.items() if _VERSION_HEADER.search(name.lower())}
        found |= _select_fields(body, _RESPONSE_FIELDS)
        version = _format_version({name: _shorten(value) for name, value in found.items() if value != self._model})
        with self._lock:
            if self._first_response is None:
                self._first_response = version
                [since] = self._read([{}], self.version)
                self._since = since["answered"] if since else ""
                if self._no_cache:
                    self._ignore_earlier()
            elif version != self._first_response and not self._is_mixed:
                self._is_mixed = True
                logger.warning(
                    "%s, %s: the answers of this run are from several versions of the model (%s; %s)",
                    self._base_url,
                    self._model,
                    self._first_response or "unknown",
                    version or "unknown",
                )
        return self._join_versions(version)

    def get(self, requests: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Load the stored answer to each request; None if there is none."""
        if self._first_response is None:
            return [None] * len(requests)
        stored = self._read(requests, self.version)
        records = [record if record is not None and record["answered"] >= self._since else None for record in stored]
        for record in filter(None, records):
            self._add_date(record["answered"])
        return [None if record is None else record["answer"] for record in records]

    def put(
        self,
        requests: Sequence[Mapping[str, Any]],
        answers: Sequence[Any],
        version: str,
        *,
        is_same: Callable[[Any, Any], bool] | None = None,
    ) -> None:
        """Store the answers to requests, under the version from `read_version`.

        `is_same` compares an earlier answer with a new one. If they differ, all earlier answers are ignored, now and in
        later runs.
        """
        answered = _now()
        if is_same is not None:
            for before, answer in zip(self._read(requests, version), answers, strict=True):
                if before and before["answered"] >= self._since and not is_same(before["answer"], answer):
                    self._ignore_earlier()
                    logger.warning(
                        "%s, %s: the server answers differently than on %s: ignoring all stored answers",
                        self._base_url,
                        self._model,
                        before["answered"][:10],
                    )
                    break
        self._cache.put(
            (
                self._compute_key(request, version),
                json.dumps({"answered": answered, "answer": answer}, ensure_ascii=False),
            )
            for request, answer in zip(requests, answers, strict=True)
        )
        self._add_date(answered)

    def pop_dates(self) -> dict[str, bool]:
        """Return the dates of all answers since the last call; True for a date with answers from earlier runs."""
        with self._lock:
            dates, self._dates = self._dates, {}
        return dates

    def validate_version(self) -> None:
        """Validate that the server has not replaced its model since the start of the run."""
        now = self._read_served_version() if self._served else {}
        if changed := {
            name: now[name] for name in self._served if now.get(name, self._served[name]) != self._served[name]
        }:
            raise EndpointError(
                f"{self._base_url}: expected one version of {self._model} during the run, got "
                f"{_format_version(changed)} after {_format_version(self._served)}; run the same command again"
            )

    def _read_served_version(self) -> dict[str, str]:
        """Read the version of the model from the server's own descriptions; empty if it has none."""
        info = self._load_json(f"{self._api_url.removesuffix('/v1')}/info")
        models = self._load_json(f"{self._api_url}/models")
        data = models.get("data") if isinstance(models, dict) else None
        listed = [each for each in data if isinstance(each, dict)] if isinstance(data, list) else []
        named = [each for each in listed if each.get("id") == self._model] or (listed if len(listed) == 1 else [{}])
        return _select_fields(info, _INFO_FIELDS) | _select_fields(named[0], _MODEL_FIELDS)

    def _load_json(self, url: str) -> Any:
        """Load the JSON at a URL of the server. Return None if there is none."""
        try:
            return self._client.with_options(max_retries=0, timeout=_TIMEOUT).get(url, cast_to=object)
        except Exception:  # many servers lack these routes, and the first request reports an unreachable server
            return None

    def _read(self, requests: Sequence[Mapping[str, Any]], version: str) -> list[dict[str, Any] | None]:
        keys = [self._compute_key(request, version) for request in requests]
        stored = self._cache.get(keys)
        return [json.loads(stored[key]) if key in stored else None for key in keys]

    def _join_versions(self, of_response: str) -> str:
        return ", ".join(filter(None, (_format_version(self._served), of_response)))

    def _ignore_earlier(self) -> None:
        self._since = self._started
        marker = json.dumps({"answered": self._since})
        self._cache.put([(self._compute_key({}, self.version), marker)])

    def _add_date(self, answered: str) -> None:
        day = answered[:10]
        with self._lock:
            self._dates[day] = self._dates.get(day, False) or answered < self._started

    def _compute_key(self, request: Mapping[str, Any], version: str) -> str:
        content = json.dumps([self._base_url, version, request], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(content.encode()).hexdigest()


def _select_fields(record: Any, names: Sequence[str]) -> dict[str, str]:
    values = {name: record.get(name) for name in names} if isinstance(record, dict) else {}
    return {name: _shorten(value) for name, value in values.items() if isinstance(value, str | int) and value}


def _format_version(fields: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in fields.items())


def _shorten(value: Any) -> str:
    return redact(" ".join(str(value).split()))[:_LONGEST]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
