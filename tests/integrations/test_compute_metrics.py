"""Tests that predictions of a Trainer and of a CrossEncoder in training get the same scores as in an evaluation."""

import csv

import datasets
import numpy as np
import pytest

import unbag
from unbag.api import evaluate
from unbag.challenge_sets.request import build_requested_set
from unbag.data.labels import LABELS, LabelError
from unbag.inference.function import CallablePredictor
from unbag.integrations.built_sets import parse_requests

ORDER = ("contradiction", "entailment", "neutral")
ID2LABEL = dict(enumerate(ORDER))


@pytest.fixture
def rows(requests):
    return build_requested_set(requests[0]).rows


@pytest.fixture
def logits(rows):
    return np.random.default_rng(0).normal(size=(len(rows), 3))


@pytest.fixture
def metrics(rows):
    return unbag.compute_metrics("permuted", rows, ID2LABEL)


def test_metrics_equal_evaluation(rows, logits, metrics, requests, tmp_path):
    gold = np.array([ORDER.index(LABELS[label]) for label in rows["label"]])
    found = metrics((logits, gold))
    assert metrics((logits.argmax(axis=1), gold)) == metrics(((logits, "hidden states"), None)) == found
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    ours = dict(zip(zip(rows["premise"], rows["hypothesis"], strict=True), shares, strict=True))
    columns = [ORDER.index(label) for label in LABELS]
    predictor = CallablePredictor(lambda p, h: [ours[pair][columns] for pair in zip(p, h, strict=True)])
    [result] = evaluate(predictor, requests[:1], output_dir=tmp_path, lexical_baseline=False)
    assert found["p_c"] == result.scores["p_c"].value
    assert found["p_c_high"] == result.scores["p_c"].high
    assert found["skill_no_lexical"] == result.scores["skill"]["score"].value
    assert all(type(value) is float for value in found.values())


def test_two_labels_are_folded(requests):
    swapped = build_requested_set(requests[1]).rows
    metrics = unbag.compute_metrics("swapped", swapped, {0: "not_entailment", 1: "entailment"})
    label_ids = np.array([LABELS[label] == "entailment" for label in swapped["label"]], dtype=int)
    assert metrics((label_ids, label_ids))["accuracy_after"] == 1


def test_other_rows_and_labels_are_rejected(rows, logits, metrics):
    n = len(rows)
    with pytest.raises(ValueError, match=rf"each of the {n} rows of the set, shape \({n}, 3\)"):
        metrics((logits[1:], None))
    with pytest.raises(ValueError, match="got 0; pass the rows of the set in order, with the model's label ids"):
        metrics((logits, np.array(rows["label"])))
    with pytest.raises(ValueError, match="check whether training diverged"):
        metrics((logits * np.nan, None))
    with pytest.raises(ValueError, match=r"expected the columns \['lms'\]"):
        unbag.compute_metrics("cs_lambda", rows, ID2LABEL)
    with pytest.raises(LabelError, match=r"config\.id2label: expected NLI labels"):
        unbag.compute_metrics("permuted", rows, {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"})


def test_set_name_selects_sample():
    permuted, cs_lambda = parse_requests(["permuted", "cs_lambda"], 50)
    assert (permuted.config, permuted.max_examples) == ("snli-validation", 50)
    assert cs_lambda.options["max_train_pairs"] == 20_000, "the suite's options, by which it is made in seconds"
    assert parse_requests("swapped", 7) == parse_requests(["swapped"], 7)
    with pytest.raises(ValueError, match="max_examples: expected a whole number of at least 1, got 0"):
        parse_requests("swapped", 0)


@pytest.fixture
def load_cross_encoder():
    sentence_transformers = pytest.importorskip("sentence_transformers")
    return lambda folder: sentence_transformers.CrossEncoder(str(folder), device="cpu")


def test_scores_of_cross_encoder_equal_evaluation(load_cross_encoder, tiny_bert, requests, tmp_path):
    model = load_cross_encoder(tiny_bert)
    evaluator = unbag.CrossEncoderEvaluator(requests)
    found = evaluator(model)
    results = unbag.evaluate(model, requests, output_dir=tmp_path, trust_labels=True, lexical_baseline=False)
    permuted, swapped = (result.scores for result in results)
    assert found["unbag_permuted_p_c"] == permuted["p_c"].value
    assert found["unbag_swapped_drop_low"] == swapped["drop"].low
    assert evaluator.primary_metric == "unbag_permuted_skill_no_lexical"
    assert found[evaluator.primary_metric] == permuted["skill"]["score"].value
    assert not list(tmp_path.rglob("*.csv"))


def test_training_logs_scores_and_appends_csv_lines(load_cross_encoder, tiny_bert, pairs_path, requests, tmp_path):
    from sentence_transformers.cross_encoder import CrossEncoderTrainer, CrossEncoderTrainingArguments
    from sentence_transformers.cross_encoder.losses import CrossEntropyLoss

    model = load_cross_encoder(tiny_bert)
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


def test_invalid_arguments_of_evaluator_are_rejected(load_cross_encoder, make_model, tiny_bert, requests, tmp_path):
    nameless = load_cross_encoder(make_model(order=("LABEL_0", "LABEL_1", "LABEL_2")))
    evaluator = unbag.CrossEncoderEvaluator(requests[1:])
    with pytest.raises(LabelError, match=r"set the model's config.id2label before training"):
        evaluator(nameless)
    with pytest.raises(ValueError, match=r"primary: expected one of swapped_skill_no_lexical"):
        unbag.CrossEncoderEvaluator(requests[1:], primary="p_c")
    (tmp_path / evaluator.csv_file).write_text("epoch,steps,Accuracy\n")
    with pytest.raises(ValueError, match=r"expected the columns of the evaluated sets in .*, got other columns"):
        evaluator(load_cross_encoder(tiny_bert), str(tmp_path))
