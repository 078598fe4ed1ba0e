"""Fixtures of the tests of challenge sets: an installed package with two sets."""

import re
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from unbag import challenge_sets

CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"
OUTSIDE = Path(__file__).parent / "external_package"


def install_package(site):
    """Install the package in a folder, as pip does. One set is the example of CONTRIBUTING.md."""
    (site / "capitals").symlink_to(OUTSIDE / "capitals")
    (site / "repeated").mkdir()
    (site / "repeated" / "__init__.py").touch()
    [example] = re.findall(r"```python\n(.*?)```", CONTRIBUTING.read_text(encoding="utf-8"), re.DOTALL)
    (site / "repeated" / "repeated.py").write_text(dedent(example), encoding="utf-8")
    (site / "repeated" / "README.md").write_text("`id`, `source_id`, `premise`, `hypothesis`, `label`\n")
    about = site / "capitals-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: capitals\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        f"[{challenge_sets.GROUP}]\ncapitals = capitals.capitals:Capitals\nrepeated = repeated.repeated:Repeated\n"
    )


@pytest.fixture(scope="module")
def installed_package(tmp_path_factory):
    """Install the package for this process."""
    site = tmp_path_factory.mktemp("site")
    install_package(site)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(site))
        _clear_caches()
        yield
    _clear_caches()
    for name in [name for name in sys.modules if name.split(".")[0] in ("capitals", "repeated")]:
        del sys.modules[name]


def _clear_caches():
    for cached in (challenge_sets.get_challenge_set, challenge_sets._entry_points):
        cached.cache_clear()
