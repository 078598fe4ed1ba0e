"""The classification routes of text-embeddings-inference and vLLM, in their documented formats.

https://huggingface.github.io/text-embeddings-inference/ and https://docs.vllm.ai/en/latest/models/pooling_models/.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import JSONResponse

LABELS = ("contradiction", "entailment", "neutral")
PATHS = ("/predict", "/rerank", "/classify", "/score")


def compute_probabilities_by_letters(premise: str, hypothesis: str) -> list[float]:
    """Return three probabilities that depend only on the sum of the character codes of a pair."""
    total = sum(f"{premise}|{hypothesis}".encode())
    shares = [1 + total % 7, 2 + total % 5, 1 + total % 11]
    return [share / sum(shares) for share in shares]


def score_by_letters(premise: str, hypothesis: str) -> list[float]:
    """Return one score in (0, 1) that depends only on the sum of the character codes of a pair."""
    return [(1 + sum(f"{premise}|{hypothesis}".encode()) % 97) / 99]


@dataclass
class Classifier:
    """The model of the classification routes."""

    # A function from a pair to label probabilities, or to one number for a model with one output.
    outputs: Callable[[str, str], Sequence[float]] = compute_probabilities_by_letters
    labels: Sequence[str] = LABELS  # of the outputs
    most_pairs: int = 32  # per request
    separator: str = "[SEP]"  # between premise and hypothesis in requests to `/classify`

    def answer(self, path: str, body: Mapping[str, Any]) -> JSONResponse:
        """Answer one request."""
        if path == "/predict":
            return self._predict(body["inputs"])
        if path == "/rerank":
            return self._rerank(body["query"], body["texts"])
        if path == "/classify":
            pairs = [text.split(self.separator) for text in body["input"]]
            values = [self.outputs(*pair) for pair in pairs]
            rows = [
                {
                    "label": self.labels[max(range(len(each)), key=each.__getitem__)],
                    "probs": each,
                    "num_classes": len(each),
                }
                for each in values
            ]
        else:
            names = ("queries", "documents") if "queries" in body else ("text_1", "text_2")
            pairs = list(zip(*(body[name] for name in names), strict=True))
            values = [self.outputs(*pair) for pair in pairs]
            if len(values[0]) != 1:
                return JSONResponse({"error": {"message": "Score API is only enabled for num_labels == 1."}}, 400)
            rows = [{"object": "score", "score": score} for [score] in values]
        tokens = sum(len(" ".join(pair).split()) for pair in pairs)
        data = [{"index": index, **row} for index, row in enumerate(rows)]
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return JSONResponse(
            {"id": "x", "object": "list", "created": 0, "model": body["model"], "data": data, "usage": usage}
        )

    def _predict(self, pairs: Sequence[tuple[str, str]]) -> JSONResponse:
        if refusal := self._build_limit_error(len(pairs)):
            return refusal
        rows = []
        for pair in pairs:
            ranked = sorted(zip(self.outputs(*pair), self.labels, strict=True), reverse=True)
            rows.append([{"score": score, "label": name} for score, name in ranked])
        return JSONResponse(rows)

    def _rerank(self, query: str, texts: Sequence[str]) -> JSONResponse:
        if refusal := self._build_limit_error(len(texts)):
            return refusal
        scores = [{"index": index, "score": self.outputs(query, text)[0]} for index, text in enumerate(texts)]
        return JSONResponse(sorted(scores, key=lambda each: -each["score"]))

    def _build_limit_error(self, n: int) -> JSONResponse | None:
        if n <= self.most_pairs:
            return None
        error = f"batch size {n} > maximum allowed batch size {self.most_pairs}"
        return JSONResponse({"error": error, "error_type": "Validation"}, 413)
