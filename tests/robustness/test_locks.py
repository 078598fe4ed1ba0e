"""Tests of two processes that use the same path, and of failing processes of one training run."""

import json
import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.fork_server import PYTHON, wait_until
from tests.inference.conftest import make_model, tiny_bert  # noqa: F401  (fixtures)
from tests.robustness.conftest import write_pairs
from tests.training.conftest import pairs_path, pretrained  # noqa: F401  (fixtures)
from unbag.utils import locks

pytest.importorskip("torch", reason="needs unbag[models]")

_HOLD = """
import sys, time
from pathlib import Path
from unbag.utils import locks
with locks.hold_lock(Path(sys.argv[1]), "training"):
    print("held", flush=True)
    {more}
    time.sleep(float(sys.argv[2]))
"""


def holding(path, seconds=60, more="pass"):
    """Return a process that holds the lock of a path."""
    process = PYTHON.start("-c", _HOLD.format(more=more), path, seconds)
    wait_until(lambda: "training since" in locks.describe_lock_holder(path), process)
    return process


def test_second_process_error_names_holder(tmp_path):
    holder = holding(tmp_path / "out")
    told = (
        rf"out: expected no other process that writes to this path, got process {holder.pid} "
        rf"on {socket.gethostname()} \(training since 20.*wait"
    )
    with pytest.raises(locks.LockedError, match=told), locks.hold_lock(tmp_path / "out", "training"):
        pass
    holder.kill()


