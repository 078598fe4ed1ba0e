"""Rewrite the files of the golden test: `python -m tests.golden.write`. Review the diff before you commit.

Files that need ../shared or WordNet are unchanged if these are missing.
"""

import sys
from pathlib import Path

import pytest

from tests.golden.outputs import SHARED, WORDNET

_EXPECTED = Path(__file__).parent / "expected"


class _Writer:
    @pytest.fixture(scope="session", autouse=True)
    @classmethod
    def _write_outputs(cls, outputs):
        unmade = [prefix for prefix in (SHARED, WORDNET) if not any(name.startswith(prefix) for name in outputs)]
        for path in [path for path in _EXPECTED.rglob("*") if path.is_file()]:
            name = path.relative_to(_EXPECTED).as_posix()
            if name not in outputs and not name.startswith(tuple(unmade)):
                path.unlink()
        for name, text in outputs.items():
            path = _EXPECTED / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    here = Path(__file__).parent
    sys.exit(pytest.main([str(here / "test_golden.py"), "-q", "-k", "golden_file or last_digits"], plugins=[_Writer()]))
