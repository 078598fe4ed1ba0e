"""Test that lm-evaluation-harness runs the tasks with the same scores as unbag. For other harnesses, see `make
harnesses`.
"""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="needs unbag[models]")
pytest.importorskip("transformers", reason="needs unbag[models]")

from tests.inference.llm.tiny_lm import save_tiny_lm
from tests.integrations.harness.test_export import PAIRS
from unbag import challenge_sets, evaluate
from unbag.challenge_sets.request import SetRequest
from unbag.integrations.harness.export import export_tasks

pytestmark = pytest.mark.nightly


def test_lm_eval_scores_equal_unbag(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    (tmp_path / "pairs.csv").write_text(PAIRS)
    where = {"data": str(tmp_path / "pairs.csv")}
    requests = [SetRequest("permuted", options={**where, "q": 3}), SetRequest("swapped", options=where)]
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
        expected = {
            quantity.name: estimate.value
            for quantity, estimate in challenge_sets.get_challenge_set(ours.set).list_metric_values(
                ours.scores, "harness"
            )
        }
        assert {name: found[f"{name},none"] for name in expected} == pytest.approx(expected)
        assert theirs[f"unbag_{ours.set}"]["accuracy,none" if ours.set == "permuted" else "agreement,none"] > 0
