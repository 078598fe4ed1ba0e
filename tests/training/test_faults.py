"""Tests of system faults in training: a locked folder, killed workers, a full disk, a signal."""

import multiprocessing
import os
import resource
import signal

import pytest

pytest.importorskip("torch", reason="needs unbag[models]")

from torch.utils.data import DataLoader

from tests.fork_server import PYTHON, wait_until
from tests.training.test_interrupted import RECIPE, build_arguments
from unbag.training import trainer
from unbag.training.config import TrainConfig
from unbag.utils import locks
from unbag.utils.errors import is_disk_full


def start_training(pairs_path, model, out, *more):
    told = (RECIPE, *build_arguments(pairs_path), "--model", model, "--output-dir", out, *more)
    return PYTHON.start(*told, env={**os.environ, "HF_HUB_OFFLINE": "1"})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code", "how"),
    [
        pytest.param(signal.SIGINT, 130, "interrupted", marks=pytest.mark.nightly),
        (signal.SIGTERM, 143, "termin"),
    ],
)
def test_second_run_is_rejected_and_signal_allows_resuming(
    tmp_path, pairs_path, dropout_model, finetune, number, code, how
):
    out = tmp_path / "out"
    more = () if number == signal.SIGINT else ("--dataloader-num-workers", "1")
    first = start_training(pairs_path, dropout_model, out, "--max-steps", "3000", *more)
    wait_until((tmp_path / "out.unfinished" / "checkpoints/checkpoint-2/checksums.json").exists, first)
    with pytest.raises(
        locks.LockedError, match=rf"writes to this path, got process {first.pid} on .* \(training since"
    ):
        finetune(output_dir=out)
    os.kill(first.pid, number)
    assert first.wait() == code
    _, said = first.communicate()
    assert f"unbag: {how}" in said
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


@pytest.mark.parametrize("error", [ConnectionResetError(104, "reset"), EOFError()])
def test_worker_killed_during_transfer_is_reported_as_worker(error, tmp_path):
    def read_batch(examples):
        raise error

    def read(workers):
        config = TrainConfig(model="m", output_dir=tmp_path / "out", dataloader_num_workers=workers)
        with trainer.explain_training_errors(config):
            next(iter(DataLoader([0], collate_fn=read_batch)))

    with pytest.raises(ValueError, match="a data loading process died"):
        read(workers=1)
    with pytest.raises(type(error)):
        read(workers=0)  # without workers, the error has another cause
    config = TrainConfig(model="m", output_dir=tmp_path / "out", dataloader_num_workers=1)
    with pytest.raises(type(error)), trainer.explain_training_errors(config):
        raise type(error)  # outside the loader, such as in a tracker


@pytest.mark.parametrize("most", [pytest.param(200, marks=pytest.mark.nightly), 20_000], ids=["records", "weights"])
def test_full_disk_gives_one_line_error_and_run_resumes(tmp_path, finetune, caplog, most):
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill_up(step, total, status):
        if step == 5:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, unlimited[1]))  # limits the size of files

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
