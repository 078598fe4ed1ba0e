"""Request and response formats of endpoint routes that classify or score pairs.

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
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

Pair = tuple[str, str]


class PairOutputs(NamedTuple):
    """Outputs of a model for one pair, parsed from the response of an endpoint.

    Attributes:
        names: The server's name of each output; empty for an output that the response does not name.
        values: Probability of each output, or one score.
    """

    names: tuple[str, ...]
    values: tuple[float, ...]


class EndpointRoute(NamedTuple):
    """Request and response format of an endpoint route.

    Attributes:
        name: Last part of the address.
        build: Function from the model's name, pairs and a separator to the body of a request.
        parse: Function from a response and the number of pairs to their outputs, in the order of the pairs. Raises one
            of `MALFORMED` for another format.
        expected: Description of a response, for error messages.
        shares_premise: Whether all pairs of a request must have one premise.
        is_text: Whether the route takes one text per pair, which a separator joins.
    """

    name: str
    build: Callable[[str, Sequence[Pair], str], dict[str, Any]]
    parse: Callable[[Any, int], list[PairOutputs]]
    expected: str
    shares_premise: bool = False
    is_text: bool = False


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


def _build_predict(_: str, pairs: Sequence[Pair], __: str) -> dict[str, Any]:
    return {"inputs": [list(pair) for pair in pairs], "truncate": True}


def _parse_predict(response: Any, n: int) -> list[PairOutputs]:
    """Parse one list of labels per pair. The server sorts labels by probability, this function by name."""
    rows = []
    for labels in _list(response, n):
        scores = {str(each["label"]): float(each["score"]) for each in labels}
        if len(scores) != len(labels):
            raise ValueError("two outputs have the same name")
        names = tuple(sorted(scores, key=_natural_key))
        rows.append(PairOutputs(names, tuple(scores[name] for name in names)))
    return rows


def _build_rerank(_: str, pairs: Sequence[Pair], __: str) -> dict[str, Any]:
    return {"query": pairs[0][0], "texts": [hypothesis for _, hypothesis in pairs], "truncate": True}


def _parse_rerank(response: Any, n: int) -> list[PairOutputs]:
    return [PairOutputs(("",), (float(each["score"]),)) for each in _by_index(response, n)]


def _build_classify(model: str, pairs: Sequence[Pair], separator: str) -> dict[str, Any]:
    texts = [f"{premise}{separator}{hypothesis}" for premise, hypothesis in pairs]
    return {"model": model, "input": texts, "truncate_prompt_tokens": -1}


def _parse_classify(response: Any, n: int) -> list[PairOutputs]:
    rows = []
    for each in _by_index(response["data"], n):
        values = tuple(float(value) for value in each["probs"])
        names = [""] * len(values)
        names[values.index(max(values))] = str(each["label"] or "")
        rows.append(PairOutputs(tuple(names), values))
    return rows


def _build_score(model: str, pairs: Sequence[Pair], _: str) -> dict[str, Any]:
    premises, hypotheses = (list(side) for side in zip(*pairs, strict=True))
    return {"model": model, "text_1": premises, "text_2": hypotheses, "truncate_prompt_tokens": -1}


def _parse_score(response: Any, n: int) -> list[PairOutputs]:
    return [PairOutputs(("",), (float(each["score"]),)) for each in _by_index(response["data"], n)]


def _list(response: Any, n: int) -> list[Any]:
    if not isinstance(response, list) or len(response) != n:
        raise ValueError(f"expected a list of {n}")
    return response


def _by_index(response: Any, n: int) -> list[Mapping[str, Any]]:
    """Sort the items of a response by the position of their pair."""
    items = sorted(_list(response, n), key=lambda each: int(each["index"]))
    if [each["index"] for each in items] != list(range(n)):
        raise ValueError(f"expected the indices 0 to {n - 1}")
    return items


def _natural_key(name: str) -> list[tuple[int, str]]:
    """Build the key that sorts `LABEL_2` before `LABEL_10`."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


ROUTES: Final = {
    route.name: route
    for route in (
        EndpointRoute("predict", _build_predict, _parse_predict, "one list of labels with scores per pair"),
        EndpointRoute(
            "rerank", _build_rerank, _parse_rerank, "a list of scores with the index of a text", shares_premise=True
        ),
        EndpointRoute(
            "classify", _build_classify, _parse_classify, "data with probs and one label per text", is_text=True
        ),
        EndpointRoute("score", _build_score, _parse_score, "data with one score per pair"),
    )
}
"""Routes by the last segment of the URL path."""
