import re
from dataclasses import fields

import pytest

from unbag.training.config import TrainConfig, parse_weighted, validate_english


def config(**options):
    return TrainConfig(**{"model": "org/model", "output_dir": "runs/a", **options})


def test_train_config_invalid_values_are_all_reported():
    with pytest.raises(ValueError, match="expected") as refused:
        config(
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
        "expected at least 1, got num_train_epochs = 0, batch_size = 0",
        "expected learning_rate above 0, got nan",
        "expected warmup_ratio from 0 to 1, got 1.5",
        "expected at least 0, got max_grad_norm = -1.0",
        "expected word_order of natural, shuffled, permuted, got 'backwards'",
        "expected precision of no, bf16, fp16, got 'int8'",
        "expected a weight above 0 after snli=, got '0'",
        "expected augment to be one of soswap, addamod, reversed, swapped, negated, "
        "substituted, negation, recombined, contrast, "
        "got rhymes",
        "expected a number of pairs after soswap=, or a fraction between 0 and 1, got '0'",
        "expected a number of pairs after negated=, or a fraction between 0 and 1, got '1.5'",
        "expected each kind of augment once, got swapped several times",
        "expected report_to from mlflow, tensorboard, trackio, wandb, got paper",
    ):
        assert said in str(refused.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"gradient_accumulation_steps": 33},
            "expected gradient_accumulation_steps of at most batch_size = 32, got 33",
        ),
        ({"corpus": ()}, "expected at least one corpus or file in corpus, got none"),
        ({"augment": ("soswap",), "word_order": "shuffled"}, "augment: expected word_order = natural"),
        ({"language": "xx"}, "expected language to be one of en, zh, ar, bg, de,"),
        ({"columns": ("premise",)}, "expected --columns premise=…,hypothesis=…,label=…, got 'premise'"),
        ({"labels": ("neutral",)}, "expected a file in corpus or validation for labels, got corpora only"),
        ({"corpus": ("snli=many",)}, "expected a weight above 0 after snli=, got 'many'"),
    ],
)
def test_train_config_contradictory_options_are_rejected(options, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        config(**options)


def test_train_config_file_with_equals_sign_in_its_name_takes_labels(tmp_path):
    path = tmp_path / "snli=mine.csv"
    path.write_text("premise,hypothesis,label\n")
    assert config(corpus=(str(path),), labels=("neutral",)).labels == ("neutral",)


def test_files_may_be_in_any_language_that_is_read_and_augmented_in_english():
    assert config(language="fr").language == "fr"
    validate_english(["en"])
    with pytest.raises(ValueError, match="augment: expected English pairs only, got en, fr"):
        validate_english({"fr", "en"})


def test_every_field_has_its_help():
    assert len(fields(TrainConfig)) > 20
    for declared in fields(TrainConfig):
        assert declared.metadata["help"].endswith((".", ")."))
        assert declared.metadata["panel"]


def test_bookkeeping_does_not_decide():
    assert (
        config().cache_key_config()
        == config(
            output_dir="runs/b", logging_steps=1, dataloader_num_workers=2, report_to=("trackio",)
        ).cache_key_config()
    )
    assert config().cache_key_config() != config(seed=14).cache_key_config()


def test_where_files_lie_does_not_matter(tmp_path):
    (tmp_path / "pairs.csv").touch()
    here = config(model=str(tmp_path), corpus=(f"{tmp_path}/pairs.csv=2", "mnli"))
    assert here.to_json()["corpus"] == ["pairs.csv=2", "mnli"]
    assert here.to_json()["model"] == tmp_path.name
    assert here.files() == [tmp_path / "pairs.csv"]
    assert config().to_json()["model"] == "org/model"


def test_a_weight_is_told_from_a_files_name():
    assert parse_weighted("my=pairs.csv") == ("my=pairs.csv", 1.0)
    assert parse_weighted("my=pairs.csv=0.5") == ("my=pairs.csv", 0.5)
