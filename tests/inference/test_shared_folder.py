"""Tests that processes with different folders are detected before any computation."""

import threading
from dataclasses import dataclass
from typing import Any

import pytest

from unbag.inference import distributed
from unbag.inference.distributed import ProcessGroup, validate_shared_folder
from unbag.utils.storage import StorageFolder


@dataclass(frozen=True)
class ThreadGroup(ProcessGroup):
    """A process group that consists of threads."""

    barrier: Any
    values: dict

    def gather(self, values):
        self.values[self.rank] = values
        self.barrier.wait(30)
        found = [value for rank in range(self.world_size) for value in self.values[rank]]
        self.barrier.wait(30)
        return found

    def broadcast(self, value):
        return self.gather([value])[0]


def validate_in_threads(folders, monkeypatch):
    monkeypatch.setattr(distributed, "_FOLDER_TIMEOUT", 0.5)
    barrier, values, found = threading.Barrier(len(folders)), {}, {}

    def run(rank):
        try:
            validate_shared_folder(StorageFolder(folders[rank]), ThreadGroup(rank, len(folders), barrier, values))
        except ValueError as error:
            found[rank] = str(error)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(len(folders))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_processes_with_shared_folder_continue(tmp_path, monkeypatch):
    assert validate_in_threads([tmp_path / "a", tmp_path / "a"], monkeypatch) == {}
    assert list((tmp_path / "a").iterdir()) == []


def test_processes_with_separate_folders_are_rejected(tmp_path, monkeypatch):
    found = validate_in_threads([tmp_path / "a", tmp_path / "b"], monkeypatch)
    assert "process 0 on" in found[0]
    assert "cannot read the file that process 1 on" in found[0]
    assert "cannot read the file that process 0 on" in found[1]
    assert "--output-dir" in found[1]
    assert [*(tmp_path / "a").iterdir(), *(tmp_path / "b").iterdir()] == []


def test_single_process_writes_nothing(tmp_path):
    validate_shared_folder(StorageFolder(tmp_path / "a"), ProcessGroup(0, 1))
    assert not (tmp_path / "a").exists()


@pytest.mark.nightly
@pytest.mark.slow
def test_launched_group_with_separate_folders_fails_early(tmp_path):
    pytest.importorskip("accelerate", reason="needs unbag[models]")
    from tests.fork_server import PYTHON
    from tests.inference.test_process_group import CHILD, ROOT, TORCHRUN

    calls = tmp_path / "calls"
    (tmp_path / "0").mkdir()
    (tmp_path / "1").mkdir()
    failed = PYTHON.run(*TORCHRUN, "-m", CHILD, f"{tmp_path}/{{rank}}", "--calls", calls, cwd=ROOT)
    assert failed.returncode != 0
    assert "cannot read the file that process" in failed.stderr
    assert not calls.exists()
