"""Tests of predictions for parts of long premises."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs unbag[models]")

from unbag.data.labels import CONTRADICTION_OR_NOT, LABELS
from unbag.inference.function import CallablePredictor
from unbag.inference.long_premises import LongPremisePredictor, pack_sentences, split_sentences
from unbag.inference.predictor import ModelError
from unbag.inference.transformer import TransformerPredictor

DOCUMENT = "The shop opens at nine. A red car is parked outside. Two children wait at the door."


def keyword_model(premises, hypotheses):
    """Predict entailment if a premise is one sentence that contains the hypothesis, and neutral otherwise."""
    answers = []
    for premise, hypothesis in zip(premises, hypotheses, strict=True):
        is_right = hypothesis.rstrip(".").lower() in premise.lower() and premise.count(".") == 1
        answers.append([0.9, 0.08, 0.02] if is_right else [0.2, 0.7, 0.1])
    return np.array(answers)


def test_split_sentences_keeps_every_sentence():
    assert split_sentences("no punctuation at all") == ["no punctuation at all"]
    assert split_sentences("一个男人在睡觉。狗在叫。") == ["一个男人在睡觉。", "狗在叫。"]
    assert split_sentences("她说：“你好！”他笑了。") == ["她说：“你好！”", "他笑了。"]


@pytest.mark.parametrize("limit", [2, 3, 100])
def test_pack_sentences_keeps_order_and_limit(limit):
    sentences, lengths = ["a b", "c d e", "f", "g h"], [2, 3, 1, 2]
    chunks = pack_sentences(sentences, lengths, limit)
    assert " ".join(chunks).split() == " ".join(sentences).split()
    assert all(len(chunk.split()) <= limit or chunk in sentences for chunk in chunks)


def test_every_sentence_uses_sentence_with_most_support_in_blocks(monkeypatch):
    whole = CallablePredictor(keyword_model)
    assert whole.predict([DOCUMENT], ["A red car is parked outside."]).argmax() == 1
    monkeypatch.setattr("unbag.inference.long_premises._PAIRS_AT_ONCE", 4)
    sizes = []

    def model(premises, hypotheses):
        sizes.append(len(premises))
        return keyword_model(premises, hypotheses)

    predictor = LongPremisePredictor(CallablePredictor(model), "every-sentence")
    hypotheses = ["Two children wait at the door.", "A dog barks.", "A red car is parked outside."]
    found = predictor.predict([DOCUMENT] * 3, hypotheses)
    assert max(sizes) <= 4
    np.testing.assert_allclose(found, [[0.9, 0.08, 0.02], [0.2, 0.7, 0.1], [0.9, 0.08, 0.02]], rtol=1e-6)
    assert predictor.label_space == LABELS


def test_single_sentence_is_predicted_without_splitting(tiny_bert):
    plain = TransformerPredictor.load(tiny_bert)
    pairs = ["A man sleeps.", "Two dogs run."], ["A man rests.", "A cat runs."]
    expected = plain.predict(*pairs)
    for mode in ("any-chunk", "every-sentence"):
        predictor = LongPremisePredictor(plain, mode)
        assert predictor.predict(*pairs) == pytest.approx(expected, abs=1e-5)
        assert predictor.identity == {**plain.identity, "long_premise": mode}
        assert predictor.order == plain.order
        assert not hasattr(predictor, "iter_batches"), "the batches of whole premises"


def test_any_chunk_reads_document_without_truncation(tiny_bert):
    plain = TransformerPredictor.load(tiny_bert, max_length=24)
    document = " ".join(f"A man number {n} sleeps near the door." for n in range(12))
    plain.predict([document], ["A man sleeps."])
    assert plain.truncated == 1
    predictor = LongPremisePredictor(plain, "any-chunk")
    seen, predict = [], plain.predict
    plain.predict = lambda premises, hypotheses: seen.extend(premises) or predict(premises, hypotheses)
    predictor.predict([document], ["A man sleeps."])
    assert len(seen) > 1
    assert " ".join(seen) == document
    assert predictor.truncated == 0


def test_contradiction_model_uses_most_contradicting_part():
    class Model:
        label_space, identity = CONTRADICTION_OR_NOT, None

        def predict(self, premises, hypotheses):
            return np.array([[0.8, 0.2] if "red" in premise else [0.1, 0.9] for premise in premises], dtype=np.float32)

    found = LongPremisePredictor(Model(), "every-sentence").predict([DOCUMENT], ["A blue car is parked outside."])
    assert found.tolist() == [pytest.approx([0.8, 0.2])]


def test_any_chunk_without_tokenizer_is_rejected():
    with pytest.raises(ModelError, match=r"any-chunk: expected a classifier whose tokenizer.*use every-sentence"):
        LongPremisePredictor(CallablePredictor(keyword_model), "any-chunk")
    with pytest.raises(ValueError, match="expected truncate, any-chunk, every-sentence, got 'some'"):
        LongPremisePredictor(CallablePredictor(keyword_model), "some")
