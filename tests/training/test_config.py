import re
from dataclasses import fields

import pytest

from unbag.training.config import TrainConfig, parse_weighted_corpus, validate_english


def build_config(**options):
    return TrainConfig(**{"model": "org/model", "output_dir": "runs/a", **options})


def test_train_config_invalid_values_are_all_reported():
    with pytest.raises(ValueError, match="expected") as refused:
        build_config(
            num_train_epochs=0,
            batch_size=0,
            learning_rate=float("nan"),
            warmup_ratio=1.5,
            max_grad_norm=-1.0,
            word_order="backwards",
            precision="int8",
            corpus=("snli=0",),
            augment=("rhymes", "soswap=0", "negated=1.5", "swapped=5", "swapped"),
            report_to=("paper",),
        )
    for said in (
        "num_train_epochs: expected at least 1, got 0; batch_size: expected at least 1, got 0",
        "learning_rate: expected a number above 0, got nan",
        "warmup_ratio: expected a number from 0 to 1, got 1.5",
        "max_grad_norm: expected a number of at least 0, got -1.0",
        "word_order: expected one of natural, shuffled, permuted, got 'backwards'",
        "precision: expected one of no, bf16, fp16, got 'int8'",
        "expected a weight above 0 after snli=, got '0'",
        "augment: expected one of soswap, addamod, reversed, swapped, negated, "
        "substituted, negation, recombined, contrast, "
        "got rhymes",
        "augment: expected a number of pairs or a fraction between 0 and 1 after soswap=, got '0'",
        "augment: expected a number of pairs or a fraction between 0 and 1 after negated=, got '1.5'",
        "augment: expected each kind once, got swapped several times",
        "report_to: expected trackers from mlflow, tensorboard, trackio, wandb, got paper",
    ):
        assert said in str(refused.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"gradient_accumulation_steps": 33},
            "gradient_accumulation_steps: expected at most batch_size = 32, got 33",
        ),
        ({"corpus": ()}, "corpus: expected at least one corpus or file, got none"),
        ({"augment": ("soswap",), "word_order": "shuffled"}, "augment: expected word_order = natural"),
        ({"language": "xx"}, "--language: expected a language code such as ar, bg, de,"),
        ({"columns": ("premise",)}, "expected --columns premise=…,hypothesis=…,label=…, got 'premise'"),
        ({"labels": ("neutral",)}, "labels: expected a file in corpus or validation, got only named corpora"),
        ({"corpus": ("snli=many",)}, "expected a weight above 0 after snli=, got 'many'"),
    ],
)
def test_train_config_contradictory_options_are_rejected(options, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        build_config(**options)


def test_file_name_with_equals_sign_accepts_labels(tmp_path):
    path = tmp_path / "snli=mine.csv"
    path.write_text("premise,hypothesis,label\n")
    assert build_config(corpus=(str(path),), labels=("neutral",)).labels == ("neutral",)


def test_augmentation_requires_english_pairs():
    assert build_config(language="fr").language == "fr"
    validate_english(["en"])
    with pytest.raises(ValueError, match="augment: expected only English pairs, got en, fr"):
        validate_english({"fr", "en"})


def test_every_field_has_help():
    assert len(fields(TrainConfig)) > 20
    for declared in fields(TrainConfig):
        assert declared.metadata["help"].endswith((".", ")."))
        assert declared.metadata["panel"]


def test_logging_options_do_not_change_cache_key():
    assert (
        build_config().select_cache_key_fields()
        == build_config(
            output_dir="runs/b", logging_steps=1, dataloader_num_workers=2, report_to=("trackio",)
        ).select_cache_key_fields()
    )
    assert build_config().select_cache_key_fields() != build_config(seed=14).select_cache_key_fields()


def test_file_locations_do_not_change_cache_key(tmp_path):
    (tmp_path / "pairs.csv").touch()
    here = build_config(model=str(tmp_path), corpus=(f"{tmp_path}/pairs.csv=2", "mnli"))
    assert here.to_json()["corpus"] == ["pairs.csv=2", "mnli"]
    assert here.to_json()["model"] == tmp_path.name
    assert here.list_files() == [tmp_path / "pairs.csv"]
    assert build_config().to_json()["model"] == "org/model"


def test_weight_is_separated_from_file_name():
    assert parse_weighted_corpus("my=pairs.csv") == ("my=pairs.csv", 1.0)
    assert parse_weighted_corpus("my=pairs.csv=0.5") == ("my=pairs.csv", 0.5)
