"""Rewrite the files of the golden test: `python -m tests.golden.write`. Review the diff before you commit.

Sections that need ../shared or WordNet are unchanged if these are missing. With `--to FOLDER`, write the full text of
every output to a folder instead.
"""

import argparse
import sys
from pathlib import Path

import pytest

from tests.golden.outputs import SHARED, WORDNET
from tests.golden.store import build_section, read_sections, write_sections


class _Writer:
    folder: Path | None = None

    @pytest.fixture(scope="session", autouse=True)
    @classmethod
    def _write_outputs(cls, outputs):
        if cls.folder is not None:
            for name, text in outputs.items():
                path = cls.folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return
        unmade = [prefix for prefix in (SHARED, WORDNET) if not any(name.startswith(prefix) for name in outputs)]
        kept = {name: text for name, text in read_sections().items() if name.startswith(tuple(unmade))}
        write_sections({name: build_section(name, text) for name, text in outputs.items()} | kept)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, metavar="FOLDER")
    _Writer.folder = parser.parse_args().to
    here = Path(__file__).parent
    sys.exit(pytest.main([str(here / "test_golden.py"), "-q", "-k", "last_digits"], plugins=[_Writer()]))
