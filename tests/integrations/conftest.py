"""Pairs for training a tiny model, and challenge sets built from them."""

import json

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs unbag[models]")
pytest.importorskip("transformers", reason="needs unbag[models]")

from tests.inference.fixtures import WORDS
from unbag.challenge_sets.request import SetRequest
from unbag.data.labels import LABELS


@pytest.fixture(scope="session")
def pairs_path(tmp_path_factory):
    """Return a file of 60 pairs with nine words per sentence, twenty of each label."""
    draw = np.random.default_rng(0)
    sentences = [" ".join(draw.choice(WORDS, size=9, replace=False)) for _ in range(120)]
    path = tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
    rows = [
        {"premise": premise, "hypothesis": hypothesis, "label": LABELS[number % 3]}
        for number, (premise, hypothesis) in enumerate(zip(sentences[::2], sentences[1::2], strict=True))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="session", autouse=True)
def _isolated_cache(tmp_path_factory):
    """Cache built sets for this session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path_factory.mktemp("cache"))
        yield


@pytest.fixture(scope="session")
def requests(pairs_path):
    """Return requests for permuted and swapped pairs."""
    data = {"data": str(pairs_path)}
    return [SetRequest("permuted", options={**data, "q": 4}, max_examples=30), SetRequest("swapped", options=data)]