@pytest.mark.parametrize("more", ["pass", "import os; os.fork() or time.sleep(3)"], ids=["alone", "with a child"])
def test_lock_of_killed_process_is_released(tmp_path, more):
    holder = holding(tmp_path / "out", more=more)
    holder.kill()
    holder.wait()
    assert locks.get_lock_file(tmp_path / "out").exists()
    with locks.hold_lock(tmp_path / "out", "training"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_waiting_process_continues_after_release(tmp_path, caplog):
    holder = holding(tmp_path / "out", seconds=0.3)
    with locks.hold_lock(tmp_path / "out", "fitting", wait=True):
        assert f"process {os.getpid()} " in locks.describe_lock_holder(tmp_path / "out")
    assert f"waiting for process {holder.pid} on " in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_lock_is_reentrant_and_created_folders_are_removed(tmp_path):
    with locks.hold_lock(tmp_path / "a/b/out", "training"):
        with locks.hold_lock(tmp_path / "a/b/../b/out", "training"):
            pass
        assert locks.get_lock_file(tmp_path / "a/b/out").exists()
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def env(tmp_path):
    """Return an environment with separate caches in which commands work without the Hub."""
    changed = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1"}
    return {**{name: value for name, value in os.environ.items() if name != "UNBAG_CACHE"}, **changed}


def both(env, cwd, *command):
    """Run a command twice at the same time. Return the outputs; both processes must succeed."""
    processes = [PYTHON.start("-m", "unbag", *command, env=env, cwd=cwd) for _ in range(2)]
    for process in processes:
        assert process.wait() == 0, process.communicate()
    return "".join(process.communicate()[1] for process in processes)


def left_over(folder):
    return [path for path in folder.rglob(".*") if path.name.endswith((".lock", ".part"))]


@pytest.mark.nightly
@pytest.mark.slow
def test_two_evaluations_in_one_folder_give_result_of_one(tmp_path, env):
    write_pairs(tmp_path / "pairs.csv", 40)
    ask = ("evaluate", "majority", "--train-data", "pairs.csv", "--data", "pairs.csv", "--sets", "plain,swapped")
    PYTHON.run(
        "-m", "unbag", *ask, "--output-dir", "one", env=env | {"XDG_CACHE_HOME": "other"}, cwd=tmp_path, check=True
    )
    both(env, tmp_path, *ask, "--output-dir", "two")
    one, two = (
        {str(path.relative_to(tmp_path / name)): path for path in (tmp_path / name).rglob("*") if path.is_file()}
        for name in ("one", "two")
    )
    assert one.keys() == two.keys()
    for name, path in one.items():
        if name not in ("run.yaml",) and not name.endswith("manifest.json"):  # these contain paths and times
            assert path.read_bytes() == two[name].read_bytes(), name
    assert not left_over(tmp_path)


@pytest.mark.nightly
@pytest.mark.slow
def test_two_builds_of_one_set_give_same_file(tmp_path, env):
    write_pairs(tmp_path / "pairs.csv", 40)
    build = ("build", "swapped", "--data", "pairs.csv", "--output")
    PYTHON.run("-m", "unbag", *build, "one.parquet", env=env | {"HF_HOME": "other"}, cwd=tmp_path, check=True)
    both(env, tmp_path, *build, "two.parquet")
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    assert not left_over(tmp_path)


@pytest.mark.nightly
@pytest.mark.slow
def test_two_fits_of_lexical_model_give_same_file(tmp_path, env):
    write_pairs(tmp_path / "pairs.csv", 3000)
    said = both(
        env, tmp_path, "lexical", "fit", "--train-data", "pairs.csv", "--pipeline", "all", "--output-dir", "lexical"
    )
    assert "Traceback" not in said
    config = json.loads((tmp_path / "lexical/config.json").read_text())
    assert config["record"]["pairs"] == 9000
    [kept] = (path for path in (tmp_path / "cache").rglob("model.safetensors"))
    assert kept.read_bytes() == (tmp_path / "lexical/model.safetensors").read_bytes()
    assert not left_over(tmp_path)


def test_concurrent_initialization_creates_model_once(isolated_cache, tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="needs unbag[models]")
    from unbag.training import initialization

    pairs, out = write_pairs(tmp_path / "pairs.csv", 5), tmp_path / "there" / "dan"
    of_words, both_read = initialization._of_words, threading.Barrier(2, timeout=60)

    def at_once(*args):
        parts = of_words(*args)
        both_read.wait()  # both have seen that the path is free
        return parts

    monkeypatch.setattr(initialization, "_of_words", at_once)
    with ThreadPoolExecutor(2) as threads:
        made = [
            threads.submit(initialization.initialize_model, "dan", [str(pairs)], out, dimensions=4) for _ in range(2)
        ]
    [refusal] = filter(None, (each.exception() for each in made))
    assert "expected a new folder" in str(refusal)
    [record] = [each.result() for each in made if each.exception() is None]
    assert json.loads((out / initialization.FILE).read_text()) == record
    assert list(out.parent.iterdir()) == [out]


SHORT = Path(__file__).with_name("limited_memory.py")


@pytest.fixture
def told(pretrained, pairs_path, tmp_path):  # noqa: F811
    """Return the arguments of a short training run."""
    numbers = ("--batch-size", 12, "--max-steps", 8, "--save-steps", 2, "--learning-rate", 5e-3)
    files = (
        "--model",
        pretrained,
        "--corpus",
        pairs_path,
        "--validation",
        pairs_path,
        "--output-dir",
        tmp_path / "out",
    )
    return ("train", "finetune", *files, *numbers)


def ended(processes):
    """Return the exit code and the error lines of each process."""
    codes = [process.wait() for process in processes]
    said = [process.communicate()[1] for process in processes]
    assert not any("Traceback" in each for each in said), said
    return codes, [[line for line in each.splitlines() if line.startswith("unbag: ")] for each in said]


@pytest.mark.slow
@pytest.mark.nightly
def test_oversized_step_in_one_process_ends_others(told, tmp_path):
    codes, [others, short] = ended(PYTHON.start_group(2, SHORT, *told))
    assert codes == [1, 1]
    reason = "another process of this run failed; see the error of that process"
    assert others == [f"unbag: {reason}; rerun the same command to resume"]
    assert len(short) == 1
    assert "out of memory in a training step (CUDA out of memory. Tried to allocate 2.00 GiB); " in short[0]
    assert "--gradient-accumulation-steps 2" in short[0]
    assert list((tmp_path / "out.unfinished" / "checkpoints").glob("checkpoint-*")), "from which the next run goes on"
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_rejected_options_end_all_processes(told, tmp_path):
    codes, said = ended(PYTHON.start_group(2, "-m", "unbag", *told, "--corpus", "nope"))
    assert codes == [1, 1]
    assert [len(lines) for lines in said] == [1, 1]
    assert all("expected corpora" in lines[0] for lines in said)
    assert not (tmp_path / "out").exists()
