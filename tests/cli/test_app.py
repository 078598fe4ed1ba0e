import io
import json
import os
import re
import subprocess
import sys
import threading

import pytest
import typer
from rich.console import Console

from tests.factories import run_unbag
from unbag import cli
from unbag.challenge_sets import request, results
from unbag.challenge_sets.failures import EvaluationFailure
from unbag.challenge_sets.loading import UnsuitablePairsError
from unbag.challenge_sets.request import BUILDING, SetRequest, prebuild_sets
from unbag.cli import evaluate, output, progress, push
from unbag.cli import options as request_options
from unbag.evaluation.lexical_baseline import FITTING
from unbag.evaluation.outcome import EvaluationOutcome


def test_import_loads_no_heavy_package():
    code = (
        "import sys, unbag, unbag.cli; "
        "print([name for name in ('torch', 'transformers', 'evaluate', 'spacy', 'datasets', 'numpy', 'rich.table') "
        "if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_evaluate_user_function_prints_table_or_json(working_folder, capsys):
    command = "evaluate always:predict --sets permuted --data pairs.csv -o q=3 --output-dir out".split()
    assert cli.run(cli.app, command) == 0
    shown = capsys.readouterr().out
    assert "always:predict · Permuted · pairs.csv" in shown
    assert max(map(len, shown.splitlines())) <= 80, "the table should fit a terminal"
    assert "examples.json" in shown
    assert (working_folder / "out" / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (working_folder / "out" / "predictions").is_dir()
    assert cli.run(cli.app, [*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    found, verdicts = told.pop("numbers"), told.pop("verdicts")
    assert told == json.loads((working_folder / "out" / "results.json").read_text())
    assert set(verdicts) == {"always:predict"}
    omega = {each["number"]: each for each in found}["omega_max"]
    assert (omega["model"], omega["set"], omega["label"]) == ("always:predict", "permuted", "Ω_max")
    assert omega["higher_is_better"] is False
    assert omega["low"] <= omega["value"] <= omega["high"]
    assert (omega["value"], omega["n"]) == (pytest.approx(1 / 3), 9)


POODLE = ("--premise", "a poodle is chasing a cat", "--hypothesis", "a dog is chasing a cat", "--label", "entailment")


def test_natlog_prints_relations_and_countermodel():
    shown = run_unbag("natlog", "prove", *POODLE, "--modifier", "no", "--position", "both")
    lines = shown.output.splitlines()
    assert lines[:4] == ["no poodle is chasing a cat", "no dog is chasing a cat", "", "reverse_entailment"]
    told = " ".join(shown.output.split())
    assert "s1 is poodle and dog, s2 is dog, o1 is cat; now s2 chasing o1. Not equivalence or forward" in told
    shown = run_unbag("natlog", "modify", *POODLE, "--json")
    relations = {(pair["premise"], pair["hypothesis"]): pair["relation"] for pair in json.loads(shown.output)}
    assert relations["every poodle is chasing a cat", "every dog is chasing a cat"] == "reverse_entailment"
    assert relations["a poodle is chasing a cat", "a dog is never chasing a cat"] == "independence"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--modifier", "many"), "--modifier: expected one of every, .* for the subject of the premise, got 'many'"),
        (("--hypothesis", "Dogs bark and cats meow."), "clauses of the form subject, auxiliary, verb, object"),
    ],
)
def test_natlog_prove_invalid_option_is_rejected(options, words):
    done = run_unbag("natlog", "prove", *POODLE, *options)
    assert re.search(words, str(done.exception))


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate"],
        ["evaluate", "m", "--cross-domain", "--full"],
        ["evaluate", "m", "--train-data", "snli"],
        ["evaluate", "majority", "--sets", "plain", "--price-in", "1"],
        ["build", "permute", "--output", "a.parquet"],
        ["speed", "m", "--batch-tokens", "0"],
        ["models", "init", "dan", "--output-dir", "a", "--corpus", "snli", "-o", "hidden_size=0"],
        ["publish", "metric", "accuracy", "--repo-id", "org"],
    ],
)
def test_wrong_usage_exits_with_2(arguments):
    assert cli.run(cli.app, arguments) == 2


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (["m", "--corpus", "snail"], "expected a corpus (snli, mnli, anli, sick, ocnli, ", 2),
        (["m", "--corpus", "snli", "--split", "dev"], "expected a split of snli, got 'dev'; use one of valid", 2),
        (["mine.py:predict", "--data", "pairs.csv"], "got 'mine.py:predict'; pass mine:predict", 1),
        (["m", "--label-map", "yes,no"], "expected a label such as entailment", 2),
        (["m", "--max-examples", "0"], "--max-examples: expected a whole number of at least 1, got 0", 2),
        (["m", "--labels", "a,b,c"], "--labels: expected --data, got none; pass --data, or omit --labels", 2),
        (["m", "--data="], "--data: expected a path or non-empty printable text, got ''", 2),
        (["lexical", "--sets", "plain", "swapped"], "got swapped (challenge set); ", 2),
        (["lexical", "--corpus", "snli", "mnli", "sick"], "commas: --corpus snli,mnli", 2),
    ],
)
def test_evaluate_invalid_value_error_names_expectation(working_folder, arguments, words, code, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "300")
    assert cli.run(cli.app, ["evaluate", *arguments]) == code
    assert words in capsys.readouterr().err


