"""Tests of the SLURM scripts with local processes as tasks: an array of shards, and training on two nodes."""

import csv
import json
from itertools import islice

import pytest

pytest.importorskip("torch", reason="needs unbag[models]")

from tests.examples.programs import SBATCH, SCONTROL, SRUN, TORCHRUN, UNBAG, run_script
from tests.inference.conftest import make_model, tiny_bert  # noqa: F401  (fixtures)
from tests.training.conftest import pairs_path, pretrained  # noqa: F401
from unbag import cli
from unbag.cli.app import run
from unbag.data import demo

pytestmark = pytest.mark.nightly
PROGRAMS = {"sbatch": SBATCH, "srun": SRUN, "scontrol": SCONTROL, "unbag": UNBAG, "torchrun": TORCHRUN}


def test_shard_array_gives_results_of_one_process(tiny_bert, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr("unbag.scoring.skill.MIN_LABEL_ROWS", 50)  # the value in the processes of the script
    with (tmp_path / "pairs.csv").open("w", newline="") as file:
        rows = ((pair.premise, pair.hypothesis, pair.label) for pair in islice(demo.iter_demo_pairs("validation"), 60))
        csv.writer(file).writerows([("premise", "hypothesis", "label"), *rows])
    asked = [str(tiny_bert), "--sets", "plain,swapped", "--data", str(tmp_path / "pairs.csv"), "--trust-labels"]
    asked.append("--no-lexical-baseline")
    done = run_script("slurm_evaluate.sh", 2, tmp_path / "out", *asked, programs=PROGRAMS, folder=tmp_path)
    logs = "\n".join(path.read_text() for path in tmp_path.glob("*.log"))
    assert done.returncode == 0, done.stderr + logs
    assert run(cli.app, ["evaluate", *asked, "--output-dir", str(tmp_path / "own")]) == 0
    ours, theirs = (json.loads((tmp_path / name / "results.json").read_text()) for name in ("own", "out"))
    assert theirs["results"] == ours["results"], logs
    assert (tmp_path / "score.log").read_text().strip(), "the last job scores"
    assert len(list(tmp_path.glob("shard-*.log"))) == 2


def test_two_nodes_train_one_model(pretrained, pairs_path, tmp_path):  # noqa: F811
    training = ["finetune", "--model", pretrained, "--corpus", pairs_path, "--validation", pairs_path]
    short = ["--max-steps", "4", "--batch-size", "12", "--output-dir", tmp_path / "model"]
    programs = {**PROGRAMS, "sbatch": "exit 9"}
    slurm = {"SLURM_JOB_ID": "7", "SLURM_NNODES": "2", "SLURM_JOB_NODELIST": "node[1-2]", "OMP_NUM_THREADS": "1"}
    done = run_script("slurm_train.sh", *training, *short, programs=programs, folder=tmp_path, **slurm)
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "model/training.json").read_text())
    assert json.loads((tmp_path / "model/hardware.json").read_text())["processes"] == 2
    assert record["recipe"] == "finetune"
    assert (tmp_path / "model/model.safetensors").is_file()
