"""Tests of interrupted runs and system faults: killed processes, a locked folder, a full disk, and signals."""

import multiprocessing
import os
import random
import re
import resource
import signal
import time
from pathlib import Path

import pytest
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError
from safetensors.torch import load_file
from torch.utils.data import DataLoader

from tests.fake_hub.accounts import ALICE
from tests.fork_server import PYTHON, wait_until
from tests.training.conftest import has_close_weights
from unbag.training import trainer
from unbag.training.config import TrainConfig
from unbag.utils import locks
from unbag.utils.errors import is_disk_full

RECIPE = Path(__file__).parents[2] / "trainers/finetune.py"


@pytest.fixture(scope="module")
def start_training(pairs_path):
    """Return a function that starts a run in one or several processes."""
    # With four steps per epoch, every second checkpoint is in the middle of an epoch. All batches are complete, because
    # accelerate fills an incomplete batch of several processes with pairs from the start of the epoch.
    told = {"corpus": pairs_path, "validation": pairs_path, "batch-size": 18, "max-steps": 30}
    told |= {"save-steps": 2, "learning-rate": 0.003, "eval-steps": 7}
    arguments = [part for name, value in told.items() for part in (f"--{name}", value)]

    def start_training(model, out, *more, processes=1, environment=None):
        environment = {**os.environ, **(environment or {"HF_HUB_OFFLINE": "1"})}
        command = (RECIPE, *arguments, "--model", model, "--output-dir", out, "--json", *more)
        return PYTHON.start_group(processes, *command, env=environment)

    return start_training


def wait_for_training(processes):
    """Wait for a run. Return the step after which it resumed, or 0."""
    for process in processes:
        assert process.wait() == 0, process.communicate()
    found = re.search(r"resuming after step (\d+) of 30", processes[0].communicate()[1])
    return int(found[1]) if found else 0


@pytest.fixture(scope="module")
def single_process_model(tmp_path_factory, pretrained, start_training):
    """Train in one process. Return the file of the weights."""
    out = tmp_path_factory.mktemp("alone") / "out"
    wait_for_training(start_training(pretrained, out))
    return out / "model.safetensors"


@pytest.mark.nightly
def test_run_resumes_with_other_number_of_processes(tmp_path, pretrained, start_training, single_process_model):
    out = tmp_path / "out"
    processes = start_training(pretrained, out, processes=2)
    wait_until((tmp_path / "out.unfinished/checkpoints/checkpoint-8/checksums.json").exists, *processes, every=0.001)
    time.sleep(random.uniform(0, 0.03))
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()
    assert not out.exists()
    assert wait_for_training(start_training(pretrained, out)) >= 8, "it began anew"
    assert has_close_weights(load_file(single_process_model), load_file(out / "model.safetensors"), 1e-3)


@pytest.mark.nightly
def test_other_machine_resumes_from_hub(tmp_path, pretrained, start_training, single_process_model, hub, repo_id):
    """One run pushes its checkpoints and is killed. Another run in another folder downloads the last one."""
    environment = hub.env(tmp_path / "home", token=ALICE)

    def list_pushed_files():
        try:
            api = HfApi(hub.endpoint, token=ALICE)
            return {entry.path for entry in api.list_repo_tree(repo_id, "checkpoint")}
        except HfHubHTTPError:  # not pushed yet
            return set()

    push, resume = ("--push-checkpoints", repo_id), ("--resume-from-checkpoint", repo_id)
    [first] = start_training(pretrained, tmp_path / "first", *push, environment=environment)
    pushed = wait_until(list_pushed_files, first, every=0.05)
    first.kill()
    first.wait()
    assert {"checkpoint/run.json", "checkpoint/model.safetensors", "checkpoint/optimizer.pt"} <= pushed
    second = start_training(pretrained, tmp_path / "second", *resume, environment=environment)
    assert wait_for_training(second) >= 2, "it began anew"
    assert (tmp_path / "second/model.safetensors").read_bytes() == single_process_model.read_bytes()


@pytest.mark.slow
def test_second_run_is_rejected_and_signal_allows_resuming(tmp_path, dropout_model, start_training, finetune):
    out = tmp_path / "out"
    [first] = start_training(dropout_model, out, "--max-steps", "3000")
    wait_until((tmp_path / "out.unfinished" / "checkpoints/checkpoint-2/checksums.json").exists, first)
    with pytest.raises(
        locks.LockedError, match=rf"writes to this path, got process {first.pid} on .* \(training since"
    ):
        finetune(output_dir=out)
    os.kill(first.pid, signal.SIGTERM)
    assert first.wait() == 143
    _, said = first.communicate()
    assert "unbag: termin" in said
    assert "; rerun the same command to resume" in said
    assert "Traceback" not in said
    assert not locks.get_lock_file(out).exists()
    assert not list((tmp_path / "out.unfinished").rglob(".*.part"))


@pytest.mark.nightly
def test_killed_worker_gives_one_line_error_and_run_resumes(finetune, caplog):
    others = {child.pid for child in multiprocessing.active_children()}  # for example a client process of other tests

    def kill_worker(step, total, status):
        if step == 2:
            for worker in multiprocessing.active_children():
                if worker.pid not in others:
                    os.kill(worker.pid, signal.SIGKILL)

    options = {"dataloader_num_workers": 1, "save_steps": 1, "max_steps": 30}
    with pytest.raises(ValueError, match=r"a data loading process died .*--dataloader-num-workers, got 1") as told:
        finetune(kill_worker, **options)
    assert "\n" not in str(told.value)
    options |= {"dataloader_num_workers": 0}
    record, _ = finetune(**options)
    assert record["steps"] == 30
    assert "resuming after step" in caplog.text


@pytest.mark.parametrize("error", [ConnectionResetError, EOFError])
def test_worker_killed_during_transfer_is_reported_as_worker(error, tmp_path):
    def read_batch(examples):
        raise error("reset")

    def read(workers, read=lambda: next(iter(DataLoader([0], collate_fn=read_batch)))):
        config = TrainConfig(model="m", output_dir=tmp_path / "out", dataloader_num_workers=workers)
        with trainer.explain_training_errors(config):
            read()

    with pytest.raises(ValueError, match="a data loading process died"):
        read(workers=1)
    with pytest.raises(error):
        read(workers=0)  # without workers, the error has another cause
    with pytest.raises(error):
        read(workers=1, read=lambda: read_batch([]))  # outside the loader, such as in a tracker


def test_full_disk_gives_one_line_error_and_run_resumes(tmp_path, finetune, caplog):
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill_up(step, total, status):
        if step == 5:
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, unlimited[1]))  # too small for weights

    try:
        with pytest.raises(OSError, match=r".") as told:
            finetune(fill_up, save_steps=4)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    assert is_disk_full(told.value)
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.rglob(".*.part"))
    record, _ = finetune(save_steps=4)
    assert record["steps"] == 12
    assert "resuming after step 4 of 12" in caplog.text
