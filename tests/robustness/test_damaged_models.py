"""Tests of invalid or corrupted model folders and checkpoints: one line names what is rejected, or it predicts."""

import json
import shutil

import pytest

pytest.importorskip("torch", reason="needs unbag[models]")


from tests.inference.llm.tiny_lm import save_tiny_lm
from tests.robustness.command import sample_inputs
from tests.robustness.damage import DAMAGES, apply_damage, flip_bit, make_empty, make_lfs_pointer, truncate
from tests.training.conftest import (  # noqa: F401  (fixtures)
    finetune,
    has_equal_weights,
    lexical_cache,
    options,
    pairs_path,
    pretrained,
    train,
)
from unbag.inference.llm.causal import CausalPredictor
from unbag.inference.loading import load_classifier_for_training
from unbag.inference.predictor import ModelError
from unbag.inference.transformer import TransformerPredictor


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


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert"])
def test_tokenizer_without_files_is_rejected(make_model, tmp_path, kind):
    folder = shutil.copytree(make_model(kind), tmp_path / "model")
    for path in [*folder.glob("tokenizer*"), *folder.glob("vocab*")]:
        path.unlink()
    assert "covers 0% of common words" in run_rejected(folder)
    with pytest.raises(ModelError, match="covers 0% of common words"):
        load_classifier_for_training(folder, revision=None, label_map=None, seed=0)


def test_tokenizer_that_panics_is_rejected(model):
    tokenizer = json.loads((model / "tokenizer.json").read_text())
    tokenizer["post_processor"]["pair"][2] = {"SpecialToken": {"id": "", "type_id": 0}}
    (model / "tokenizer.json").write_text(json.dumps(tokenizer))
    assert f"the tokenizer of {model} cannot encode a word: PanicException: no entry found" in run_rejected(model)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
@pytest.mark.parametrize("content", ["{}", "[" * 100_000], ids=lambda content: content[:12])
def test_invalid_file_is_rejected(model, name, content):
    (model / name).write_text(content)
    assert str(model) in run_rejected(model)


FIELDS = {
    "model_type": (None, 1, [], "nonsense", "../x", ""),
    "id2label": (["entailment", "neutral", "contradiction"], None, 3, {}, {"x": "entailment"}, {"0": None}, "abc"),
    "hidden_size": (None, "32", 0, -1, 33, 1e30, [32]),
    "num_hidden_layers": (None, -1, 5, "2"),
    "architectures": (None, [], "BertForSequenceClassification", [None], 3),
    "max_position_embeddings": (None, 0, -1, 8),
    "num_labels": (1, 5, -1),
    "auto_map": ({"AutoConfig": "evil.Config"}, 3),
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in FIELDS.items() for value in sample_inputs(values, 1)]
)
def test_invalid_config_value_gives_no_traceback(model, name, value):
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config | {name: value}))
    assert (run_rejected(model) or "config.json").strip()


@pytest.mark.parametrize("damage", sample_inputs(DAMAGES, 1), ids=lambda damage: damage.__name__)
def test_damaged_config_gives_no_traceback(model, damage):
    for name in ("model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        content = (model / name).read_bytes()
        for seed in range(4):
            apply_damage(damage, model / name, seed)
            run_rejected(model)
            (model / name).write_bytes(content)
    apply_damage(damage, model / "config.json")
    run_rejected(model)


def test_tokenizer_larger_than_model_is_rejected(model):
    tokenizer = json.loads((model / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"]["dog"] = 5000
    (model / "tokenizer.json").write_text(json.dumps(tokenizer))
    assert "got 5000" in run_rejected(model)


def test_language_model_smaller_than_tokenizer_is_rejected(tmp_path):
    from transformers import AutoModelForCausalLM

    folder = save_tiny_lm(tmp_path / "lm")
    network = AutoModelForCausalLM.from_pretrained(folder)
    network.resize_token_embeddings(100)
    network.save_pretrained(folder)
    with pytest.raises(ModelError, match=r"expected token ids below 100, the number of embeddings, got \d+"):
        CausalPredictor.load(folder)


def test_training_with_oversized_tokenizer_is_rejected_at_start(model):
    tokenizer = json.loads((model / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"]["a word of no pair"] = 5000
    (model / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(
        ModelError, match=r"expected an embedding for every token, got \d+ embeddings .* 5,000 \('a word of no"
    ):
        load_classifier_for_training(model, revision=None, label_map=None, seed=0)
    assert run_rejected(model) is None, "pairs without that token can be asked"


FILES = (
    "model.safetensors",
    "optimizer.pt",
    "scheduler.pt",
    "rng_state.pth",
    "trainer_state.json",
    "run.json",
    "checksums.json",
)


class StoppedError(RuntimeError):
    """Stops a run."""


@pytest.fixture
def broken(finetune, options, tmp_path):  # noqa: F811
    """Return the folder with the two checkpoints of a stopped run."""

    def stop(step, total, message):
        if step == 9:
            raise StoppedError

    with pytest.raises(StoppedError):
        finetune(on_step=stop, save_steps=2)
    folder = options["output_dir"].with_name("out.unfinished") / "checkpoints"
    assert sorted(path.name for path in folder.iterdir()) == ["checkpoint-6", "checkpoint-8"]
    return folder


def test_damaged_checkpoint_resumes_from_previous_one(finetune, broken, tmp_path, caplog):  # noqa: F811
    _, unbroken = finetune(output_dir=tmp_path / "unbroken")
    apply_damage(truncate, broken / "checkpoint-8" / "model.safetensors")
    _, weights = finetune(save_steps=2)
    assert "checkpoint-8/model.safetensors is corrupted" in caplog.text
    assert "resuming after step 6 of 12" in caplog.text
    assert has_equal_weights(weights, unbroken)


@pytest.mark.parametrize("damage", sample_inputs([flip_bit, make_empty, make_lfs_pointer], 1))
def test_damaged_checkpoint_is_never_used(finetune, broken, damage):  # noqa: F811
    for name in FILES:
        for step in ("checkpoint-6", "checkpoint-8"):
            path = broken / step / name
            content = path.read_bytes()
            apply_damage(damage, path)
            from unbag.utils import checksums

            assert name in (checksums.find_corruption(path.parent) or ""), name
            path.write_bytes(content)
            assert checksums.find_corruption(path.parent) is None
    for path in broken.glob("checkpoint-*"):
        apply_damage(damage, path / "model.safetensors")
    steps = []
    finetune(on_step=lambda step, *_: steps.append(step), save_steps=2)
    assert steps[0] == 1, "with no checkpoint left it begins anew"


def test_named_damaged_checkpoint_is_rejected(finetune, broken, tmp_path):  # noqa: F811
    apply_damage(flip_bit, broken / "checkpoint-8" / "optimizer.pt")
    with pytest.raises(ValueError, match=r"checkpoint-8/optimizer.pt is corrupted.*; resume from another checkpoint"):
        finetune(output_dir=tmp_path / "other", resume_from_checkpoint=str(broken))
    finetune(output_dir=tmp_path / "another", resume_from_checkpoint=str(broken / "checkpoint-6"), save_steps=2)


def test_damaged_finished_model_is_rejected(finetune, options):  # noqa: F811
    finetune()
    apply_damage(flip_bit, options["output_dir"] / "model.safetensors")
    with pytest.raises(ValueError, match=r"model.safetensors is corrupted.*; remove .* to train again"):
        finetune()
