"""Tests of weight averaging, and of the folders that `unbag models interpolate` writes."""

import json
import shutil
from fractions import Fraction

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from tests.factories import build_model_record, build_plain_result
from tests.models.conftest import tiny_model
from tests.models.conftest import tiny_tokenizer as words
from tests.training.conftest import copy_with_changes, has_equal_weights
from unbag.cli import app
from unbag.cli.app import run
from unbag.hub.cards import split_card
from unbag.hub.model import build_model_upload
from unbag.inference.hub_files import compute_folder_revision
from unbag.training import weight_averaging
from unbag.training.weight_averaging import average_models, average_tensors, average_weights, interpolate_weights


def sample_floats(seed, n=2_000):
    """Return float32 values of all magnitudes: random bits, excluding infinities and NaN."""
    bits = torch.randint(-(2**31), 2**31, (n,), generator=torch.Generator().manual_seed(seed), dtype=torch.int64)
    values = bits.to(torch.int32).view(torch.float32)
    special = torch.tensor([0.0, -0.0, 2.0**-149, -(2.0**-149), torch.finfo(torch.float32).max])
    return torch.cat([values[values.isfinite()], special])


def get_bits(tensor):
    return tensor.view(torch.int32)


@pytest.mark.parametrize("weights", [[1, 0], [0.7, 0.3], [1 / 3] * 3, [1 / 5] * 5])
def test_average_of_equal_tensors_is_same_tensor(weights):
    values = sample_floats(1)
    assert len(values) > 1_000
    assert torch.equal(get_bits(average_tensors([values] * len(weights), weights)), get_bits(values))


def test_interpolation_endpoints_are_exact():
    a, b = sample_floats(1)[:1_900], sample_floats(2)[:1_900]
    a[0], b[1] = float("-inf"), float("inf")  # zero times infinity would be NaN
    assert torch.equal(get_bits(interpolate_weights({"w": a}, {"w": b}, 0.0)["w"]), get_bits(a))
    assert torch.equal(get_bits(interpolate_weights({"w": a}, {"w": b}, 1.0)["w"]), get_bits(b))


def test_interpolation_is_exact_value_rounded_once():
    """Python's fractions are the independent implementation."""
    a, b = torch.randn(200, generator=torch.Generator().manual_seed(3)), torch.linspace(-1, 1, 200)
    mixed = interpolate_weights({"w": a}, {"w": b}, 0.3)["w"]
    ulp = torch.nextafter(mixed.abs(), torch.tensor(torch.inf)) - mixed.abs()
    assert 1 - 0.3 == 0.7
    for x, y, found, size in zip(*(each.tolist() for each in (a, b, mixed, ulp)), strict=True):
        exact = Fraction(0.7) * Fraction(x) + Fraction(0.3) * Fraction(y)
        assert abs(Fraction(found) - exact) <= Fraction(size) * Fraction(0.5000001)


def test_average_weights_rejects_different_integers():
    a = {"w": torch.ones(2), "table": torch.tensor([1, 2])}
    with pytest.raises(ValueError, match="table: expected equal integers in all models, got different values"):
        average_weights([a, {**a, "table": torch.tensor([1, 3])}], [0.5, 0.5])


@pytest.fixture(scope="module")
def model_pair(make_model):
    """Return the folders of two tiny classifiers that differ only in their weights."""
    return make_model(seed=1), make_model(seed=2)


def load_weights(folder):
    return load_file(folder / "model.safetensors")


def run_command(*arguments):
    return run(app, ["models", "interpolate", *map(str, arguments)])


def test_average_models_writes_loadable_folders_for_every_alpha(model_pair, tmp_path, capsys):
    out = tmp_path / "line"
    assert run_command(*model_pair, "--alpha", "0,.25", "--alpha", "1", "--output-dir", out, "--json") == 0
    record = json.loads(capsys.readouterr().out)
    folders = [out / f"alpha-{alpha}" for alpha in ("0", "0.25", "1")]
    assert [each["folder"] for each in record["models"]] == [str(folder) for folder in folders]
    assert [each["weights"] for each in record["models"]] == [[1, 0], [0.75, 0.25], [0, 1]]
    a, b = map(load_weights, model_pair)
    assert has_equal_weights(load_weights(folders[0]), a)
    assert has_equal_weights(load_weights(folders[2]), b)
    quarter = {name: (0.75 * a[name].double() + 0.25 * b[name].double()).float() for name in a}
    assert has_equal_weights(load_weights(folders[1]), quarter)
    loaded = AutoModelForSequenceClassification.from_pretrained(folders[1])
    assert loaded.config.id2label == AutoModelForSequenceClassification.from_pretrained(model_pair[0]).config.id2label
    pairs = ("a man runs", "a man is in")
    assert AutoTokenizer.from_pretrained(folders[1])(*pairs) == AutoTokenizer.from_pretrained(model_pair[0])(*pairs)


