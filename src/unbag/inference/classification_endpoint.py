"""Predictor for classifiers behind an endpoint: text-embeddings-inference, vLLM and servers with the same routes.

The outputs of each pair are stored on disk as they arrive, so no pair is sent twice. The labels are resolved by their
names, as for a local classifier. `ROUTES` has the request and response formats:

| server | route | request | response |
|---|---|---|---|
| text-embeddings-inference | `/predict` | pairs | probability and name of every label |
| text-embeddings-inference | `/rerank` | a query and texts | a score per text |
| vLLM | `/classify` | texts | probabilities in output order, and the name of the likeliest label |
| vLLM | `/score` | two lists of texts | a score per pair |

Documentation of text-embeddings-inference: https://huggingface.github.io/text-embeddings-inference/ and of vLLM:
https://docs.vllm.ai/en/latest/models/pooling_models/classify/,
https://docs.vllm.ai/en/latest/models/pooling_models/scoring/.

The newer documentation of `/score` names the lists `queries` and `documents`. All versions of vLLM accept the older
names `text_1` and `text_2`, which are used here.

Scores of `/score` and `/rerank` are sigmoids of models of one output. Long pairs are truncated to
their maximum length, as by a local tokenizer.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from unbag.data.labels import LabelError, resolve_output_labels, resolve_single_output_labels
from unbag.inference.label_probe import PAIRS
from unbag.inference.llm.client import EndpointClient, Pair, httpx, openai
from unbag.inference.predictor import EndpointError
from unbag.inference.single_output import BREAK_EVEN, Threshold, ThresholdedPredictor, parse_threshold
from unbag.utils.redaction import redact


class PairOutputs(NamedTuple):
    """Outputs of a model for one pair, parsed from the response of an endpoint."""

    names: tuple[str, ...]  # the server's name of each output; empty for an output that the response does not name
    values: tuple[float, ...]  # probability of each output, or one score


@dataclass(frozen=True)
class EndpointRoute:
    """Request and response format of an endpoint route."""

    name: str  # last part of the address
    expected: str  # description of a response, for error messages
    shares_premise: bool = False  # whether all pairs of a request must have one premise
    is_text: bool = False  # whether the route takes one text per pair, which a separator joins

    def build(self, model: str, pairs: Sequence[Pair], separator: str) -> dict[str, Any]:
        """Build the body of a request."""
        premises, hypotheses = map(list, zip(*pairs, strict=True))
        if self.name == "predict":
            return {"inputs": [list(pair) for pair in pairs], "truncate": True}
        if self.name == "rerank":
            return {"query": premises[0], "texts": hypotheses, "truncate": True}
        if self.name == "classify":
            return {"model": model, "input": [separator.join(pair) for pair in pairs], "truncate_prompt_tokens": -1}
        return {"model": model, "text_1": premises, "text_2": hypotheses, "truncate_prompt_tokens": -1}

    def parse(self, response: Any, n: int) -> list[PairOutputs]:
        """Parse the outputs of n pairs, in their order. Raises one of `MALFORMED` for another format."""
        items = response if self.name in ("predict", "rerank") else response["data"]
        if not isinstance(items, list) or len(items) != n:
            raise ValueError(f"expected a list with {n} items, one per pair")
        if self.name != "predict":
            items = sorted(items, key=lambda each: int(each["index"]))
            if [each["index"] for each in items] != list(range(n)):
                raise ValueError(f"expected each index from 0 to {n - 1} once, got other indices")
        return [self._parse_item(each) for each in items]

    def _parse_item(self, item: Any) -> PairOutputs:
        if self.name == "predict":  # the server sorts the labels by probability
            scores = {str(each["label"]): float(each["score"]) for each in item}
            if len(scores) != len(item):
                raise ValueError("expected distinct output names, got a repeated name")
            names = sorted(scores, key=_natural_key)
            return PairOutputs(tuple(names), tuple(scores[name] for name in names))
        if self.name != "classify":
            return PairOutputs(("",), (float(item["score"]),))
        values = tuple(map(float, item["probs"]))
        names = [""] * len(values)
        likeliest = max(values)
        if values.count(likeliest) == 1:  # otherwise, the label may be that of any of the likeliest outputs
            names[values.index(likeliest)] = str(item["label"] or "")
        return PairOutputs(tuple(names), values)


MALFORMED: Final = (KeyError, TypeError, ValueError, AttributeError, IndexError)
"""Exceptions that indicate a response in another format."""


def find_route(base_url: str | None) -> EndpointRoute | None:
    """Find the route of a URL by its last path component. Return None if the route is not supported.

    >>> find_route("http://localhost:8080/predict").name, find_route("http://localhost:8000/v1")
    ('predict', None)
    """
    try:
        path = urlsplit(base_url or "").path
    except ValueError:
        return None
    return ROUTES.get(path.rstrip("/").rpartition("/")[2])


def _natural_key(name: str) -> list[tuple[int, str]]:
    """Build the key that sorts `LABEL_2` before `LABEL_10`."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


