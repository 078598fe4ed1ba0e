"""Tests of the evaluator for CrossEncoder training: scores, logs and the CSV file."""

import csv

import datasets
import pytest

pytest.importorskip("sentence_transformers")
from sentence_transformers import CrossEncoder
from sentence_transformers.cross_encoder import CrossEncoderTrainer, CrossEncoderTrainingArguments
from sentence_transformers.cross_encoder.losses import CrossEntropyLoss

import unbag
from unbag.data.labels import LabelError


def test_scores_equal_evaluation(tiny_bert, requests, tmp_path):
    model = CrossEncoder(str(tiny_bert), device="cpu")
    evaluator = unbag.CrossEncoderEvaluator(requests)
    found = evaluator(model)
    results = unbag.evaluate(model, requests, output_dir=tmp_path, trust_labels=True, lexical_baseline=False)
    permuted, swapped = (result.scores for result in results)
    assert found["unbag_permuted_p_c"] == permuted["p_c"].value
    assert found["unbag_swapped_drop_low"] == swapped["drop"].low
    assert evaluator.primary_metric == "unbag_permuted_skill_no_lexical"
    assert found[evaluator.primary_metric] == permuted["skill"]["score"].value
    assert not list(tmp_path.rglob("*.csv"))


def test_training_logs_scores_and_appends_csv_lines(tiny_bert, pairs_path, requests, tmp_path):
    model = CrossEncoder(str(tiny_bert), device="cpu")
    rows = datasets.load_dataset("json", data_files=str(pairs_path), split="train")
    rows = rows.map(lambda row: {"label": model.model.config.label2id[row["label"]]})
    evaluator = unbag.CrossEncoderEvaluator(requests, name="own", primary="swapped_drop")
    arguments = {"max_steps": 4, "eval_strategy": "steps", "eval_steps": 2, "save_strategy": "best", "report_to": []}
    args = CrossEncoderTrainingArguments(
        str(tmp_path),
        **arguments,
        use_cpu=True,
        disable_tqdm=True,
        load_best_model_at_end=True,
        metric_for_best_model="eval_own_swapped_drop",
        greater_is_better=evaluator.greater_is_better,
    )
    trainer = CrossEncoderTrainer(model, args, train_dataset=rows, loss=CrossEntropyLoss(model), evaluator=evaluator)
    trainer.train()
    entries = [entry for entry in trainer.state.log_history if "eval_own_permuted_p_c" in entry]
    assert [entry["step"] for entry in entries] == [2, 4]
    assert trainer.state.best_metric == min(entry["eval_own_swapped_drop"] for entry in entries)
    [file] = tmp_path.rglob("CrossEncoderEvaluator_own_results.csv")
    lines = list(csv.DictReader(file.read_text().splitlines()))
    assert [line["steps"] for line in lines] == ["2", "4"]
    assert float(lines[0]["permuted_p_c"]) == entries[0]["eval_own_permuted_p_c"]


def test_invalid_arguments_are_rejected(make_model, tiny_bert, requests, tmp_path):
    nameless = CrossEncoder(str(make_model(order=("LABEL_0", "LABEL_1", "LABEL_2"))), device="cpu")
    evaluator = unbag.CrossEncoderEvaluator(requests[1:])
    with pytest.raises(LabelError, match=r"set the model's config.id2label before training"):
        evaluator(nameless)
    with pytest.raises(ValueError, match=r"primary: expected one of swapped_skill_no_lexical"):
        unbag.CrossEncoderEvaluator(requests[1:], primary="p_c")
    (tmp_path / evaluator.csv_file).write_text("epoch,steps,Accuracy\n")
    with pytest.raises(ValueError, match=r"expected the columns of the evaluated sets in .*, got other columns"):
        evaluator(CrossEncoder(str(tiny_bert), device="cpu"), str(tmp_path))
