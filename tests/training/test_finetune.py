"""Tests of training in one process: changed weights and written files."""

import json
import os
import re
import shutil
import statistics

import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from tests.training.conftest import PAIRS, write_pairs
from tests.training.tiny_networks import tiny_network, tiny_tokenizer
from unbag.data.labels import LABELS
from unbag.inference import TransformerPredictor
from unbag.training.config import TrainConfig
from unbag.training.seeds import run_seeds


def has_equal_weights(one, other):
    assert one.keys() == other.keys()
    assert one
    return all(torch.equal(one[name], other[name]) for name in one)


def has_close_weights(one, other, atol):
    """Compare all weights except key biases, whose gradient is rounding error because softmax cancels them."""
    assert one.keys() == other.keys()
    compared = [name for name in one if not name.endswith("key.bias")]
    assert compared
    return max(float((one[name] - other[name]).abs().max()) for name in compared) < atol


def train_and_stop_after(step, finetune, **options):
    """Train until a step is complete, then stop."""

    def stop(done, total, said):
        if done == step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        finetune(on_step=stop, **options)


def test_every_weight_changes_and_toy_data_is_learned(finetune, options):
    before = AutoModelForSequenceClassification.from_pretrained(options["model"]).state_dict()
    record, after = finetune(max_steps=60, eval_steps=10)
    assert before.keys() == after.keys()
    still = [name for name in after if torch.equal(before[name], after[name])]
    assert not still
    losses = [found["all"]["loss"] for found in record["evaluations"]]
    assert losses[0] > 0.3
    assert losses[-1] < 0.1
    assert record["evaluations"][-1]["all"]["accuracy"] == 1


def test_training_same_seed_gives_same_weights(finetune, options, dropout_model):
    torch.manual_seed(5)
    _, once = finetune(model=str(dropout_model))
    torch.manual_seed(6)
    _, again = finetune(model=str(dropout_model), output_dir=options["output_dir"].with_name("again"))
    _, other = finetune(model=str(dropout_model), output_dir=options["output_dir"].with_name("other"), seed=14)
    assert has_equal_weights(once, again)
    assert not torch.equal(once["classifier.weight"], other["classifier.weight"])


def test_training_with_other_intervals_gives_same_weights(finetune, options, dropout_model):
    _, once = finetune(model=str(dropout_model))
    _, watched = finetune(
        model=str(dropout_model),
        output_dir=options["output_dir"].with_name("watched"),
        eval_steps=3,
        logging_steps=1,
        save_steps=4,
        dataloader_num_workers=1,
    )
    assert has_equal_weights(once, watched)


def test_gradient_accumulation_equals_whole_batch(finetune, options):
    _, whole = finetune()
    _, halves = finetune(gradient_accumulation_steps=2, output_dir=options["output_dir"].with_name("halves"))
    assert has_close_weights(whole, halves, atol=1e-4)


def test_output_loads_with_transformers(finetune, options):
    record, weights = finetune()
    network, info = AutoModelForSequenceClassification.from_pretrained(options["output_dir"], output_loading_info=True)
    assert not any(info.values()), info
    assert has_equal_weights(network.state_dict(), weights)
    assert [network.config.id2label[output] for output in range(3)] == list(LABELS) == record["label_order"]
    tokenizer = AutoTokenizer.from_pretrained(options["output_dir"])
    assert len(tokenizer("a man " * 20)["input_ids"]) == 42, "a truncation of the training was left in the tokenizer"
    assert record == json.loads((options["output_dir"] / "training.json").read_text())
    assert sorted(path.name for path in options["output_dir"].parent.iterdir()) == ["out"]
    assert "/" not in json.dumps({**record, "environment": None}), "a path of this machine is in the record"


def test_record_accuracy_equals_predictor_accuracy(finetune, options):
    record, _ = finetune(max_steps=20)
    predictor = TransformerPredictor.load(options["output_dir"])
    premises, hypotheses, labels = zip(*PAIRS, strict=True)
    found = predictor.predict(premises, hypotheses).argmax(axis=1)
    right = sum(LABELS[output] == label for output, label in zip(found.tolist(), labels, strict=True))
    assert record["best_evaluation"]["all"] == {**record["best_evaluation"]["all"], "accuracy": right / 72, "pairs": 72}


def test_classifier_keeps_head_and_label_order(finetune, tiny_bert):
    record, weights = finetune(model=str(tiny_bert), max_steps=1, learning_rate=1e-9)
    assert record["label_order"] == ["contradiction", "entailment", "neutral"]
    before = AutoModelForSequenceClassification.from_pretrained(tiny_bert)
    assert torch.allclose(before.classifier.weight, weights["classifier.weight"], atol=1e-6)


