"""Tests of the documentation pages: commands, options and links exist, and examples run."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main
from markdown_it import MarkdownIt

from tools.llms_txt import extract_title
from tools.notebook import BLOCK
from unbag import cli

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GUIDES = sorted((DOCS / "guides").glob("*.md"))
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *GUIDES]
PAGES += [page for folder in ("concepts", "studies", "reference") for page in sorted((DOCS / folder).rglob("*.md"))]
PAGES += [card for folder in ("dataset_scripts", "metrics") for card in sorted((ROOT / folder).glob("*/README.md"))]
PAGES += [ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md"]
QUICKSTART = DOCS / "quickstart.md"
RUN = [QUICKSTART, *(DOCS / "guides" / f"{name}.md" for name in ("compare", "languages", "own_code"))]
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def _commands(text):
    """Return the commands of a page, from code blocks and inline code."""
    blocks = "\n".join(block for _, _, block in BLOCK.findall(text))
    inline = re.findall(r"`(unbag [a-z][^`]*)`", BLOCK.sub("", text))
    return [*re.findall(r"^(?:\$ )?(?:.* -m )?(unbag [a-z][^#\n]*)", blocks, re.MULTILINE), *inline]


def _name(page):
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_commands_and_options_of_page_exist(page):
    commands = typer.main.get_command(cli.app)
    for line in _commands(page.read_text(encoding="utf-8")):
        words = re.split(r"[\s|]+", line.replace("…", " ").rstrip("\\").strip())[1:]
        command, path = commands, ["unbag"]
        while words and words[0] in getattr(command, "commands", {}):
            path.append(words[0])
            command = command.commands[words.pop(0)]
        assert len(path) > 1 or words[0].startswith("-") or words[0].isupper(), (
            f"{_name(page)}: no such command: {line}"
        )
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        unknown = [word for word in words if re.fullmatch(r"--[a-z-]+", word) and word not in known | {"--help"}]
        assert not unknown or hasattr(command, "commands"), f"{_name(page)}: {' '.join(path)} has no {unknown}: {line}"


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_relative_links_of_page_exist(page):
    for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        path = (page.parent / target).resolve()
        assert path.exists(), f"{_name(page)}: {target}"
        if anchor and path.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor[1:] in anchors, f"{_name(page)}: {target}{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_page_and_card_has_title(page):
    assert extract_title(page.read_text(encoding="utf-8"), page.stem)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_code_spans_of_a_page_are_closed(page):
    blocks = MarkdownIt().enable("table").parse(page.read_text(encoding="utf-8"))
    texts = [token.content for block in blocks for token in block.children or () if token.type == "text"]
    assert texts
    # A line of a code span that starts with ">" or "-" begins a quotation or list, which ends the span.
    assert [text for text in texts if "`" in text] == []


def test_readme_has_at_most_1200_words():
    assert 300 < len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 1200


@pytest.mark.nightly
@pytest.mark.parametrize("page", RUN, ids=_name)
def test_page_examples_run(page, tmp_path, monkeypatch):
    if page != QUICKSTART and not os.environ.get("UNBAG_DOCS"):
        pytest.skip("the examples of guides are run by `make docs`")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    names = {}
    for language, file, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if file:
            (tmp_path / file).write_text(text, encoding="utf-8")
            sys.modules.pop(Path(file).stem, None)
        elif language == "python":
            exec(compile(text, _name(page), "exec"), names)
        elif language == "console":
            for command in re.findall(r"^\$ (.*(?:\n {2,}.*)*)", text, re.MULTILINE):
                words = shlex.split(command.replace("\\\n", " "))
                assert words[0] == "unbag"
                run = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, timeout=600)
                assert run.returncode == 0, f"{command}\n{run.stdout}{run.stderr}"
