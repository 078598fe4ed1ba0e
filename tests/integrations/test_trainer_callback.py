"""Tests of the Trainer callback: it logs challenge set scores at each evaluation and does not change training."""

import json
from pathlib import Path

import numpy as np
import pytest

transformers = pytest.importorskip("transformers", reason="needs unbag[models]")

import unbag  # noqa: E402
from tests.fork_server import PYTHON  # noqa: E402
from tests.integrations.tiny_trainer import build_trainer  # noqa: E402
from unbag.challenge_sets.request import SetRequest  # noqa: E402
from unbag.data.labels import LabelError  # noqa: E402
from unbag.integrations.built_sets import count_rows  # noqa: E402

ROOT = Path(__file__).parents[2]
P_C = "eval_unbag_permuted_p_c"


class Tracker(transformers.TrainerCallback):
    """Records the logs that trackers receive, in order."""

    def __init__(self):
        self.told = []

    def on_log(self, args, state, control, logs=None, **kwargs):
        self.told.append(("log", state.global_step, dict(logs)))

    def on_evaluate(self, args, state, control, metrics=None, **kwargs):
        self.told.append(("evaluate", state.global_step, dict(metrics)))


def record_requests(trainer, requests, **options):
    callback = unbag.UnbagCallback(trainer, requests, **options)
    trainer.add_callback(callback)
    return callback


def get_logged_scores(trainer):
    """Return the log entries with scores of the callback, by step."""
    return {entry["step"]: entry for entry in trainer.state.log_history if P_C in entry}


def test_scores_reach_log_trackers_and_metrics(tiny_bert, pairs_path, requests, tmp_path):
    tracker = Tracker()
    trainer = build_trainer(tiny_bert, pairs_path, tmp_path, callbacks=[tracker])
    record_requests(trainer, requests)
    trainer.train()
    entries = get_logged_scores(trainer)
    assert list(entries) == [2, 4]
    told = [step for what, step, logged in tracker.told if what == "log" and P_C in logged]
    assert told == [2, 4], "also a callback that was there before"
    at_2 = [(what, P_C in logged) for what, step, logged in tracker.told if step == 2 and "eval_loss" in logged]
    assert at_2 == [("log", False), ("evaluate", False)], "the evaluation's own log and event come first"
    returned = trainer.evaluate()
    assert returned[P_C] == entries[4][P_C]
    assert {f"{P_C}_low", f"{P_C}_high", "eval_unbag_swapped_skill_no_lexical", "eval_loss"} <= set(returned)


def test_scores_equal_evaluation_of_saved_model(tiny_bert, pairs_path, requests, tmp_path):
    trainer = build_trainer(tiny_bert, pairs_path, tmp_path / "run")
    record_requests(trainer, requests)
    trainer.train()
    returned = trainer.evaluate()
    trainer.save_model(tmp_path / "saved")
    results = unbag.evaluate(str(tmp_path / "saved"), requests, output_dir=tmp_path / "out", trust_labels=True)
    permuted, swapped = (result.scores for result in results)
    assert returned[P_C] == permuted["p_c"].value
    assert returned[f"{P_C}_low"] == permuted["p_c"].low
    assert returned["eval_unbag_swapped_drop"] == swapped["drop"].value
    assert returned["eval_unbag_swapped_skill_no_lexical"] == swapped["skill"]["score"].value


def test_score_can_select_best_model(tiny_bert, pairs_path, requests, tmp_path):
    trainer = build_trainer(
        tiny_bert,
        pairs_path,
        tmp_path,
        save_strategy="best",
        load_best_model_at_end=True,
        metric_for_best_model=P_C,
        greater_is_better=False,
    )
    record_requests(trainer, requests)
    trainer.train()
    by_step = {step: entry[P_C] for step, entry in get_logged_scores(trainer).items()}
    assert trainer.state.best_metric == min(by_step.values())
    assert trainer.state.best_global_step == min(by_step, key=by_step.get)
    assert trainer.evaluate()[P_C] == trainer.state.best_metric, "asked anew of the model that was loaded"


