"""Tests that the commands printed in a report reproduce its results."""

import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import unbag
from tests.inference.fixtures import ORDER
from unbag import cli
from unbag.baselines.lexical.words import ALL
from unbag.challenge_sets import results
from unbag.challenge_sets.request import SetRequest
from unbag.data.labels import LABELS
from unbag.reports.reproduce import build_reproduce_command

FILE = Path("out") / results.FILE
ALWAYS = "def predict(premises, hypotheses):\n    return ['neutral'] * len(premises)\n"
ROWS = [
    (f"a {age} {who} over there {does} on the road now", f"the {who} over there {does} just here today", i)
    for i, (age, who, does) in enumerate(
        (a, w, d) for a in ("old", "young") for w in ("man", "woman", "dog") for d in ("runs", "sleeps", "eats")
    )
]


@pytest.fixture
def here(empty_caches, tmp_path, monkeypatch):
    """Return a working folder with pairs, a function and separate caches."""
    monkeypatch.chdir(tmp_path)
    lines = [f"{p},{h},{LABELS[i % 3]}" for p, h, i in ROWS]
    (tmp_path / "pairs.csv").write_text("\n".join(["premise,hypothesis,label", *lines]) + "\n")
    lines = [f"{p},{h},{i % 3}" for p, h, i in ROWS]
    (tmp_path / "odd.csv").write_text("\n".join(["text,claim,gold", *lines]) + "\n")
    (tmp_path / "always.py").write_text(ALWAYS)
    return tmp_path


def run(*arguments):
    """Run a command, and return its results."""
    assert cli.run(cli.app, [*map(str, arguments), "--output-dir", "out", "--json"]) == 0
    return results.read_results(FILE)


def repeats(*arguments):
    """Run a command, then the printed command of each of its results. Return the words of the printed commands."""
    first = run(*arguments)
    printed = []
    for result in first:
        words = shlex.split(build_reproduce_command(result).command)
        assert words[0] == "unbag"
        FILE.unlink()
        [again] = run(*words[1:])
        assert replace(again, model={**again.model, "stored_answers": None}) == replace(
            result, model={**result.model, "stored_answers": None}
        )
        printed.append(words[1:])
    return printed


OPTIONS = [  # options of `unbag evaluate`, and the words of the printed command
    (
        "{model} --sets permuted --data pairs.csv -o q=3 -o mode=both",
        "{model} --sets permuted --data pairs.csv -o q=3",
    ),
    ("{model} --sets plain --data pairs.csv --dtype bfloat16 --max-length 16", "--dtype bfloat16"),
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
]


@pytest.mark.parametrize(("options", "printed"), OPTIONS)
def test_options_are_reproduced(here, tiny_bert, options, printed):
    [words] = repeats("evaluate", *options.format(model=tiny_bert).split())
    assert f" {printed.format(model=tiny_bert)} " in f" {' '.join(words)} "
    if "odd.csv" in options:
        assert build_reproduce_command(run(*words)[0]).remark == "Run the command in the folder that contains odd.csv."


def test_label_map_is_reproduced(here, make_model):
    folder = make_model(order=("LABEL_0", "LABEL_1", "LABEL_2"))
    label_map = f"--label-map {','.join(ORDER)}"
    [words] = repeats("evaluate", folder, "--sets", "plain", "--data", "pairs.csv", *label_map.split())
    assert label_map in " ".join(words)


@pytest.mark.nightly
def test_residual_head_is_reproduced(here, tiny_bert, tmp_path):
    import torch

    from unbag.models.hex import ResidualHead, SuperficialBranch, WordTable

    folder = shutil.copytree(tiny_bert, tmp_path / "hex")
    torch.manual_seed(0)
    weights = {"phi.weight": torch.randn(8, 32), "decoder.weight": torch.randn(3, 8)}
    table = WordTable(torch.randn(100, 32), torch.arange(100) > 3)
    branch = SuperficialBranch.from_weights(weights, table, normalize=True)
    ResidualHead("classifier", branch, torch.randn(3, 3)).save(folder)
    [words] = repeats("evaluate", "./hex", "--head", "residual", "--sets", "plain", "--data", "pairs.csv")
    assert words[:4] == ["evaluate", "./hex", "--head", "residual"]


@pytest.mark.nightly
def test_lexical_baseline_is_reproduced(here, shared):
    """Requires the spaCy pipeline for tagging."""
    from unbag.baselines.lexical import words as lexical_words

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(lexical_words.PIPELINES, "en", str(shared / "hub/models/spacy/en_core_web_sm"))
        repeats("evaluate", "lexical", "--train-data", "pairs.csv", "--sets", "plain", "--data", "pairs.csv")


