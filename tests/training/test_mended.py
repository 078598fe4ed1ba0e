"""Tests of `unbag train mend`: the mended model, the original, and their comparison."""

import json
import shutil
from dataclasses import replace

import pytest

pytest.importorskip("transformers", reason="needs unbag[models]")

from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification

from tests.training.conftest import PAIRS, TURNED, has_equal_weights, write_pairs
from unbag import scripts
from unbag.challenge_sets import results
from unbag.challenge_sets.request import SetRequest
from unbag.data.labels import LABELS
from unbag.evaluation import lexical_baseline
from unbag.inference import label_probe
from unbag.inference.label_probe import ProbeReport
from unbag.inference.predictor import ModelError
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
    monkeypatch.setattr(
        lexical_baseline.LexicalBaseline, "predict", lambda self, built, store: lexical_baseline.BaselinePredictions()
    )
    mended.compare_before_after.cache_clear()

    def mend(seeds=(), **changed):
        told = {**options, "augment": (), "batch_size": 24, "max_steps": 4, **changed}
        return run_seeds(MendConfig(**told), seeds)

    return mend


@pytest.mark.slow
def test_mend_classifier_is_compared_with_original(mend, options, tiny_bert):
    record = mend(model=str(tiny_bert))
    out = options["output_dir"]
    AutoModelForSequenceClassification.from_pretrained(out)
    before, after = (results.read_results(out / name / "results.json") for name in ("before", "evaluation"))
    assert {each.set for each in before} == {each.set for each in after} == {"plain", "swapped"}
    kept = json.loads((out / "mend.json").read_text())
    assert kept["comparison"] == json.loads(json.dumps(record["comparison"]))
    [accuracy] = [
        each for each in kept["comparison"]["differences"] if (each["set"], each["quantity"]) == ("plain", "accuracy")
    ]
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
def test_mend_with_distillation_needs_classifier(mend, options):
    with pytest.raises(ModelError, match=r"--distill: .* without a classification head"):
        mend(no_evaluate=True, distill=0.5)
    assert not options["output_dir"].exists()


def test_mend_validates_options_before_reading_pairs(mend, monkeypatch):
    monkeypatch.setattr("unbag.training.run.load_training_data", lambda config: pytest.fail("pairs were read"))
    with pytest.raises(ValueError, match=r"^--resume-from-checkpoint: expected a folder or a Hub repository, got none"):
        mend(no_evaluate=True, resume_from_checkpoint="none")


@pytest.fixture
def compare_with_original(mend, options, tiny_bert):
    """Return a function that compares a model with a tiny BERT as its original, and returns the failure reason."""
    shutil.copytree(tiny_bert, options["output_dir"])

    def compare_with_original(**changed):
        config = MendConfig(**{**options, "model": str(tiny_bert), "augment": (), **changed})
        return mended._evaluate(config, mended._list_sets(config)[:1], {}, None)

    return compare_with_original


@pytest.mark.parametrize("label_map", [None, ",".join(LABELS)])
def test_mislabelled_original_is_compared_only_with_label_map(compare_with_original, monkeypatch, label_map):
    fine = ProbeReport(LABELS, 12, LABELS, 12, 12, mislabelled=False)
    wrong = replace(fine, right_declared=0, best=LABELS[::-1], mislabelled=True)
    reports = iter([fine, wrong])
    monkeypatch.setattr(label_probe, "run_label_probe", lambda predictor, language: next(reports))
    reason = compare_with_original(label_map=label_map)
    if label_map:
        assert reason is None
    else:
        assert (
            f"expected an evaluation before training, got an error: the model "
            f"declares its outputs as {','.join(LABELS)}" in reason
        )
        assert reason.endswith(f"or --label-map {','.join(LABELS)} if the declared order is correct")


def test_mend_of_several_seeds_is_rejected(mend):
    with pytest.raises(ValueError, match="mend trains one model, got 2"):
        mend(seeds=[1, 2])


class Stopped(Exception):
    """Interrupts a run."""


@pytest.mark.slow
def test_interpolated_mend_publishes_weights_of_chosen_alpha(finetune, mend, options, monkeypatch):
    finetune(max_steps=6, batch_size=24)
    trained_classifier = options["output_dir"].rename(options["output_dir"].with_name("plain"))
    common = {"model": str(trained_classifier), "no_evaluate": True, "max_steps": 6, "save_steps": 2}
    [trained] = mend(**common)["runs"]
    whole = options["output_dir"].rename(options["output_dir"].with_name("whole"))
    monkeypatch.setattr(weight_averaging, "choose_alpha", lambda curve: 0.3)
    record = mend(**common, interpolate=True)
    [run_record] = record["runs"]
    out = options["output_dir"]
    theta_a, theta_b, published = (
        load_file(folder / "model.safetensors") for folder in (trained_classifier, whole, out)
    )
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

    def stop(step, total, message):
        if step == 5:
            raise Stopped

    with pytest.raises(Stopped):
        run(
            MendConfig(**{**options, "augment": (), "batch_size": 24, **common, "interpolate": True}),
            on_step=stop,
        )
    [resumed] = mend(**common, interpolate=True)["runs"]
    assert has_equal_weights(load_file(out / "model.safetensors"), published)
    assert resumed["interpolation"] == found


@pytest.mark.parametrize(
    ("correct", "alpha"),
    [
        ([90, 91, 92], 1.0),
        ([90, 89, 88], 0.5),
        ([90, 88, 89], 1.0),  # the largest α, whatever the accuracy between
    ],
)
def test_chosen_alpha_is_largest_within_one_point(correct, alpha):
    curve = [{"alpha": step / 2, "snli": {"accuracy": n / 100, "pairs": 100}} for step, n in enumerate(correct)]
    assert weight_averaging.choose_alpha(curve) == alpha


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


def test_interpolated_mend_needs_unsharded_classifier(mend, options, tiny_bert):
    with pytest.raises(ValueError, match="--interpolate: expected a model that is a classifier before training"):
        mend(no_evaluate=True, interpolate=True)
    assert not options["output_dir"].exists()
    network = AutoModelForSequenceClassification.from_pretrained(tiny_bert)
    with pytest.raises(ValueError, match="expected unsharded weights, got FSDP"):
        weight_averaging.copy_original_weights(network, sharding="FSDP")


def test_both_models_are_evaluated_on_training_corpora(options):
    asked = mended._list_sets(
        MendConfig(**{**options, "corpus": ("mnli=2", "snli"), "validation": ()}, sets=("swapped",))
    )
    assert [(each.name, (each.config or "").split("-")[0]) for each in asked] == [
        ("swapped", "snli"),
        ("plain", "mnli"),
        ("plain", "snli"),
    ]


def test_file_with_other_content_is_rejected_before_training(options, tmp_path):
    (tmp_path / "SICCK-Ground-Truth-apr24.csv").write_text("not theirs")
    config = MendConfig(**options, official_file=tmp_path, sets=("sicck",))
    with pytest.raises(DataError, match="sha256"):
        mended.train_and_compare(config, ())
    assert not options["output_dir"].exists()
