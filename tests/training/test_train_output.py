import json
from pathlib import Path

import pytest

from tests import factories
from unbag import challenge_sets
from unbag.challenge_sets.failures import EvaluationFailure
from unbag.cli import train
from unbag.evaluation import evaluator
from unbag.evaluation.outcome import EvaluationOutcome
from unbag.evaluation.verdict import compute_model_verdict, format_verdict
from unbag.training import seeds
from unbag.training.config import TrainConfig
from unbag.training.seeds import compute_run_statistics

TRAINED = {"pairs_per_epoch": 1200, "steps": 6, "best_evaluation": {"step": 6, "all": {"accuracy": 0.6, "pairs": 10}}}


@pytest.fixture
def show(capsys):
    """Return a function that shows some runs with a summary, and returns the printed lines."""

    def show(*runs, **summary):
        train._show({"runs": runs, "summary": summary}, Path("runs/a"))
        return capsys.readouterr().out.splitlines()

    return show


def test_summary_shows_interval_of_one_run_or_deviation_of_several(show):
    one = {"mean": 0.5, "standard_deviation": None, "values": [0.5], "low": 0.4, "high": 0.6, "n": 1234}
    several = {"mean": 0.5, "standard_deviation": 0.1, "values": [0.4, 0.6], "n": 1234}
    assert show(TRAINED) == ["1,200 pairs per epoch, 6 steps; in runs/a"]
    assert show(TRAINED, accuracy=one)[1].split() == ["accuracy", "0.500", "[0.400,", "0.600]", "1,234"]
    assert show(TRAINED, TRAINED, accuracy=several)[1].split() == ["accuracy", "0.5000", "0.1000", "1,234"]


def test_model_accuracy_is_shown_with_higher_bias_accuracy(show):
    said = "Accuracy of the biased model: {} of the training pairs that it predicts"
    assert show(TRAINED | {"bias_accuracy": 0.5})[1:] == [f"{said.format('50.0%')}."]
    assert show(TRAINED | {"bias_accuracy": 0.7})[1:] == [
        f"{said.format('70.0%')}; of this model: 60.0% of held-out pairs. The biased model may leave too few pairs to "
        "learn from."
    ]


def test_single_run_has_wilson_interval():
    # By hand, with 8 of 10 right and z = 1.959964: (0.8 + z²/20 ± z·sqrt(0.8·0.2/10 + z²/400)) / (1 + z²/10).
    published = {"step": 3, "all": {"accuracy": 0.8, "loss": 1.0, "pairs": 10}}
    found = compute_run_statistics([{"best_evaluation": published, "scores": {}}])["accuracy on all held out"]
    assert (found["low"], found["high"]) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert found["n"] == 10


@pytest.fixture
def stub_training(tmp_path, monkeypatch):
    """Replace training and evaluation: the model is evaluated on `plain` and `swapped`, and `sicck` fails."""
    made = [factories.build_result(set_name=name) for name in ("plain", "swapped")]

    def run(config, *, on_step):
        if on_step is not None:
            on_step(1, 6, "loss 1.0")
        return TRAINED

    def evaluate_all(models, sets, *, output_dir, callbacks, **_):
        factories.write_run(output_dir, *made)
        if "sicck" in [each.name for each in sets]:
            callbacks.on_failure(EvaluationFailure("sicck", ValueError("no such file")))
        return EvaluationOutcome(made, [])

    monkeypatch.setattr(seeds, "run", run)
    monkeypatch.setattr(seeds, "validate_training_options", lambda *_, **__: None)
    monkeypatch.setattr(train, "_quiet", lambda *, first: None)
    monkeypatch.setattr(evaluator, "evaluate_all", evaluate_all)
    return TrainConfig(model="org/base", output_dir=tmp_path / "model"), format_verdict(compute_model_verdict(made))


def test_verdict_scores_and_failed_set_are_shown(stub_training, capsys):
    config, verdict = stub_training
    [failure] = train._run(config, (), ("plain", "swapped", "sicck"), as_json=False)
    shown = capsys.readouterr()
    assert failure.set == "sicck"
    assert "sicck: failed: no such file" in shown.err
    assert f"Verdict: {verdict}" in " ".join(shown.out.split())
    for name in ("plain", "swapped"):
        title = challenge_sets.get_challenge_set(name).title
        [row] = [line for line in shown.out.splitlines() if line.startswith(f"{title} ")]
        assert row.split()[-1] == "better", "of 300 pairs, 240 right"


def test_json_contains_verdict_of_each_seed(stub_training, capsys):
    config, verdict = stub_training
    assert train._run(config, (1, 2), ("plain", "swapped"), as_json=True) == []
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [run["verdict"] for run in runs] == [verdict, verdict]


def test_processes_are_printed_once_for_all_seeds(stub_training, capsys):
    config, _ = stub_training
    train._run(config, (1, 2), (), as_json=False)
    assert capsys.readouterr().err.count(f"training with 1 process in {config.output_dir}") == 1
