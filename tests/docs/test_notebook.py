"""Tests of the notebook of the quickstart, and of the pages that the release rewrites."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from tools.notebook import NOTEBOOK, PAGE, build_notebook

ROOT = Path(__file__).parents[2]


def test_notebook_equals_quickstart():
    made = build_notebook(PAGE.read_text(encoding="utf-8"))
    assert json.loads(NOTEBOOK.read_text(encoding="utf-8")) == made, "python -m tools.notebook"
    assert "{download}" not in str(made)
    code = [cell["source"] for cell in made["cells"] if cell["cell_type"] == "code"]
    assert [source.split()[0] for source in code] == ["import", "%%writefile", "!unbag", "import"]


def test_released_pages_install_from_the_package_index(tmp_path):
    for name in ("docs", "skills", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("_build", "__pycache__"))
    for name in ("Makefile", "README.md"):
        shutil.copy(ROOT / name, tmp_path)
    subprocess.run(["make", "released-pages", f"PYTHON={sys.executable}"], cwd=tmp_path, check=True)
    pages = [tmp_path / "README.md", *tmp_path.glob("skills/**/*.md"), *tmp_path.glob("docs/**/*.md")]
    texts = [page.read_text(encoding="utf-8") for page in pages]
    assert not any("pip install -e" in text for text in texts)
    assert any('pip install "unbag[models]"' in text for text in texts)
    notebook = json.loads((tmp_path / "docs" / NOTEBOOK.name).read_text(encoding="utf-8"))
    assert notebook == build_notebook((tmp_path / "docs" / PAGE.name).read_text(encoding="utf-8"))
