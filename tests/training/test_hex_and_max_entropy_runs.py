"""Tests of the recipes `hex` and `max_entropy` in the training loop: outputs and resumed runs."""

from hashlib import sha256

import pytest
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification

from tests.training.conftest import PAIRS
from tests.training.test_finetune import has_close_weights, has_equal_weights
from unbag import scripts
from unbag.data.labels import LABELS
from unbag.inference import TransformerPredictor
from unbag.training.run import run

HEX = scripts.import_script_file("trainers", "hex").RECIPE
MAX_ENTROPY = scripts.import_script_file("trainers", "max_entropy").RECIPE


@pytest.fixture
def train(options):
    """Return a function that runs a recipe with given options and returns the record and the weights."""

    def train(recipe, on_step=None, **changed):
        config = recipe.config(**{**options, **changed})
        return run(recipe, config, on_step=on_step), load_file(config.output_dir / "model.safetensors")

    return train


def accuracy(folder, **how):
    premises, hypotheses, labels = zip(*PAIRS, strict=True)
    found = TransformerPredictor.load(folder, **how).predict(premises, hypotheses).argmax(axis=1).tolist()
    return sum(LABELS[output] == label for output, label in zip(found, labels, strict=True)) / len(labels)


def test_hex_writes_model_and_residual_head(train, options):
    record, _ = train(HEX, warm_start=0.5, max_steps=60)
    network, info = AutoModelForSequenceClassification.from_pretrained(options["output_dir"], output_loading_info=True)
    assert not any(info.values()), info
    assert type(network).__name__ == "BertForSequenceClassification"
    assert {path.name for path in options["output_dir"].iterdir()} > {
        "hex.json",
        "hex.safetensors",
        "model.safetensors",
    }
    assert record["config"]["warm_start"] == 0.5
    assert record["best_evaluation"]["all"]["accuracy"] == pytest.approx(accuracy(options["output_dir"]))
    # HEX removes the words, which determine the label here, so the residual head is less accurate.
    assert accuracy(options["output_dir"], head="residual") <= accuracy(options["output_dir"])


def test_interrupted_hex_run_resumes_to_same_weights(train, options, dropout_model):
    """The interruptions are in the warm start and after it."""
    told = {"model": str(dropout_model), "warm_start": 0.5, "superficial_weight": 0.5, "save_steps": 4}
    unbroken = options["output_dir"].with_name("unbroken")
    train(HEX, output_dir=unbroken, **told)
    for stop in (5, 9):

        def on_step(done, total, said, stop=stop):
            if done == stop:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            train(HEX, on_step=on_step, **told)
    train(HEX, **told)
    for name in ("model.safetensors", "hex.safetensors", "hex.json"):
        assert (options["output_dir"] / name).read_bytes() == (unbroken / name).read_bytes(), name


def test_hex_warm_start_is_fraction_of_steps(train, options):
    """With two passes per step, half of four steps equal two steps of plain fine-tuning, up to rounding."""
    steps = {"max_steps": 4, "eval_steps": 1}
    plain, _ = train(
        scripts.import_script_file("trainers", "finetune").RECIPE,
        output_dir=options["output_dir"].with_name("plain"),
        **steps,
    )
    warm, _ = train(HEX, warm_start=0.5, gradient_accumulation_steps=2, **steps)
    losses = [[each["all"]["loss"] for each in record["evaluations"]] for record in (plain, warm)]
    differences = [abs(one - other) for one, other in zip(*losses, strict=True)]
    assert max(differences[:2]) < 1e-5
    assert min(differences[2:]) > 1e-3


def test_interrupted_run_rejects_changed_word_vectors(train, options, tmp_path):
    vectors = tmp_path / "vectors.txt"
    words = sorted({word for pair in PAIRS for text in pair[:2] for word in text.split()})

    def write(*numbers):
        vectors.write_text("\n".join(f"{word} {numbers[i % 2]} {i}" for i, word in enumerate(words)))

    def stop(done, total, said):
        if done == 2:
            raise KeyboardInterrupt

    told = {"embeddings": str(vectors), "max_steps": 4, "save_steps": 1}
    write(1, 2)
    with pytest.raises(KeyboardInterrupt):
        train(HEX, on_step=stop, **told)
    write(3, 4)
    with pytest.raises(ValueError, match=r"checkpoint of another run: embeddings was 'sha256:\w+', is 'sha256:"):
        train(HEX, **told)
    write(1, 2)
    record, _ = train(HEX, **told)
    assert record["config"]["embeddings"] == "vectors.txt", "wherever it lies"
    assert record["embeddings"] == f"sha256:{sha256(vectors.read_bytes()).hexdigest()}"
    assert train(HEX, **told)[0] == record, "it is finished already"
    write(3, 4)
    with pytest.raises(ValueError, match=r"contains the output of another run: .*vectors\.txt has changed"):
        train(HEX, **told)


def test_max_entropy_model_is_uncertain_on_permuted_pairs(train, options):
    train(
        scripts.import_script_file("trainers", "finetune").RECIPE,
        max_steps=60,
        output_dir=options["output_dir"].with_name("plain"),
    )
    train(MAX_ENTROPY, max_steps=60)
    highest = {}
    for name in ("plain", "out"):
        predictor = TransformerPredictor.load(options["output_dir"].with_name(name))
        backwards = [[" ".join(reversed(text.split())) for text in side] for side in list(zip(*PAIRS, strict=True))[:2]]
        highest[name] = float(predictor.predict(*backwards).max(axis=1).mean())
    assert highest["plain"] > 0.8
    assert highest["out"] < 0.5
    assert accuracy(options["output_dir"]) > 0.9


def test_max_entropy_accumulation_equals_whole_batch(train, options):
    _, whole = train(MAX_ENTROPY, alpha=0.5, permutations=2)
    _, halves = train(
        MAX_ENTROPY,
        alpha=0.5,
        permutations=2,
        gradient_accumulation_steps=4,
        output_dir=options["output_dir"].with_name("halves"),
    )
    assert has_close_weights(whole, halves, atol=1e-4)


def test_max_entropy_depends_on_options_and_seed(train, options):
    outs = (options["output_dir"].with_name(str(number)) for number in range(9))
    weights = [
        train(MAX_ENTROPY, max_steps=2, output_dir=next(outs), **changed)[1]
        for changed in ({}, {}, {"alpha": 0.5}, {"permutations": 2})
    ]
    assert has_equal_weights(weights[0], weights[1])
    assert not any(has_equal_weights(weights[0], other) for other in weights[2:])


def test_recipe_config_invalid_values_are_all_reported(options):
    with pytest.raises(
        ValueError,
        match=r"num_train_epochs: .*got 0; width: expected at least 1, got 0.*warm_start: expected .*got -1",
    ):
        HEX.config(**{**options, "num_train_epochs": 0, "width": 0, "warm_start": -1})
    with pytest.raises(
        ValueError,
        match=r"num_train_epochs: .*; alpha: expected a number above 0, .*permutations: expected at least 1, got 0",
    ):
        MAX_ENTROPY.config(**{**options, "num_train_epochs": 0, "alpha": 0, "permutations": 0})
