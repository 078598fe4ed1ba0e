"""Tests of `unbag train mend`: the mended model, the original, and their comparison."""

import json
import shutil
from dataclasses import replace
from functools import partial

import pytest
from safetensors.torch import load_file

from tests.training.conftest import PAIRS, TURNED, has_equal_weights, train_until, write_pairs
from unbag import scripts
from unbag.challenge_sets import results
from unbag.challenge_sets.request import SetRequest
from unbag.data.labels import LABELS
from unbag.inference import label_probe
from unbag.inference.label_probe import ProbeReport
from unbag.training import weight_averaging
from unbag.training.run import run
from unbag.training.seeds import run_seeds
from unbag.training.weight_averaging import interpolate_weights
from unbag.utils.safe_io import DataError

mended = scripts.import_script_file("trainers", "mend")
MendConfig = mended.Mend


@pytest.fixture
def mend(options, pairs_path, tmp_path_factory, monkeypatch):
    """Return a function that mends a model and evaluates it on the pairs of a file."""
    monkeypatch.setenv("UNBAG_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
    requests = [SetRequest(name, None, {"data": str(pairs_path)}) for name in ("plain", "swapped")]
    monkeypatch.setattr(mended, "_list_sets", lambda config: requests)
    mended.compare_before_after.cache_clear()

    def mend(seeds=(), **changed):
        told = {**options, "augment": (), "batch_size": 24, "max_steps": 4, **changed}
        return run_seeds(MendConfig(**told), seeds)

    return mend


@pytest.mark.slow
def test_mend_classifier_is_compared_with_original(mend, options, tiny_bert):
    record = mend(model=str(tiny_bert))
    out = options["output_dir"]
    before, after = (results.read_results(out / name / "results.json") for name in ("before", "evaluation"))
    assert {each.set for each in before} == {each.set for each in after} == {"plain", "swapped"}
    kept = json.loads((out / "mend.json").read_text())
    assert kept["comparison"] == json.loads(json.dumps(record["comparison"]))
    differences = kept["comparison"]["differences"]
    [accuracy] = [each for each in differences if (each["set"], each["quantity"]) == ("plain", "accuracy")]
    scores = [next(each.scores["accuracy"] for each in found if each.set == "plain") for found in (before, after)]
    assert accuracy["values"] == [estimate.value for estimate in scores]
    assert accuracy["p_holm"] is not None
    card = (out / "README.md").read_text()
    assert "| set | metric | before | after |" in card
    gap = 100 * (scores[1].value - scores[0].value)
    assert f"In domain: pairs.csv, accuracy {gap:+.1f} [" in card
    assert "unbag train mend --model" in card
    assert str(out.parent) not in card + json.dumps(kept), "a path of this machine is told"


@pytest.mark.slow
def test_mend_without_head_has_no_comparison(mend, options):
    record = mend(max_steps=2)
    assert record["comparison"] is None
    assert "expected an evaluation before training, got an error" in record["why_not"]
    card = (options["output_dir"] / "README.md").read_text()
    assert "No comparison" in card
    assert "Before and after" not in card
    assert (options["output_dir"] / "evaluation/results.json").is_file()
    mended.build_view(record)


@pytest.mark.slow
def test_mend_with_distillation_only_does_not_use_labels(mend, options, tiny_bert, tmp_path):
    changed = write_pairs(tmp_path / "changed.csv", [(p, h, TURNED[label]) for p, h, label in PAIRS])
    config = {"model": str(tiny_bert), "no_evaluate": True, "alpha": 0.0, "distill": 1.0}
    [trained] = mend(**config)["runs"]
    assert trained["known"].startswith("original network ")
    out = options["output_dir"]
    assert "--distill 1.0" in (out / "README.md").read_text(), "the command reproduces it"
    weights = load_file(out / "model.safetensors")
    assert not has_equal_weights(weights, load_file(tiny_bert / "model.safetensors"))
    shutil.rmtree(out)
    mend(**config, corpus=(str(changed),))
    assert has_equal_weights(load_file(out / "model.safetensors"), weights)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"distill": 0.5}, r"--distill: .* without a classification head"),
        ({"interpolate": True}, "--interpolate: expected a model that is a classifier before training"),
        ({"seeds": [1, 2]}, "mend trains one model, got 2"),
    ],
)
def test_impossible_mend_is_rejected(mend, options, changed, error):
    with pytest.raises(ValueError, match=error):
        mend(no_evaluate=True, **changed)
    assert not options["output_dir"].exists()


