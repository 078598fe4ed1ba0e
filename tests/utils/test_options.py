"""Tests of set options in text form."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Literal, get_type_hints

import pytest
from annotated_types import Ge

from unbag import challenge_sets
from unbag.challenge_sets import loading
from unbag.challenge_sets.pairs import list_own_options
from unbag.evaluation import model_loading
from unbag.utils.options import (
    Fraction,
    OptionError,
    PositiveInt,
    ProperFraction,
    format_flag,
    parse_text,
    validate,
    validate_options,
)


@dataclass
class Config:
    size: PositiveInt | None = None
    names: Sequence[str] | None = None
    sure: bool = False
    least: Fraction = 0.5
    dtype: Literal["bf16", "fp16"] = "bf16"


HINTS = get_type_hints(Config, include_extras=True)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("size", "1000", 1000),
        ("names", "snli, mnli", ("snli", "mnli")),
        ("sure", "yes", True),
        ("sure", "False", False),
        ("least", "0.7", 0.7),
        ("dtype", "fp16", "fp16"),
    ],
)
def test_text_is_parsed_by_field_type(name, text, value):
    assert parse_text(name, HINTS[name], text) == value


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("size", "x", "a whole number of at least 1, got 'x'"),
        ("size", "0", "a whole number of at least 1, got 0"),
        ("size", "1.0", "a whole number of at least 1, got '1.0'"),
        ("names", " , ", "comma-separated names, got ' , '"),
        ("sure", "x", "true or false, got 'x'"),
        ("least", "1.5", "a number from 0 to 1, got 1.5"),
        ("least", "nan", "a number from 0 to 1, got nan"),
        ("dtype", "size", "one of bf16, fp16, got 'size'"),
    ],
)
def test_invalid_text_is_rejected(name, text, expected):
    with pytest.raises(OptionError) as error:
        parse_text(name, HINTS[name], text)
    assert str(error.value) == f"{name}: expected {expected}"


def test_invalid_values_are_all_reported_by_flag():
    with pytest.raises(OptionError) as error:
        validate_options(Config, {"size": True, "least": 2, "names": "snli", "sure": None, "dtype": None}, format_flag)
    assert str(error.value) == (
        "--size: expected a whole number of at least 1, got True; --names: expected comma-separated names, got 'snli'; "
        "--sure: expected true or false, got None; --least: expected a number from 0 to 1, got 2; "
        "--dtype: expected one of bf16, fp16, got None"
    )


def test_upper_limit_may_be_excluded():
    assert parse_text("dropout", ProperFraction, "0") == 0
    with pytest.raises(OptionError, match="dropout: expected a number from 0 to less than 1, got 1"):
        parse_text("dropout", ProperFraction, "1")


def test_limits_apply_to_optional_values_wherever_none_stands():
    for hint in (Annotated[int | None, Ge(1)], Annotated[int, Ge(1)] | None):
        validate("least", hint, None)
        assert parse_text("least", hint, "3") == 3
        with pytest.raises(OptionError, match="least: expected a whole number of at least 1, got 0"):
            parse_text("least", hint, "0")
        with pytest.raises(OptionError, match="least: expected a whole number of at least 1, got 'many'"):
            parse_text("least", hint, "many")


@pytest.mark.parametrize("name", challenge_sets.list_set_names())
def test_every_option_of_every_set_is_parsed_and_described(name):
    config = challenge_sets.get_challenge_set(name).get_builder_class().BUILDER_CONFIG_CLASS
    known = [option for option in loading.describe_set_options(name) if option.name in {f.name for f in fields(config)}]
    assert len(known) == len(list_own_options(challenge_sets.get_challenge_set(name).Options))
    hints = get_type_hints(config, include_extras=True)
    for option in known:
        assert option.meaning, f"{config.__name__}.{option.name} is not in the docstring"
        if option.default not in (None, "") and not isinstance(option.default, tuple):
            assert parse_text(option.name, hints[option.name], str(option.default)) == option.default
        if option.example is not None:
            assert parse_text(option.name, hints[option.name], option.example) not in (None, "", ())


def test_path_is_no_function():
    assert model_loading.find_model_type("./majority") is model_loading.CLASSIFIER
    assert model_loading.find_model_type(r"C:\models\nli") is model_loading.CLASSIFIER
    assert model_loading.find_model_type("C:/models/nli") is model_loading.CLASSIFIER
    assert model_loading.find_model_type("my.module:predict") is model_loading.FUNCTION
