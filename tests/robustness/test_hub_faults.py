"""Tests of lost, invalid and unexpected Hub responses, for every command that reads the Hub, at a random request.

Three faults in a row are retried. Permanent faults give one error line that names the host and the requested item.
"""

import os
import random
from itertools import product
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
"""Commands of the suite, which share the kinds of faults; in the whole attack, each command has each kind."""


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


def draw_request(hub, name, fault):
    """Draw the request of a command to break. Without a fault, the command must succeed."""
    os.chdir(os.environ["CLIENT_HOME"])
    before = len(hub.requests())
    done = run_hub_command(name)
    assert done.code == 0, done.said
    n = sum(request.method in ("GET", "HEAD") for request in hub.requests()[before:])
    return random.Random(f"{name}{fault}").randrange(n)


def pair_with_commands(kinds):
    """Pair each kind of fault with all commands in the whole attack, otherwise with one."""
    return list(product(COMMANDS, kinds)) if ALL else [(_QUICK[n % len(_QUICK)], kind) for n, kind in enumerate(kinds)]


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(("name", "fault"), pair_with_commands(PASSING))
@runs_in("client")
def test_three_faults_in_a_row_are_retried(stocked_hub: RunningHub, name: str, fault: str) -> None:
    after = draw_request(stocked_hub, name, fault)
    with stocked_hub.broken_by(PASSING[fault](after)):
        done = run_hub_command(name)
    assert done.code == 0, (after, done.said)
    assert done.waited < 60, after


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(("name", "fault"), pair_with_commands(LASTING))
@runs_in("client")
def test_permanent_fault_is_one_line_with_host(stocked_hub: RunningHub, name: str, fault: str) -> None:
    after = draw_request(stocked_hub, name, fault)
    with stocked_hub.broken_by(LASTING[fault](after)):
        done = run_hub_command(name)
    assert done.waited < 300, after
    if done.code == 0:  # optional requests, for example for a file that may be missing
        return
    [line] = done.said
    said = line if name != "prefetch" else done.printed  # which prints one line per item
    assert done.code == 1, (after, said)
    assert any(told in said for told in ("stanfordnlp/snli", "alice/")), (after, said)
    assert not list(Path("out").rglob("*.parquet")), after
    if fault != "another answer":  # this answer may mean that the item does not exist
        assert "127.0.0.1" in said or "localhost" in said, (after, said)
        advice = ("HF_ENDPOINT", "rerun the command", "run the command again")
        assert any(told in said for told in advice), (after, said)
