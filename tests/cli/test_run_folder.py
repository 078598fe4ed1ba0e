"""Tests of default run folders: unique for different scores, equal for equal commands."""

import pytest

from unbag import cli
from unbag.cli import run_folder
from unbag.evaluation import evaluator, published

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
