"""A tiny model, learnable training pairs, and a fixture that trains the model."""

import json
import shutil

import pytest

pytest.importorskip("torch", reason="needs unbag[models]")

from tests.inference.conftest import make_model, tiny_bert  # noqa: F401  (fixtures)

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


@pytest.fixture(scope="session")
def pairs_path(tmp_path_factory):
    """Return a file of 72 pairs."""
    return write_pairs(tmp_path_factory.mktemp("pairs") / "pairs.csv", PAIRS)


def write_pairs(path, pairs):
    path.write_text("premise,hypothesis,label\n" + "".join(",".join(pair) + "\n" for pair in pairs))
    return path


@pytest.fixture(scope="session")
def pretrained(tiny_bert, tmp_path_factory):  # noqa: F811
    """Return the folder of a tiny BERT without a head and without dropout."""
    from transformers import AutoModel, AutoTokenizer

    folder = tmp_path_factory.mktemp("pretrained")
    AutoModel.from_pretrained(tiny_bert).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    for name in ("id2label", "label2id"):
        config.pop(name, None)
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture(scope="session")
def dropout_model(pretrained, tmp_path_factory):
    """Return the same model with dropout."""
    folder = shutil.copytree(pretrained, tmp_path_factory.mktemp("dropout") / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"hidden_dropout_prob": 0.2}))
    return folder


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
def recipe():
    """Return the recipe of ordinary fine-tuning."""
    from unbag import scripts

    return scripts.import_script_file("trainers", "finetune").RECIPE


@pytest.fixture
def finetune(options, recipe):
    """Build a function that trains with some options, and returns the record and the weights."""
    from safetensors.torch import load_file

    from unbag.training.config import TrainConfig
    from unbag.training.run import run

    def finetune(on_step=None, **changed):
        config = TrainConfig(**{**options, **changed})
        record = run(recipe, config, on_step=on_step)
        return record, load_file(config.output_dir / "model.safetensors")

    return finetune
