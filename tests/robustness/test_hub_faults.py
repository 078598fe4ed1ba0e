"""Tests of lost, invalid and unexpected Hub responses, for every command that reads the Hub, at a random request.

Three faults in a row are retried. Permanent faults give one error line that names the host and the requested item. The
commands run in another process, which keeps its imports between tests. Each command starts with empty caches. Retries
do not wait; the total delay is counted.
"""

import contextlib
import io
import os
import random
import shutil
import time
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest
from huggingface_hub import HfApi, HfFileSystem

pytest.importorskip("torch", reason="needs unbag[models]")

from tests.fake_hub.accounts import ALICE
from tests.fake_hub.client_process import ClientProcess, runs_in
from tests.fake_hub.faults import Fault
from tests.hub.conftest import tiny_hub  # noqa: F401  (a fixture)
from tests.robustness.conftest import ALL, fit_model, write_pairs
from unbag.baselines.lexical.fitting import load_lexical_model
from unbag.cli import app
from unbag.cli.app import run

_JSON = {"content_type": "application/json"}
PASSING = {
    "dropped": {"cut": 0, "cut_in": "response"},
    "500": {"status": 500},
    "503": {"status": 503},
    "429": {"status": 429, "headers": {"Retry-After": "1"}},
    "cut": {"method": "GET", "cut": 20},
}
LASTING = {
    "login page": {"content": "<html><body>Welcome! Please log in to the hotel's network</body></html>"},
    "half an answer": {"content": '{"id": "stanfordnlp/snli", "siblings": [{"rfilen'} | _JSON,
    "another answer": {"content": "{}"} | _JSON,
    "nothing": {"content": ""},
    "circle": {"status": 302, "headers": {"Location": "?again=1"}},
    "down": {"status": 500},
}
_PLAIN = "--sets plain --corpus snli --split test"
COMMANDS = {
    "build": "build plain --corpus snli --split test --output out/plain.parquet",
    "evaluate": f"evaluate alice/tiny {_PLAIN} --trust-labels --output-dir out/run",
    "train": "train finetune --model alice/tiny --corpus snli --max-examples 30 --max-validation-examples 10 "
    "--max-steps 1 --batch-size 8 --output-dir out/trained",
    "lexical score": "lexical score --model alice/lexical --premise A. --hypothesis B.",
    "prefetch": f"prefetch alice/tiny {_PLAIN}",
    "models init, vectors": "models init dan --corpus pairs.csv --vectors alice/tiny --output-dir out/dan",
    "publish dataset": "publish dataset plain --corpus snli --split test --repo-id alice/data",
}
_QUICK = ("build", "lexical score", "models init, vectors", "publish dataset")
"""Commands of the suite, which share the kinds of faults; in the whole attack, each command has each kind."""


@pytest.fixture(scope="module")
def stocked_hub(tiny_hub, tiny_bert, tmp_path_factory):  # noqa: F811
    """Return the Hub with a tiny SNLI, a tiny classifier and a lexical model."""
    folder, api = tmp_path_factory.mktemp("stock"), HfApi(tiny_hub.endpoint, token=ALICE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBAG_CACHE", str(folder / "cache"))
        lexical = fit_model(write_pairs(folder / "pairs.csv", 20))
    for name, files in (("tiny", tiny_bert), ("lexical", lexical)):
        api.create_repo(f"alice/{name}", exist_ok=True)
        api.upload_folder(repo_id=f"alice/{name}", folder_path=files)
    return tiny_hub


@pytest.fixture(scope="module")
def client(stocked_hub, tmp_path_factory):
    """Return a process whose clients use this Hub, in a separate folder."""
    home = tmp_path_factory.mktemp("client")
    write_pairs(home / "pairs.csv", 20)
    env = stocked_hub.env(home / "hf", token=ALICE) | {"XDG_CACHE_HOME": str(home / "cache")}
    env |= {"COLUMNS": "1000", "UNBAG_LEXICAL_BASELINE": "0", "CLIENT_HOME": str(home), "OMP_NUM_THREADS": "1"}
    with ClientProcess(env) as process:
        yield process


class Done(NamedTuple):
    """The result of a command: exit code, output, error lines, and total retry delay in seconds."""

    code: int
    printed: str
    said: list[str]
    waited: float


def run_hub_command(name):
    """Run one of the commands with empty caches and without delays. Uncaught exceptions are raised."""
    os.chdir(os.environ["CLIENT_HOME"])
    for folder in (os.environ["HF_HOME"], os.environ["XDG_CACHE_HOME"], "out"):
        shutil.rmtree(folder, ignore_errors=True)
    Path(os.environ["HF_HOME"]).mkdir(parents=True)
    load_lexical_model.cache_clear()
    HfFileSystem.clear_instance_cache()
    waited, sleep = [], time.sleep
    printed, said = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
        patch.setattr(time, "sleep", lambda seconds: waited.append(seconds) or sleep(min(seconds, 0.001)))
        code = run(app, COMMANDS[name].split())
    complaints = [line for line in said.getvalue().splitlines() if line.startswith("unbag: ")]
    return Done(code, printed.getvalue(), complaints, sum(waited))


def run_broken(hub, name, fault, times):
    """Run a command of which a random request fails. Return the result, and the number of requests before."""
    before = len(hub.requests())
    done = run_hub_command(name)
    assert done.code == 0, done.said
    n = sum(request.method in ("GET", "HEAD") for request in hub.requests()[before:])
    after = random.Random(f"{name}{fault}").randrange(n)
    options = {"method": "GET|HEAD", "after": after, "times": times} | {**PASSING, **LASTING}[fault]
    with hub.broken_by(Fault(**options)):
        return run_hub_command(name), after


def pair_with_commands(kinds):
    """Pair each kind of fault with all commands in the whole attack, otherwise with one."""
    return list(product(COMMANDS, kinds)) if ALL else [(_QUICK[n % len(_QUICK)], kind) for n, kind in enumerate(kinds)]


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(("name", "fault"), pair_with_commands(PASSING))
@runs_in("client")
def test_three_faults_in_a_row_are_retried(stocked_hub, name, fault):
    done, after = run_broken(stocked_hub, name, fault, 3)
    assert done.code == 0, (after, done.said)
    assert done.waited < 60, after


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(("name", "fault"), pair_with_commands(LASTING))
@runs_in("client")
def test_permanent_fault_is_one_line_with_host(stocked_hub, name, fault):
    done, after = run_broken(stocked_hub, name, fault, 10**6)
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
