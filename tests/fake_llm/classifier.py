"""The classification routes of text-embeddings-inference and vLLM, in their documented formats.

https://huggingface.github.io/text-embeddings-inference/ and https://docs.vllm.ai/en/latest/models/pooling_models/.
"""

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
    most_pairs: int = 32  # per request, of text-embeddings-inference
    separator: str = "[SEP]"  # between premise and hypothesis in requests to `/classify`

    def answer(self, path: str, body: Mapping[str, Any]) -> JSONResponse:
        """Answer one request."""
        pairs: Sequence[Sequence[str]]
        if path == "/predict":
            pairs = body["inputs"]
        elif path == "/rerank":
            pairs = [(body["query"], text) for text in body["texts"]]
        elif path == "/classify":
            pairs = [text.split(self.separator) for text in body["input"]]
        else:
            pairs = list(zip(body["text_1"], body["text_2"], strict=True))
        values = [self.outputs(*pair) for pair in pairs]
        named = [sorted(zip(each, self.labels, strict=True), reverse=True) for each in values]
        if path in ("/predict", "/rerank") and len(pairs) > self.most_pairs:
            error = f"batch size {len(pairs)} > maximum allowed batch size {self.most_pairs}"
            return JSONResponse({"error": error, "error_type": "Validation"}, 413)
        if path == "/predict":
            return JSONResponse([[{"score": score, "label": name} for score, name in each] for each in named])
        if path == "/rerank":
            scores = [{"index": index, "score": score} for index, [score] in enumerate(values)]
            return JSONResponse(sorted(scores, key=lambda each: -each["score"]))
        if path == "/score" and len(values[0]) != 1:
            return JSONResponse({"error": {"message": "Score API is only enabled for num_labels == 1."}}, 400)
        data = [
            {"index": index, "object": "score", "score": each[0]}
            if path == "/score"
            else {"index": index, "label": named[index][0][1], "probs": each, "num_classes": len(each)}
            for index, each in enumerate(values)
        ]
        tokens = sum(len(" ".join(pair).split()) for pair in pairs)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return JSONResponse({"id": "x", "object": "list", "model": body["model"], "data": data, "usage": usage})
