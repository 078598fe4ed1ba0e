"""Tests of `--config`: options from YAML, invalid files, and the file that a run writes."""

import json

import pytest
import typer
import yaml

from tests.factories import run_unbag
from unbag import cli
from unbag.challenge_sets import results
from unbag.cli import config_file


def test_run_yaml_reproduces_run(working_folder):
    """A quiet run prints the table of a single set, or the summary of several sets."""
    options = "--data pairs.csv --sets plain,permuted -o q=2 --seed 0 -q --num-proc 2".split()
    first = run_unbag("evaluate", "always:predict", *options)
    assert first.exit_code == 0, first.output
    assert ("accuracy [95 %]" in first.output, "Verdict:" in first.output) == (False, True)
    [folder] = working_folder.glob("runs/*/*-pairs.csv-*")
    left = (folder / "run.yaml").read_text()
    assert left.startswith("# unbag evaluate --config run.yaml\n")
    assert yaml.safe_load(left) == {
        "models": ["always:predict"],
        "sets": ["plain", "permuted"],
        "data": "pairs.csv",
        "seed": 0,  # equals False in Python
        "set-option": ["q=2"],
        "lexical-baseline": False,  # set by the environment of the tests
        "shuffled": True,
    }
    before = (folder / results.FILE).read_bytes()
    (folder / results.FILE).unlink()
    again = run_unbag("evaluate", "--config", str(folder / "run.yaml"), "--quiet")
    assert again.exit_code == 0, again.output
    assert (folder / results.FILE).read_bytes() == before
    assert (folder / "run.yaml").read_text() == left
    assert len(list(working_folder.glob("runs/*/*-pairs.csv-*"))) == 1
    one = run_unbag("evaluate", "always:predict", "--data", "pairs.csv", "--sets", "plain", "--quiet")
    assert ("accuracy [95 %]" in one.output, "Verdict:" in one.output) == (True, True)


EVALUATE = typer.main.get_command(cli.app).commands["evaluate"]
OPTIONS = [param for param in EVALUATE.params if getattr(param, "is_flag", None) is not None]


def test_config_command_line_takes_precedence(working_folder):
    (working_folder / "run.yaml").write_text(
        "models: [always:predict]\ndata: pairs.csv\nsets: plain, permuted\nmax-examples: 5\n"
        "set-option: {q: 4}\nlabel-map: [neutral, entailment, contradiction]\ntrust-labels: true\n"
    )
    given = EVALUATE.make_context("evaluate", ["--config", "run.yaml"]).params
    expected = {
        "models": ["always:predict"],
        "sets": ["plain", "permuted"],
        "max_examples": 5,
        "set_option": ["q=4"],
        "label_map": ["neutral", "entailment", "contradiction"],
        "trust_labels": True,
    }
    assert {
        name: list(given[name]) if isinstance(value, list) else given[name] for name, value in expected.items()
    } == expected
    command = "other:predict --config run.yaml --max-examples 7 --sets permuted"
    given = EVALUATE.make_context("evaluate", command.split()).params
    assert (list(given["models"]), list(given["sets"]), given["max_examples"]) == (["other:predict"], ["permuted"], 7)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("max-exmaples: 3", "expected an option of this command, got 'max-exmaples'; did you mean max-examples?"),
        ("split: [a, b]", "expected one value for split, got ['a', 'b']"),
        ("sets: [plain", "expected a YAML file of options, got bad.yaml: while parsing"),
        ("split: " + "[" * 2000, "expected a YAML file of options, got bad.yaml: "),
        ("split: !!python/object/apply:os.mkdir [made]", "expected a YAML file of options, got bad.yaml: "),
        ("- plain", "expected a mapping of options to values, got ['plain']"),
        ("max-examples: true", "integer"),
        ("max-examples: 1.5", "integer"),
        (
            "trust-remote-code: true",
            "bad.yaml: expected --trust-remote-code on the command line too, got --trust-remote-code only in the",
        ),
    ],
)
def test_config_invalid_file_exits_with_2(working_folder, text, words):
    (working_folder / "bad.yaml").write_text(text)
    done = run_unbag("evaluate", "majority", "--config", "bad.yaml", "--data", "pairs.csv")
    assert done.exit_code == 2
    assert words in " ".join(done.output.replace("│", " ").split())
    assert not (working_folder / "made").exists()


SAMPLES = {  # values for options that accept only some values of their type
    "models": "majority",
    "label_map": "neutral,entailment",
    "columns": "premise=one,label=two",
    "labels": "E=entailment,N=neutral",
    "set_option": "q=2",
    "engine": "ray",
    "num_gpus": "0.5",
    "dtype": "bfloat16",
    "head": "residual",
    "long_premise": "any-chunk",
    "sets": "plain,permuted",
    "train_data": "snli,mnli",
}


def _list_command_lines(param):
    """Return command lines with an option of evaluate, one for each flag."""
    switches = [name for name in (*param.opts, *param.secondary_opts) if name.startswith("--")]
    if param.is_flag:
        return [[name] for name in switches]
    hint = str(param.type_descriptor.annotation) if hasattr(param, "type_descriptor") else str(param.type)
    value = SAMPLES.get(param.name, "3" if any(kind in hint.lower() for kind in ("int", "float")) else "text")
    return [[switches[0], value]]


@pytest.mark.parametrize(
    "param", [each for each in OPTIONS if each.name not in ("config", "help")], ids=lambda p: p.name
)
def test_config_accepts_every_option_of_evaluate(tmp_path, param, monkeypatch):
    monkeypatch.setattr("unbag.utils.offline.enable_offline_mode", lambda: None)
    monkeypatch.delenv("UNBAG_LEXICAL_BASELINE", raising=False)
    assert len(OPTIONS) > 30
    for line in _list_command_lines(param):
        ctx = EVALUATE.make_context("evaluate", ["majority", *line])
        key = next(name for name in param.opts if name.startswith("--")).removeprefix("--")
        given = ctx.params[param.name]
        value = json.loads(json.dumps(given, default=str))  # without paths
        (tmp_path / "by_hand.yaml").write_text(yaml.safe_dump({"models": ["majority"], key: value}))
        config_file.write_config(ctx, tmp_path)
        confirmation = line if param.name in config_file._CONFIRMED else []
        for file in ("by_hand.yaml", config_file.CONFIG_FILE):
            again = EVALUATE.make_context("evaluate", ["--config", str(tmp_path / file), *confirmation])
            if file == "by_hand.yaml" or param.name not in config_file._NOT_WRITTEN:
                assert again.params[param.name] == given, file
            assert list(again.params["models"]) == ["majority"]  # a tuple in older versions of Typer
