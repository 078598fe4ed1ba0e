"""Tests of `llms.txt`, which lists every page of the documentation with its title and first sentence."""

import re
from pathlib import Path

import pytest

from tools.llms_txt import build_llms_txt, extract_first_sentence, extract_title

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md") if "_build" not in page.parts]
ENTRY = re.compile(r"- \[([^]]+)\]\(([^)]+)\.html\)(?:: (.+))?")


def test_llms_txt_lists_every_page_once():
    assert len(PAGES) > 20
    title, blank, summary, *rest = build_llms_txt(DOCS, PAGES).splitlines()
    assert (title, blank) == ("# unbag", "")
    assert (
        summary == "> unbag measures whether a natural language inference (NLI) model reads sentences or counts words."
    )
    entries = [found for line in rest if line.startswith("- ") and (found := ENTRY.fullmatch(line))]
    assert sorted(entry[2] for entry in entries) == sorted(PAGES)
    assert len(entries) == sum(line.startswith("- ") for line in rest)
    for entry in entries:
        text = (DOCS / f"{entry[2]}.md").read_text(encoding="utf-8")
        assert f"# {entry[1]}\n" in text.replace("`", "")
        if entry[3]:
            assert entry[3][-1] in ".?!…"
            assert "](" not in entry[3]


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
        ("# T\n\nOne. Two.", "One."),
        ("# T\n\nA line\ngoes on. unbag has more.", "A line goes on."),
        ("# T\n\n**Question.** Which one? That.", "Which one?"),
        ("# T\n\n**Bold words** and e.g. this, 95 % of it.", "Bold words and e.g. this, 95 % of it."),
        ("# T\n\nThe rows are:\n\n- a\n", "The rows are."),
        ("# T\n\n```\n# no title, no sentence.\n```\n\n| a |\n|---|\n\nText. More.", "Text."),
        ("# T\n\nSee [this page](x.md) and {download}`that <y.ipynb>`. More.", "See this page and that."),
        ("---\ntitle: x\n---\n# T\n\nText.", "Text."),
        ("# T\n\n- only\n- items", ""),
        ("# T\n\n" + "word " * 60 + "end.", " ".join(["word"] * 39) + "…"),
    ],
)
def test_first_sentence_is_plain_text(text, sentence):
    assert extract_first_sentence(text) == sentence


def test_page_title_is_required_and_ignores_code():
    assert extract_title("```\n# no\n```\n\n# The `natlog` page\n", "x") == "The natlog page"
    with pytest.raises(ValueError, match=r"x\.md: expected a heading"):
        extract_title("Text.", "x")
