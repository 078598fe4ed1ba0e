"""Commands that read the Hub, in a separate process, with a Hub whose responses can fail for each request.

The process keeps its imports between tests, but each command starts with empty caches. Retries do not wait; the
total delay is counted.
"""

import contextlib
import io
import os
import shutil
import time
from pathlib import Path
from typing import NamedTuple

from tests.fake_hub.faults import Fault

ONCE, ALWAYS = 3, 10**6
"""Faults in a row that every read outlasts, and more than any outlasts."""

READS = "GET|HEAD"
PASSING = {
    "dropped": lambda after: Fault(method=READS, cut=0, cut_in="response", after=after, times=ONCE),
    "500": lambda after: Fault(method=READS, status=500, after=after, times=ONCE),
    "503": lambda after: Fault(method=READS, status=503, after=after, times=ONCE),
    "429": lambda after: Fault(method=READS, status=429, headers={"Retry-After": "1"}, after=after, times=ONCE),
    "cut": lambda after: Fault(method="GET", cut=20, after=after, times=ONCE),
}
_LOGIN = "<html><body>Welcome! Please log in to the hotel's network</body></html>"
_HALF = '{"id": "stanfordnlp/snli", "siblings": [{"rfilen'
LASTING = {
    "login page": lambda after: Fault(method=READS, content=_LOGIN, after=after, times=ALWAYS),
    "half an answer": lambda after: Fault(
        method=READS, content=_HALF, content_type="application/json", after=after, times=ALWAYS
    ),
    "another answer": lambda after: Fault(
        method=READS, content="{}", content_type="application/json", after=after, times=ALWAYS
    ),
    "nothing": lambda after: Fault(method=READS, content="", after=after, times=ALWAYS),
    "circle": lambda after: Fault(
        method=READS, status=302, headers={"Location": "?again=1"}, after=after, times=ALWAYS
    ),
    "down": lambda after: Fault(method=READS, status=500, after=after, times=ALWAYS),
}

_OF_SNLI = ["--corpus", "snli", "--split", "test"]
_PLAIN = ["--sets", "plain", *_OF_SNLI]
COMMANDS = {
    "build": ["build", "plain", *_OF_SNLI, "--output", "out/plain.parquet"],
    "evaluate": ["evaluate", "alice/tiny", *_PLAIN, "--trust-labels", "--output-dir", "out/run"],
    "train": [
        *("train", "finetune", "--model", "alice/tiny", "--corpus", "snli", "--max-examples", "30"),
        *("--max-validation-examples", "10", "--max-steps", "1", "--batch-size", "8", "--output-dir", "out/trained"),
    ],
    "lexical score": ["lexical", "score", "--model", "alice/lexical", "--premise", "A man.", "--hypothesis", "A dog."],
    "prefetch": ["prefetch", "alice/tiny", *_PLAIN],
    "models init, vectors": [
        *("models", "init", "dan", "--corpus", "pairs.csv", "--vectors", "alice/tiny", "--output-dir", "out/dan"),
    ],
    "publish dataset": ["publish", "dataset", "plain", *_OF_SNLI, "--repo-id", "alice/data"],
}


class Done(NamedTuple):
    """The result of a command: exit code, output, error output, and total retry delay in seconds."""

    code: int
    printed: str
    said: list[str]
    waited: float


def empty_caches():
    """Remove downloaded files from the disk and the memory."""
    from huggingface_hub import HfFileSystem

    from unbag.baselines.lexical.fitting import load_lexical_model

    for name in (os.environ["HF_HOME"], os.environ["XDG_CACHE_HOME"], "out"):
        shutil.rmtree(name, ignore_errors=True)
    Path(os.environ["HF_HOME"]).mkdir(parents=True)
    load_lexical_model.cache_clear()
    HfFileSystem.clear_instance_cache()


def run_hub_command(name):
    """Run one of the commands with empty caches and without delays. Uncaught exceptions are raised."""
    from unbag.cli import app
    from unbag.cli.app import run

    empty_caches()
    waited = 0.0
    sleep = time.sleep

    def skip_delay(seconds):
        nonlocal waited
        waited += seconds
        sleep(min(seconds, 0.001))

    time.sleep = skip_delay
    printed, said = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
            code = run(app, COMMANDS[name])
    finally:
        time.sleep = sleep
    complaints = [line for line in said.getvalue().splitlines() if line.startswith("unbag: ")]
    return Done(code, printed.getvalue(), complaints, waited)