def test_averaged_model_is_recorded_without_paths_and_published_with_results(model_pair, tmp_path, capsys):
    folder = tmp_path / "half"
    assert run_command(*model_pair, "--output-dir", folder) == 0
    assert f"0.5 × {model_pair[0].name} + 0.5 × {model_pair[1].name}" in capsys.readouterr().out
    record = json.loads((folder / weight_averaging.FILE).read_text())
    card = (folder / "README.md").read_text()
    assert record["alpha"] == 0.5
    for source, model in zip(record["sources"], model_pair, strict=True):
        assert (source["name"], source["weight"]) == (model.name, 0.5)
        assert f"| `{model.name}` | `{source['revision']}` | 0.5 |" in card
    assert "https://arxiv.org/abs/2109.01903" in card
    assert str(model_pair[0].parent) not in card + json.dumps(record)
    own = build_plain_result(build_model_record(str(folder), compute_folder_revision(folder)))
    published = build_model_upload(folder, "org/soup", [own])
    files = {name for name in published.files if not name.startswith(".eval_results")}
    assert {"README.md", "config.json", "model.safetensors", weight_averaging.FILE} <= files
    metadata, text = split_card(published.files["README.md"])
    assert metadata["library_name"] == "transformers"
    assert text.startswith("\n# soup\n\nA standard transformers classifier")
    assert "(1 − α) θ_A + α θ_B with α = 0.5" in text
    assert "## Challenge sets" in text
    assert str(tmp_path) not in text
    unevaluated = build_model_upload(folder, "org/soup").files["README.md"].decode()
    assert "The model has not been evaluated yet." in unevaluated
    with pytest.raises(ValueError, match="--results: expected results of the model in"):
        build_model_upload(folder, "org/soup", [build_plain_result()])


def test_averaged_models_are_uniform_soup_in_any_order(make_model, model_pair, tmp_path):
    models = [*model_pair, make_model(seed=3)]
    record = average_models(models, tmp_path / "soup")
    average_models(models[::-1], tmp_path / "reversed")
    assert [each["weights"] for each in record["models"]] == [[1 / 3] * 3]
    assert has_equal_weights(load_weights(tmp_path / "soup"), load_weights(tmp_path / "reversed"))
    assert "model soup" in (tmp_path / "soup" / "README.md").read_text()


def test_average_models_of_unbag_architecture_keeps_integer_tables(tmp_path):
    folders = [tmp_path / each for each in "ab"]
    for seed, folder in enumerate(folders):
        tiny_model("kim", seed=seed).save_pretrained(folder)
        words().save_pretrained(folder)
    average_models(folders, tmp_path / "half")
    a, b, mean = map(load_weights, (*folders, tmp_path / "half"))
    assert mean.keys() == a.keys()
    assert any(not tensor.is_floating_point() for tensor in mean.values())
    for key, tensor in mean.items():
        kept = not tensor.is_floating_point()
        assert torch.equal(tensor, a[key] if kept else ((a[key].double() + b[key].double()) / 2).float()), key


def test_average_models_rejects_incompatible_models(make_model, model_pair, tmp_path):
    deeper = copy_with_changes(model_pair[1], tmp_path / "deeper", "config.json", layer_norm_eps=1e-6)
    reordered = make_model(order=("entailment", "neutral", "contradiction"), seed=2)
    vocabulary = json.loads((model_pair[1] / "tokenizer.json").read_text())["model"]
    vocabulary["vocab"]["man"], vocabulary["vocab"]["woman"] = vocabulary["vocab"]["woman"], vocabulary["vocab"]["man"]
    other_words = copy_with_changes(model_pair[1], tmp_path / "words", "tokenizer.json", model=vocabulary)
    for other, where in (
        (deeper, r"config\.layer_norm_eps = 1e-12 as in .*, got 1e-06"),
        (make_model("distilbert"), "architecture = "),
        (reordered, r"labels\.0 = "),
        (other_words, r"tokenizer\.model\.vocab\.man = "),
    ):
        with pytest.raises(
            ValueError, match=f"expected {where}.*; average models that were fine-tuned from one checkpoint"
        ):
            average_models([model_pair[0], other], tmp_path / "out")
        assert not (tmp_path / "out").exists()


def test_average_models_rejects_invalid_requests(model_pair, tmp_path, capsys):
    headless = tmp_path / "headless"
    shutil.copytree(model_pair[1], headless)
    kept = {name: each for name, each in load_weights(headless).items() if "classifier" not in name}
    save_file(kept, headless / "model.safetensors", {"format": "pt"})
    for models, options, message in (
        (model_pair[:1], {}, "expected at least two models, got 1"),
        ((*model_pair, model_pair[0]), {"alphas": [0.5]}, "--alpha: not supported for 3 models, got 0.5"),
        (model_pair, {"alphas": [1.5]}, "--alpha: expected a number from 0 to 1, got 1.5"),
        (model_pair, {"alphas": [float("nan")]}, "--alpha: expected a number from 0 to 1, got nan"),
        (model_pair, {"alphas": [0.5, 0.5]}, "--alpha: expected different numbers, got 0.5, 0.5"),
        ((model_pair[0], headless), {}, "contain no weights for .*classifier.*; expected a fine-tuned classifier"),
        ((model_pair[0], tmp_path / "nowhere"), {}, "which does not exist"),
    ):
        with pytest.raises(ValueError, match=message):
            average_models(models, tmp_path / "out", **options)
    with pytest.raises(ValueError, match="--output-dir: expected a new folder"):
        average_models(model_pair, headless)
    assert run_command(*model_pair, "--alpha", "x", "--output-dir", tmp_path / "out") == 2
    assert "--alpha: expected numbers from 0 to 1" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
