"""Tests of lost, invalid and unexpected Hub responses, for every command that reads the Hub, at every request.

Three faults in a row are retried. Permanent faults give one error line that names the host and the requested item.
"""

import os
import random
from pathlib import Path

import pytest
from huggingface_hub import HfApi

pytest.importorskip("torch", reason="needs unbag[models]")

from tests.fake_hub.accounts import ALICE
from tests.fake_hub.client_process import ClientProcess, runs_in
from tests.fake_hub.running import RunningHub
from tests.hub.conftest import tiny_hub  # noqa: F401  (a fixture)
from tests.robustness.command import ALL
from tests.robustness.conftest import write_pairs
from tests.robustness.hub_commands import COMMANDS, LASTING, PASSING, run_hub_command
from tests.robustness.tiny_model import save_tiny_model
from unbag.baselines.lexical.fitting import LexicalTrainingOptions, fit_or_load_lexical_model

_QUICK = ("build", "lexical score", "models init, vectors", "publish dataset")
"""Commands of the suite, which share the kinds of faults, each at one request; the whole attack gives all to all."""


@pytest.fixture(scope="module")
def stocked_hub(tiny_hub, tmp_path_factory):  # noqa: F811
    """Return the Hub with a tiny SNLI, a tiny classifier and a lexical model."""
    folder, api = tmp_path_factory.mktemp("stock"), HfApi(tiny_hub.endpoint, token=ALICE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBAG_CACHE", str(folder / "cache"))
        pairs = str(write_pairs(folder / "pairs.csv", 20))
        lexical = fit_or_load_lexical_model(LexicalTrainingOptions((pairs,), pipeline="all", l2=1.0))
    for name, files in (("tiny", save_tiny_model(folder / "tiny")), ("lexical", lexical)):
        api.create_repo(f"alice/{name}", exist_ok=True)
        api.upload_folder(repo_id=f"alice/{name}", folder_path=files)
    return tiny_hub


@pytest.fixture(scope="module")
def client(stocked_hub, tmp_path_factory):
    """Return a process whose clients use this Hub, in a separate folder."""
    home = tmp_path_factory.mktemp("client")
    write_pairs(home / "pairs.csv", 20)
    env = stocked_hub.env(home / "hf", token=ALICE)
    env |= {
        "XDG_CACHE_HOME": str(home / "cache"),
        "COLUMNS": "1000",
        "UNBAG_LEXICAL_BASELINE": "0",
        "CLIENT_HOME": str(home),
    }
    with ClientProcess(env | {"OMP_NUM_THREADS": "1"}) as process:
        yield process


def reads(hub, name):
    """Return the number of requests of a command, which must succeed."""
    os.chdir(os.environ["CLIENT_HOME"])
    before = len(hub.requests())
    done = run_hub_command(name)
    assert done.code == 0, done.said
    return sum(request.method in ("GET", "HEAD") for request in hub.requests()[before:])


def sample_inputs(n, seed):
    """Return the positions of requests to break: one, or all in the whole attack."""
    return range(n) if ALL else [random.Random(seed).randrange(n)]


def shared(kinds, name):
    """Return the faults for a command by kind: a part of them, or all in the whole attack."""
    if ALL:
        return kinds
    return dict(list(kinds.items())[_QUICK.index(name) :: len(_QUICK)])


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS if ALL else _QUICK)
@runs_in("client")
def test_three_faults_in_a_row_are_retried(stocked_hub: RunningHub, name: str) -> None:
    n = reads(stocked_hub, name)
    for fault, made in shared(PASSING, name).items():
        for after in sample_inputs(n, f"{name}{fault}"):
            with stocked_hub.broken_by(made(after)):
                done = run_hub_command(name)
            assert done.code == 0, (fault, after, done.said)
            assert done.waited < 60, (fault, after)


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS if ALL else _QUICK)
@runs_in("client")
def test_permanent_fault_is_one_line_with_host(stocked_hub: RunningHub, name: str) -> None:
    n = reads(stocked_hub, name)
    for fault, made in shared(LASTING, name).items():
        for after in sample_inputs(n, f"{name}{fault}"):
            with stocked_hub.broken_by(made(after)):
                done = run_hub_command(name)
            assert done.waited < 300, (fault, after)
            if done.code == 0:  # optional requests, for example for a file that may be missing
                continue
            [line] = done.said
            said = line if name != "prefetch" else done.printed  # which prints one line per item
            assert done.code == 1, (fault, after, said)
            assert any(told in said for told in ("stanfordnlp/snli", "alice/")), (fault, after, said)
            assert not list(Path("out").rglob("*.parquet")), (fault, after)
            if fault != "another answer":  # this answer may mean that the item does not exist
                assert "127.0.0.1" in said or "localhost" in said, (fault, after, said)
                assert any(told in said for told in ("HF_ENDPOINT", "rerun the command", "run the command again")), (
                    fault,
                    after,
                    said,
                )
