"""Tests of the command line in the record of a run."""

import shlex

import pytest

from unbag import scripts
from unbag.cli import train
from unbag.training.reproduce import build_train_command

COMMIT = "f" * 40
COMMANDS = [
    "unbag train finetune --model org/base --output-dir runs/a",
    "unbag train finetune --model org/base --corpus snli=2 mnli --validation sick --word-order shuffled --output-dir a",
    "unbag train finetune --model org/base --hypothesis-only --max-steps 4 "
    "--gradient-accumulation-steps 2 --output-dir a",
    "unbag train hex --model org/base --corpus mnli --warm-start 0.0 --unscaled --width 12 --output-dir a",
    "unbag train hex --model org/base --superficial-weight 0.5 --embeddings org/words --output-dir a",
    "unbag train max-entropy --model org/base --alpha 0.5 --learning-rate 2e-05 --precision bf16 --seed 5 "
    "--output-dir a",
    "unbag train finetune --model org/base --augment soswap addamod --label-map neutral,entailment,contradiction "
    "--output-dir a",
    "unbag train finetune --model org/base --augment soswap=1500 negated=0.1 --augment-words all --output-dir a",
]


def read_config(words, monkeypatch):
    """Return the config that a command builds, without running it."""
    seen = []
    monkeypatch.setattr(train, "_run", lambda recipe, config, seeds, sets, as_json: seen.append((recipe, config)))
    assert words[:2] == ["unbag", "train"]
    train.app(words[2:], standalone_mode=False)
    [found] = seen
    return found


@pytest.mark.parametrize("text", COMMANDS)
def test_recorded_command_gives_same_config(text, monkeypatch):
    recipe, config = read_config(shlex.split(text), monkeypatch)
    record = {
        "recipe": recipe.name,
        "config": config.to_json(),
        "precision": config.precision or "no",
        "model": {"name": "org/base", "revision": COMMIT},
        "processes": 1,
    }
    told = build_train_command(record)
    again, config_again = read_config(shlex.split(told), monkeypatch)
    assert again is recipe
    assert config_again.to_json() == config.to_json() | {"revision": COMMIT}
    assert build_train_command(record | {"processes": 2}) == f"torchrun --nproc_per_node 2 -m {told}"


def test_recorded_command_includes_accelerate_config():
    recipe = scripts.import_script_file("trainers", "finetune").RECIPE
    config = recipe.config(model="org/base", output_dir="a").to_json()
    record = {
        "recipe": "finetune",
        "config": config,
        "model": {"name": "folder", "revision": "sha256:0"},
        "processes": 1,
    }
    assert (
        build_train_command(record | {"precision": "bf16"})
        == "unbag train finetune --model org/base --precision bf16 --output-dir a"
    )


def test_each_recipe_lists_required_files():
    def read(recipe, **options):
        config = scripts.import_script_file("trainers", recipe).RECIPE.config(
            model="org/base", output_dir="a", **options
        )
        return [each.name for each in config.list_requirements()]

    corpus = [f"the corpus snli, split {split} (stanfordnlp/snli)" for split in ("train", "validation", "test")]
    plain = ["the model org/base", *corpus[:2]]
    assert read("finetune") == read("hex") == plain
    assert read("finetune", augment=("soswap",)) == [*plain, "the spaCy pipeline spacy/en_core_web_sm"]
    proved = read("finetune", augment=("swapped", "negated=20"))
    assert proved[-2:] == ["the spaCy pipeline spacy/en_core_web_sm", "WordNet 3.0"]
    words = f"org/words@{'0' * 40}"
    assert read("hex", embeddings=words) == [*plain, f"the embeddings {words}"]
    assert read("rearranged", rearranged_by=words) == [*plain, *corpus, f"the embeddings {words}"]
    assert read("rearranged")[:-1] == [*plain, *corpus]
    assert read("kfold") == ["the model org/base"]
