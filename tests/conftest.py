"""What tests share: the real data beside the checkout, where there is some, and the test Hub."""

import contextlib
import gc
import os
import signal
from pathlib import Path

import hypothesis
import pytest

# Read when numpy and torch are imported, later than this. Tests run side by side: more threads wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The lexical model that scores are held against is fitted to 20,000 pairs of SNLI: no test waits for these.
os.environ["UNBAG_LEXICAL_BASELINE"] = "0"

# How long an example takes says what else the machine is doing.
hypothesis.settings.register_profile("untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("untimed")

# A job in the background ignores Ctrl-C, and so would all that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    with contextlib.suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["tests.fake_hub.fixtures"]

SHARED = Path(__file__).parents[2] / "shared"
_NEEDS_SHARED = "needs ../shared"


@pytest.fixture(scope="module", autouse=True)
def _what_is_there_stays():
    """Spare garbage collection, which every training calls for, what was imported: it would take half of a test."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _small_data():
    """Ask no lexical model of thousands of pairs, and let gold labels of ten rows count: tests have few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unbag.evaluation.lexical_baseline.PAIRS", {})
        patch.setattr("unbag.scoring.skill.LEAST_ROWS", 10)
        yield


@pytest.fixture(scope="session")
def shared():
    """Return the folder of real corpora and models, or skip."""
    if not SHARED.is_dir():
        pytest.skip(_NEEDS_SHARED)
    return SHARED


@pytest.fixture(scope="session")
def wordnet():
    """Return WordNet, installed as a user would where it is missing, or skip."""
    from unbag.baselines.wordnet.database import is_wordnet_installed, open_wordnet
    from unbag.baselines.wordnet.install import install_wordnet

    try:
        if not is_wordnet_installed():
            install_wordnet()
        return open_wordnet()
    except (ImportError, ValueError) as error:
        pytest.skip(f"needs WordNet: {error}")


@pytest.fixture(scope="session")
def parser(shared, tmp_path_factory):
    """Return spaCy's small English pipeline as a parser that keeps its parses for this session, or skip."""
    pytest.importorskip("spacy")
    from unbag.data.text.parses import Parser

    return Parser(shared / "hub" / "models" / "spacy" / "en_core_web_sm", cache=tmp_path_factory.mktemp("parses"))


def pytest_terminal_summary(terminalreporter, exitstatus, config):
    if _skipped_for_nothing(terminalreporter):
        terminalreporter.section("tests that need ../shared were skipped although it is there", red=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    """Fail the run if a test skipped for want of ../shared although it is there."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus == 0 and reporter is not None and _skipped_for_nothing(reporter):
        session.exitstatus = 1


def _skipped_for_nothing(reporter):
    return SHARED.is_dir() and any(
        _NEEDS_SHARED in str(report.longrepr) for report in reporter.stats.get("skipped", [])
    )