def test_early_stopping_keeps_best_model(finetune, tmp_path, pairs_path):
    # The validation labels are rotated, so better training gives a lower accuracy.
    turned = {"entailment": "neutral", "neutral": "contradiction", "contradiction": "entailment"}
    against = write_pairs(tmp_path / "against.csv", [(p, h, turned[label]) for p, h, label in PAIRS])
    record, _ = finetune(
        validation=(str(against),), max_steps=400, eval_steps=5, early_stopping_patience=2, save_steps=5
    )
    accuracies = [found["all"]["accuracy"] for found in record["evaluations"]]
    best = accuracies.index(max(accuracies))
    assert len(accuracies) == best + 3, "two evaluations in a row brought nothing better"
    assert record["steps"] < 400
    assert record["best_evaluation"]["step"] == (best + 1) * 5
    predictor = TransformerPredictor.load(tmp_path / "out")
    premises, hypotheses, _ = zip(*PAIRS, strict=True)
    found = predictor.predict(premises, hypotheses).argmax(axis=1).tolist()
    right = sum(LABELS[output] == turned[label] for output, (*_, label) in zip(found, PAIRS, strict=True))
    assert right / 72 == pytest.approx(max(accuracies))


def test_bfloat16_training_learns(finetune):
    record, weights = finetune(precision="bf16", max_steps=60)
    assert record["precision"] == "bf16"
    assert {value.dtype for value in weights.values()} == {torch.float32}
    assert record["best_evaluation"]["all"]["accuracy"] > 0.9


def test_float32_training_after_bfloat16_has_same_weights(finetune, tmp_path):
    runs = [
        finetune(precision=precision, max_steps=2, output_dir=tmp_path / str(number))
        for number, precision in enumerate(("no", "bf16", "no", None))
    ]
    assert [record["precision"] for record, _ in runs] == ["no", "bf16", "no", "no"]
    first, half, *others = [weights["classifier.weight"] for _, weights in runs]
    assert all(torch.equal(first, other) for other in others)
    assert not torch.equal(first, half)


@pytest.mark.parametrize(("precision", "expected"), [("no", "no"), (None, "bf16")])
def test_precision_overrides_accelerate_config(finetune, monkeypatch, precision, expected):
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "bf16")
    assert finetune(precision=precision, max_steps=2)[0]["precision"] == expected
    assert os.environ["ACCELERATE_MIXED_PRECISION"] == "bf16"


def test_finished_run_is_not_repeated(finetune, options):
    record, _ = finetune()
    stamp = (options["output_dir"] / "model.safetensors").stat().st_mtime_ns
    assert finetune()[0] == record
    assert (options["output_dir"] / "model.safetensors").stat().st_mtime_ns == stamp
    with pytest.raises(ValueError, match=re.escape("contains the output of another run: config.seed was 13, is 14")):
        finetune(seed=14)
    changed = write_pairs(options["output_dir"].parent / "pairs.csv", PAIRS[:60])
    with pytest.raises(ValueError, match=re.escape("pairs.csv has changed")):
        finetune(corpus=(str(changed),), validation=(str(changed),))


def test_diverging_run_raises_error(finetune):
    with pytest.raises(ValueError, match=r"the loss at step .* use a --learning-rate below"):
        finetune(learning_rate=1e12, max_grad_norm=0, max_steps=100)


def test_indivisible_batch_is_rejected(finetune):
    with pytest.raises(ValueError, match=r"batch_size: expected a multiple of 5 \(1 processes .* = 5\), got 12"):
        finetune(gradient_accumulation_steps=5)


@pytest.mark.parametrize("order", ["shuffled", "permuted"])
def test_other_word_orders_change_training(finetune, options, order):
    _, natural = finetune(max_steps=3)
    _, other = finetune(max_steps=3, word_order=order, output_dir=options["output_dir"].with_name(order))
    assert not has_equal_weights(natural, other)


def test_head_with_other_labels_is_rejected(make_model, finetune):
    two = make_model(order=("entailment", "not_entailment"))
    with pytest.raises(ValueError, match="expected a classifier with the labels entailment, neutral, contradiction"):
        finetune(model=str(two))
    nameless = make_model(order=("LABEL_0", "LABEL_1", "LABEL_2"))
    with pytest.raises(ValueError, match="label-map"):
        finetune(model=str(nameless))
    record, _ = finetune(model=str(nameless), label_map="neutral,entailment,contradiction", max_steps=1)
    assert record["label_order"] == ["neutral", "entailment", "contradiction"]


def test_checkpoint_of_other_run_is_rejected(finetune, options):
    """The run is stopped after six steps, then started with another seed."""
    train_and_stop_after(6, finetune, save_steps=2)
    with pytest.raises(ValueError, match=re.escape("checkpoint of another run: config.seed was 13, is 14")):
        finetune(seed=14)
    left = [path.name for path in (options["output_dir"].with_name("out.unfinished") / "checkpoints").iterdir()]
    assert sorted(left) == ["checkpoint-4", "checkpoint-6"]


