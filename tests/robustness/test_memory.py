"""Tests of insufficient memory: batches are halved; a single pair or a training step gives one error line."""

import functools

import pytest

pytest.importorskip("torch", reason="needs unbag[models]")

import torch
from transformers import BertForSequenceClassification

from tests.inference.llm.tiny_lm import save_tiny_lm
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

ERRORS = {
    "GPU": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    "CPU": RuntimeError(
        "[enforce fail at alloc_cpu.cpp:118] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
        "allocate 137438953472 bytes. Error code 12 (Cannot allocate memory)"
    ),
    "numpy": MemoryError("Unable to allocate 128. GiB for an array"),
}
PAIRS = list(demo.iter_demo_pairs("validation"))[:60]
TEXTS = [pair.premise for pair in PAIRS], [pair.hypothesis for pair in PAIRS]


@pytest.fixture
def limit_memory(monkeypatch):
    """Return a function that limits the rows of a network's batches. It returns the list of sizes of later batches."""

    def limit(network, rows, error, *, training_only=False):
        forward, sizes = network.forward, []

        @functools.wraps(forward)  # the signature shows whether a network reads segment ids
        def limited(self, *args, **kwargs):
            inputs = (kwargs.get("input_ids"), kwargs.get("inputs_embeds"), *args)
            sizes.append(len(next(value for value in inputs if value is not None)))
            if sizes[-1] > rows and (self.training or not training_only):
                raise error
            return forward(self, *args, **kwargs)

        monkeypatch.setattr(network, "forward", limited)
        return sizes

    return limit


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
def test_oversized_batch_is_halved_with_same_predictions(tiny_bert, limit_memory, caplog, error):
    classifier = TransformerPredictor.load(tiny_bert, batch_tokens=1024)
    expected = classifier.predict(*TEXTS)
    sizes = limit_memory(BertForSequenceClassification, 5, error)
    for _ in range(2):
        assert classifier.predict(*TEXTS) == pytest.approx(expected, abs=1e-5)
    assert sum("not enough memory for a batch" in record.message for record in caplog.records) == 1
    assert 0 < sum(size > 5 for size in sizes) <= 5, "each size is tried once"


def test_language_model_batch_is_halved(tmp_path, limit_memory, caplog):
    predictor = CausalPredictor.load(save_tiny_lm(tmp_path / "lm"), batch_tokens=4096)
    texts = [side[:24] for side in TEXTS]
    expected = predictor.predict(*texts)
    sizes = limit_memory(type(predictor.model), 2, ERRORS["CPU"])
    assert predictor.predict(*texts) == pytest.approx(expected, abs=1e-4)
    assert max(sizes) > 2, "otherwise nothing was halved"
    assert sum("not enough memory for a batch" in record.message for record in caplog.records) == 1


def test_oversized_single_pair_gives_one_line_and_other_errors_are_not_retried(tiny_bert, limit_memory):
    classifier = TransformerPredictor.load(tiny_bert)
    sizes = limit_memory(BertForSequenceClassification, 0, RuntimeError("CUDA error: device-side assert"))
    with pytest.raises(RuntimeError, match="device-side assert"):
        classifier.predict(*TEXTS)
    assert len(sizes) == 1
    limit_memory(BertForSequenceClassification, 0, ERRORS["GPU"])
    with pytest.raises(OutOfMemoryError, match=r"memory for a single pair with \d+ tokens; shorten the pairs"):
        classifier.predict(*TEXTS)


def test_oversized_training_step_error_names_option(finetune, limit_memory):  # noqa: F811
    limit_memory(BertForSequenceClassification, 7, ERRORS["GPU"], training_only=True)
    with pytest.raises(OutOfMemoryError, match=r"--gradient-accumulation-steps 2.*--batch-size below 12") as refused:
        finetune()
    assert "\n" not in str(refused.value)
    record, _ = finetune(gradient_accumulation_steps=2)  # the advice of the message
    assert record["steps"] == 12
