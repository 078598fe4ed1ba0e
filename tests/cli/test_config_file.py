"""Tests of `--config` (options from YAML, invalid files, the file that a run writes) and of default run folders.

The folders of runs are unique for different scores, and equal for equal commands.
"""

import json

import pytest
import typer
import yaml

from tests.factories import run_unbag
from unbag import cli
from unbag.challenge_sets import results
from unbag.cli import config_file, run_folder
from unbag.evaluation import evaluator, published


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


CHAT = ("--apply-chat-template", "--no-apply-chat-template")
HOME = "org__model/"


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """Return a function that runs a command and returns its results folder relative to `runs`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UNBAG_LEXICAL_BASELINE")
    found = []

    def keep(*_, output_dir, **__):
        found.append(output_dir)
        raise ValueError("enough is known")

    monkeypatch.setattr(evaluator, "evaluate_all", keep)
    monkeypatch.setattr(published, "score_published_predictions", keep)

    def ask(command):
        assert cli.run(cli.app, command.split()) == 1
        return found.pop().relative_to(run_folder.RUNS_FOLDER).as_posix()

    return ask


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("", HOME + "suite-snli-validation"),
        ("--corpus snli", HOME + "suite-snli-validation-with=snli-validation"),
        ("--sets permuted", HOME + "permuted-snli-validation"),
        ("--sets permuted -o mode=hypothesis", HOME + "permuted-snli-validation-hypothesis"),
        ("--sets permuted --data pairs.csv", HOME + "permuted-pairs.csv"),
        ("--sets permuted -o q=5 --max-examples 9", HOME + "permuted-snli-validation-q=5-max_examples=9"),
        (
            "--sets permuted -o q=5 --revision refs/pr/1 --dtype bfloat16",
            HOME + "permuted-snli-validation-q=5-revision=a53ad0f3-dtype=bfloat16",  # a hash, because of the slashes
        ),
        ("--head residual --revision v1.0", HOME + "suite-snli-validation-revision=v1.0-head=residual"),
        ("--corpus all", HOME + "all-corpora-suite"),
        ("--corpus snli,sick --sets plain", HOME + "plain-snli-validation-with=sick-test"),
        ("--cross-domain", HOME + "cross-domain"),
        ("--cross-domain --corpus snli,sick", HOME + "cross-domain-snli+sick"),
    ],
)
def test_run_folder_name_lists_non_default_options(folder, command, expected):
    assert folder(f"evaluate org/model {command}") == expected


@pytest.mark.nightly
@pytest.mark.parametrize(
    "commands",
    [
        [f"org/model {more}" for more in (
            "", "--dtype float16", "--revision main", "--max-examples 9", "--max-examples 9 --seed 1",
            "--sets permuted", "--sets permuted -o q=9", "--sets permuted --seed 9", "--device cpu",
            "--label-map entailment,neutral,contradiction", "--label-map neutral,entailment,contradiction",
            "-o train_data=snli", "-o train_data=snli -o folds=3", "-o folds=3", "--corpus snli", "--full",
        )],
        ["../a/m", "a/m", "/a/m", "b/a/m", "a__m", "a--m", "a:m", "a_/m", "a/_m", "~/a/m"],
        [f"org/model --data {data}" for data in (
            "pairs.csv", "a/pairs.csv", "pairs.csv --columns label=gold", "pairs.csv --language zh",
            "org/pairs --split a", "org/pairs --split b",
        )],
        [f"lexical --sets plain {more}" for more in ("", "--train-data snli", "--train-data a.csv")],
        [f"causal:org/lm {more}" for more in ("", "--num-fewshot 3", *CHAT)],
        [f"endpoint:a --base-url {url}" for url in ("http://a/v1", "http://b/v1")],
        ["a b", "b a", "a+b", " ".join(f"org{i}/{'long' * 12}" for i in range(9))],
    ],
)  # fmt: skip
def test_run_folder_is_unique_and_stable(folder, commands):
    found = [folder(f"evaluate {command}") for command in commands]
    assert len(set(found)) == len(commands), found
    assert found == [folder(f"evaluate {command}") for command in commands]
    assert all(len(part) <= 120 for each in found for part in each.split("/"))


def test_run_folder_ignores_options_without_effect_on_scores(folder):
    quiet = "--trust-labels --json --sets plain"
    assert folder(f"evaluate ./m/ {quiet}") == folder("evaluate m --sets plain") == "m/plain-snli-validation"


def test_run_folder_of_score_depends_on_file_and_set(folder):
    commands = ["a.csv", "b.csv", "a.jsonl", "x/a.csv", "a.csv --set swapped", "a.csv --corpus mnli"]
    commands += ["a.csv --by-order", "a.csv --labels A=entailment", "a.csv --set plain,swapped"]
    commands.append("a.csv --set permuted -o q=3")
    found = [folder(f"score {command}") for command in commands]
    assert len(set(found)) == len(found)
    assert found[0] == "a.csv/plain-snli-validation"
    assert found[-1] == "a.csv/permuted-snli-validation-q=3"
