"""Shared fixtures: the real corpora and models in ../shared if present, the test Hub and endpoint, and tiny models."""

import contextlib
import gc
import os
import signal
from pathlib import Path

import hypothesis
import pytest

# numpy and torch read this variable at import. With more threads, tests that run in parallel slow each other down.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Fitting the lexical baseline to 20,000 SNLI pairs takes too long for tests.
os.environ["UNBAG_LEXICAL_BASELINE"] = "0"

# The test Hub transfers large files through LFS. `huggingface_hub` reads this variable at import.
os.environ["HF_HUB_DISABLE_XET"] = "1"

# A background job ignores Ctrl-C, and the processes that tests start would inherit this.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    with contextlib.suppress(ValueError):  # raised outside the main thread
        signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["tests.fake_hub.fixtures", "tests.inference.fixtures"]

SHARED = Path(__file__).parents[2] / "shared"
_NEEDS_SHARED = "needs ../shared"


def pytest_configure(config):
    """Draw fewer examples of each property than in the nightly tests."""
    examples = 40 if "not nightly" in config.option.markexpr else 100
    # Deadlines would fail at random, since timings depend on the load of the machine.
    slow = [hypothesis.HealthCheck.too_slow]
    hypothesis.settings.register_profile("untimed", deadline=None, max_examples=examples, suppress_health_check=slow)
    hypothesis.settings.load_profile("untimed")


@pytest.fixture(scope="module", autouse=True)
def _freeze_imported_objects():
    """Exclude imported modules from garbage collection, which would take half of the time of a training test."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _lower_size_limits(tmp_path_factory):
    """Disable the lexical baseline, require ten rows per label, since tests have few pairs, and use an empty cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path_factory.mktemp("datasets"))
        patch.setattr("unbag.evaluation.lexical_baseline.PAIRS", {})
        patch.setattr("unbag.scoring.skill.MIN_LABEL_ROWS", 10)
        yield


@pytest.fixture
def empty_caches(tmp_path, monkeypatch):
    """Use empty caches of unbag and of `datasets`."""
    monkeypatch.setenv("UNBAG_CACHE", str(tmp_path / "caches" / "unbag"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "caches" / "datasets")


@pytest.fixture
def working_folder(empty_caches, tmp_path, monkeypatch):
    """Change to a folder with nine pairs in `pairs.csv` and the model `always:predict`, with empty caches."""
    rows = [
        f"The {who} dog over there sees a {what} on the road.,The {who} animal there sees some {what} just now.,{label}"
        for who in ("big", "small", "brown")
        for what, label in (("cat", "entailment"), ("bone", "neutral"), ("car", "contradiction"))
    ]
    (tmp_path / "pairs.csv").write_text("\n".join(["premise,hypothesis,label", *rows]) + "\n")
    (tmp_path / "always.py").write_text("def predict(premises, hypotheses):\n    return ['neutral'] * len(premises)\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def shared():
    """Return the folder of real corpora and models. Skip the test if the folder is missing."""
    if not SHARED.is_dir():
        pytest.skip(_NEEDS_SHARED)
    return SHARED


@pytest.fixture(scope="session")
def wordnet():
    """Return WordNet, downloaded as for a user if it is missing. Skip the test if that fails."""
    from unbag.baselines.wordnet.database import is_wordnet_installed, open_wordnet
    from unbag.baselines.wordnet.install import install_wordnet

    try:
        if not is_wordnet_installed():
            install_wordnet()
        return open_wordnet()
    except (ImportError, ValueError) as error:
        pytest.skip(f"needs WordNet: {error}")


@pytest.fixture(scope="session")
def pipeline(shared):
    """Return the path of spaCy's small English pipeline. Skip the test if the pipeline is missing."""
    return str(shared / "hub" / "models" / "spacy" / "en_core_web_sm")


@pytest.fixture(scope="session")
def parser(pipeline, tmp_path_factory):
    """Return a caching parser with spaCy's small English pipeline. Skip the test if the pipeline is missing."""
    from unbag.data.text.parses import Parser

    return Parser(pipeline, cache=tmp_path_factory.mktemp("parses"))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    """Fail the run if a test was skipped because of a missing ../shared although the folder exists."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter is not None else []
    if exitstatus == 0 and SHARED.is_dir() and any(_NEEDS_SHARED in str(report.longrepr) for report in skipped):
        reporter.section("tests that need ../shared were skipped although the folder exists", red=True)
        session.exitstatus = 1
