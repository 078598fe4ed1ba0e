"""Tests of pages that scripts write: notebook, numbers and llms.txt."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.llms_txt import build_llms_txt, extract_first_sentence, extract_title
from tools.notebook import NOTEBOOK, PAGE, build_notebook
from tools.page_numbers import PAGES, build_blocks, fill_page, read_run

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


@pytest.fixture(scope="module")
def blocks():
    return build_blocks(read_run())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_shows_numbers_of_stored_run(page, blocks):
    text = page.read_text(encoding="utf-8")
    assert "<!-- run: " in text
    assert fill_page(text, blocks) == text, "run python -m tools.page_numbers"


def test_worked_example_of_skill_score_is_that_of_stored_run():
    [plain] = [result for result in read_run() if result.set == "plain"]
    model, shuffled = (round(plain.scores["skill"][name], 4) for name in ("model", "shuffled"))
    text = PAGES[-1].read_text(encoding="utf-8")
    assert f"({model:.4f} − {shuffled:.4f}) / (1 − {shuffled:.4f})".replace("0.", ".") in text
    assert round((model - shuffled) / (1 - shuffled), 3) == round(plain.scores["skill"]["score"].value, 3) == 0.136


def test_llms_txt_groups_pages_by_folder(tmp_path):
    for name in ("index", "guides/b", "guides/a", "strange/x"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.md").write_text(f"# Page {name[-1]}\n\nText of {name[-1]}. More.\n")
    assert build_llms_txt(tmp_path, ["strange/x", "guides/b", "index", "guides/a"]).splitlines() == [
        *("# unbag", "", "> Text of x.", "", "## Start", "", "- [Page x](index.html): Text of x."),
        *("", "## Guides", "", "- [Page a](guides/a.html): Text of a.", "- [Page b](guides/b.html): Text of b."),
        *("", "## Other", "", "- [Page x](strange/x.html): Text of x."),
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# T\n\nA line\ngoes on. unbag has more.", "A line goes on."),
        ("# T\n\n**Question.** Which one? That.", "Which one?"),
        ("# T\n\n**Bold words** and e.g. this, 95 % of it.", "Bold words and e.g. this, 95 % of it."),
        ("# T\n\n```\n# no title, no sentence.\n```\n\n| a |\n|---|\n\nText. More.", "Text."),
        ("# T\n\nSee [this page](x.md) and {download}`that <y.ipynb>`. More.", "See this page and that."),
        ("# T\n\n" + "word " * 60 + "end.", " ".join(["word"] * 39) + "…"),
    ],
)
def test_first_sentence_is_plain_text(text, sentence):
    assert extract_first_sentence(text) == sentence


def test_page_title_is_required_and_ignores_code():
    assert extract_title("```\n# no\n```\n\n# The `natlog` page\n", "x") == "The natlog page"
    with pytest.raises(ValueError, match=r"x\.md: expected a heading"):
        extract_title("Text.", "x")
