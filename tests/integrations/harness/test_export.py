"""Tests of the tasks for evaluation harnesses."""

import ast
import builtins
import json
import math
import os
import subprocess
import symtable
import sys
from typing import get_args

import datasets
import numpy as np
import pytest

from tests.factories import run_unbag
from tests.inference.llm.tiny_lm import save_tiny_lm
from unbag import challenge_sets, evaluate
from unbag.challenge_sets.base import ACCURACY, MetricDefinition
from unbag.challenge_sets.request import SetRequest
from unbag.cli.export import Harness
from unbag.data.labels import LABELS
from unbag.data.predictions import SetPredictions
from unbag.inference.llm.prompts import DefaultPrompt
from unbag.integrations.harness.export import HARNESSES, export_tasks
from unbag.integrations.harness.tasks import HarnessTask, build_scoring_source
from unbag.scoring.nested import iter_estimates

pytest.importorskip("torch", reason="needs unbag[models]")
pytest.importorskip("transformers", reason="needs unbag[models]")

TASKS = [HarnessTask(name, f"org/{name}", "snli", "test") for name in challenge_sets.list_set_names()]


@pytest.fixture
def requests(working_folder):
    where = {"data": str(working_folder / "pairs.csv")}
    return [SetRequest("permuted", options={**where, "q": 3}), SetRequest("swapped", options=where)]


@pytest.mark.parametrize("files", HARNESSES.values())
def test_exported_code_needs_only_the_harness_and_defines_each_name_once(files):
    [code] = [text for path, text in files(TASKS, DefaultPrompt(6)).items() if path.endswith(".py")]
    imports = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Import | ast.ImportFrom)]
    roots = {getattr(node, "module", node.names[0].name).partition(".")[0] for node in imports}
    harnesses = {"numpy", "lighteval", "inspect_ai", "scipy"}  # scipy for intervals, which harnesses do not compute
    assert roots - sys.stdlib_module_names <= harnesses
    defined = [node.name for node in ast.parse(code).body if hasattr(node, "name")]
    assert len(defined) == len(set(defined)) > len(TASKS)
    table = symtable.symtable(code, "tasks.py", "exec")
    own = {each.get_name() for each in table.get_symbols() if each.is_assigned() or each.is_imported()}
    assert list_global_names(table) <= own | {*dir(builtins), "__file__"}


def list_global_names(table):
    """Return the global names that a scope and the scopes inside it use."""
    own = {each.get_name() for each in table.get_symbols() if each.is_global()}
    return own.union(*map(list_global_names, table.get_children()))


def test_invalid_export_is_rejected_before_writing(requests, tmp_path):
    two = tmp_path / "claims.csv"
    pairs = (tmp_path / "pairs.csv").read_text()
    two.write_text(pairs.replace("neutral", "unsupported").replace("contradiction", "unsupported"))
    for wrong, message in (
        ({"requests": [*requests, requests[0]]}, "expected each set once, got permuted twice"),
        ({"num_fewshot": 1}, "few-shot examples"),
        ({"hub": "org"}, "got your own data"),
        ({"hub": "org/name"}, "expected an organization for 2 sets"),
        (
            {"requests": [SetRequest("plain", options={"data": str(two)})]},
            r"claims\.csv: expected pairs with three labels, .* got pairs with two labels \(entailment, not_entail",
        ),
    ):
        given = {"harness": "lm-eval", "requests": requests, "folder": tmp_path / "no"} | wrong
        with pytest.raises(ValueError, match=message):
            export_tasks(**given)
    assert not (tmp_path / "no").exists()


def test_command_writes_tasks_and_prints_run_command(requests, tmp_path):
    options = ["--data", "pairs.csv", "--output-dir", tmp_path / "out", "-o", "q=2", "--json"]
    shown = run_unbag("export", "inspect-ai", *options)
    assert shown.exit_code == 0, shown.output
    told = json.loads(shown.stdout)
    assert told["files"] == ["data/permuted/test.parquet", "unbag_tasks.py"]
    assert told["command"] == f"cd {tmp_path / 'out'} && inspect eval unbag_tasks.py --model PROVIDER/MODEL"
    assert get_args(Harness) == tuple(HARNESSES)