ROUTES: Final = {
    route.name: route
    for route in (
        EndpointRoute("predict", "one list of labels with scores per pair"),
        EndpointRoute("rerank", "a list of scores with the index of a text", shares_premise=True),
        EndpointRoute("classify", "data with probs and one label per text", is_text=True),
        EndpointRoute("score", "data with one score per pair"),
    )
}
"""Routes by the last segment of the URL path."""


KIND: Final = "classification-endpoint"
"""Value of `kind` for these models in run records."""

BATCH_PAIRS: Final = 32
"""Maximum number of pairs per request: the default limit of text-embeddings-inference. Smaller limits are detected."""

_TIMEOUT: Final = 120.0  # seconds
_ROUNDING: Final = 0.02  # of probabilities that a server computes in half precision, in batches of any size
_TOO_LARGE: Final = (413, 422)  # text-embeddings-inference answers either to a batch above its limit


class ClassificationEndpointPredictor(EndpointClient, ThresholdedPredictor):
    """Predictor that queries a classification endpoint by one of `ROUTES`.

    The constructor connects to the endpoint, such as `http://localhost:8080/predict`, and resolves the labels of its
    model. The options are those of `inference.options.EndpointKwargs` and `EndpointClient`. The attribute `order` has
    the labels of the outputs in the server's order (`/predict`: the order of their names).
    """

    CACHE_FILE = "classifications.sqlite"

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        separator: str | None = None,
        label_map: Mapping[str, str] | None = None,
        threshold: Threshold | None = None,
        **connection: Any,
    ) -> None:
        route = find_route(base_url)
        if route is None:
            raise EndpointError(
                f"--base-url: expected the URL with a route, such as http://localhost:8080/predict, got {base_url!r}"
            )
        if route.is_text and not separator:
            raise EndpointError(
                f"--separator: expected a separator, got no value; /{route.name} takes one text per pair, so pass the "
                "model's separator tokens, such as '[SEP]' or '</s></s>'"
            )
        if separator and not route.is_text:
            raise EndpointError(
                f"--separator: not supported by /{route.name}, which takes pairs, got {separator!r}; omit --separator"
            )
        super().__init__(model, base_url, url_suffix=f"/{route.name}", **connection)
        self._route, self._separator = route, separator or ""
        threshold = None if threshold is None else parse_threshold(threshold)
        pairs = [(premise, hypothesis) for premise, hypothesis, _ in PAIRS["en"]]
        batches = [[pair] for pair in pairs] if route.shares_premise else [pairs]
        found = [outputs for batch in batches for outputs in self._ask(batch)]
        self.n_outputs = len(found[0].values)
        if self.n_outputs == 1 and threshold is None:
            raise EndpointError(
                f"{self._base_url}, {model}: expected --threshold for a model with one output, got none; pass the "
                f"threshold from the model card, such as 0.5, or {BREAK_EVEN}"
            )
        self._set_outputs(self._resolve_labels(found, label_map), self.n_outputs, threshold)
        self.identity = {
            "kind": KIND,
            "model": model,
            "base_url": self._base_url,
            "label_order": ",".join(self.order),
            **({"separator": self._separator} if route.is_text else {}),
            **self._answers.identity,
        }

    def _split(self, pairs: Sequence[Pair]) -> list[list[Pair]]:
        groups: dict[str, list[Pair]] = {}
        for pair in pairs:
            groups.setdefault(pair[0] if self._route.shares_premise else "", []).append(pair)
        return [
            group[start : start + BATCH_PAIRS]
            for group in groups.values()
            for start in range(0, len(group), BATCH_PAIRS)
        ]

    def _ask(self, pairs: Sequence[Pair]) -> list[PairOutputs]:
        requests = [self._route.build(self.model, [pair], self._separator) for pair in pairs]
        cached = self._answers.get(requests)
        missing = [place for place, each in enumerate(cached) if each is None]
        if missing:
            outputs, version = self._send([pairs[place] for place in missing])
            self._answers.put([requests[place] for place in missing], outputs, version, is_same=_are_close)
            for place, each in zip(missing, outputs, strict=True):
                cached[place] = each
        else:
            self.spending.add_cached()
        return [PairOutputs(*map(tuple, each)) for each in cached]

    def _send(self, pairs: Sequence[Pair]) -> tuple[list[PairOutputs], str]:
        """Send pairs in as many requests as the server's limit requires. Returns outputs and the model's version."""
        body = self._route.build(self.model, pairs, self._separator)
        with self._explain_errors():
            try:
                response = self._client.post(
                    self._base_url, cast_to=httpx.Response, body=body, options={"timeout": _TIMEOUT}
                )
            except openai.APIStatusError as error:
                if error.status_code not in _TOO_LARGE or len(pairs) == 1:
                    raise
                half = len(pairs) // 2
                (first, _), (second, version) = self._send(pairs[:half]), self._send(pairs[half:])
                return first + second, version
        try:
            content = response.json()
            outputs = self._route.parse(content, len(pairs))
        except MALFORMED:
            raise EndpointError(
                f"{self._base_url}: expected {self._route.expected}, got {redact(response.text)[:200]!r}; "
                "check that the URL ends with a route of the server"
            ) from None
        usage = content.get("usage") if isinstance(content, dict) else None
        self.spending.add(int((usage or {}).get("prompt_tokens") or 0), tokens_out=0)
        return outputs, self._answers.read_version(response.headers, content)

    def _resolve_labels(self, outputs: Sequence[PairOutputs], label_map: Mapping[str, str] | None) -> tuple[str, ...]:
        """Resolve the label of each output from the names in the responses to the pairs of the label probe."""
        named = {column: name for each in outputs for column, name in enumerate(each.names) if name}
        if self.n_outputs == 1:
            return resolve_single_output_labels(named.get(0, ""), label_map)
        if len(named) < self.n_outputs and label_map is None:
            raise LabelError(
                f"{self._base_url} names only the predicted label of each pair: expected the names of all "
                f"{self.n_outputs} outputs of {self.model}, got {named} on {len(outputs)} obvious pairs; pass the "
                "label order from the model card, as --label-map 0=…,1=…,2=…"
            )
        names = {column: named.get(column, f"output {column}") for column in range(self.n_outputs)}
        return resolve_output_labels(names, label_map)

    def _compute_probabilities(self, pairs: Sequence[Pair], answers: Sequence[PairOutputs]) -> NDArray[np.float64]:
        if {len(each.values) for each in answers} != {self.n_outputs}:
            raise EndpointError(
                f"{self._base_url}: expected {self.n_outputs} outputs per pair, as for the first "
                "pairs, got a different number; check that the server runs a single model"
            )
        values = np.array([each.values for each in answers], dtype=np.float64)
        if self.n_outputs > 1:
            return values[:, self._columns]
        if not ((values >= 0) & (values <= 1)).all():
            raise EndpointError(
                f"{self._base_url}: expected scores from 0 to 1, got {values.min():g} to {values.max():g}; "
                "serve a cross-encoder with one output and a sigmoid"
            )
        both: NDArray[np.float64] = np.concatenate([values, 1 - values], axis=1)
        return both[:, self._columns]


def _are_close(before: Sequence[Any], now: PairOutputs) -> bool:
    """Check whether two answers for a pair are equal up to the rounding of a server that combines pairs in batches."""
    (names, values), (new_names, new_values) = before, now
    return tuple(names) == new_names and bool(np.allclose(values, new_values, atol=_ROUNDING))
