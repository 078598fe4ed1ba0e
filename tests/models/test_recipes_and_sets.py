"""Tests that every recipe trains the models, and that the permuted set measures their known dependence on order."""

import pytest
import torch

from tests.models.tiny_models import tiny_model, tiny_tokenizer
from tests.training.conftest import pairs_path  # noqa: F401  (fixture)
from unbag import evaluate, scripts
from unbag.data import demo
from unbag.models.word_tokenizer import build_vocabulary, build_word_tokenizer
from unbag.training.run import run

BAGS = ("dan", "rse-bow", "dam", "esim-bow", "dr-bilstm-bow")
SHAPES = ("dan", "convnet", "kim", "diin", "s-tlstm", "g-tlstm")
"""One of each way to be built: a bag, convolutions, recurrences with relations, facts of words, two kinds of trees."""
LABELS = {0: "contradiction", 1: "entailment", 2: "neutral"}


def save_model(name, folder):
    """Save a tiny model in a folder as `unbag train` does."""
    labels = {"id2label": LABELS, "label2id": {label: i for i, label in LABELS.items()}}
    tiny_model(name, **labels).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def save_undecided_model(name, folder):
    """Save a tiny model with the vocabulary of the demonstration and without a preferred label."""
    pairs = list(demo.iter_demo_pairs("validation"))
    words = build_vocabulary(text for pair in pairs for text in (pair.premise, pair.hypothesis))
    tokenizer = build_word_tokenizer(words)
    network = tiny_model(name, vocab_size=len(tokenizer), id2label=LABELS, hidden_size=12)
    asked = [pair.premise for pair in pairs[:40]], [pair.hypothesis for pair in pairs[:40]]
    last = [each for each in network.modules() if isinstance(each, torch.nn.Linear)][-1]
    with torch.no_grad():
        last.bias -= network(**tokenizer(*asked, padding=True, return_tensors="pt")).logits.mean(dim=0)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def train_model(name, recipe, pairs, folder, **options):
    chosen = scripts.import_script_file("trainers", recipe).RECIPE
    given = {"batch_size": 12, "max_steps": 3, "learning_rate": 1e-2, "max_validation_examples": 6, **options}
    corpus = (str(pairs),)
    out = folder / "out"
    model = save_model(name, folder / "model")
    run(chosen, chosen.config(model=str(model), corpus=corpus, validation=corpus, output_dir=out, **given))
    return [load_weights(each) for each in (model, out)]


def load_weights(folder):
    from safetensors.torch import load_file

    return load_file(folder / "model.safetensors")


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(
    ("recipe", "options"),
    [
        ("finetune", {"word_order": "shuffled"}),
        ("finetune", {"word_order": "permuted"}),
        ("hex", {"warm_start": 0.5}),
        ("max_entropy", {}),
    ],
)
def test_every_recipe_trains_model(name, recipe, options, pairs_path, tmp_path):  # noqa: F811
    before, after = train_model(name, recipe, pairs_path, tmp_path, **options)
    assert set(before) == set(after)
    assert all(value.isfinite().all() for value in after.values() if value.is_floating_point())
    assert any(not torch.equal(value, after[key]) for key, value in before.items())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["s-tlstm", "diin"])
def test_augmented_pairs_train_model(name, shared, tmp_path, monkeypatch):
    pytest.importorskip("spacy")
    from unbag.data.text.parses import Parser

    pipeline = shared / "hub/models/spacy/en_core_web_sm"
    monkeypatch.setattr("unbag.training.augmented.Parser", lambda: Parser(pipeline, cache=tmp_path / "cache"))
    before, after = train_model(
        name,
        "finetune",
        demo.get_demo_file("train"),
        tmp_path,
        max_examples=200,
        augment=("soswap", "addamod"),
        augment_pairs=6,
    )
    assert any(not torch.equal(value, after[key]) for key, value in before.items())


@pytest.mark.parametrize("name", [*BAGS, "infersent", "esim", "g-tlstm"])
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
