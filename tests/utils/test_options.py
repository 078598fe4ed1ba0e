"""Tests of set options in text form."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import pytest

from unbag import challenge_sets
from unbag.challenge_sets import loading
from unbag.challenge_sets.pairs import list_own_options
from unbag.evaluation import model_loading
from unbag.utils.options import OptionDescription, describe_options, parse_option


@dataclass
class Config:
    """What it is.

    Attributes:
        size: how many, which may take
            two lines.
        names: whose.
        sure: whether.
        least: from where.
    """

    size: int | None = None
    names: Sequence[str] | None = None
    sure: bool = False
    least: float = 0.5


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("size", "1000", 1000),
        ("names", "snli, mnli", ("snli", "mnli")),
        ("sure", "yes", True),
        ("sure", "False", False),
        ("least", "0.7", 0.7),
    ],
)
def test_text_is_parsed_by_field_type(name, text, value):
    assert parse_option(Config, name, text) == value


@pytest.mark.parametrize(("name", "said"), [("size", "a whole number"), ("sure", "true or false"), ("least", "number")])
def test_invalid_value_is_rejected(name, said):
    with pytest.raises(ValueError, match=f"expected {name} to be .*{said}.*, got 'x'"):
        parse_option(Config, name, "x")


def test_options_have_descriptions():
    size, *_, least = describe_options(Config)
    assert size == OptionDescription("size", None, "how many, which may take two lines.", "a whole number", "1000")
    assert least == OptionDescription("least", 0.5, "from where.", "a number", "0.5")


@pytest.mark.parametrize("name", challenge_sets.list_set_names())
def test_every_option_of_every_set_is_parsed_and_described(name):
    config = challenge_sets.get_challenge_set(name).get_builder_class().BUILDER_CONFIG_CLASS
    known = [option for option in loading.describe_set_options(name) if option.name in {f.name for f in fields(config)}]
    assert len(known) == len(list_own_options(challenge_sets.get_challenge_set(name).Options))
    for option in known:
        assert option.meaning, f"{config.__name__}.{option.name} is not in the docstring"
        if option.default is not None and not isinstance(option.default, tuple):
            assert parse_option(config, option.name, str(option.default)) == option.default
        if option.example is not None:
            assert parse_option(config, option.name, option.example) not in (None, "", ())


def test_windows_path_is_no_function():
    assert model_loading.find_model_type(r"C:\models\nli") is model_loading.CLASSIFIER
    assert model_loading.find_model_type("C:/models/nli") is model_loading.CLASSIFIER
    assert model_loading.find_model_type("my.module:predict") is model_loading.FUNCTION


def test_name_of_built_in_model_precedes_folder(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "majority").mkdir()
    assert model_loading.find_model_type("./majority") is model_loading.CLASSIFIER
    (tmp_path / "pairs.csv").write_text("premise,hypothesis,label\nA dog.,A cat.,neutral\nA cat.,A dog.,entailment\n")
    predictor, _ = model_loading.load_predictor("majority", train_data=("pairs.csv",))
    assert predictor.predict(["A dog."], ["A cat."]).tolist() == [[0.5, 0.5, 0]]
    assert "majority: the built-in model; pass ./majority for the model in the folder of this name" in caplog.text
