import json
from pathlib import Path

import pytest

from tests import factories
from unbag import challenge_sets
from unbag.challenge_sets.failures import EvaluationFailure
from unbag.cli import train
from unbag.cli.train import _show
from unbag.evaluation import evaluator
from unbag.evaluation.outcome import EvaluationOutcome
from unbag.evaluation.verdict import compute_model_verdict, format_verdict
from unbag.training import seeds
from unbag.training.config import TrainConfig
from unbag.training.seeds import compute_run_statistics

ONE = {"mean": 0.5, "standard_deviation": None, "values": [0.5], "low": 0.4, "high": 0.6, "n": 1234}


@pytest.mark.parametrize("summary", [{}, {"accuracy": ONE}])
def test_summary_table_is_shown_if_present(summary, capsys):
    _show({"runs": [{"pairs_per_epoch": 1200, "steps": 6}], "summary": summary}, Path("runs/a"))
    *table, last = capsys.readouterr().out.splitlines()
    assert last == "1,200 pairs per epoch, 6 steps; in runs/a"
    assert ("0.500 [0.400, 0.600]  1,234" in "".join(table)) == bool(summary)


@pytest.mark.parametrize(
    ("biased", "said"),
    [
        (0.5, "Accuracy of the biased model: 50.0% of the training pairs that it predicts."),
        (
            0.7,
            "Accuracy of the biased model: 70.0% of the training pairs that it predicts; of this model: 60.0% of "
            "held-out pairs. The biased model may leave too few pairs to learn from.",
        ),
    ],
)
def test_model_accuracy_is_shown_with_bias_accuracy(biased, said, capsys):
    trained = {
        "pairs_per_epoch": 1200,
        "steps": 6,
        "bias_accuracy": biased,
        "best_evaluation": {"all": {"accuracy": 0.6}},
    }
    _show({"runs": [trained], "summary": {}}, Path("runs/a"))
    assert capsys.readouterr().out.splitlines()[1:] == [said]


def test_several_seeds_show_standard_deviation(capsys):
    summary = {"accuracy": {"mean": 0.5, "standard_deviation": 0.1, "values": [0.4, 0.6], "n": 1234}}
    _show({"runs": [{"pairs_per_epoch": 1200, "steps": 6}] * 2, "summary": summary}, Path("runs/a"))
    assert capsys.readouterr().out.splitlines()[1].split() == ["accuracy", "0.5000", "0.1000", "1,234"]


def test_single_run_has_wilson_interval():
    # By hand, with 8 of 10 right and z = 1.959964: (0.8 + z²/20 ± z·sqrt(0.8·0.2/10 + z²/400)) / (1 + z²/10).
    published = {"step": 3, "all": {"accuracy": 0.8, "loss": 1.0, "pairs": 10}}
    found = compute_run_statistics([{"best_evaluation": published, "scores": {}}])["accuracy on all held out"]
    assert (found["low"], found["high"], found["n"]) == (
        pytest.approx(0.4902, abs=1e-4),
        pytest.approx(0.9433, abs=1e-4),
        10,
    )


@pytest.fixture
def stub_training(tmp_path, monkeypatch):
    """Replace training and evaluation: the model is evaluated on `plain` and `swapped`, and `sicck` fails."""
    made = [factories.build_result(set_name=name) for name in ("plain", "swapped")]

    def evaluate_all(models, sets, *, output_dir, callbacks, **_):
        factories.write_run(output_dir, *made)
        if callbacks.on_failure is not None and "sicck" in [each.name for each in sets]:
            callbacks.on_failure(EvaluationFailure("sicck", ValueError("no such file")))
        return EvaluationOutcome(made, [])

    trained = {"pairs_per_epoch": 12, "steps": 6, "best_evaluation": {"step": 6}}
    monkeypatch.setattr(seeds, "run", lambda *_, **__: trained)
    monkeypatch.setattr(seeds, "validate_training_options", lambda *_, **__: None)
    monkeypatch.setattr(train, "_quiet", lambda *, first: None)
    monkeypatch.setattr(evaluator, "evaluate_all", evaluate_all)
    return TrainConfig(model="org/base", output_dir=tmp_path / "model"), format_verdict(compute_model_verdict(made))


def test_evaluate_shows_score_of_each_set_and_verdict(stub_training, capsys):
    config, verdict = stub_training
    assert train._run(config, (), ("plain", "swapped"), as_json=False) == []
    lines = capsys.readouterr().out.splitlines()
    shown = " ".join(" ".join(lines).split())
    assert f"Verdict: {verdict}" in shown
    for name in ("plain", "swapped"):
        [row] = [line for line in lines if line.startswith(f"{challenge_sets.get_challenge_set(name).title} ")]
        assert row.split()[-1] == "better", "of 300 pairs, 240 right"


def test_failed_set_is_named_and_others_are_shown(stub_training, capsys):
    config, verdict = stub_training
    [failure] = train._run(config, (), ("plain", "swapped", "sicck"), as_json=False)
    shown = capsys.readouterr()
    assert failure.set == "sicck"
    assert "sicck: failed: no such file" in shown.err
    assert f"Verdict: {verdict}" in " ".join(shown.out.split())


def test_json_contains_verdict_of_each_seed(stub_training, capsys):
    config, verdict = stub_training
    train._run(config, (1, 2), ("plain", "swapped"), as_json=True)
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [run["verdict"] for run in runs] == [verdict, verdict]


@pytest.mark.parametrize(("is_complete", "expected"), [(True, 0), (False, 1)])
def test_processes_are_printed_only_if_model_is_trained(stub_training, monkeypatch, capsys, is_complete, expected):
    config, _ = stub_training

    def run(config, *, on_step):
        if not is_complete:
            on_step(1, 6, "loss 1.0")
        return {"pairs_per_epoch": 12, "steps": 6, "best_evaluation": {"step": 6}}

    monkeypatch.setattr(seeds, "run", run)
    train._run(config, (1, 2), (), as_json=False)
    assert capsys.readouterr().err.count(f"training with 1 process in {config.output_dir}") == expected
