"""Tests of the options of all recipes: invalid values, records, and the command that reproduces a run."""

import re
import shlex
from inspect import signature

import pytest

from unbag.cli import train
from unbag.training.config import TrainConfig, parse_weighted_corpus
from unbag.training.recipes import DebiasConfig, HexConfig, find_recipe
from unbag.training.record import build_train_command
from unbag.training.seeds import _check_pairs


def build_config(config=TrainConfig, **options):
    return config(**{"model": "org/model", "output_dir": "runs/a", **options})


def test_invalid_combinations_are_all_reported():
    with pytest.raises(ValueError, match="expected") as refused:
        build_config(
            batch_size=4,
            gradient_accumulation_steps=8,
            corpus=("snli=0",),
            augment=("rhymes", "soswap=0", "negated=1.5", "swapped=5", "swapped"),
        )
    for said in (
        "--gradient-accumulation-steps: expected at most --batch-size 4, got 8",
        "expected a weight above 0 after snli=, got '0'",
        "--augment: expected one of soswap, addamod, reversed, swapped, negated, substituted, negation, recombined, "
        "contrast, got rhymes",
        "--augment: expected a number of pairs or a fraction between 0 and 1 after soswap=, got '0'",
        "--augment: expected a number of pairs or a fraction between 0 and 1 after negated=, got '1.5'",
        "--augment: expected each kind once, got swapped several times",
    ):
        assert said in str(refused.value)


@pytest.mark.parametrize(
    ("config", "options", "said"),
    [
        (TrainConfig, {"corpus": ()}, "--corpus: expected at least one corpus or file, got none"),
        (TrainConfig, {"augment": ("soswap",), "word_order": "shuffled"}, "--augment: expected --word-order natural"),
        (TrainConfig, {"language": "xx"}, "expected a language code such as ar, bg, de,"),
        (TrainConfig, {"columns": ("premise",)}, "expected --columns premise=…,hypothesis=…,label=…, got 'premise'"),
        (TrainConfig, {"labels": ("neutral",)}, "--labels: expected a file in --corpus or --validation, got only"),
        (HexConfig, {"warm_start": 500}, "--warm-start: expected a number from 0 to less than 1, got 500"),
        (find_recipe("max_entropy"), {"word_order": "permuted"}, "--word-order: expected natural with --alpha, got"),
        (DebiasConfig, {"bias": "magic"}, "--bias: expected lexical, hypothesis, both, self or a folder, got '"),
        (DebiasConfig, {"hypothesis_only": True}, "--hypothesis-only: not supported by debiasing, because a"),
        (DebiasConfig, {"alpha": 1.0, "word_order": "shuffled"}, "got shuffled, because --alpha"),
        (DebiasConfig, {"bias": "self", "max_examples": 100}, "expected fewer than --max-examples 100"),
        (DebiasConfig, {"bias": "/", "augment": ("soswap",)}, "not supported with stored predictions"),
        (find_recipe("reweighting"), {"balance": 0.5}, "already weights pairs by the bias"),
        (find_recipe("confidence_regularization"), {"teacher": "nowhere"}, "--teacher: expected a model folder"),
        (find_recipe("mend"), {"distill": 0.5, "alpha": 0.0, "word_order": "shuffled"}, "natural with --distill"),
        (find_recipe("mend"), {"bias": "both"}, "expected a number above 0 for --bias both, got 0"),
        (find_recipe("mend"), {"sets": ("swapped",), "no_evaluate": True}, "cannot be combined with --sets swapped"),
        (find_recipe("mend"), {"official_file": "f", "no_evaluate": True}, "cannot be combined with --official-file f"),
        (find_recipe("kfold"), {"folds": 1}, "--folds: expected a whole number of at least 2, got 1"),
        *(
            (find_recipe("rearranged"), {"corpus": corpus}, "--corpus: expected exactly one of snli, mnli, anli, sick")
            for corpus in (("ocnli",), ("snli", "mnli"))
        ),
    ],
)
def test_config_invalid_options_are_rejected(config, options, said):
    with pytest.raises(ValueError, match=re.escape(said)) as error:
        build_config(config, **options)
    assert "\n" not in str(error.value)


def test_file_name_with_equals_sign_accepts_labels(tmp_path):
    path = tmp_path / "snli=mine.csv"
    path.write_text("premise,hypothesis,label\n")
    assert build_config(corpus=(str(path),), labels=("neutral",)).labels == ("neutral",)
    assert parse_weighted_corpus("my=pairs.csv=0.5") == ("my=pairs.csv", 0.5)


def test_augmentation_requires_english_pairs():
    config = build_config(corpus=("snli", "pairs.csv"), language="fr", augment=("soswap",))
    with pytest.raises(ValueError, match="augment: expected only English pairs, got en, fr"):
        _check_pairs(config)


