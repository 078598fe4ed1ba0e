"""Tests of the recipes of `trainers/debias.py` in the training loop: outputs, resumed runs and combinations."""

import os
from pathlib import Path

import pytest
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification

from tests.fork_server import PYTHON
from tests.training.test_finetune import has_close_weights, has_equal_weights
from unbag.training.recipes import find_recipe
from unbag.training.run import run

TRAINER = Path(__file__).parents[2] / "trainers/debias.py"
NAMES = (
    *("product_of_experts", "learned_mixin", "reweighting", "focal", "confidence_regularization", "self_debiasing"),
    "group_balanced",
)
DAILY = ("product_of_experts", "self_debiasing")  # with a bag of words, and with a second network
SHORT = {"weak_examples": 12, "weak_epochs": 1}


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory):
    """Return a cache that all tests share, so that the bags of words are fitted once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def train(options, monkeypatch, shared_cache):
    """Return a function that runs a recipe with given options and returns the record and the weights."""
    monkeypatch.setenv("UNBAG_CACHE", str(shared_cache))

    def train(name, on_step=None, **changed):
        recipe = find_recipe(name)
        own = {key: value for key, value in SHORT.items() if key in recipe.config.__dataclass_fields__}
        config = recipe.config(**{**options, **own, **changed})
        return run(recipe, config, on_step=on_step), load_file(config.output_dir / "model.safetensors")

    return train


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [name if name in DAILY else pytest.param(name, marks=pytest.mark.nightly) for name in NAMES],
)
def test_interrupted_run_resumes_to_same_weights(train, options, dropout_model, name):
    told = {"model": str(dropout_model), "save_steps": 4, "alpha": 0.5}
    told |= {} if name == "group_balanced" else {"anneal": 0.2}
    unbroken = options["output_dir"].with_name("unbroken")
    _, whole = train(name, output_dir=unbroken, **told)
    assert not unbroken.with_name("unbroken.unfinished").exists()

    def on_step(done, total, said):
        if done == 6 and total == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(name, on_step=on_step, **told)
    record, _ = train(name, **told)
    assert (options["output_dir"] / "model.safetensors").read_bytes() == (unbroken / "model.safetensors").read_bytes()
    network, info = AutoModelForSequenceClassification.from_pretrained(options["output_dir"], output_loading_info=True)
    assert not any(info.values()), info
    assert has_equal_weights(network.state_dict(), whole)
    assert record["recipe"] == name


def test_product_of_experts_with_zero_strength_equals_fine_tuning(train, options):
    _, product = train("product_of_experts", bias_strength=0.0, max_steps=3)
    _, plain = train("finetune", output_dir=options["output_dir"].with_name("plain"), max_steps=3)
    assert has_equal_weights(product, plain)
    _, at_strength = train("product_of_experts", output_dir=options["output_dir"].with_name("full"), max_steps=3)
    assert not has_equal_weights(at_strength, plain)


def test_bag_of_words_is_same_for_permuted_pairs(train, options):
    record, _ = train("product_of_experts", max_steps=1)
    for order in ("permuted", "shuffled"):
        other, _ = train(
            "product_of_experts", max_steps=1, word_order=order, output_dir=options["output_dir"].with_name(order)
        )
        assert other["known"] == record["known"]


def test_weak_learner_has_separate_steps(options):
    weak = (
        find_recipe("self_debiasing")
        .config(**options, **SHORT)
        .build_prerequisite_configs(options["output_dir"])["weak"]
    )
    assert (weak.max_examples, weak.num_train_epochs, weak.max_steps, weak.seed) == (12, 1, None, 13)


def test_gradient_accumulation_equals_whole_batch(train, options):
    told = {"alpha": 0.5, "balance": 0.5, "anneal": 0.0}
    _, whole = train("product_of_experts", **told)
    _, halves = train(
        "product_of_experts",
        gradient_accumulation_steps=4,
        output_dir=options["output_dir"].with_name("halves"),
        **told,
    )
    assert has_close_weights(whole, halves, atol=1e-4)


def test_user_model_can_be_bias(train, options, tiny_bert):
    record, _ = train("reweighting", bias=str(tiny_bert), max_steps=2)
    assert record["known"].startswith("network ")
    assert record["config"]["bias"] == tiny_bert.name
    assert not options["output_dir"].with_name("out.unfinished").exists()


def test_record_contains_accuracy_of_bias(train, options, tmp_path):
    """Of 72 pairs, 18 predictions are correct, 36 wrong and 18 missing: an accuracy of one third."""
    [file] = options["corpus"]
    labels = [line.rsplit(",", 1)[1] for line in Path(file).read_text().splitlines()[1:]]
    names, wrong = ("entailment", "neutral", "contradiction"), {"entailment": "neutral"}
    said = [label if row < 18 else wrong.get(label, "entailment") for row, label in enumerate(labels[:54])]
    rows = [[0.6 if name == each else 0.2 for name in names] for each in said] + [[1 / 3] * 3] * 18
    (tmp_path / "pairs.csv").write_text(
        "id,premise,hypothesis,label\n"
        + "".join(f"p{row},{line}\n" for row, line in enumerate(Path(file).read_text().splitlines()[1:]))
    )
    (tmp_path / "said.csv").write_text(
        "id,entailment,neutral,contradiction\n"
        + "".join(f"p{row},{','.join(map(str, each))}\n" for row, each in enumerate(rows))
    )
    told = {"corpus": (str(tmp_path / "pairs.csv"),), "bias": str(tmp_path / "said.csv"), "max_steps": 1}
    record, _ = train("reweighting", **told)
    assert record["bias_accuracy"] == pytest.approx(18 / 54)


@pytest.mark.nightly
@pytest.mark.slow
def test_two_processes_equal_one_with_joint_batch(train, options, shared_cache, tmp_path):
    """Both processes train and run the weak learner first."""
    told = {**SHORT, "alpha": 0.5, "balance": 0.5, "max_steps": 6}
    _, alone = train("self_debiasing", **told)
    words = {
        name: value for name, value in options.items() if name not in ("output_dir", "corpus", "validation")
    } | told
    words |= {"output_dir": tmp_path / "two", "corpus": options["corpus"][0], "validation": options["validation"][0]}
    given = [str(part) for name, value in words.items() for part in (f"--{name.replace('_', '-')}", value)]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "UNBAG_CACHE": str(shared_cache)}
    processes = PYTHON.start_group(2, TRAINER, "self-debiasing", *given, "--json", env=environment)
    for process in processes:
        assert process.wait() == 0, process.communicate()
    assert has_close_weights(alone, load_file(tmp_path / "two/model.safetensors"), 1e-4)