def test_callback_does_not_change_training(tiny_bert, pairs_path, requests, tmp_path):
    losses = []
    for with_callback in (False, True):
        trainer = build_trainer(tiny_bert, pairs_path, tmp_path)
        assert trainer.model.config.hidden_dropout_prob > 0, "else the state of the random numbers would not show"
        if with_callback:
            record_requests(trainer, requests)
        trainer.model.bert.embeddings.eval()  # a frozen part of the user's model
        trainer.train()
        losses.append([entry["loss"] for entry in trainer.state.log_history if "loss" in entry])
    assert len(losses[0]) == 4
    assert losses[0] == losses[1]


def test_several_eval_datasets_run_callback_once_per_step(tiny_bert, pairs_path, requests, tmp_path):
    trainer = build_trainer(tiny_bert, pairs_path, tmp_path, eval_dataset=lambda rows: {"a": rows, "b": rows})
    record_requests(trainer, requests)
    trainer.train()
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
    record_requests(named, requests)
    named.model.config.id2label = {0: "good", 1: "bad", 2: "neutral"}
    with pytest.raises(LabelError, match=r"got {0: 'good'"):
        named.train()
    assert named.state.global_step == 0


def test_callback_invalid_settings_are_rejected(tiny_bert, pairs_path, requests, tmp_path):
    with pytest.raises(ValueError, match=r"expected a Trainer.*got list"):
        unbag.UnbagCallback(["permuted"], ["permuted"])
    trainer = build_trainer(tiny_bert, pairs_path, tmp_path, tokenizer=False)
    with pytest.raises(ValueError, match=r"got none; pass processing_class=tokenizer"):
        unbag.UnbagCallback(trainer, requests)
    trainer = build_trainer(tiny_bert, pairs_path, tmp_path)
    for sets in ([], [requests[0], requests[0]]):
        with pytest.raises(ValueError, match="expected one or more distinct sets"):
            unbag.UnbagCallback(trainer, sets)
    with pytest.raises(ValueError, match=r"expected one of the challenge sets .*'permute'"):
        unbag.UnbagCallback(trainer, "permute")
    with pytest.raises(ValueError, match=r"missing\.jsonl"):
        unbag.UnbagCallback(trainer, SetRequest("swapped", options={"data": "missing.jsonl"}))


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


def test_early_stopping_can_use_score(tiny_bert, pairs_path, requests, tmp_path):
    early = transformers.EarlyStoppingCallback(early_stopping_patience=1)
    options = {"metric_for_best_model": P_C, "greater_is_better": False, "steps": 40}
    saved = {"load_best_model_at_end": True, "save_strategy": "best"}
    trainer = build_trainer(tiny_bert, pairs_path, tmp_path, callbacks=[early], **options, **saved)
    record_requests(trainer, requests)
    with pytest.raises(ValueError, match=r"expected EarlyStoppingCallback after UnbagCallback"):
        trainer.train()
    trainer.remove_callback(early)
    trainer.add_callback(early)
    trainer.train()
    assert trainer.state.global_step < 40, "it stopped by our number"


@pytest.mark.parametrize("max_rows", [400, 50])
def test_max_rows_limits_all_sets_together(tiny_bert, pairs_path, requests, tmp_path, max_rows):
    trainer = build_trainer(tiny_bert, pairs_path, tmp_path)
    whole, bounded = (record_requests(trainer, requests, max_rows=most)._sets for most in (None, max_rows))
    asked = [count_rows(each) for each in bounded]
    assert sum(map(count_rows, whole)) > max_rows, "else there is nothing to bound"
    assert sum(asked) <= max_rows
    assert all(asked)
    for all_rows, some in zip(whole, bounded, strict=True):
        assert set(some.rows["id"][:]) <= set(all_rows.rows["id"][:])


def test_max_rows_below_one_example_is_rejected(tiny_bert, pairs_path, requests, tmp_path):
    trainer = build_trainer(tiny_bert, pairs_path, tmp_path)
    with pytest.raises(ValueError, match="increase max_rows or pass fewer sets"):
        unbag.UnbagCallback(trainer, requests, max_rows=3)
    with pytest.raises(ValueError, match="max_rows"):
        unbag.UnbagCallback(trainer, requests, max_rows=0)