def test_run_resumes_from_other_checkpoint_folder(finetune, options, dropout_model, tmp_path):
    options["model"] = str(dropout_model)
    train_and_stop_after(7, finetune, save_steps=3)
    steps = []
    moved = (tmp_path / "out.unfinished").rename(tmp_path / "kept")
    _, gone_on = finetune(resume_from_checkpoint=str(moved), on_step=lambda done, total, said: steps.append(done))
    assert steps[0] == 7, "the last checkpoint was after six steps"
    _, unbroken = finetune(output_dir=tmp_path / "unbroken")
    assert has_equal_weights(gone_on, unbroken)
    with pytest.raises(ValueError, match=r"expected a checkpoint .* got none"):
        finetune(resume_from_checkpoint=str(tmp_path / "unbroken"), output_dir=tmp_path / "other")


def test_early_stopping_resumes_with_best_checkpoint_of_other_folder(finetune, options, tmp_path):
    turned = {"entailment": "neutral", "neutral": "contradiction", "contradiction": "entailment"}
    against = write_pairs(tmp_path / "against.csv", [(p, h, turned[label]) for p, h, label in PAIRS])
    how = {"validation": (str(against),), "max_steps": 400, "eval_steps": 5, "early_stopping_patience": 2}
    record, unbroken = finetune(**how, output_dir=tmp_path / "unbroken")
    best = record["best_evaluation"]["step"]
    train_and_stop_after(best + 4, finetune, **how, save_steps=best + 2)
    moved = (tmp_path / "out.unfinished").rename(tmp_path / "kept") / "checkpoints"
    assert sorted(path.name for path in moved.iterdir()) == [f"checkpoint-{best}", f"checkpoint-{best + 2}"]
    again, weights = finetune(**how, resume_from_checkpoint=str(moved))
    assert again["best_evaluation"] == record["best_evaluation"]
    assert has_equal_weights(weights, unbroken)
    shutil.rmtree(moved / f"checkpoint-{best}")
    with pytest.raises(ValueError, match=rf"expected checkpoint-{best} in or beside this folder, .* got none"):
        finetune(**how, resume_from_checkpoint=str(moved), output_dir=tmp_path / "other")


def test_model_with_shared_weights_resumes(finetune, options, tmp_path):
    """BART's encoder and decoder share one embedding table, which a checkpoint contains once."""
    tiny_network("bart", dropout=0.1).save_pretrained(tmp_path / "bart")
    tiny_tokenizer().save_pretrained(tmp_path / "bart")
    options["model"] = str(tmp_path / "bart")
    train_and_stop_after(4, finetune, save_steps=2)
    _, gone_on = finetune()
    _, unbroken = finetune(output_dir=tmp_path / "unbroken")
    assert has_equal_weights(gone_on, unbroken)


def test_seeds_are_summarized(finetune, options, recipe):
    done = run_seeds(recipe, TrainConfig(**{**options, "max_steps": 3}), (1, 2, 3))
    values = [record["best_evaluation"]["all"]["accuracy"] for record in done["runs"]]
    [(name, found)] = done["summary"].items()
    assert name == "accuracy on pairs.csv"
    assert found["values"] == values
    assert found["mean"] == pytest.approx(sum(values) / 3)
    assert found["standard_deviation"] == pytest.approx(statistics.stdev(values))
    assert found["n"] == done["runs"][0]["best_evaluation"]["all"]["pairs"]
    assert json.loads((options["output_dir"] / "seeds.json").read_text())["summary"] == done["summary"]
    alone, _ = finetune(max_steps=3, seed=2, output_dir=options["output_dir"] / "alone")
    assert alone["best_evaluation"] == done["runs"][1]["best_evaluation"], "a run depends on the runs before it"


def test_trackers_receive_metrics(finetune, options):
    event_file = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    finetune(report_to=("tensorboard",))
    events = event_file.EventAccumulator(str(options["output_dir"] / "runs/unbag"))
    events.Reload()
    assert {"train/loss", "train/learning_rate", "eval/all/accuracy"} <= set(events.Tags()["scalars"])
    assert [event.step for event in events.Scalars("train/loss")] == [2, 4, 6, 8, 10, 12]


def test_unknown_set_is_rejected_before_training(options, recipe):
    from unbag.training.config import TrainConfig
    from unbag.training.seeds import run_seeds

    with pytest.raises(ValueError, match="nope"):
        run_seeds(recipe, TrainConfig(**options), [], sets=["nope"])
    assert not options["output_dir"].with_name("out.unfinished").exists()