def test_interpolation_needs_unsharded_weights():
    with pytest.raises(ValueError, match="expected unsharded weights, got FSDP"):
        weight_averaging.copy_original_weights(None, sharding="FSDP")


@pytest.mark.parametrize("label_map", [None, ",".join(LABELS)])
@pytest.mark.usefixtures("mend")
def test_mislabelled_original_is_compared_only_with_label_map(options, tiny_bert, monkeypatch, label_map):
    shutil.copytree(tiny_bert, options["output_dir"])
    fine = ProbeReport(LABELS, 12, LABELS, 12, 12, mislabelled=False)
    reports = iter([fine, replace(fine, right_declared=0, best=LABELS[::-1], mislabelled=True)])
    monkeypatch.setattr(label_probe, "run_label_probe", lambda predictor, language: next(reports))
    config = MendConfig(**options | {"model": str(tiny_bert), "augment": (), "label_map": label_map})
    reason = mended._evaluate(config, mended._list_sets(config)[:1], {}, None)
    if label_map:
        assert reason is None
    else:
        assert "expected an evaluation before training, got an error: the model declares its outputs as" in reason
        assert reason.endswith(f"or --label-map {','.join(LABELS)} if the declared order is correct")


@pytest.mark.slow
def test_interpolated_mend_publishes_weights_of_chosen_alpha(mend, options, tiny_bert, monkeypatch):
    out = options["output_dir"]
    common = {"model": str(tiny_bert), "no_evaluate": True, "max_steps": 6, "save_steps": 2}
    [trained] = mend(**common)["runs"]
    whole = out.rename(out.with_name("whole"))
    monkeypatch.setattr(weight_averaging, "choose_alpha", lambda curve: 0.3)
    [run_record] = mend(**common, interpolate=True)["runs"]
    theta_a, theta_b, published = (load_file(folder / "model.safetensors") for folder in (tiny_bert, whole, out))
    assert not has_equal_weights(published, theta_b)
    assert has_equal_weights(published, interpolate_weights(theta_a, theta_b, 0.3))
    found = run_record["interpolation"]
    assert json.loads((out / "training.json").read_text())["interpolation"] == found
    assert [row["alpha"] for row in found["curve"]] == [step / 10 for step in range(11)]
    assert found["curve"][-1]["all"] == trained["best_evaluation"]["all"], "at α = 1 the trained model"
    assert run_record["best_evaluation"]["all"] == found["curve"][3]["all"]
    assert run_record["evaluations"] == trained["evaluations"]
    card = (out / "README.md").read_text()
    assert "α = 0.3" in card
    assert "| 0.3 (published) |" in card
    assert "--interpolate" in card, "the command reproduces it"
    # A killed run continues to the same weights and the same curve.
    out.rename(out.with_name("unbroken"))
    config = MendConfig(**options | common | {"augment": (), "batch_size": 24, "interpolate": True})
    train_until(5, partial(run, config), total=6)
    [resumed] = mend(**common, interpolate=True)["runs"]
    assert has_equal_weights(load_file(out / "model.safetensors"), published)
    assert resumed["interpolation"] == found


def test_choose_alpha_keeps_each_corpus():
    """α = 1 loses 2 of 100 pairs of the small corpus. The gain on the large corpus must not hide this."""
    small, large = (80, 80, 78), (800, 805, 820)
    curve = [
        {
            "alpha": step / 2,
            "small": {"accuracy": small[step] / 100, "pairs": 100},
            "large": {"accuracy": large[step] / 1000, "pairs": 1000},
            "all": {"accuracy": (small[step] + large[step]) / 1100, "pairs": 1100},
        }
        for step in range(3)
    ]
    assert weight_averaging.choose_alpha(curve) == 0.5


def test_both_models_are_evaluated_on_training_corpora(options):
    config = MendConfig(**options | {"corpus": ("mnli=2", "snli"), "validation": ()}, sets=("swapped",))
    asked = [(each.name, (each.config or "").split("-")[0]) for each in mended._list_sets(config)]
    assert asked == [("swapped", "snli"), ("plain", "mnli"), ("plain", "snli")]


def test_file_with_other_content_is_rejected_before_training(options, tmp_path):
    (tmp_path / "SICCK-Ground-Truth-apr24.csv").write_text("not theirs")
    config = MendConfig(**options, official_file=tmp_path, sets=("sicck",))
    with pytest.raises(DataError, match="sha256"):
        mended.train_and_compare(config, ())
    assert not options["output_dir"].exists()