@pytest.mark.slow
def test_lexical_fit_and_score_agree_with_evaluate(working_folder, capsys):
    options = "--train-data pairs.csv --pipeline all --l2 1 --output-dir mine".split()
    assert cli.run(cli.app, ["lexical", "fit", *options]) == 0
    assert "mine: 9 pairs" in capsys.readouterr().out
    premise, hypothesis = "The big dog over there sees a car.", "The animal there sees some car just now."
    asked = ["lexical", "score", "--model", "mine", "--premise", premise, "--hypothesis", hypothesis]
    assert cli.run(cli.app, [*asked, "--label", "neutral", "--json"]) == 0
    scored = json.loads(capsys.readouterr().out)
    assert sum(scored["probabilities"].values()) == pytest.approx(1, abs=1e-6)
    assert max(scored["probabilities"], key=scored["probabilities"].get) == "contradiction"
    assert scored["if_gold"]["neutral"]["lms"] == scored["probabilities"]["contradiction"]
    assert {found["towards"] for found in scored["if_gold"]["neutral"]["misleading"]} == {"contradiction"}
    assert cli.run(cli.app, asked) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert re.search(r"car\S* (… )?→ contradiction", shown), shown
    evaluated = "evaluate ./mine --sets plain --data pairs.csv --output-dir out".split()
    assert cli.run(cli.app, evaluated) == 0
    assert results.read_results(working_folder / "out" / "results.json")[0].scores["accuracy"].value == 1


def test_evaluate_offline_rejects_remote_endpoint_only(working_folder, monkeypatch):
    monkeypatch.setattr("unbag.utils.offline.enable_offline_mode", lambda: None)
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # skips the retry delays, which take half a minute
    asked = ["evaluate", "always:predict", "endpoint:tiny", "--offline", "--sets", "plain", "--data", "pairs.csv"]
    refused = run_unbag(*asked, "--base-url", "https://example.org/v1")
    assert refused.exit_code == 2
    assert "endpoint:tiny: expected a local model with --offline, got an endpoint" in refused.output
    here = run_unbag(*asked, "--base-url", "http://127.0.0.1:9/v1")
    assert "cannot reach http://127.0.0.1:9/v1" in str(here.exception), "a server on this machine needs no network"


