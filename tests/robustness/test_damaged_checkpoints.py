"""Tests of damaged checkpoints: training resumes from the previous one and reaches the same weights."""

import pytest

pytest.importorskip("torch", reason="needs unbag[models]")

from tests.robustness.command import sample_inputs
from tests.robustness.damage import apply_damage, flip_bit, make_empty, make_lfs_pointer, truncate
from tests.training.conftest import (  # noqa: F401  (fixtures)
    finetune,
    lexical_cache,
    make_model,
    options,
    pairs_path,
    pretrained,
    tiny_bert,
    train,
)

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


def same(one, other):
    return all(one[name].equal(other[name]) for name in one | other)


@pytest.fixture
def broken(finetune, options, tmp_path):  # noqa: F811
    """Return the checkpoints of a stopped run, and a function that resumes it."""

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
    assert same(weights, unbroken)


@pytest.mark.parametrize("damage", sample_inputs([flip_bit, make_empty, make_lfs_pointer], 1))
def test_damaged_checkpoint_is_never_used(finetune, broken, caplog, damage):  # noqa: F811
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
