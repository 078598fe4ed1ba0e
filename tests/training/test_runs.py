"""Tests of training in one process: learning, equal runs, resumed runs, and written files, for all recipes."""

import json
import os
import re
import shutil
import statistics
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from tests.fork_server import PYTHON
from tests.inference.fixtures import ORDER
from tests.training.conftest import (
    PAIRS,
    SHORT,
    TURNED,
    compute_accuracy,
    has_close_weights,
    has_equal_weights,
    train_until,
    write_pairs,
)
from tests.training.tiny_networks import tiny_network, tiny_tokenizer
from unbag.data.labels import LABELS
from unbag.training.config import TrainConfig
from unbag.training.seeds import run_seeds

DEBIASED = {"alpha": 0.5, "anneal": 0.2}
RECIPES = {
    "finetune": {},
    "hex": {"warm_start": 0.5, "superficial_weight": 0.5},
    "max_entropy": {},
    "product_of_experts": DEBIASED,
    "self_debiasing": DEBIASED,
    **dict.fromkeys(("learned_mixin", "reweighting", "focal", "confidence_regularization"), DEBIASED),
    "group_balanced": {"alpha": 0.5},
}
DAILY = ("finetune", "hex", "self_debiasing")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name if name in DAILY else pytest.param(name, marks=pytest.mark.nightly) for name in RECIPES]
)
def test_stopped_run_resumes_to_same_files(train, options, dropout_model, name):
    """The run is stopped twice; that of HEX in the warm start and after it."""
    train = partial(train, name, model=str(dropout_model), save_steps=4, **RECIPES[name])
    unbroken, out = options["output_dir"].with_name("unbroken"), options["output_dir"]
    _, whole = train(output_dir=unbroken)
    for step in (5, 9):
        train_until(step, train)
    record, _ = train()
    assert record["recipe"] == name
    files = [file.name for file in unbroken.iterdir() if file.name not in ("training.json", "hardware.json")]
    assert set(files) > {"hex.json", "hex.safetensors"} if name == "hex" else "model.safetensors" in files
    for file in set(files) - {"checksums.json"}:
        assert (out / file).read_bytes() == (unbroken / file).read_bytes(), file
    network, info = AutoModelForSequenceClassification.from_pretrained(out, output_loading_info=True)
    assert type(network).__name__ == "BertForSequenceClassification"
    assert not any(info.values()), info
    assert has_equal_weights(network.state_dict(), whole)
    assert sorted(path.name for path in out.parent.iterdir()) == ["out", "unbroken"]


def test_gradient_accumulation_equals_whole_batch(train, tmp_path):
    train = partial(train, "max_entropy", alpha=0.5, permutations=2)
    _, whole = train()
    _, parts = train(gradient_accumulation_steps=4, output_dir=tmp_path / "parts")
    assert has_close_weights(whole, parts, atol=1e-4)


def test_weights_depend_on_seed_and_options_of_recipe_only(train, tmp_path, dropout_model):
    outs = (tmp_path / str(number) for number in range(9))
    train = partial(train, "max_entropy", model=str(dropout_model), max_steps=4)
    _, first = train(output_dir=next(outs))
    torch.manual_seed(6)
    other_intervals = {"eval_steps": 3, "logging_steps": 1, "save_steps": 2, "dataloader_num_workers": 1}
    assert has_equal_weights(train(output_dir=next(outs), **other_intervals)[1], first)
    for changed in ({"seed": 14}, {"permutations": 2}):
        assert not has_equal_weights(train(output_dir=next(outs), **changed)[1], first)


def test_other_word_orders_change_training(finetune, tmp_path):
    orders = ("natural", "shuffled", "permuted")
    weights = [finetune(max_steps=3, word_order=order, output_dir=tmp_path / order)[1] for order in orders]
    assert not any(has_equal_weights(weights[0], other) for other in weights[1:])


def test_finished_run_has_learned_loads_and_is_not_repeated(finetune, options):
    out, finetune = options["output_dir"], partial(finetune, max_steps=60, eval_steps=10)
    before = AutoModelForSequenceClassification.from_pretrained(options["model"]).state_dict()
    record, after = finetune()
    assert before.keys() == after.keys()
    assert not [name for name in after if torch.equal(before[name], after[name])]
    losses = [found["all"]["loss"] for found in record["evaluations"]]
    assert losses[0] > 0.3
    assert losses[-1] < 0.1
    assert record["evaluations"][-1]["all"]["accuracy"] == compute_accuracy(out) == 1
    config = AutoModelForSequenceClassification.from_pretrained(out).config
    assert [config.id2label[output] for output in range(3)] == list(LABELS) == record["label_order"]
    tokenizer = AutoTokenizer.from_pretrained(out)
    assert len(tokenizer("a man " * 20)["input_ids"]) == 42, "a truncation of the training was left in the tokenizer"
    assert record == json.loads((out / "training.json").read_text())
    assert "/" not in json.dumps({**record, "environment": None}), "a path of this machine is in the record"
    stamp = (out / "model.safetensors").stat().st_mtime_ns
    assert finetune()[0] == record
    assert (out / "model.safetensors").stat().st_mtime_ns == stamp
    with pytest.raises(ValueError, match=re.escape("contains the output of another run: config.seed was 13, is 14")):
        finetune(seed=14)
    changed = str(write_pairs(out.with_name("pairs.csv"), PAIRS[:60]))
    with pytest.raises(ValueError, match=re.escape("pairs.csv has changed")):
        finetune(corpus=(changed,), validation=(changed,))


