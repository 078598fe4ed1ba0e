"""Tests of insufficient memory: batches are halved; a single pair or a training step gives one error line."""

import functools

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs unbag[models]")

import torch

from tests.inference.llm.tiny_lm import save_tiny_lm
from tests.robustness.tiny_model import save_tiny_model
from tests.training.conftest import (  # noqa: F401  (fixtures)
    finetune,
    lexical_cache,
    options,
    pairs_path,
    pretrained,
    train,
)
from unbag.data import demo
from unbag.inference.llm.causal import CausalPredictor
from unbag.inference.memory import OutOfMemoryError
from unbag.inference.transformer import TransformerPredictor

KINDS = {
    "GPU": lambda: torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    "CPU": lambda: RuntimeError(
        "[enforce fail at alloc_cpu.cpp:118] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
        "allocate 137438953472 bytes. Error code 12 (Cannot allocate memory)"
    ),
    "numpy": lambda: MemoryError("Unable to allocate 128. GiB for an array"),
}
PAIRS = list(demo.iter_demo_pairs("validation"))[:60]
PREMISES, HYPOTHESES = [pair.premise for pair in PAIRS], [pair.hypothesis for pair in PAIRS]


def with_little_memory(network, rows, error, sizes):
    """Return the forward method of a network with memory for a limited number of rows. It records the batch sizes."""
    forward = network.forward

    @functools.wraps(forward)  # the signature shows whether a network reads segment ids
    def limited(self, *args, **kwargs):
        given = next(
            value for value in (kwargs.get("input_ids"), kwargs.get("inputs_embeds"), *args) if value is not None
        )
        sizes.append(len(given))
        if len(given) > rows:
            raise error()
        return forward(self, *args, **kwargs)

    return limited


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    return TransformerPredictor.load(save_tiny_model(tmp_path_factory.mktemp("tiny")), batch_tokens=1024)


@pytest.mark.parametrize("kind", KINDS)
def test_oversized_batch_is_halved_with_same_predictions(classifier, monkeypatch, caplog, kind):
    expected = classifier.predict(PREMISES, HYPOTHESES)
    sizes = []
    limited = with_little_memory(type(classifier.model), 5, KINDS[kind], sizes)
    monkeypatch.setattr(type(classifier.model), "forward", limited)
    monkeypatch.setattr(classifier, "_splitter", type(classifier._splitter)())
    with caplog.at_level("WARNING"):
        found = classifier.predict(PREMISES, HYPOTHESES)
    assert np.abs(found - expected).max() < 1e-5
    told = [record for record in caplog.records if "not enough memory for a batch" in record.message]
    assert len(told) == 1
    assert sum(size > 5 for size in sizes) <= 5, "each size is tried once: what did not fit is not asked again"
    assert classifier.predict(PREMISES, HYPOTHESES) == pytest.approx(found, abs=1e-5)


def test_oversized_single_pair_gives_one_line(classifier, monkeypatch):
    monkeypatch.setattr(
        type(classifier.model), "forward", with_little_memory(type(classifier.model), 0, KINDS["GPU"], [])
    )
    monkeypatch.setattr(classifier, "_splitter", type(classifier._splitter)())
    with pytest.raises(
        OutOfMemoryError, match=r"not enough memory for a single pair with \d+ tokens; shorten the pairs"
    ):
        classifier.predict(PREMISES, HYPOTHESES)


def test_other_errors_are_not_retried(classifier, monkeypatch):
    sizes = []
    limited = with_little_memory(
        type(classifier.model), 0, lambda: RuntimeError("CUDA error: device-side assert"), sizes
    )
    monkeypatch.setattr(type(classifier.model), "forward", limited)
    with pytest.raises(RuntimeError, match="device-side assert"):
        classifier.predict(PREMISES, HYPOTHESES)
    assert len(sizes) == 1


def test_language_model_batch_is_halved(tmp_path, monkeypatch, caplog):
    predictor = CausalPredictor.load(save_tiny_lm(tmp_path / "lm"), batch_tokens=4096)
    premises, hypotheses = PREMISES[:24], HYPOTHESES[:24]
    expected = predictor.predict(premises, hypotheses)
    sizes = []
    limited = with_little_memory(type(predictor.model), 2, KINDS["CPU"], sizes)
    monkeypatch.setattr(type(predictor.model), "forward", limited)
    found = predictor.predict(premises, hypotheses)
    assert max(sizes) > 2, "otherwise nothing was halved"
    assert np.abs(found - expected).max() < 1e-4
    assert sum("not enough memory for a batch" in record.message for record in caplog.records) == 1


def test_oversized_training_step_error_names_option(finetune, monkeypatch):  # noqa: F811
    from transformers import BertForSequenceClassification

    limited = with_little_memory(BertForSequenceClassification, 7, KINDS["GPU"], [])
    forward = BertForSequenceClassification.forward

    @functools.wraps(forward)
    def in_training(self, *args, **kwargs):
        return limited(self, *args, **kwargs) if self.training else forward(self, *args, **kwargs)

    monkeypatch.setattr(BertForSequenceClassification, "forward", in_training)
    with pytest.raises(OutOfMemoryError, match=r"--gradient-accumulation-steps 2.*--batch-size below 12") as refused:
        finetune()
    assert "\n" not in str(refused.value)
    record, _ = finetune(gradient_accumulation_steps=2)  # the advice of the message
    assert record["steps"] == 12
