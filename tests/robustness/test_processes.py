"""Tests of training in several processes: an error in one ends all, with one line per process."""

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs unbag[models]")

from tests.fork_server import PYTHON
from tests.inference.conftest import make_model, tiny_bert  # noqa: F401  (fixtures)
from tests.training.conftest import pairs_path, pretrained  # noqa: F401  (fixtures)

pytestmark = pytest.mark.slow
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


def test_rejected_options_end_all_processes(told, tmp_path):
    codes, said = ended(PYTHON.start_group(2, "-m", "unbag", *told, "--corpus", "nope"))
    assert codes == [1, 1]
    assert [len(lines) for lines in said] == [1, 1]
    assert all("expected corpora" in lines[0] for lines in said)
    assert not (tmp_path / "out").exists()