def test_cache_key_excludes_logging_and_file_locations(tmp_path):
    key = build_config().select_cache_key_fields()
    other = {"output_dir": "runs/b", "logging_steps": 1, "dataloader_num_workers": 2, "report_to": ("trackio",)}
    assert build_config(**other).select_cache_key_fields() == key
    assert build_config(seed=14).select_cache_key_fields() != key
    mended = build_config(find_recipe("mend"))
    assert build_config(find_recipe("mend"), official_file="f").select_cache_key_fields() == (
        mended.select_cache_key_fields()
    )
    (tmp_path / "pairs.csv").touch()
    here = build_config(model=str(tmp_path), corpus=(f"{tmp_path}/pairs.csv=2", "mnli"))
    assert here.to_json()["corpus"] == ["pairs.csv=2", "mnli"]
    assert here.to_json()["model"] == tmp_path.name
    assert here.list_files() == [tmp_path / "pairs.csv"]
    assert build_config().to_json()["model"] == "org/model"


def test_weak_learner_has_separate_steps(tmp_path):
    config = build_config(
        find_recipe("self_debiasing"), weak_examples=12, weak_epochs=1, max_steps=9, push_checkpoints="org/a"
    )
    weak = config.build_prerequisite_configs(tmp_path)["weak"]
    assert (weak.max_examples, weak.num_train_epochs, weak.max_steps, weak.seed) == (12, 1, None, 13)
    assert weak.push_checkpoints is None
    assert not build_config(find_recipe("mend"), bias_strength=1.0).build_prerequisite_configs(tmp_path)
    assert build_config(find_recipe("mend"), bias="self", bias_strength=1.0).build_prerequisite_configs(tmp_path)


@pytest.mark.parametrize("config", [find_recipe("kfold"), find_recipe("rearranged")])
def test_fixed_protocol_options_are_no_options(config):
    assert config.FIXED >= {"validation", "augment", "word_order", "hypothesis_only"}
    options = signature(train._command(config)).parameters
    assert {"model", "seeds"} <= options.keys()
    assert {*config.FIXED, *config.excluded_options}.isdisjoint(options)
    for name, value in (("validation", ("snli",)), ("word_order", "shuffled"), ("augment_pairs", 3)):
        with pytest.raises(ValueError, match=f"{name}: expected the default of this recipe, got"):
            build_config(config, **{name: value})


def test_config_of_other_recipe_has_shared_options():
    config = build_config(find_recipe("rearranged"), warm_start=0.5)
    assert config.build_recipe_config(TrainConfig, seed=5).seed == 5
    assert config.build_recipe_config(HexConfig).warm_start == 0.5


COMMANDS = [
    "unbag train finetune --model org/base --hypothesis-only --corpus snli=2 mnli --validation sick --output-dir a",
    "unbag train hex --model org/base --warm-start 0.0 --unscaled --width 12 --embeddings org/words --output-dir a",
    "unbag train max-entropy --model org/base --alpha 0.5 --learning-rate 2e-05 --precision bf16 --seed 5 "
    "--output-dir a",
    "unbag train finetune --model org/base --augment soswap=1500 negated=0.1 --augment-words all "
    "--label-map neutral,entailment,contradiction --output-dir a",
]


def read_config(words, monkeypatch):
    """Return the config that a command builds, without running it."""
    seen = []
    monkeypatch.setattr(train, "_run", lambda config, seeds, sets, as_json: seen.append(config))
    assert words[:2] == ["unbag", "train"]
    train.app(words[2:], standalone_mode=False)
    [found] = seen
    return found


@pytest.mark.parametrize("text", COMMANDS)
def test_recorded_command_gives_same_config(text, monkeypatch):
    config = read_config(shlex.split(text), monkeypatch)
    record = {
        "recipe": config.recipe,
        "config": config.to_json(),
        "precision": config.precision or "no",
        "model": {"name": "org/base", "revision": "f" * 40},
        "processes": 1,
    }
    told = build_train_command(record)
    again = read_config(shlex.split(told), monkeypatch)
    assert type(again) is type(config)
    assert again.to_json() == config.to_json() | {"revision": "f" * 40}
    assert build_train_command(record | {"processes": 2}) == f"torchrun --nproc_per_node 2 -m {told}"
    # The precision of an accelerate config is an option of the command.
    by_accelerate = {"config": record["config"] | {"precision": None}, "precision": "bf16"}
    assert "--precision bf16" in build_train_command(record | by_accelerate)
    local = record | {"config": record["config"] | {"revision": None}, "model": {"name": "folder", "revision": "sha"}}
    assert "--revision" not in build_train_command(local)


def test_each_recipe_lists_required_files():
    def read(recipe, **options):
        return [each.name for each in build_config(find_recipe(recipe), **options).list_requirements()]

    corpus = [f"the corpus snli, split {split} (stanfordnlp/snli)" for split in ("train", "validation", "test")]
    plain = ["the model org/model", *corpus[:2]]
    assert read("finetune") == read("hex") == plain
    proved = ["the spaCy pipeline spacy/en_core_web_sm", "WordNet 3.0"]
    assert read("finetune", augment=("soswap",)) == [*plain, proved[0]]
    assert read("finetune", augment=("swapped", "negated=20")) == [*plain, *proved]
    words = f"org/words@{'0' * 40}"
    assert read("hex", embeddings=words) == [*plain, f"the embeddings {words}"]
    assert read("rearranged", rearranged_by=words) == [*plain, *corpus, f"the embeddings {words}"]
    assert read("rearranged")[:-1] == [*plain, *corpus]
    assert read("kfold") == ["the model org/model"]