def test_stopped_run_rejects_other_seed_and_changed_word_vectors(train, tmp_path):
    vectors = tmp_path / "vectors.txt"
    words = sorted({word for pair in PAIRS for text in pair[:2] for word in text.split()})

    def write(*numbers):
        vectors.write_text("\n".join(f"{word} {numbers[i % 2]} {i}" for i, word in enumerate(words)))

    train = partial(train, "hex", embeddings=str(vectors), max_steps=4, save_steps=1)
    write(1, 2)
    train_until(2, train, total=4)
    with pytest.raises(ValueError, match=re.escape("checkpoint of another run: config.seed was 13, is 14")):
        train(seed=14)
    write(3, 4)
    with pytest.raises(ValueError, match=r"checkpoint of another run: embeddings was 'sha256:\w+', is 'sha256:"):
        train()
    write(1, 2)
    record, _ = train()
    assert record["config"]["embeddings"] == "vectors.txt", "wherever it lies"
    assert record["embeddings"] == f"sha256:{sha256(vectors.read_bytes()).hexdigest()}"
    write(3, 4)
    with pytest.raises(ValueError, match=r"contains the output of another run: .*vectors\.txt has changed"):
        train()


def test_user_model_can_be_bias(train, tmp_path, tiny_bert):
    record, _ = train("reweighting", bias=str(tiny_bert), max_steps=2)
    assert record["known"].startswith("network ")
    assert record["config"]["bias"] == tiny_bert.name
    assert record["bias_accuracy"] == pytest.approx(compute_accuracy(tiny_bert))
    assert not (tmp_path / "out.unfinished").exists()


def test_classifier_keeps_head_and_label_order(finetune, make_model, tiny_bert, tmp_path):
    with pytest.raises(ValueError, match="expected a classifier with the labels entailment, neutral, contradiction"):
        finetune(model=str(make_model(order=("entailment", "not_entailment"))))
    nameless = make_model(order=("LABEL_0", "LABEL_1", "LABEL_2"))
    with pytest.raises(ValueError, match="label-map"):
        finetune(model=str(nameless))
    for model, order in ((tiny_bert, ORDER), (nameless, LABELS)):
        more = {"label_map": ",".join(LABELS)} if model == nameless else {}
        out = tmp_path / model.name
        record, weights = finetune(model=str(model), max_steps=1, learning_rate=1e-9, output_dir=out, **more)
        assert record["label_order"] == list(order)
        before = load_file(model / "model.safetensors")["classifier.weight"]
        assert torch.allclose(before, weights["classifier.weight"], atol=1e-6)


def test_early_stopping_keeps_and_resumes_best_model(finetune, dropout_model, tmp_path):
    # With rotated validation labels, better training gives a lower accuracy.
    turned = [(premise, hypothesis, TURNED[label]) for premise, hypothesis, label in PAIRS]
    early_stopping = {"max_steps": 400, "eval_steps": 5, "early_stopping_patience": 2, "model": str(dropout_model)}
    finetune = partial(finetune, validation=(str(write_pairs(tmp_path / "turned.csv", turned)),), **early_stopping)
    record, unbroken = finetune(output_dir=tmp_path / "unbroken")
    accuracies = [found["all"]["accuracy"] for found in record["evaluations"]]
    best = record["best_evaluation"]["step"]
    assert best == 5 * (accuracies.index(max(accuracies)) + 1) < record["steps"] == 5 * len(accuracies)
    assert record["steps"] == best + 10, "two evaluations in a row brought nothing better"
    assert compute_accuracy(tmp_path / "unbroken", turned) == pytest.approx(max(accuracies))
    train_until(best + 4, finetune, total=400, save_steps=best + 2)
    moved = (tmp_path / "out.unfinished").rename(tmp_path / "kept") / "checkpoints"
    assert sorted(path.name for path in moved.iterdir()) == [f"checkpoint-{best}", f"checkpoint-{best + 2}"]
    again, weights = finetune(resume_from_checkpoint=str(moved))
    assert again["best_evaluation"] == record["best_evaluation"]
    assert has_equal_weights(weights, unbroken)
    shutil.rmtree(moved / f"checkpoint-{best}")
    with pytest.raises(ValueError, match=rf"expected checkpoint-{best} in or beside this folder, .* got none"):
        finetune(resume_from_checkpoint=str(moved), output_dir=tmp_path / "other")
    with pytest.raises(ValueError, match=r"expected a checkpoint .* got none"):
        finetune(resume_from_checkpoint=str(tmp_path / "unbroken"), output_dir=tmp_path / "other")


