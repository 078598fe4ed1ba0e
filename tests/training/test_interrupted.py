"""Runs killed with SIGKILL, and runs of several processes, all through the command that a user gives."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from safetensors.torch import load_file

from tests.training.test_finetune import close

ROOT = Path(__file__).parents[2]
RECIPE = [str(ROOT / "trainers/finetune.py")]
ALONE = [sys.executable, *RECIPE]
TWO = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", *RECIPE]


def arguments_of(pairs_file):
    """Return what all runs are told but the model and the folder."""
    # Five steps an epoch: a checkpoint after every second one stands in the middle of an epoch too.
    told = {"corpus": pairs_file, "validation": pairs_file, "batch-size": 15, "max-steps": 30}
    told |= {"checkpoint-every": 2, "learning-rate": 0.003, "evaluate-every": 7}
    return [str(part) for name, value in told.items() for part in (f"--{name}", value)]


@pytest.fixture
def arguments(pairs_file):
    return arguments_of(pairs_file)


def environment():
    return {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT / "src")}


def start(command, arguments, model, out):
    return subprocess.Popen(
        [*command, *arguments, "--model", str(model), "--out", str(out), "--json"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def end(process):
    """Wait for a run, and return what it printed."""
    printed, said = process.communicate()
    assert process.returncode == 0, said
    return json.loads(printed)


def kill(process, out, step):
    """Kill a run and all it started once it has a checkpoint after so many steps."""
    wanted = out.with_name(f"{out.name}.unfinished") / "checkpoints" / f"step-{step:08d}"
    deadline = time.monotonic() + 120
    while not wanted.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.001)
    time.sleep(random.uniform(0, 0.03))
    started = psutil.Process(process.pid)
    for one in (started, *started.children(recursive=True)):  # torchrun's are in sessions of their own
        one.send_signal(signal.SIGKILL)
    process.communicate()
    assert not out.exists()


def test_a_killed_run_goes_on_to_the_same_weights(tmp_path, with_dropout, arguments):
    unbroken = start(ALONE, arguments, with_dropout, tmp_path / "unbroken")
    end(unbroken)
    for step in (4, 16):  # step 4 is in the middle of the first epoch
        kill(start(ALONE, arguments, with_dropout, tmp_path / "out"), tmp_path / "out", step)
        left = [path.name for path in (tmp_path / "out.unfinished/checkpoints").glob("step-*")]
        assert 1 <= len(left) <= 3
    end(start(ALONE, arguments, with_dropout, tmp_path / "out"))
    for name in ("model.safetensors", "tokenizer.json", "config.json"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "unbroken" / name).read_bytes(), name
    records = [json.loads((tmp_path / name / "training.json").read_text()) for name in ("out", "unbroken")]
    for record in records:
        record["config"].pop("out")
    assert records[0] == records[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "unbroken"]


@pytest.fixture(scope="module")
def alone(tmp_path_factory, pretrained, pairs_file):
    """Give the folder that one process leaves, and what it prints."""
    out = tmp_path_factory.mktemp("alone") / "out"
    return out, end(start(ALONE, arguments_of(pairs_file), pretrained, out))


def test_two_processes_are_one_with_the_joint_batch(tmp_path, pretrained, arguments, alone):
    two = end(start(TWO, arguments, pretrained, tmp_path / "two"))
    assert two["runs"][0]["processes"] == 2
    assert close(load_file(alone[0] / "model.safetensors"), load_file(tmp_path / "two/model.safetensors"), 1e-3)
    losses = [[found["all"]["loss"] for found in done["runs"][0]["evaluations"]] for done in (alone[1], two)]
    assert len(losses[0]) == 5
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)


def test_a_run_goes_on_with_another_number_of_processes(tmp_path, pretrained, arguments, alone):
    kill(start(TWO, arguments, pretrained, tmp_path / "out"), tmp_path / "out", 8)
    end(start(ALONE, arguments, pretrained, tmp_path / "out"))
    assert close(load_file(alone[0] / "model.safetensors"), load_file(tmp_path / "out/model.safetensors"), 1e-3)
