"""Tests of the scripts for SLURM and jobs of the Hub."""

import csv
import json
import shlex
from itertools import islice

import pytest

from tests.docs.blocks import parse_command
from tests.examples.programs import HF, SBATCH, SCONTROL, SRUN, TORCHRUN, UNBAG, run_script
from tests.training.conftest import pairs_path, pretrained  # noqa: F401
from unbag import cli
from unbag.cli.app import run
from unbag.data import demo

pytest.importorskip("torch", reason="needs unbag[models]")


def read_submitted_command(folder, *arguments):
    """Return the command of the job as parsed by the Hub client."""
    dry = f'[ "$1 $2" = "jobs run" ] || exit 9\nshift 2\nexec "{HF}" jobs run --dry-run --format human "$@"'
    done = run_script("hf_jobs.sh", *arguments, programs={"hf": dry}, folder=folder, HF_TOKEN="hf_of_nobody")
    assert done.returncode == 0, done.stderr
    [line] = [line for line in done.stdout.splitlines() if line.split()[:1] == ["command"]]
    return shlex.split(line)[1:]


@pytest.mark.skipif(HF is None, reason="needs the command hf")
@pytest.mark.parametrize(
    ("arguments", "command", "values"),
    [
        (
            ("build", "org", "permuted", "--corpus", "snli"),
            "publish dataset",
            {"yes": True, "num_proc": 8, "repo_id": "org"},
        ),
        (("evaluate", "org", "org/model", "--full"), "evaluate", {"push_results": "org", "models": ["org/model"]}),
        (
            ("train", "org/name", "finetune", "--model", "org/pretrained"),
            "train finetune",
            {"push_results": "org/name", "push_checkpoints": "org/name-checkpoints", "model": "org/pretrained"},
        ),
    ],
)
def test_job_is_accepted_and_its_command_exists(tmp_path, arguments, command, values):
    words = read_submitted_command(tmp_path, *arguments)
    assert words[:3] == ["bash", "-c", 'pip install --quiet "unbag[models]" && exec unbag "$@"']
    path, params = parse_command(words[4:])
    assert path == command
    assert {name: params[name] for name in values} == values


def test_unknown_job_is_rejected(tmp_path):
    done = run_script("hf_jobs.sh", "dance", "org", programs={}, folder=tmp_path)
    assert done.returncode == 2
    assert "expected build, evaluate or train" in done.stderr


PROGRAMS = {"sbatch": SBATCH, "srun": SRUN, "scontrol": SCONTROL, "unbag": UNBAG, "torchrun": TORCHRUN}


@pytest.mark.nightly
def test_shard_array_gives_results_of_one_process(tiny_bert, tmp_path, monkeypatch):
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


@pytest.mark.nightly
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
