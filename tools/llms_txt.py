"""Generation of `llms.txt` (https://llmstxt.org): title, summary, and one sentence per page of the documentation.

`docs/conf.py` writes the file next to the HTML pages. This module does not require Sphinx.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

TITLE: Final = "unbag"

_LONGEST: Final = 200
_SECTIONS: Final = {
    "": "Start",
    "guides": "Guides",
    "concepts": "Concepts",
    "sets": "Sets",
    "metrics": "Metrics",
    "studies": "Studies",
    "reference": "Reference",
    "home": "Project",
}
"""Headings of the folders, in the order of the file."""

_BLOCK: Final = re.compile(r"^(`{3,}|~{3,}).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_FRONT_MATTER: Final = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_LINK: Final = re.compile(r"!?\[([^]]*)\]\([^)]*\)|\{[a-z]+\}`([^`<]*?)\s*(?:<[^>]*>)?`")
# A full stop ends a sentence only before a capital letter, code or the name, so that "e.g. this" is not split.
_SENTENCE: Final = re.compile(r"(.+?[.?!])(?=\s+(?:unbag\b|`|\W?[A-Z])|\s*$)")
_RUN_IN_HEADING: Final = re.compile(r"\A\*\*[^*]{1,40}[.:]\*\*\s+")
_NO_PROSE: Final = ("#", "|", "- ", "* ", "<", "![", "1. ", ">")


def build_llms_txt(folder: Path, pages: Iterable[str]) -> str:
    """Build the text of `llms.txt` for a documentation folder with `index.md`, from pages given without `.md`."""
    lines = [f"# {TITLE}", "", f"> {extract_first_sentence(_read(folder, 'index'))}"]
    names = list(pages)
    for section, pages_of_section in _by_section(names).items():
        lines += ["", f"## {section}", ""]
        for name in pages_of_section:
            text = _read(folder, name)
            about = extract_first_sentence(text)
            lines.append(f"- [{extract_title(text, name)}]({name}.html)" + (f": {about}" if about else ""))
    return "\n".join(lines) + "\n"


def extract_first_sentence(text: str) -> str:
    r"""Extract the first sentence of a Markdown page as plain text; empty for pages without prose.

    >>> extract_first_sentence("# Title\n\n| a |\n|---|\n\nIt has [links](x.md), e.g. this one. Then more.")
    'It has links, e.g. this one.'
    """
    for paragraph in re.split(r"\n\s*\n", _without_code(text)):
        prose = paragraph.strip()
        if not prose or prose.startswith(_NO_PROSE):
            continue
        prose = _RUN_IN_HEADING.sub("", _LINK.sub(lambda match: match[1] or match[2] or "", prose))
        plain = " ".join(prose.replace("**", "").split())
        found = _SENTENCE.match(plain)
        sentence = found[1] if found else f"{plain.removesuffix(':')}."
        return sentence if len(sentence) <= _LONGEST else f"{sentence[: _LONGEST - 1].rsplit(' ', 1)[0]}…"
    return ""


def extract_title(text: str, name: str) -> str:
    """Extract the title of a Markdown page."""
    found = re.search(r"^# (.+)$", _without_code(text), re.MULTILINE)
    if found is None:
        raise ValueError(f"{name}.md: expected a heading `# …`, got none; add a title")
    return found[1].strip().replace("`", "")


def _without_code(text: str) -> str:
    return _BLOCK.sub("", _FRONT_MATTER.sub("", text))


def _read(folder: Path, name: str) -> str:
    return (folder / f"{name}.md").read_text(encoding="utf-8")


def _by_section(names: Sequence[str]) -> dict[str, list[str]]:
    """Group pages by the heading of their folder. `index` is first, and pages of other folders are last."""
    sections: dict[str, list[str]] = {heading: [] for heading in (*_SECTIONS.values(), "Other")}
    for name in sorted(names, key=lambda each: (each != "index", each)):
        folder = name.partition("/")[0] if "/" in name else ""
        sections[_SECTIONS.get(folder, "Other")].append(name)
    return {heading: pages for heading, pages in sections.items() if pages}
