"""Predictor for classifiers behind an endpoint: text-embeddings-inference, vLLM and servers with the same routes.

`unbag.inference.classification_routes` has the formats. The outputs of each pair are stored on disk as they arrive, so
no pair is sent twice. The labels are resolved by their names, as for a local classifier.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag.data.labels import LabelError, resolve_output_labels, resolve_single_output_labels
from unbag.inference.classification_routes import MALFORMED, EndpointRoute, Pair, PairOutputs, find_route
from unbag.inference.label_probe import PAIRS
from unbag.inference.llm.connection import (
    RETRIES,
    EndpointConnection,
    EndpointError,
    iter_responses,
    openai,
    shorten_client_error,
)
from unbag.inference.llm.endpoint import CONCURRENCY, EndpointResponse, EndpointUsage
from unbag.inference.predictor import collect_batches, group_equal_pairs, validate_probabilities
from unbag.inference.single_output import BREAK_EVEN, Threshold, ThresholdedPredictor, parse_threshold
from unbag.utils.files import get_cache_folder
from unbag.utils.redaction import redact
from unbag.utils.sqlite_cache import SqliteCache

KIND: Final = "classification-endpoint"
"""Value of `kind` for these models in run records."""

BATCH_PAIRS: Final = 32
"""Maximum number of pairs per request: the default limit of text-embeddings-inference. Smaller limits are detected."""

_TIMEOUT: Final = 120.0  # seconds
_TOO_LARGE: Final = (413, 422)  # text-embeddings-inference answers either to a batch above its limit


class ClassificationEndpointPredictor(ThresholdedPredictor):
    """Predictor that queries a classification endpoint. Build it with `load`.

    The supported routes are in `classification_routes.ROUTES`.

    Attributes:
        label_space: Labels of the columns of `predict`. With a threshold, these are two.
        order: Labels of the model's outputs, in the server's order (`/predict`: the order of their names). For a model
            of one output, the labels of a high score and of a low one.
        identity: Everything that determines the probabilities, by name. It does not change if the server replaces the
            model under the same name.
        threshold: Minimum probability of entailment; None for the most probable label.
        has_probabilities: False with a threshold, because probabilities are centred at it.
        spending: Requests and tokens so far.
    """

    def __init__(
        self,
        model: str,
        connection: EndpointConnection,
        route: EndpointRoute,
        *,
        separator: str,
        cache: SqliteCache,
        spending: EndpointUsage,
        label_map: Mapping[str, str] | None,
        threshold: Threshold | None,
        concurrency: int,
    ) -> None:
        self.model = model
        self.spending = spending
        self._connection, self._route, self._separator = connection, route, separator
        self._cache, self._concurrency = cache, concurrency
        pairs = [(premise, hypothesis) for premise, hypothesis, _ in PAIRS["en"]]
        batches = [[pair] for pair in pairs] if route.shares_premise else [pairs]
        found = [outputs for batch in batches for outputs in self._ask(batch)]
        self._n_outputs = len(found[0].values)
        self._validate_threshold(threshold)
        self._set_outputs(self._resolve_labels(found, label_map), self._n_outputs, threshold)
        self.identity: Mapping[str, str] = {
            "kind": KIND,
            "model": model,
            "base_url": connection.base_url,
            "label_order": ",".join(self.order),
            **({"separator": separator} if route.is_text else {}),
            **({} if self.threshold is None else {"threshold": str(self.threshold)}),
        }

    @classmethod
    def load(
        cls,
        model: str,
        *,
        base_url: str | None = None,
        separator: str | None = None,
        label_map: Mapping[str, str] | None = None,
        threshold: Threshold | None = None,
        concurrency: int = CONCURRENCY,
        retries: int = RETRIES,
        spending: EndpointUsage | None = None,
        cache: Path | None = None,
    ) -> "ClassificationEndpointPredictor":
        """Connect to an endpoint and resolve the labels of its model.

        The key is read from the environment variable `OPENAI_API_KEY`, and is sent to no other host.

        Args:
            model: Name of the model at the endpoint.
            base_url: URL of the route, such as `http://localhost:8080/predict`; it ends in `predict`, `rerank`,
                `classify` or `score`.
            separator: Text between premise and hypothesis, for `/classify` only, which takes one text per pair: the
                separator tokens of the model, such as `[SEP]`.
            label_map: Label of each output, as in `data.labels.resolve_output_labels`, if the names do not define it.
            threshold: As for `TransformerPredictor.load`.
            concurrency: Number of simultaneous requests, 1 or more (default: 8).
            retries: Maximum number of retries of a request (default: 8).
            spending: Counter for requests and tokens (default: a new one).
            cache: File of the outputs (default: one file in the user's cache folder for all endpoints).

        Raises:
            EndpointError: If the URL is invalid or unreachable, the server rejects the request or answers in another
                format, or an option does not fit the model.
            data.labels.LabelError: If the names do not define the label of each output.
            ValueError: If `concurrency` is below 1.
        """
        if concurrency < 1:
            raise ValueError(
                f"concurrency (--concurrency): expected at least 1 concurrent request, got {concurrency}; pass 1 "
                "or more"
            )
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
                f"--separator: expected no separator, since /{route.name} takes pairs, got {separator!r}; omit "
                "--separator"
            )
        return cls(
            model,
            EndpointConnection.open(base_url, retries=retries),
            route,
            separator=separator or "",
            cache=SqliteCache(cache or get_cache_folder("answers") / "classifications.sqlite", "outputs", wal=True),
            spending=spending or EndpointUsage(),
            label_map=label_map,
            threshold=None if threshold is None else parse_threshold(threshold),
            concurrency=concurrency,
        )

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Predict the label probabilities of n pairs, in input order, shape (n, len(label_space)).

        Raises:
            EndpointError: If a request fails after all retries; the outputs so far stay in the cache.
        """
        return collect_batches(self, premises, hypotheses)

    def iter_batches(
        self,
        premises: Sequence[str],
        hypotheses: Sequence[str],
        *,
        done: NDArray[np.bool_] | None = None,
        shard: tuple[int, int] | None = None,
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float32]]]:
        """Yield row positions, shape (b,), and probabilities, shape (b, len(label_space)), as each response arrives.

        Raises:
            EndpointError: As `predict`.
        """
        rows_of = group_equal_pairs(premises, hypotheses)  # equal pairs are sent once
        number, of = shard or (0, 1)
        asked = [
            batch
            for place, batch in enumerate(self._split(list(rows_of)))
            if place % of == number and (done is None or not all(done[rows_of[pair]].all() for pair in batch))
        ]
        with closing(iter_responses(self._ask, asked, self._concurrency)) as responses:
            for batch, future in responses:
                outputs = future.result()
                rows = np.array([row for pair in batch for row in rows_of[pair]], dtype=np.intp)
                counts = [len(rows_of[pair]) for pair in batch]
                values = np.repeat(self._probabilities(outputs), counts, axis=0)
                yield rows, validate_probabilities(values, len(rows), self.label_space)

    def _split(self, pairs: Sequence[Pair]) -> list[list[Pair]]:
        """Split pairs into requests."""
        groups: dict[str, list[Pair]] = {}
        for pair in pairs:
            groups.setdefault(pair[0] if self._route.shares_premise else "", []).append(pair)
        return [
            group[start : start + BATCH_PAIRS]
            for group in groups.values()
            for start in range(0, len(group), BATCH_PAIRS)
        ]

    def _ask(self, pairs: Sequence[Pair]) -> list[PairOutputs]:
        """Get the outputs of the pairs of one request, from the cache or the endpoint."""
        keys = [self._key(pair) for pair in pairs]
        cached = self._cache.get(keys)
        missing = [(key, pair) for key, pair in zip(keys, pairs, strict=True) if key not in cached]
        if not missing:
            self.spending.add_cached()
        else:
            outputs = self._send([pair for _, pair in missing])
            fresh = {key: json.dumps(each) for (key, _), each in zip(missing, outputs, strict=True)}
            self._cache.put(fresh.items(), replace=False)
            cached = {**cached, **fresh}
        return [PairOutputs(*(tuple(each) for each in json.loads(cached[key]))) for key in keys]

    def _key(self, pair: Pair) -> str:
        content = [self._connection.base_url, self._route.build(self.model, [pair], self._separator)]
        return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()

    def _send(self, pairs: Sequence[Pair]) -> list[PairOutputs]:
        """Send pairs in one request, or in several if the server's limit is smaller."""
        body = self._route.build(self.model, pairs, self._separator)
        try:
            response = self._connection.client.post(
                self._connection.base_url, cast_to=object, body=body, options={"timeout": _TIMEOUT}
            )
        except openai.APIStatusError as error:
            if error.status_code in _TOO_LARGE and len(pairs) > 1:
                half = len(pairs) // 2
                return self._send(pairs[:half]) + self._send(pairs[half:])
            refusal = self._connection.describe_error_response(self.model, error, url_suffix=f"/{self._route.name}")
            raise EndpointError(refusal) from None
        except openai.OpenAIError as error:
            raise EndpointError(
                f"cannot reach {self._connection.base_url}: {shorten_client_error(error)}; start the server, or run "
                "the same command again to continue"
            ) from None
        try:
            outputs = self._route.parse(response, len(pairs))
        except MALFORMED:
            raise EndpointError(
                f"{self._connection.base_url}: expected {self._route.expected}, got {redact(str(response))[:200]!r}; "
                "check that the URL ends with a route of the server"
            ) from None
        self.spending.add(EndpointResponse("", (), "stop", _prompt_tokens(response), 0))
        return outputs

    def _validate_threshold(self, threshold: Threshold | None) -> None:
        """Validate the threshold, which a model with one output requires."""
        where = f"{self._connection.base_url}, {self.model}"
        if self._n_outputs == 1 and threshold is None:
            raise EndpointError(
                f"{where}: expected --threshold for a model with one output, got none; pass the threshold from the "
                f"model card, such as 0.5, or {BREAK_EVEN}"
            )

    def _resolve_labels(self, outputs: Sequence[PairOutputs], label_map: Mapping[str, str] | None) -> tuple[str, ...]:
        """Resolve the label of each output from the names in the responses to the pairs of the label probe."""
        named = {column: name for each in outputs for column, name in enumerate(each.names) if name}
        if self._n_outputs == 1:
            return resolve_single_output_labels(named.get(0, ""), label_map)
        lacking = [column for column in range(self._n_outputs) if column not in named]
        if lacking and label_map is None:
            raise LabelError(
                f"{self._connection.base_url} names only the labels that {self.model} predicts: expected names of "
                f"{self._n_outputs} outputs, got {named} on {len(outputs)} obvious pairs; look up the label order "
                "in the model card and pass it, for example --label-map contradiction,entailment,neutral"
            )
        names = {column: named.get(column, f"output {column}") for column in range(self._n_outputs)}
        return resolve_output_labels(names, label_map)

    def _probabilities(self, outputs: Sequence[PairOutputs]) -> NDArray[np.float64]:
        """Compute the probabilities of b pairs from their outputs, shape (b, len(label_space))."""
        if {len(each.values) for each in outputs} != {self._n_outputs}:
            raise EndpointError(
                f"{self._connection.base_url}: expected {self._n_outputs} outputs per pair, as for the first "
                "pairs, got a different number; check that the server runs a single model"
            )
        values = np.array([each.values for each in outputs], dtype=np.float64)
        if self.threshold is None:
            return values[:, self._columns]
        if not ((values >= 0) & (values <= 1)).all():
            raise EndpointError(
                f"{self._connection.base_url}: expected scores from 0 to 1, got {values.min():g} to {values.max():g}; "
                "serve a cross-encoder with one output and a sigmoid"
            )
        values = values[:, [self._positive_output()]]
        # The odds are divided by those of the threshold, so that the label begins at 0.5, as for local models.
        threshold = 0.5 if self.threshold == BREAK_EVEN else float(self.threshold)
        high, low = values * (1 - threshold), (1 - values) * threshold
        both: NDArray[np.float64] = np.concatenate([high, low], axis=1) / (high + low)
        return both[:, self._columns]


def _prompt_tokens(response: Any) -> int:
    """Read the number of prompt tokens from a response. Return 0 if the server does not count them."""
    usage = response.get("usage") if isinstance(response, dict) else None
    return int((usage or {}).get("prompt_tokens") or 0)