@pytest.mark.nightly
def test_fitted_lexical_model_and_set_are_reproduced(here):
    fit = ["lexical", "fit", "--train-data", "pairs.csv", "--pipeline", "all", "--l2", "1", "--output-dir", "mine"]
    assert cli.run(cli.app, fit) == 0
    cs_lambda = ["--sets", "cs_lambda", "-o", "pipeline=all", "-o", "train_data=pairs.csv", "-o", "min_lms=0.1"]
    repeats("evaluate", "./mine", "majority", "--train-data", "pairs.csv", *cs_lambda, "--data", "pairs.csv")


@pytest.mark.nightly
@pytest.mark.parametrize("how", [("--num-fewshot", "3"), ("--no-apply-chat-template", "--dtype", "bfloat16")])
def test_language_model_is_reproduced(here, how):
    pytest.importorskip("torch", reason="needs unbag[models]")
    from tests.inference.llm.tiny_lm import save_tiny_lm

    save_tiny_lm(here / "lm", chat=True)
    [words] = repeats("evaluate", "causal:./lm", *how, "--sets", "plain", "--data", "pairs.csv", "--max-examples", 4)
    assert set(how) < set(words)


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
def test_two_models_of_run_are_reproduced(here, tiny_bert):
    models = [tiny_bert, "majority", "always:predict"]
    both = repeats("evaluate", *models, "--train-data", "pairs.csv", "--sets", "plain", "--data", "pairs.csv")
    assert [words[1] for words in both] == [str(tiny_bert), "majority", "always:predict"]
    assert ["--train-data" in words for words in both] == [False, True, False]


@pytest.mark.nightly
def test_official_pairs_are_downloaded_or_named(here, shared):
    told = ["--sets", "sicck", "--official-file", str(shared / "data" / "sicck")]
    [result] = run("evaluate", "always:predict", *told)
    assert build_reproduce_command(result).command == "unbag evaluate always:predict --sets sicck --no-lexical-baseline"
    assert (
        build_reproduce_command(result).remark
        == "The command downloads the authors' file; pass a local copy with --official-file."
    )
    assert run(*shlex.split(build_reproduce_command(result).command)[1:], *told[2:]) == [result]


def test_external_predictions_are_reproduced(here):
    built = unbag.load("permuted", data="pairs.csv", q=3)
    rows = [json.dumps({"id": name, "prediction": "neutral"}) + "\n" for name in built["id"][:]]
    (here / "mine.jsonl").write_text("".join(rows))
    [words] = repeats("score", "mine.jsonl", "--set", "permuted", "--data", "pairs.csv", "-o", "q=3")
    assert words[:4] == ["score", "mine.jsonl", "--set", "permuted"]


def test_results_without_command_state_reason(here):
    plain = SetRequest("plain", options={"data": "pairs.csv"})

    def said(model, request=plain, **options):
        shutil.rmtree("out", ignore_errors=True)
        [result] = unbag.evaluate(model, [request], output_dir="out", **options)
        [result] = results.read_results(FILE)
        command, remark = build_reproduce_command(result)
        assert not command
        return remark

    always = lambda premises, _: ["neutral"] * len(premises)  # noqa: E731
    assert "the model is a Python object" in said(always)
    assert "l2=0.5 is available only in Python" in said("lexical", train_data=("pairs.csv",), pipeline=ALL, l2=0.5)


def test_hub_dataset_is_named_with_split(here):
    [result] = unbag.evaluate(
        "majority", [SetRequest("plain", options={"data": "pairs.csv"})], output_dir="out", train_data=["pairs.csv"]
    )
    commit = "c" * 40
    data = {**result.data, "name": "org/pairs", "split": "dev", "origin": "org/pairs", "revision": commit}
    command, remark = build_reproduce_command(replace(result, data=data))
    assert "--data org/pairs --split dev" in command
    assert commit in remark
    lost = build_reproduce_command(replace(result, data={**data, "load_options": {"data_config": "main"}}))
    assert "data_config=main is available only in Python" in lost.remark


def test_model_with_special_command_names_it(here):
    from unbag.inference.function import CallablePredictor

    always = CallablePredictor(lambda premises, _: ["neutral"] * len(premises), identity={"command": "unbag demo"})
    [result] = unbag.evaluate(always, [SetRequest("plain", options={"data": "pairs.csv"})], output_dir="out")
    assert build_reproduce_command(result).command == "unbag demo"
    assert "Only this command" in build_reproduce_command(result).remark
