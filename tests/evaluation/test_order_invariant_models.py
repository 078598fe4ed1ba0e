"""Test that the permuted set identifies networks without word-order information."""

import pytest

pytest.importorskip("transformers", reason="needs unbag[models]")

import torch

from tests.models.test_all_models import BAGS
from tests.models.tiny_models import tiny_model
from unbag import evaluate
from unbag.data import demo
from unbag.models.word_tokenizer import build_vocabulary, build_word_tokenizer


@pytest.mark.parametrize(
    "name",
    [
        name if name in ("dan", "esim") else pytest.param(name, marks=pytest.mark.nightly)
        for name in (*BAGS, "infersent", "esim", "g-tlstm")
    ],
)
def test_permuted_set_identifies_bag_of_words_models(name, tmp_path):
    """For a bag of words, P^c = 1, and no permutation of a wrongly predicted pair is right: Ω_max = A."""
    pairs = list(demo.iter_demo_pairs("validation"))
    tokenizer = build_word_tokenizer(
        build_vocabulary(text for pair in pairs for text in (pair.premise, pair.hypothesis))
    )
    labels = {0: "contradiction", 1: "entailment", 2: "neutral"}
    network = tiny_model(name, vocab_size=len(tokenizer), id2label=labels, hidden_size=12)
    sides = [pair.premise for pair in pairs[:40]], [pair.hypothesis for pair in pairs[:40]]
    last = [each for each in network.modules() if isinstance(each, torch.nn.Linear)][-1]
    with torch.no_grad():  # without a preferred label
        last.bias -= network(**tokenizer(*sides, padding=True, return_tensors="pt")).logits.mean(dim=0)
    network.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    report = evaluate(
        tmp_path / "model",
        "permuted",
        data=demo.get_demo_file("validation"),
        max_examples=50,
        options={"q": 10},
        output_dir=tmp_path / "out",
        lexical_baseline=False,
        trust_labels=True,
        progress=False,
    )
    scores = report.results[0].scores
    assert scores["accuracy"].n == 50
    assert 0 < scores["accuracy"].value < 1, "one answer to all would show nothing"
    bag = (1, None, scores["accuracy"].value)  # no pair becomes right, so P^f is undefined
    found = tuple(scores[key].value for key in ("p_c", "p_f", "omega_max"))
    assert (found == bag) == (name in BAGS)