# The exported code: one module that does not import unbag.
_WRITTEN = {}
exec(build_scoring_source(TASKS), _WRITTEN)
COLUMNS, HIGHER_IS_BETTER, SCORES_OF = (_WRITTEN[name] for name in ("COLUMNS", "HIGHER_IS_BETTER", "SCORES_OF"))
N = 240
FOUR_WAY = ["forward_entailment", "reverse_entailment", "contradiction", "neutral", None]


def build_rows(name):
    """Return rows with random values for all columns that the set's scores need."""
    draw = np.random.default_rng(7)
    label = [int(draw.integers(3)) for _ in range(N)]
    rows = [{"id": f"r{i}", "source_id": f"s{i}", "premise": f"p{i % 50}", "label": label[i]} for i in range(N)]
    for i, row in enumerate(rows):
        half = i // 2
        row |= {
            "breaking_nli": {
                "category": "abc"[i % 3],
                "similarity": None,
                "pair_frequency": None,
                "annotator_labels": [],
            },
            "cs_lambda": {"lms": float(draw.random()), "annotator_labels": []},
            "permuted": {"source_id": f"s{i // 6}", "permutation": i % 6 - 1, "label": label[i // 6]}
            | {f"{side}_words": 8 for side in ("premise", "hypothesis")}
            | {f"{side}_bleu_{n}": 0.5 for side in ("premise", "hypothesis") for n in (2, 3, 4)}
            | {f"{side}_minitree": 0.5 for side in ("premise", "hypothesis")},
            "negation": {"source_id": f"s{i // 4}", "mirror": f"m{half}", "operation": "double", "label": i % 2},
            "recombined": {"source_id": f"s{i // 3}", "group": f"g{i // 3}", "k": 4, "position": i // 3 % 4}
            | {"operation": ("supported", "subject", "removed")[i % 3], "label": int(i % 3 > 0)},
            "resnli": {"partition": i % 20, "source_split": "test"},
            "sicck": {"pair": f"r{half}", "reverse": bool(i % 2), "four_way": FOUR_WAY[half % 5]}
            | dict.fromkeys(("modifier_type", "part", "modifier", "position", "relation"), "a"),
            "soswap_addamod": {"kind": ("soswap", "addamod")[i % 2]},
            "swapped": {"source_id": f"s{half}", "swapped": bool(i % 2), "label": label[half]},
        }.get(name, {})
    if name == "swapped":  # an entailment pair has no swapped row
        rows = [row for row in rows if not (row["swapped"] and LABELS[row["label"]] == "entailment")]
    return rows


def build_predictions(rows):
    draw = np.random.default_rng(8)
    return [row | {"predicted": int(draw.choice([row["label"], draw.integers(3)]))} for row in rows]


def test_computed_metric_of_set_is_not_exported(monkeypatch):
    computed = MetricDefinition("entailments", "accuracy, entailment", compute=lambda scores: scores["by_label"][0])
    monkeypatch.setattr(challenge_sets.get_challenge_set("plain"), "metric_definitions", (ACCURACY, computed))
    task = HarnessTask("plain", "org/plain", "snli", "test")
    assert task.scores == {"accuracy": True}
    code = {"__name__": "exported"}
    exec(build_scoring_source([task]), code)
    assert code["SCORES_OF"]["plain"]([{"label": 0, "predicted": 0}]) == {"accuracy": 1.0}


@pytest.mark.parametrize("name", challenge_sets.list_set_names())
def test_task_scores_equal_set_scores(name):
    records = build_predictions(build_rows(name))
    probabilities = np.eye(3, dtype=np.float32)[[record["predicted"] for record in records]]
    expected = compute_task_values(name, records, SetPredictions(probabilities, LABELS, has_probabilities=False))
    found = SCORES_OF[name]([{c: r[c] for c in (*COLUMNS[name], "label", "predicted")} for r in records])
    assert list(found) == list(HIGHER_IS_BETTER[name])
    assert found == pytest.approx(expected)
    assert all(0 < abs(value) < 1 for score, value in found.items() if "omega" not in score)


def compute_task_values(name, rows, predictions):
    """Compute the scores of a task by name, as `unbag evaluate` does."""
    challenge_set = challenge_sets.get_challenge_set(name)
    found = dict(iter_estimates(challenge_set.score_rows(datasets.Dataset.from_list(rows), predictions)))
    return {each.name: found[each.path].value for each in challenge_set.list_metrics_with_role("harness")}


def test_incomplete_permutations_at_the_end_are_not_scored():
    records = build_predictions(build_rows("permuted"))
    assert SCORES_OF["permuted"](records[:100]) == SCORES_OF["permuted"](records[:96])  # 16 examples of 6 rows


NAN = math.nan


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        # (rows, correct rows) per partition; then accuracy, easiest, hardest, drop
        ({0: (4, 3), 1: (4, 1)}, (4 / 8, 3 / 4, NAN, NAN)),
        ({1: (4, 1)}, (1 / 4, NAN, NAN, NAN)),
        ({18: (2, 2), 19: (5, 1)}, (3 / 7, NAN, 1 / 5, NAN)),
        ({0: (4, 3), 7: (1, 0), 19: (5, 1)}, (4 / 10, 3 / 4, 1 / 5, 3 / 4 - 1 / 5)),
        ({number: (2, number % 2) for number in range(20)}, (10 / 40, 0.0, 1 / 2, -1 / 2)),
        # a whole set of three pairs is indistinguishable from a part of a larger set
        ({0: (1, 1), 1: (1, 1), 2: (1, 0)}, (2 / 3, 1.0, NAN, NAN)),
        ({}, (NAN, NAN, NAN, NAN)),
    ],
)
def test_partial_resnli_omits_unknown_partitions(asked, expected):
    records = [
        {"partition": number, "label": 1, "predicted": 1 if row < right else 0}
        for number, (rows, right) in asked.items()
        for row in range(rows)
    ]
    found = SCORES_OF["resnli"](records)
    assert tuple(found) == ("accuracy", "accuracy_easiest", "accuracy_hardest", "drop")
    assert tuple(found.values()) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("name", list(SCORES_OF))
def test_missing_answer_is_wrong(name):
    rows = build_rows(name)
    records = [record | {"predicted": -1} for record in build_predictions(rows)]
    found = SCORES_OF[name](records)
    worst = {score: 0 if higher else 1 for score, higher in HIGHER_IS_BETTER[name].items()}
    assert all(value == worst[score] or math.isnan(value) for score, value in found.items())
    nothing = SetPredictions(
        np.full((len(rows), 3), 1 / 3), LABELS, has_probabilities=False, unanswered=np.ones(len(rows), dtype=bool)
    )
    expected = compute_task_values(name, rows, nothing)
    assert expected == pytest.approx({score: None if math.isnan(value) else value for score, value in found.items()})


@pytest.mark.nightly
def test_lm_eval_scores_equal_unbag(requests, tmp_path):
    pytest.importorskip("lm_eval", reason="needs lm-eval")
    model = save_tiny_lm(tmp_path / "tiny")
    export_tasks("lm-eval", requests, tmp_path / "tasks", num_fewshot=3)
    arguments = ["--model", "hf", "--model_args", f"pretrained={model},dtype=float32", "--device", "cpu"]
    arguments += ["--include_path", str(tmp_path / "tasks"), "--tasks", "unbag", "--output_path", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-m", "lm_eval", *arguments],
        env={**os.environ, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1", "PYTHONPATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    [file] = (tmp_path / "out").rglob("results_*.json")
    theirs = json.loads(file.read_text())["results"]
    for ours in evaluate(f"causal:{model}", requests, output_dir=tmp_path / "ours", num_fewshot=3):
        found = theirs[f"unbag_{ours.set}"]
        metrics = challenge_sets.get_challenge_set(ours.set).list_metric_values(ours.scores, "harness")
        expected = {metric.name: estimate.value for metric, estimate in metrics}
        assert {name: found[f"{name},none"] for name in expected} == pytest.approx(expected)
        assert found["accuracy,none" if ours.set == "permuted" else "agreement,none"] > 0
