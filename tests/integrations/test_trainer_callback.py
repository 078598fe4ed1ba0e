"""Tests of the Trainer callback: it logs challenge set scores at each evaluation and does not change training."""

import json
from pathlib import Path

import numpy as np
import pytest

transformers = pytest.importorskip("transformers", reason="needs unbag[models]")

import unbag  # noqa: E402
from tests.fork_server import PYTHON  # noqa: E402
from tests.integrations.conftest import build_trainer  # noqa: E402
from unbag.challenge_sets.request import SetRequest  # noqa: E402
from unbag.data.labels import LabelError  # noqa: E402
from unbag.integrations.built_sets import count_rows  # noqa: E402

ROOT = Path(__file__).parents[2]
P_C = "eval_unbag_permuted_p_c"


class Tracker(transformers.TrainerCallback):
    """Records the logs and metrics that trackers receive, in order."""

    def __init__(self):
        self.calls = []

    def on_log(self, args, state, control, logs=None, **kwargs):
        self.calls.append(("log", state.global_step, dict(logs)))

    def on_evaluate(self, args, state, control, metrics=None, **kwargs):
        self.calls.append(("evaluate", state.global_step, dict(metrics)))


def get_logged_scores(trainer):
    """Return the log entries with scores of the callback, by step."""
    return {entry["step"]: entry for entry in trainer.state.log_history if P_C in entry}


def test_scores_reach_trackers_and_equal_evaluation_of_saved_model(tiny_bert, pairs_path, requests, tmp_path):
    tracker = Tracker()
    trainer = build_trainer(tiny_bert, pairs_path, tmp_path / "run", callbacks=[tracker])
    trainer.add_callback(unbag.UnbagCallback(trainer, requests))
    trainer.train()
    entries = get_logged_scores(trainer)
    assert list(entries) == [2, 4]
    logged = [step for what, step, logs in tracker.calls if what == "log" and P_C in logs]
    assert logged == [2, 4], "also a callback that was there before"
    at_2 = [(what, P_C in logs) for what, step, logs in tracker.calls if step == 2 and "eval_loss" in logs]
    assert at_2 == [("log", False), ("evaluate", False)], "the evaluation's own log and event come first"
    returned = trainer.evaluate()
    assert returned[P_C] == entries[4][P_C]
    assert "eval_loss" in returned
    trainer.save_model(tmp_path / "saved")
    results = unbag.evaluate(str(tmp_path / "saved"), requests, output_dir=tmp_path / "out", trust_labels=True)
    permuted, swapped = (result.scores for result in results)
    assert returned[P_C] == permuted["p_c"].value
    assert returned[f"{P_C}_low"] == permuted["p_c"].low
    assert returned["eval_unbag_swapped_drop"] == swapped["drop"].value
    assert returned["eval_unbag_swapped_skill_no_lexical"] == swapped["skill"]["score"].value


def test_score_selects_best_model_and_stops_training(tiny_bert, pairs_path, requests, tmp_path):
    early = transformers.EarlyStoppingCallback(early_stopping_patience=1)
    options = {"metric_for_best_model": P_C, "greater_is_better": False, "steps": 40}
    saved = {"load_best_model_at_end": True, "save_strategy": "best"}
    trainer = build_trainer(tiny_bert, pairs_path, tmp_path, callbacks=[early], **options, **saved)
    trainer.add_callback(unbag.UnbagCallback(trainer, requests))
    with pytest.raises(ValueError, match=r"expected EarlyStoppingCallback after UnbagCallback"):
        trainer.train()
    trainer.remove_callback(early)
    trainer.add_callback(early)
    trainer.train()
    assert trainer.state.global_step < 40, "it stopped by our number"
    by_step = {step: entry[P_C] for step, entry in get_logged_scores(trainer).items()}
    assert trainer.state.best_metric == min(by_step.values())
    assert trainer.state.best_global_step == min(by_step, key=by_step.get)
    assert trainer.evaluate()[P_C] == trainer.state.best_metric, "computed again for the loaded model"


def test_callback_does_not_change_training_and_runs_once_per_step(tiny_bert, pairs_path, requests, tmp_path):
    losses = []
    for has_callback in (False, True):
        trainer = build_trainer(tiny_bert, pairs_path, tmp_path, eval_dataset=lambda rows: {"a": rows, "b": rows})
        assert trainer.model.config.hidden_dropout_prob > 0, "else the state of the random numbers would not show"
        if has_callback:
            trainer.add_callback(unbag.UnbagCallback(trainer, requests))
        trainer.model.bert.embeddings.eval()  # a frozen part of the user's model
        trainer.train()
        losses.append([entry["loss"] for entry in trainer.state.log_history if "loss" in entry])
    assert len(losses[0]) == 4
    assert losses[0] == losses[1]
    assert [entry["step"] for entry in trainer.state.log_history if P_C in entry] == [2, 4]


