"""Fixtures of the tests of challenge sets: an installed package with a set."""

import sys
from pathlib import Path

import pytest

from unbag import challenge_sets

OUTSIDE = Path(__file__).parent / "external_package"


@pytest.fixture(scope="module")
def installed_package(tmp_path_factory):
    """Install the package for this process, as pip does."""
    site = tmp_path_factory.mktemp("site")
    (site / "capitals").symlink_to(OUTSIDE / "capitals")
    about = site / "capitals-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: capitals\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{challenge_sets.GROUP}]\ncapitals = capitals.capitals:Capitals\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(site))
        _clear_caches()
        yield
    _clear_caches()
    for name in [name for name in sys.modules if name.split(".")[0] == "capitals"]:
        del sys.modules[name]


def _clear_caches():
    for cached in (challenge_sets.get_challenge_set, challenge_sets._entry_points):
        cached.cache_clear()
