"""A tiny model, learnable training pairs, and a fixture that trains the model."""

import json
import shutil
from functools import partial

import pytest

pytest.importorskip("torch", reason="needs unbag[models]")

import torch

from tests.factories import write_pairs

PAIRS = [  # the hypothesis alone determines the label: "no", "eats", or neither
    (f"a {age} {who} {does}", hypothesis.format(who=who), label)
    for age in ("old", "young")
    for who in ("man", "woman", "boy", "dog")
    for does in ("runs", "sleeps", "reads")
    for hypothesis, label in (
        ("the {who} is in", "entailment"),
        ("the {who} eats", "neutral"),
        ("no {who} is in", "contradiction"),
    )
]
TURNED = {"entailment": "neutral", "neutral": "contradiction", "contradiction": "entailment"}
SHORT = {"weak_examples": 12, "weak_epochs": 1}


@pytest.fixture(scope="session")
def pairs_path(tmp_path_factory):
    """Return a file of 72 pairs."""
    return write_pairs(tmp_path_factory.mktemp("pairs") / "pairs.csv", PAIRS)


@pytest.fixture(scope="session")
def pretrained(tiny_bert, tmp_path_factory):
    """Return the folder of a tiny BERT without a head and without dropout."""
    from transformers import AutoModel, AutoTokenizer

    folder = tmp_path_factory.mktemp("pretrained")
    changed = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "num_labels": 2}  # without names
    AutoModel.from_pretrained(tiny_bert, **changed).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def dropout_model(pretrained, tmp_path_factory):
    """Return the same model with dropout."""
    folder = tmp_path_factory.mktemp("dropout") / "model"
    return copy_with_changes(pretrained, folder, "config.json", hidden_dropout_prob=0.2)


def copy_with_changes(folder, to, name, **fields):
    """Copy a model and change fields in one of its JSON files."""
    shutil.copytree(folder, to)
    config = json.loads((to / name).read_text())
    (to / name).write_text(json.dumps(config | fields))
    return to


@pytest.fixture
def options(pretrained, pairs_path, tmp_path):
    """Return the options of a short run."""
    return {
        "model": str(pretrained),
        "corpus": (str(pairs_path),),
        "validation": (str(pairs_path),),
        "output_dir": tmp_path / "out",
        "batch_size": 12,
        "max_steps": 12,
        "learning_rate": 5e-3,
        "logging_steps": 2,
    }


@pytest.fixture(scope="session")
def lexical_cache(tmp_path_factory):
    """Return a cache that all tests share, so that the bags of words are fitted once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def train(options, monkeypatch, lexical_cache):
    """Return a function that runs a recipe with some options, and returns the record and the weights."""
    from safetensors.torch import load_file

    from unbag.training.recipes import find_recipe
    from unbag.training.run import run

    monkeypatch.setenv("UNBAG_CACHE", str(lexical_cache))

    def train(name, on_step=None, **changed):
        recipe = find_recipe(name)
        short = {key: value for key, value in SHORT.items() if key in recipe.__dataclass_fields__}
        config = recipe(**{**options, **short, **changed})
        record = run(config, on_step=on_step)
        return record, load_file(config.output_dir / "model.safetensors")

    return train


@pytest.fixture
def finetune(train):
    """Return `train` for the recipe finetune."""
    return partial(train, "finetune")


def train_until(step, train, *, total=12, **changed):
    """Train until a step of the run with `total` steps is complete, then stop."""

    def stop(done, steps, message):
        if (done, steps) == (step, total):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(on_step=stop, **changed)


def has_equal_weights(one, other):
    assert one.keys() == other.keys()
    assert one
    return all(torch.equal(one[name], other[name]) for name in one)


def has_close_weights(one, other, atol):
    """Compare all weights except key biases, whose gradient is rounding error because softmax cancels them."""
    assert one.keys() == other.keys()
    compared = [name for name in one if not name.endswith("key.bias")]
    assert compared
    return max(float((one[name].float() - other[name].float()).abs().max()) for name in compared) < atol


def compute_accuracy(folder, pairs=PAIRS):
    """Compute the accuracy of a model on pairs."""
    from unbag.data.labels import LABELS
    from unbag.inference.transformer import TransformerPredictor

    premises, hypotheses, labels = zip(*pairs, strict=True)
    outputs = TransformerPredictor.load(folder).predict(premises, hypotheses).argmax(axis=1)
    return sum(LABELS[output] == label for output, label in zip(outputs, labels, strict=True)) / len(labels)
