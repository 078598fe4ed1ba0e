"""Tests that the commands printed in a report reproduce its results."""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

import unbag
from tests.factories import build_result, write_table
from tests.inference.fixtures import ORDER
from unbag import cli
from unbag.challenge_sets import results
from unbag.data.labels import LABELS
from unbag.reports.reproduce import build_reproduce_command

FILE = Path("out") / results.FILE
ROWS = [
    (f"a {age} {who} over there {does} on the road now", f"the {who} over there {does} just here today", i)
    for i, (age, who, does) in enumerate(
        (a, w, d) for a in ("old", "young") for w in ("man", "woman", "dog") for d in ("runs", "sleeps", "eats")
    )
]


@pytest.fixture
def here(working_folder):
    """Return the working folder with other pairs, in files with usual and unusual columns."""
    for name, columns, labels in (("pairs", "premise hypothesis label", LABELS), ("odd", "text claim gold", range(3))):
        write_table(working_folder / f"{name}.csv", [(p, h, labels[i % 3]) for p, h, i in ROWS], columns.split())
    return working_folder


def run(*arguments):
    """Run a command, and return its results."""
    assert cli.run(cli.app, [*map(str, arguments), "--output-dir", "out", "--json"]) == 0
    return results.read_results(FILE)


def repeats(*arguments):
    """Run a command, then the printed command of each of its results. Return the words of the printed commands."""
    printed = []
    for result in run(*arguments):
        command, *words = shlex.split(build_reproduce_command(result).command)
        assert command == "unbag"
        FILE.unlink()
        [again] = run(*words)
        first, second = ({**each.model, "stored_answers": None} for each in (result, again))
        assert replace(again, model=second) == replace(result, model=first)
        printed.append(words)
    return printed


LABEL_MAP = f"--label-map {','.join(ORDER)}"


@pytest.mark.parametrize(
    ("options", "printed"),  # options of `unbag evaluate`, and words of the printed command
    [
        (
            "{model} --sets permuted --data pairs.csv -o q=3 -o mode=both",
            "{model} --sets permuted --data pairs.csv -o q=3",
        ),
        (
            f"{{model}} --sets plain --data pairs.csv --dtype bfloat16 --max-length 16 {LABEL_MAP}",
            f"--dtype bfloat16 --max-length 16 {LABEL_MAP}",
        ),
        (
            "hypothesis-only --train-data pairs.csv --max-train-pairs 12 --sets plain --data pairs.csv",
            "--max-train-pairs 12",
        ),
        ("always:predict --sets permuted --data pairs.csv --max-examples 5 -o seed=3 --seed 7", "-o seed=3"),
        (
            "always:predict --sets swapped --data odd.csv --columns premise=text,hypothesis=claim,label=gold "
            "--labels contradiction,neutral,entailment",
            "--columns premise=text,hypothesis=claim,label=gold",
        ),
    ],
)
def test_options_are_reproduced(here, tiny_bert, options, printed):
    [words] = repeats("evaluate", *options.format(model=tiny_bert).split())
    assert f" {printed.format(model=tiny_bert)} " in f" {' '.join(words)} "
    if "odd.csv" in options:
        assert build_reproduce_command(run(*words)[0]).remark == "Run the command in the folder that contains odd.csv."


@pytest.mark.nightly
def test_fitted_lexical_model_second_model_and_set_are_reproduced(here):
    fit = ["lexical", "fit", "--train-data", "pairs.csv", "--pipeline", "all", "--l2", "1", "--output-dir", "mine"]
    assert cli.run(cli.app, fit) == 0
    cs_lambda = ["--sets", "cs_lambda", "-o", "pipeline=all", "-o", "train_data=pairs.csv", "-o", "min_lms=0.1"]
    both = repeats("evaluate", "./mine", "majority", "--train-data", "pairs.csv", *cs_lambda, "--data", "pairs.csv")
    assert [words[1] for words in both] == ["./mine", "majority"]
    assert ["--train-data" in words for words in both] == [False, True]