def test_precision_of_run_overrides_accelerate_config(finetune, tmp_path, monkeypatch):
    outs = (tmp_path / str(number) for number in range(9))
    runs = [finetune(precision=precision, max_steps=2, output_dir=next(outs)) for precision in ("bf16", None)]
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "bf16")
    runs += [finetune(precision=precision, max_steps=2, output_dir=next(outs)) for precision in ("no", None)]
    assert os.environ["ACCELERATE_MIXED_PRECISION"] == "bf16"
    assert [record["precision"] for record, _ in runs] == ["bf16", "no", "no", "bf16"]
    half, *others = [weights["classifier.weight"] for _, weights in runs]
    assert half.dtype == others[0].dtype == torch.float32
    assert [torch.equal(half, other) for other in others] == [False, False, True]
    assert torch.equal(*others[:2])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"learning_rate": 1e12, "max_grad_norm": 0, "max_steps": 100},
            r"the loss at step .* use a --learning-rate below",
        ),
        (
            {"gradient_accumulation_steps": 5},
            r"--batch-size: expected a multiple of 5 \(1 processes .* 5\), got 12",
        ),
    ],
)
def test_impossible_run_is_rejected(finetune, changed, message):
    with pytest.raises(ValueError, match=message):
        finetune(**changed)


@pytest.mark.nightly
def test_model_with_shared_weights_resumes(finetune, tmp_path):
    """BART's encoder and decoder share one embedding table, which a checkpoint contains once."""
    tiny_network("bart", dropout=0.1).save_pretrained(tmp_path / "bart")
    tiny_tokenizer().save_pretrained(tmp_path / "bart")
    finetune = partial(finetune, model=str(tmp_path / "bart"))
    train_until(4, finetune, save_steps=2)
    assert has_equal_weights(finetune()[1], finetune(output_dir=tmp_path / "unbroken")[1])


def test_seeds_are_summarized(finetune, options):
    out = options["output_dir"]
    with pytest.raises(ValueError, match="nope"):
        run_seeds(TrainConfig(**options), [], sets=["nope"])
    assert not list(out.parent.iterdir()), "the set is validated before the training"
    with pytest.raises(ValueError, match=r"expected distinct seeds, got \[1, 1\]"):
        run_seeds(TrainConfig(**options), (1, 1))
    done = run_seeds(TrainConfig(**options | {"max_steps": 3}), (1, 2))
    values = [record["best_evaluation"]["all"]["accuracy"] for record in done["runs"]]
    [(name, found)] = done["summary"].items()
    assert name == "accuracy on pairs.csv"
    assert found["values"] == values
    assert found["mean"] == pytest.approx(sum(values) / 2)
    assert found["standard_deviation"] == pytest.approx(statistics.stdev(values))
    assert found["n"] == done["runs"][0]["best_evaluation"]["all"]["pairs"]
    assert json.loads((out / "seeds.json").read_text())["summary"] == done["summary"]
    alone, _ = finetune(max_steps=3, seed=2, output_dir=out / "alone")
    assert alone["best_evaluation"] == done["runs"][1]["best_evaluation"], "a run depends on the runs before it"


@pytest.mark.nightly
def test_trackers_receive_metrics(finetune, options):
    event_file = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    finetune(report_to=("tensorboard",))
    events = event_file.EventAccumulator(str(options["output_dir"] / "runs/unbag"))
    events.Reload()
    assert {"train/loss", "train/learning_rate", "eval/all/accuracy"} <= set(events.Tags()["scalars"])
    assert [event.step for event in events.Scalars("train/loss")] == [2, 4, 6, 8, 10, 12]


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "script", "changed"),
    [
        # Both processes train and run the weak learner first.
        ("self_debiasing", ("debias.py", "self-debiasing"), {**SHORT, "alpha": 0.5, "balance": 0.5}),
        ("hex", ("hex.py",), {"warm_start": 0.5}),  # projects the joint batch of both processes
    ],
)
def test_two_processes_equal_one_with_joint_batch(train, options, lexical_cache, tmp_path, name, script, changed):
    changed = {**changed, "max_steps": 6}
    train(name, **changed)
    words = options | changed | {"output_dir": tmp_path / "two"}
    words |= {"corpus": options["corpus"][0], "validation": options["validation"][0]}
    given = [str(part) for name, value in words.items() for part in (f"--{name.replace('_', '-')}", value)]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "UNBAG_CACHE": str(lexical_cache)}
    trainer = Path(__file__).parents[2] / "trainers" / script[0]
    processes = PYTHON.start_group(2, trainer, *script[1:], *given, "--json", env=environment)
    for process in processes:
        assert process.wait() == 0, process.communicate()
    for file in tmp_path.glob("two/*.safetensors"):
        assert has_close_weights(load_file(options["output_dir"] / file.name), load_file(file), 1e-4), file.name
