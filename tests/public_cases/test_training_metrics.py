"""Training: a metric that selects checkpoints exists or is refused, and a run shows its progress in a log file."""

from types import SimpleNamespace

import pytest

pytest.importorskip("transformers", reason="needs unbag[models]")

import unbag
from tests.integrations.conftest import build_trainer, pairs_path  # noqa: F401 (fixture)
from unbag.challenge_sets import selection
from unbag.challenge_sets.request import SetRequest, build_requested_set
from unbag.cli import train as train_command
from unbag.data import demo
from unbag.integrations.built_sets import has_skill_score, parse_requests
from unbag.training import rearranged, seeds

DATA = {"data": str(demo.get_demo_file("validation"))}
SKILL = "eval_unbag_plain_skill_no_lexical"
BEST = {"save_strategy": "best", "load_best_model_at_end": True, "metric_for_best_model": SKILL}


def test_default_size_suffices_for_skill_score(monkeypatch):
    monkeypatch.setattr(selection, "build_suite_request", lambda name: SetRequest(name, None, DATA))
    [request] = parse_requests("plain", None)
    assert has_skill_score(build_requested_set(request))
    [smaller] = parse_requests("plain", request.max_examples // 2)
    assert request.max_examples == 100 or not has_skill_score(build_requested_set(smaller))


def test_best_metric_without_enough_rows_is_refused_before_training(tiny_bert, pairs_path, tmp_path):  # noqa: F811
    trainer = build_trainer(tiny_bert, pairs_path, tmp_path, **BEST, greater_is_better=True)
    with pytest.raises(ValueError, match=r"metric_for_best_model: .* rows of plain; increase max_examples"):
        unbag.UnbagCallback(trainer, SetRequest("plain", None, DATA, max_examples=20))


def test_best_metric_without_value_counts_as_worst(tiny_bert, pairs_path, tmp_path, monkeypatch, caplog):  # noqa: F811
    trainer = build_trainer(tiny_bert, pairs_path, tmp_path, **BEST, greater_is_better=True)
    callback = unbag.UnbagCallback(trainer, SetRequest("plain", None, DATA))
    values = iter([{}, {SKILL: -0.5}, {SKILL: -0.5}])
    monkeypatch.setattr(callback, "_numbers", lambda _: next(values))
    trainer.add_callback(callback)
    trainer.train()
    assert trainer.state.best_metric == -0.5
    assert "has no value for these predictions" in caplog.text


def test_training_prints_line_per_logging_step(capsys, tmp_path):
    config = SimpleNamespace(logging_steps=10, output_dir=tmp_path / "run")
    update = train_command._build_step_printers(config)("seed 1")
    for step in range(1, 26):
        update(step, 25, f"loss {1 / step:.3f}")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"training with 1 process in {tmp_path / 'run'}"
    assert lines[1].startswith("seed 1: step 10 of 25, loss 0.100, 0:00:0")
    assert lines[1].endswith(" left")
    assert lines[3] == "seed 1: step 25 of 25, loss 0.040"
    assert len(lines) == 4


def test_evaluation_after_training_uses_default_samples(monkeypatch, tmp_path):
    requested = []

    def evaluate_all(models, requests, **options):
        requested.extend(requests)
        return SimpleNamespace(results=[])

    monkeypatch.setattr("unbag.evaluation.evaluator.evaluate_all", evaluate_all)
    seeds._evaluate(tmp_path, ["permuted", "plain"], None, None)
    assert [(each.max_examples, dict(each.options)) for each in requested] == [(500, {"q": 10}), (1000, {})]


def test_rearranged_with_missing_download_fails_before_training(monkeypatch, tmp_path):
    def miss(config):
        raise ValueError("no embeddings")

    monkeypatch.setattr(rearranged, "_rearranged", miss)
    monkeypatch.setattr(rearranged, "_original", lambda config: pytest.fail("expected no training data"))
    config = SimpleNamespace(corpus=("snli",), seed=1, output_dir=tmp_path)
    with pytest.raises(ValueError, match="no embeddings"):
        rearranged.train_on_rearranged_corpus(config, [])
