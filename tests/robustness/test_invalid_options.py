"""Tests of invalid options, which the command and Python reject before anything is built or written."""

import math
import re
from dataclasses import fields
from pathlib import Path

import pytest

from tests.robustness.command import read_files_below, run_rejected, sample_inputs
from unbag import challenge_sets
from unbag.api import evaluate
from unbag.baselines.lexical.fitting import LexicalTrainingOptions
from unbag.challenge_sets import loading
from unbag.challenge_sets.request import SetRequest
from unbag.challenge_sets.selection import PairSelection
from unbag.data.sources import DataError, open_data
from unbag.evaluation.comparison import compare
from unbag.training.config import TrainConfig

WRONG = (10**30, b"x", {"a": 1}, "\n", "a\x1b[31mb", [None], object())
OF_DATASETS = {"name", "version", "data_dir", "data_files", "description"}
OPTIONS = [
    (name, field.name)
    for name in challenge_sets.list_set_names()
    for field in fields(challenge_sets.get_challenge_set(name).get_builder_class().BUILDER_CONFIG_CLASS)
    if field.name not in OF_DATASETS
]
LABELS = "entailment,neutral,contradiction"


pytestmark = pytest.mark.usefixtures("empty_working_dir")


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.csv"
    rows = [f"A man number {n} is running fast.,A man sleeps {n}.,neutral" for n in range(6)]
    path.write_text("\n".join(["premise,hypothesis,label", *rows]) + "\n")
    return path


@pytest.mark.parametrize(("name", "option"), sample_inputs(OPTIONS, 20))
def test_set_option_of_wrong_type_is_rejected(pairs, tmp_path, name, option):
    for value in WRONG:
        given = {"data": str(pairs), option: value}
        if option == "columns" and value == {"a": 1}:
            continue
        with pytest.raises(ValueError, match=f"{option}|least LMS"):
            loading.create_builder(name, cache_dir=tmp_path / "sets", **given)


TRAIN = "train finetune --model org/model --output-dir out --validation"


@pytest.mark.parametrize(
    "told", ["build plain --labels", "evaluate majority --sets", "lexical fit --output-dir out --train-data", TRAIN]
)
@pytest.mark.parametrize("empty", [",", " , "])
def test_empty_list_option_is_rejected(pairs, capsys, told, empty):
    data = [] if "--output-dir" in told else ["--data", pairs]
    assert re.search("expected comma-separated (names|values)", run_rejected(capsys, *told.split(), empty, *data))
    assert read_files_below(Path.cwd()) == []


@pytest.mark.parametrize("n", [0, True, 1.5, 10**20])
def test_invalid_max_examples_is_rejected(n):
    with pytest.raises(ValueError, match="max_examples"):
        SetRequest("plain", max_examples=n)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[("max_train_pairs", value) for value in (0, True)],
        *[("l2", value) for value in (0, math.nan, math.inf)],
        *(("language", "xx"), ("tags", "nonsense"), ("train_data", [""])),
    ],
)
def test_invalid_lexical_recipe_is_rejected(field, value):
    with pytest.raises(ValueError, match=r"language|tags|seed|train_data|max_train_pairs|l2"):
        LexicalTrainingOptions(**{field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[("batch_size", value) for value in ("3", 1.5, True, 10**30)],
        *[("learning_rate", value) for value in (math.nan, math.inf, 0, -1)],
        *(("max_grad_norm", -1), ("word_order", "x"), ("corpus", ("",)), ("corpus", ("a\nb",))),
    ],
)
def test_invalid_training_config_is_rejected(field, value):
    with pytest.raises(ValueError, match=r"expected"):
        TrainConfig(**{"model": "m", "output_dir": Path("x"), field: value})


def test_boolean_label_is_rejected(tmp_path):
    path = tmp_path / "pairs.jsonl"
    for label in ("true", "false"):
        path.write_text(f'{{"premise": "A.", "hypothesis": "B.", "label": {label}}}\n')
        with pytest.raises(DataError, match=rf"line 1: .*truth value {label}"):
            list(open_data(path, labels=LABELS.split(",")).iter_examples())
    # the cache must not contain the file from before
    path.write_text('{"premise": "A.", "hypothesis": "B.", "label": 1}\n')
    assert [example.label for example in open_data(path, labels=LABELS.split(",")).iter_examples()] == ["neutral"]


@pytest.mark.parametrize(
    "call",
    [
        lambda: evaluate("majority", {1}, lexical_baseline=False),
        lambda: evaluate("majority", "plain", output_dir=1j, lexical_baseline=False),
        lambda: loading.create_builder({1}),
        lambda: compare("run", b"x"),
        lambda: compare("run", "other", metrics="p_c"),
        lambda: compare("run", "other", level=math.nan),
        lambda: PairSelection(corpus=10**30),
    ],
)
def test_argument_of_wrong_type_is_rejected(call):
    with pytest.raises(ValueError, match="expected"):
        call()