@pytest.mark.nightly
@pytest.mark.slow
def test_several_processes_give_scores_of_one(tiny_bert, pairs_path, tmp_path):
    for number in (1, 2):
        options = (tiny_bert, pairs_path, tmp_path / str(number))
        for process in PYTHON.start_group(number, "-m", "tests.integrations.train_child", *options, cwd=ROOT):
            assert process.wait() == 0, process.communicate()
    alone, first, second = (
        json.loads((tmp_path / number / f"rank-{rank}.json").read_text())
        for number, rank in (("1", 0), ("2", 0), ("2", 1))
    )
    assert (alone["processes"], first["processes"]) == (1, 2)
    assert alone["before"] == first["before"] == second["before"]
    assert first["after"] == second["after"]
    assert P_C in first["after"]
    np.testing.assert_allclose(first["sharded"], alone["sharded"], atol=1e-6)


def test_label_names_are_checked_before_training(make_model, pairs_path, requests, tmp_path):
    nameless = make_model(order=("LABEL_0", "LABEL_1", "LABEL_2"))
    trainer = build_trainer(nameless, pairs_path, tmp_path)
    with pytest.raises(LabelError, match=r"set the model's config.id2label before training"):
        unbag.UnbagCallback(trainer, requests)
    named = build_trainer(make_model(), pairs_path, tmp_path)
    named.add_callback(unbag.UnbagCallback(named, requests))
    named.model.config.id2label = {0: "good", 1: "bad", 2: "neutral"}
    with pytest.raises(LabelError, match=r"got {0: 'good'"):
        named.train()
    assert named.state.global_step == 0


def test_callback_invalid_settings_are_rejected(tiny_bert, pairs_path, requests, tmp_path):
    trainer = build_trainer(tiny_bert, pairs_path, tmp_path)
    untokenized = build_trainer(tiny_bert, pairs_path, tmp_path, tokenizer=False)
    missing = SetRequest("swapped", options={"data": "missing.jsonl"})
    for arguments, options, message in (
        ((["permuted"], ["permuted"]), {}, "expected a Trainer.*got list"),
        ((untokenized, requests), {}, "got none; pass processing_class=tokenizer"),
        ((trainer, []), {}, "expected one or more distinct sets"),
        ((trainer, [requests[0], requests[0]]), {}, "expected one or more distinct sets"),
        ((trainer, "permute"), {}, "expected one of the challenge sets .*'permute'"),
        ((trainer, missing), {}, r"missing\.jsonl"),
        ((trainer, requests), {"max_rows": 3}, "increase max_rows or pass fewer sets"),
        ((trainer, requests), {"max_rows": 0}, "max_rows"),
    ):
        with pytest.raises(ValueError, match=message):
            unbag.UnbagCallback(*arguments, **options)


@pytest.mark.parametrize(
    ("best", "message"),
    [
        ("unbag_permuted_pc", rf"one of .*{P_C}, .*got 'unbag_permuted_pc'"),
        (P_C, f"greater_is_better: expected False for {P_C}, got True"),
    ],
)
def test_invalid_best_metric_is_rejected_before_sets_are_built(
    tiny_bert, pairs_path, requests, tmp_path, monkeypatch, best, message
):
    monkeypatch.setattr("unbag.integrations.trainer_callback.build_sets", None)
    trainer = build_trainer(tiny_bert, pairs_path, tmp_path, metric_for_best_model=best)
    with pytest.raises(ValueError, match=message):
        unbag.UnbagCallback(trainer, requests)


@pytest.mark.parametrize("max_rows", [400, 50])
def test_max_rows_limits_all_sets_together(tiny_bert, pairs_path, requests, tmp_path, max_rows):
    trainer = build_trainer(tiny_bert, pairs_path, tmp_path)
    whole, bounded = (unbag.UnbagCallback(trainer, requests, max_rows=most)._sets for most in (None, max_rows))
    counts = [count_rows(each) for each in bounded]
    assert sum(map(count_rows, whole)) > max_rows, "else there is nothing to bound"
    assert sum(counts) <= max_rows
    assert all(counts)
    for all_rows, some in zip(whole, bounded, strict=True):
        assert set(some.rows["id"][:]) <= set(all_rows.rows["id"][:])
