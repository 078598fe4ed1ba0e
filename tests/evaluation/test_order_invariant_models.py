"""Tests that a network without word-order information has a skill score of at most 0 on every set."""

from dataclasses import replace

import pytest

pytest.importorskip("transformers", reason="needs unbag[models]")

import torch

from tests.models.test_all_models import BAGS
from tests.models.tiny_models import tiny_model
from unbag import challenge_sets, evaluate
from unbag.challenge_sets.request import read_exported_set
from unbag.data import demo
from unbag.evaluation import verdict
from unbag.evaluation.demo import build_demo_requests, write_demo_data
from unbag.evaluation.evaluator import evaluate_all
from unbag.models.word_tokenizer import build_vocabulary, build_word_tokenizer

READS = "bilstm-last"
EXAMPLES = {"permuted": 25, "cs_lambda": 500, "resnli": 300}
"""Examples of a set; all of SICCK, and 60 of the others."""


SETS = sorted({*challenge_sets.list_set_names()} - {"negation", "recombined", "soswap_addamod"})
"""All sets but those that need a parser."""


def save_undecided_model(name, folder):
    """Save a tiny model with the vocabulary of the demonstration and without a preferred label."""
    pairs = list(demo.iter_demo_pairs("validation"))
    tokenizer = build_word_tokenizer(
        build_vocabulary(text for pair in pairs for text in (pair.premise, pair.hypothesis))
    )
    labels = {0: "contradiction", 1: "entailment", 2: "neutral"}
    network = tiny_model(name, vocab_size=len(tokenizer), id2label=labels, hidden_size=12)
    premises, hypotheses = [pair.premise for pair in pairs[:40]], [pair.hypothesis for pair in pairs[:40]]
    last = [each for each in network.modules() if isinstance(each, torch.nn.Linear)][-1]
    with torch.no_grad():
        encoded = tokenizer(premises, hypotheses, padding=True, return_tensors="pt")
        last.bias -= network(**encoded).logits.mean(dim=0)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """Return the verdicts on untrained networks, by model."""
    folder = tmp_path_factory.mktemp("blind")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("datasets.config.HF_DATASETS_CACHE", folder / "cache")
        patch.setenv("XDG_CACHE_HOME", str(folder / "xdg"))
        patch.setattr("unbag.scoring.skill.MIN_LABEL_ROWS", 2)
        write_demo_data(folder)
        asked = [each for each in build_demo_requests(folder) if each.name in SETS]
        asked = [replace(each, max_examples=EXAMPLES.get(each.name, 60)) for each in asked]
        asked += [read_exported_set(demo.BUILT_SETS[name]) for name in demo.BUILT_SETS if name in SETS]
        networks = [save_undecided_model(name, folder / name) for name in (*BAGS, READS)]
        found = evaluate_all(
            networks, asked, output_dir=folder / "run", lexical_baseline=False, trust_labels=True
        ).results
        by_name = {}
        for result in found:
            by_name.setdefault(str(result.model["name"]).rpartition("/")[2], []).append(result)
        yield {
            name: {each.result.set: each for each in verdict.compute_model_verdict(own)}
            for name, own in by_name.items()
        }


@pytest.mark.nightly
@pytest.mark.parametrize("name", BAGS)
def test_order_blind_network_ignores_shuffling(verdicts, name):
    assert verdicts[name]
    for each in verdicts[name].values():
        assert each.score.value <= 0, each.result.set
        assert each.standing != "better"
        if each.needs_control:
            assert each.shuffled == each.model, each.result.set


@pytest.mark.nightly
def test_order_sensitive_network_changes_on_shuffled_words(verdicts):
    assert any(each.shuffled != each.model for each in verdicts[READS].values() if each.needs_control)


@pytest.mark.parametrize(
    "name",
    [
        name if name in ("dan", "esim") else pytest.param(name, marks=pytest.mark.nightly)
        for name in (*BAGS, "infersent", "esim", "g-tlstm")
    ],
)
def test_permuted_set_identifies_bag_of_words_models(name, tmp_path):
    """For a bag of words, P^c = 1, and no permutation of a wrongly predicted pair is right: Ω_max = A."""
    report = evaluate(
        save_undecided_model(name, tmp_path / "model"),
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