def test_endpoint_is_reproduced(here):
    pytest.importorskip("openai", reason="needs unbag[llm]")
    from tests.fake_llm import running_endpoint

    with running_endpoint() as endpoint:
        asked = ["--base-url", endpoint.base_url, "--num-fewshot", 3, "--concurrency", 2, "--sets", "plain"]
        [words] = repeats("evaluate", "endpoint:tiny", *asked, "--data", "pairs.csv", "--max-examples", 4)
    assert "--concurrency" not in words


TWO = """
from unbag.inference.label_probe import PAIRS
ENTAILED = {(premise, hypothesis) for premise, hypothesis, label in PAIRS["en"] if label == "entailment"}
def predict(premises, hypotheses):
    pairs = zip(premises, hypotheses)
    return [[.25, .75] if pair in ENTAILED or "runs" in pair[0] or "dog" in pair[0] else [.75, .25] for pair in pairs]
"""


@pytest.mark.parametrize("trusted", [False, True])
def test_function_label_order_is_reproduced(here, trusted):
    """The rows of the function start with `not_entailment`.

    Of 18 pairs, the 6 with "run" are labelled entailment, and 4 of the 12 others, those with dogs, are predicted
    wrongly.
    """
    (here / "two.py").write_text(TWO)
    order = "entailment,not_entailment" if trusted else "not_entailment,entailment"
    asked = ["two:predict", "--label-map", order, "--sets", "plain", "--data", "pairs.csv", "--no-lexical-baseline"]
    told = ["--trust-labels"] if trusted else []
    [words] = repeats("evaluate", *asked, "--no-shuffled", *told)
    assert words[words.index("--label-map") + 1] == order
    assert ("--trust-labels" in words) == trusted
    [result] = results.read_results(FILE)
    assert result.scores["accuracy"].value == pytest.approx(4 / 18 if trusted else 14 / 18)


@pytest.mark.nightly
def test_official_pairs_are_downloaded_or_named(here, shared):
    told = ["--sets", "sicck", "--official-file", str(shared / "data" / "sicck")]
    [result] = run("evaluate", "always:predict", *told)
    command, remark = build_reproduce_command(result)
    assert command == "unbag evaluate always:predict --sets sicck --no-lexical-baseline"
    assert remark == "The command downloads the authors' file; pass a local copy with --official-file."
    assert run(*shlex.split(command)[1:], *told[2:]) == [result]


def test_external_predictions_are_reproduced(here):
    built = unbag.load("permuted", data="pairs.csv", q=3)
    rows = [json.dumps({"id": name, "prediction": "neutral"}) + "\n" for name in built["id"][:]]
    (here / "mine.jsonl").write_text("".join(rows))
    [words] = repeats("score", "mine.jsonl", "--set", "permuted", "--data", "pairs.csv", "-o", "q=3")
    assert words[:4] == ["score", "mine.jsonl", "--set", "permuted"]


@pytest.mark.parametrize(
    ("model", "data", "command", "reason"),
    [
        ({"name": "a function"}, {}, "", "the model is a Python object"),
        (
            {"name": "lexical", "options": {"train_data": ["a.csv"], "l2": 0.5}},
            {},
            "",
            "l2=0.5 is available only in Py",
        ),
        (None, {"load_options": {"data_config": "main"}}, "", "data_config=main is available"),
        ({"name": "m", "command": "unbag demo"}, {}, "unbag demo", "Only this command"),
        (None, {"origin": "org/pairs", "name": "org/pairs", "split": "dev"}, " --data org/pairs --split dev", "c" * 40),
    ],
)
def test_command_is_special_or_missing_for_reason(model, data, command, reason):
    result = build_result()
    data = {**result.data, "revision": "c" * 40, **data}
    printed, remark = build_reproduce_command(replace(result, model=model or result.model, data=data))
    assert (command in printed, bool(printed)) == (True, bool(command))
    assert reason in remark
