"""Tests of killed runs and runs with several processes, through the command line."""

import json
import os
import random
import re
import time
from pathlib import Path

import pytest
from safetensors.torch import load_file

from tests.fake_hub.accounts import ALICE
from tests.fork_server import PYTHON, wait_until
from tests.training.conftest import has_close_weights

RECIPE = Path(__file__).parents[2] / "trainers/finetune.py"
ALONE, TWO = 1, 2


def build_arguments(pairs_path):
    """Return the arguments that all runs share."""
    # With four steps per epoch, every second checkpoint is in the middle of an epoch. All batches are complete, because
    # accelerate fills an incomplete batch of several processes with pairs from the start of the epoch.
    told = {"corpus": pairs_path, "validation": pairs_path, "batch-size": 18, "max-steps": 30}
    told |= {"save-steps": 2, "learning-rate": 0.003, "eval-steps": 7}
    return [str(part) for name, value in told.items() for part in (f"--{name}", value)]


@pytest.fixture
def arguments(pairs_path):
    return build_arguments(pairs_path)


def start_training(processes, arguments, model, out, hub=None):
    offline = {"HF_HUB_OFFLINE": "1"} if hub is None else hub
    told = (RECIPE, *arguments, "--model", model, "--output-dir", out, "--json")
    return PYTHON.start_group(processes, *told, env={**os.environ, **offline})


def wait_for_training(processes):
    """Wait for a run. Return the output of the first process, with its log as `said`."""
    for process in processes:
        assert process.wait() == 0, process.communicate()
    printed, said = processes[0].communicate()
    return {**json.loads(printed), "said": said}


def find_first_step(done):
    """Return the step after which a run resumed."""
    found = re.search(r"resuming after step (\d+) of 30", done["said"])
    return int(found[1]) if found else 0


def kill_after_checkpoint(processes, out, step):
    """Kill a run once it has written the checkpoint of a step."""
    wanted = out.with_name(f"{out.name}.unfinished") / "checkpoints" / f"checkpoint-{step}" / "checksums.json"
    wait_until(wanted.exists, *processes, every=0.001)
    time.sleep(random.uniform(0, 0.03))
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()
    assert not out.exists()


@pytest.mark.nightly
def test_killed_run_resumes_to_same_weights(tmp_path, dropout_model, arguments):
    unbroken = start_training(ALONE, arguments, dropout_model, tmp_path / "unbroken")
    kill_after_checkpoint(
        start_training(ALONE, arguments, dropout_model, tmp_path / "out"), tmp_path / "out", 12
    )  # two steps into an epoch
    wait_for_training(unbroken)
    done = wait_for_training(start_training(ALONE, arguments, dropout_model, tmp_path / "out"))
    assert 12 <= find_first_step(done), "it began anew"
    for name in ("model.safetensors", "tokenizer.json", "config.json"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "unbroken" / name).read_bytes(), name
    records = [json.loads((tmp_path / name / "training.json").read_text()) for name in ("out", "unbroken")]
    for record in records:
        record["config"].pop("output_dir")
    assert records[0] == records[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "unbroken"]


@pytest.fixture(scope="module")
def single_process_run(tmp_path_factory, pretrained, pairs_path):
    """Train in one process; return the folder and the output."""
    out = tmp_path_factory.mktemp("alone") / "out"
    return out, wait_for_training(start_training(ALONE, build_arguments(pairs_path), pretrained, out))


@pytest.mark.nightly
def test_run_resumes_with_other_number_of_processes(tmp_path, pretrained, arguments, single_process_run):
    kill_after_checkpoint(start_training(TWO, arguments, pretrained, tmp_path / "out"), tmp_path / "out", 8)
    done = wait_for_training(start_training(ALONE, arguments, pretrained, tmp_path / "out"))
    assert 8 <= find_first_step(done), "it began anew"
    assert has_close_weights(
        load_file(single_process_run[0] / "model.safetensors"), load_file(tmp_path / "out/model.safetensors"), 1e-3
    )


def list_hub_files(hub, repo_id):
    """List the files of a repository's checkpoint on the Hub."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        return [entry.path for entry in HfApi(hub.endpoint, token=ALICE).list_repo_tree(repo_id, "checkpoint")]
    except HfHubHTTPError:  # not pushed yet
        return []


@pytest.mark.nightly
def test_other_machine_resumes_from_hub(tmp_path, pretrained, arguments, single_process_run, hub, repo_id):
    """One run pushes its checkpoints and is killed. Another run in another folder downloads the last one."""
    environment = hub.env(tmp_path / "home", token=ALICE)
    [first] = start_training(
        ALONE, [*arguments, "--push-checkpoints", repo_id], pretrained, tmp_path / "first", environment
    )
    pushed = wait_until(lambda: list_hub_files(hub, repo_id), first, every=0.05)
    first.kill()
    first.wait()
    assert {"checkpoint/run.json", "checkpoint/model.safetensors", "checkpoint/optimizer.pt"} <= set(pushed)
    second = wait_for_training(
        start_training(
            ALONE, [*arguments, "--resume-from-checkpoint", repo_id], pretrained, tmp_path / "second", environment
        )
    )
    assert 2 <= find_first_step(second), "it began anew"
    assert (tmp_path / "second/model.safetensors").read_bytes() == (
        single_process_run[0] / "model.safetensors"
    ).read_bytes()
