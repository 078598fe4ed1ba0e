"""Tests of invalid or corrupted model folders and checkpoints: one line names what is rejected, or it predicts."""

import json
import shutil

import pytest

pytest.importorskip("torch", reason="needs unbag[models]")

from tests.inference.llm.tiny_lm import save_tiny_lm
from tests.robustness.conftest import DAMAGES, apply_damage, sample_inputs
from tests.training.conftest import (  # noqa: F401  (fixtures)
    finetune,
    has_equal_weights,
    lexical_cache,
    options,
    pairs_path,
    pretrained,
    train,
    train_until,
)
from unbag.inference.llm.causal import CausalPredictor
from unbag.inference.loading import load_classifier_for_training
from unbag.inference.predictor import ModelError
from unbag.inference.transformer import TransformerPredictor
from unbag.utils import checksums


@pytest.fixture
def model(tiny_bert, tmp_path):
    return shutil.copytree(tiny_bert, tmp_path / "model")


def run_rejected(folder):
    """Return the one-line error message for a model, or None if it loads and predicts."""
    said = None
    try:
        TransformerPredictor.load(folder).predict(["a dog"], ["the old man reads"])
    except ValueError as error:
        said = str(error)
    assert "\n" not in (said or "")
    return said


def change_tokenizer(folder, change):
    """Change the tokenizer of a model."""
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    change(tokenizer)
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_tokenizer_without_files_is_rejected(make_model, tmp_path, kind):
    folder = shutil.copytree(make_model(kind), tmp_path / "model")
    for path in [*folder.glob("tokenizer*"), *folder.glob("vocab*")]:
        path.unlink()
    assert "covers 0% of common words" in run_rejected(folder)
    with pytest.raises(ModelError, match="covers 0% of common words"):
        load_classifier_for_training(folder, revision=None, label_map=None, seed=0)


def test_tokenizer_that_panics_is_rejected(model):
    nameless = {"SpecialToken": {"id": "", "type_id": 0}}
    change_tokenizer(model, lambda tokenizer: tokenizer["post_processor"]["pair"].__setitem__(2, nameless))
    assert f"the tokenizer of {model} cannot encode a word: PanicException: no entry found" in run_rejected(model)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
@pytest.mark.parametrize("content", ["{}", "[" * 100_000], ids=["empty", "deep"])
def test_invalid_file_is_rejected(model, name, content):
    (model / name).write_text(content)
    assert str(model) in run_rejected(model)


def test_invalid_config_value_gives_no_traceback(model):
    content = (model / "config.json").read_text()
    for name, values in {
        "model_type": (None, 1, [], "nonsense", "../x", ""),
        "id2label": (["entailment", "neutral", "contradiction"], None, 3, {}, {"x": "entailment"}, {"0": None}, "abc"),
        "hidden_size": (None, "32", 0, -1, 33, 1e30, [32]),
        "num_hidden_layers": (None, -1, 5, "2"),
        "architectures": (None, [], "BertForSequenceClassification", [None], 3),
        "max_position_embeddings": (None, 0, -1, 8),
        "num_labels": (1, 5, -1),
        "auto_map": ({"AutoConfig": "evil.Config"}, 3),
    }.items():
        for value in sample_inputs(values, 1):
            (model / "config.json").write_text(json.dumps(json.loads(content) | {name: value}))
            run_rejected(model)


@pytest.mark.parametrize("damage", sample_inputs(DAMAGES, 1))
def test_damaged_file_of_model_gives_no_traceback(model, damage):
    for name in ("model.safetensors", "tokenizer.json", "tokenizer_config.json", "config.json"):
        content = (model / name).read_bytes()
        for seed in range(4 if name != "config.json" else 1):
            apply_damage(damage, model / name, seed)
            run_rejected(model)
            (model / name).write_bytes(content)


def test_token_without_embedding_is_rejected(model, tmp_path):
    change_tokenizer(model, lambda tokenizer: tokenizer["model"]["vocab"].update({"a word of no pair": 5000}))
    words = r"expected an embedding for every token, got \d+ embeddings .* 5,000 \('a word of no"
    with pytest.raises(ModelError, match=words):
        load_classifier_for_training(model, revision=None, label_map=None, seed=0)
    assert run_rejected(model) is None, "pairs without that token can be asked"
    change_tokenizer(model, lambda tokenizer: tokenizer["model"]["vocab"].update(dog=5001))
    assert "got 5001" in run_rejected(model)


def test_language_model_smaller_than_tokenizer_is_rejected(tmp_path):
    from transformers import AutoModelForCausalLM

    folder = save_tiny_lm(tmp_path / "lm")
    network = AutoModelForCausalLM.from_pretrained(folder)
    network.resize_token_embeddings(100)
    network.save_pretrained(folder)
    with pytest.raises(ModelError, match=r"expected token ids below 100, the number of embeddings, got \d+"):
        CausalPredictor.load(folder)


@pytest.mark.parametrize("damage", sample_inputs(["flipped bit", "empty", "Git LFS pointer"], 1))
def test_damaged_checkpoints_and_models_are_not_used(finetune, options, tmp_path, caplog, damage):  # noqa: F811
    _, unbroken = finetune(output_dir=tmp_path / "unbroken")
    train_until(9, finetune, save_steps=2)
    out, checkpoints = options["output_dir"], tmp_path / "out.unfinished" / "checkpoints"
    assert sorted(path.name for path in checkpoints.iterdir()) == ["checkpoint-6", "checkpoint-8"]

    # The corruption of every file is found.
    last = checkpoints / "checkpoint-8"
    files = ("model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth", "trainer_state.json", "run.json")
    for name in (*files, checksums.FILE):
        content = (last / name).read_bytes()
        apply_damage(damage, last / name)
        assert name in (checksums.find_corruption(last) or ""), name
        (last / name).write_bytes(content)
        assert checksums.find_corruption(last) is None

    # A named checkpoint is rejected. Otherwise the run resumes from the previous one, or begins anew.
    apply_damage(damage, last / "optimizer.pt")
    with pytest.raises(ValueError, match=r"checkpoint-8/optimizer.pt is corrupted.*; resume from another checkpoint"):
        finetune(output_dir=tmp_path / "other", resume_from_checkpoint=str(checkpoints))
    shutil.copytree(checkpoints.parent, tmp_path / "anew.unfinished")
    for name in ("checkpoint-6", "checkpoint-8"):
        apply_damage(damage, tmp_path / "anew.unfinished" / "checkpoints" / name / "model.safetensors")
    for name, first in (("out", 7), ("anew", 1)):
        steps = []
        _, weights = finetune(
            output_dir=tmp_path / name, on_step=lambda step, *_, steps=steps: steps.append(step), save_steps=2
        )
        assert steps[0] == first
        assert has_equal_weights(weights, unbroken)
    assert "checkpoint-8/optimizer.pt is corrupted" in caplog.text
    assert "resuming after step 6 of 12" in caplog.text

    apply_damage(damage, out / "model.safetensors")
    with pytest.raises(ValueError, match=r"model.safetensors is corrupted.*; remove .* to train again"):
        finetune()