def test_build_set_option_is_parsed_and_validated(working_folder, capsys):
    pairs = ["--data", "pairs.csv", "--output", "a.parquet"]
    assert cli.run(cli.app, ["build", "permuted", *pairs, "-o", "q=2", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["rows"] == 3 * record["examples"] > 0  # as it is, and two permutations
    for command, words in [
        (["permuted", *pairs, "-o", "q=many"], "q: expected a whole number from 1 to 10,000, got"),
        (["permuted", *pairs, "-o", "min-words=3"], "no option 'min-words', did you mean min_words? permuted has "),
        (["permuted", *pairs, "-o", "size=3"], "seed; run `unbag sets permuted` for their meanings"),
        (["permuted", *pairs, "-o", "q"], "expected -o NAME=VALUE, got 'q'"),
        (["swapped", *pairs, "-o", "q=3"], "no option 'q'; swapped has none; run `unbag sets swapped`"),
        (["permuted", *pairs, "-o", "q=2", "-o", "q=3"], "q: expected one value, got two"),
        (
            ["permuted", "--corpus", "snli,mnli", "--output", "a.parquet"],
            "--corpus: expected one corpus, got snli, mnli",
        ),
        (
            ["sicck", "--output", "a.parquet", "--official-file", "b.csv", "-o", "file=a.csv"],
            "expected one of --official-file and -o file=…, got both",
        ),
    ]:
        assert cli.run(cli.app, ["build", *command]) != 0
        assert words in " ".join(capsys.readouterr().err.replace("│", " ").split())


def test_set_option_is_parsed_by_type():
    given = ["wordnet=true", "train_data=snli, mnli", "train_data=sick", "min_lms=.5", "mode=hypothesis"]
    made = request_options.PairOptions(corpus=["sick"], seed=7, set_option=given)
    breaking, cs, permuted = made.build_requests(["breaking_nli", "cs_lambda", "permuted"])
    assert breaking.options == {"wordnet": True, "train_data": ("snli", "mnli", "sick"), "seed": 7}
    assert cs.options == {"train_data": ("snli", "mnli", "sick"), "min_lms": 0.5, "seed": 7}
    assert permuted.config == "sick-test-hypothesis", "an option that is part of a config's name selects it"
    own = request_options.PairOptions(seed=7, set_option=["seed=3"])
    [request] = own.build_requests(["permuted"])
    assert (request.seed, request.options["seed"]) == (7, 3)


def test_sets_lists_sets_or_options():
    assert "sinha" in run_unbag("sets").stdout.lower()
    shown = run_unbag("sets", "resnli").stdout
    assert "a whole number of at" in shown
    assert "--sets resnli -o test_size=1000 " in shown
    shown = run_unbag("sets", "swapped").stdout
    assert shown.startswith("Swapped: ")
    assert "The set has no options." in shown


def test_train_error_names_options_as_typed(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    command = "train finetune --model m --output-dir o --num-train-epochs 0 --warmup-ratio 2"
    assert cli.run(cli.app, command.split()) == 2
    message = "--num-train-epochs: expected a whole number of at least 1, got 0; --warmup-ratio: expected a number from"
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "option", "argument"),
    [
        ("evaluate", "--models=org/model", "MODEL"),
        ("models interpolate", "--model", "MODEL"),
        ("check", "--run", "RUN"),
    ],
)
def test_argument_given_as_option_is_explained(command, option, argument):
    done = run_unbag(*command.split(), option, "x")
    assert done.exit_code == 2
    name = option.partition("=")[0]
    usage = {"check": "MODEL|RUN", "models interpolate": "A B [MODEL ...]"}.get(command, argument)
    assert f"{name}: expected the argument {argument}, got an option; use `unbag {command} {usage}`" in done.output


@pytest.mark.parametrize(("fails_later", "is_rejected"), [(False, False), (True, True)])
def test_complete_shard_with_skipped_sets_succeeds(capsys, monkeypatch, tmp_path, fails_later, is_rejected):
    unsuitable = EvaluationFailure("sicck", UnsuitablePairsError("other pairs"))
    failures = [unsuitable, *([EvaluationFailure("plain", ValueError("broken"))] if fails_later else [])]
    monkeypatch.setattr(evaluate, "_select_requests", lambda *_, **__: ([], [unsuitable], "suite"))
    monkeypatch.setattr(evaluate, "run_models", lambda *_, **__: EvaluationOutcome([], failures))
    command = ["evaluate", "majority", "--shard", "0/2", "--output-dir", str(tmp_path / "run")]
    assert cli.run(cli.app, command) == int(is_rejected)
    shown = capsys.readouterr().err
    assert "sicck: skipped: other pairs" in shown
    assert ("Shard 0/2 is complete" in shown) != is_rejected


@pytest.mark.parametrize(("given", "expected"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_command_lets_threads_wait_passively_unless_user_decides(monkeypatch, given, expected):
    monkeypatch.setenv("OMP_WAIT_POLICY", given or "")
    if given is None:
        monkeypatch.delenv("OMP_WAIT_POLICY")
    monkeypatch.setattr(cli, "run", lambda app: 0)
    with pytest.raises(SystemExit):
        cli.main()
    assert os.environ["OMP_WAIT_POLICY"] == expected


def test_warning_of_hub_library_is_printed_once_and_redacted():
    code = """
import typer
from unbag.cli.app import run

app = typer.Typer()

@app.command()
def warn():
    from huggingface_hub.utils import logging
    logging.get_logger("huggingface_hub.file_download").warning("cannot read https://user:%s@example.org", "secret")

run(app, [])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    [line] = done.stderr.splitlines()
    assert line.startswith("WARNING cannot read")
    assert "secret" not in line


def test_built_in_model_precedes_folder_with_results(working_folder, monkeypatch, capsys, caplog):
    (working_folder / "majority").mkdir()
    (working_folder / "majority" / "results.json").write_text("{}")
    command = "check majority --min plain:accuracy=0 --data pairs.csv --train-data pairs.csv --no-lexical-baseline"
    assert cli.run(cli.app, [*command.split(), "--no-shuffled"]) == 0, capsys.readouterr().err
    assert "majority: the built-in model; pass ./majority for the model in the folder of this name" in caplog.text
    pushed = []
    monkeypatch.setattr("unbag.cli.push.validate_push", lambda repo_id, **_: pushed.append(repo_id))
    push.validate_push_target("org", ["majority"], None, offline=False)
    assert pushed == ["org"]
    with pytest.raises(typer.BadParameter, match=r"got the folder \./majority"):
        push.validate_push_target("org", ["./majority"], None, offline=False)


@pytest.fixture
def terminal(monkeypatch):
    """Capture what a terminal shows."""
    drawn = io.StringIO()
    console = Console(file=drawn, force_terminal=True, color_system=None, width=80)
    for module in (output, progress):
        monkeypatch.setattr(module, "create_cli_console", lambda **_: console)
    return drawn


def test_progress_is_drawn_without_thread(terminal, monkeypatch):
    threads = threading.active_count()

    def prepare(builder):
        told.append((terminal.getvalue(), threading.active_count()))

    told = []
    monkeypatch.setattr(request, "create_validated_builder", lambda asked: asked)
    monkeypatch.setattr(request.loading, "load_evaluation_split", prepare)
    with progress.show_progress(2, is_visible=True) as watched:
        prebuild_sets([SetRequest("plain"), SetRequest("swapped")], lambda *each: watched.on_progress(BUILDING, *each))
        (first, *drawing), (second, *drawing_on) = told
        assert drawing == drawing_on == [threads]
        assert first.count("building the sets") == first.count("0/2 sets") > 0
        assert "1/2 sets" in second
        ended = terminal.getvalue()
        assert "2/2 sets" in ended
        watched.on_set("plain")
        assert "building plain" in terminal.getvalue().removeprefix(ended)
        watched.on_progress(FITTING, 1, 2)
    with progress.show_progress(0, is_visible=True) as moved:
        moved.on_progress(FITTING, 1, 2)
    assert terminal.getvalue().count(FITTING) >= 2
