"""A run with three models on a few pairs of the demonstration corpus, including malicious text, and a browser."""

import gzip
import json
import shutil
from itertools import islice

import numpy as np
import pytest

from unbag.baselines.lexical.words import ALL
from unbag.challenge_sets.request import SetRequest
from unbag.data import demo
from unbag.evaluation.evaluator import evaluate_all
from unbag.inference.function import CallablePredictor
from unbag.reports import html

HOSTILE = (
    "<img src=x onerror=\"alert('premise')\"> & </script><script>alert('in a sentence')</script> two dogs run today"
)
HOSTILE_NAME = "org/<b onclick=alert(1)>model</b>"


def build_model(name, *, ordered=False):
    """Build a model that predicts labels by a checksum of both sentences' letters, or of their beginnings."""

    def predict(premises, hypotheses):
        rows = np.full((len(premises), 3), 0.1)
        for row, (premise, hypothesis) in enumerate(zip(premises, hypotheses, strict=True)):
            letters = premise[:3] + hypothesis[:3] if ordered else premise + hypothesis
            rows[row, sum(map(ord, letters.replace(" ", ""))) % 3] = 0.8
            if premise == HOSTILE:  # a confident mistake, so that the report shows it
                rows[row] = [0.98, 0.01, 0.01]
        return rows.tolist()

    return CallablePredictor(predict, identity={"name": name})


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """Return the folder of the run."""
    folder = tmp_path_factory.mktemp("report")
    for split, size in (("validation", 80), ("train", 120)):
        with gzip.open(demo.get_demo_file(split), "rt", encoding="utf-8") as file:
            lines = list(islice(file, size))
        if split == "validation":
            hostile = {"premise": HOSTILE, "label": "neutral"}
            for end in ("", " now"):
                lines.append(json.dumps({"id": f"hostile{end}", "hypothesis": HOSTILE + end, **hostile}))
                lines.append("\n")
        (folder / f"{split}.jsonl").write_text("".join(lines), encoding="utf-8")
    data = {"data": str(folder / "validation.jsonl")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBAG_CACHE", str(folder / "cache"))
        requests = [
            SetRequest("permuted", options=data | {"q": 5}),
            SetRequest("cs_lambda", options=data | {"train_data": (str(folder / "train.jsonl"),), "pipeline": ALL}),
            SetRequest("swapped", options=data),
            SetRequest("plain", options=data),
        ]
        models = [build_model(HOSTILE_NAME), build_model("reads-order", ordered=True)]
        for name, some in (("a", models), ("b", [build_model("lexical")])):  # the report combines both
            evaluate_all(some, requests, output_dir=folder / name)
    return folder


@pytest.fixture(scope="session")
def folders(run):
    """Return the folders with results, starting with the model that has the malicious name."""
    return [run / "a", run / "b"]


@pytest.fixture(scope="session")
def report(run, folders):
    """Return the report of all folders."""
    html.write_report(folders, run / "report.html")
    return run / "report.html"


@pytest.fixture(scope="session")
def browser():
    """Return a headless Chromium. Skip the test if it is missing."""
    playwright = pytest.importorskip("playwright.sync_api")
    found = [path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))]
    if not found:
        pytest.skip("needs Chromium")
    quiet = ["no-first-run", "disable-background-networking", "disable-component-update", "disable-sync"]
    flags = [f"--{flag}" for flag in ("no-sandbox", "disable-gpu", "disable-quic", *quiet)]
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=found[0], args=flags)
        yield launched
        launched.close()
