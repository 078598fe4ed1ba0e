"""Configuration of the documentation. `make docs` builds it offline, with warnings as errors.

Sphinx with furo and MyST, since MkDocs 1 is no longer maintained and its Material theme is in maintenance. The cards of
sets and metrics are their pages: the build copies them here, so that each text exists once.
"""

import re
import shutil
import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path.insert(0, str(ROOT))  # Sphinx runs this file without the checkout on its path

from tools.llms_txt import build_llms_txt  # noqa: E402

CARDS = {"dataset_scripts": "sets", "metrics": "metrics"}  # folder of the repository: folder of its pages here

project = "unbag"
author = "the unbag authors"
copyright = author
release = version = version_of("unbag")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_build", "*.ipynb"]
default_role = "code"  # docstrings have code between single backticks, as Markdown does
highlight_language = "text"
html_theme = "furo"
html_title = "unbag"
html_static_path: list[str] = []
myst_enable_extensions = ["linkify"]
myst_linkify_fuzzy_links = False
myst_heading_anchors = 3
autodoc_typehints = "description"
autodoc_member_order = "bysource"

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_CARD = re.compile(r"\((?:\.\./)*(dataset_scripts|metrics)/([a-z_]+)/(?:README\.md)?(#[^)]*)?\)")
_HOME = re.compile(r"\((?:\.\./)+(README|SECURITY|CONTRIBUTING|CHANGELOG)\.md(#[^)]*)?\)")
_DOCS = re.compile(r"\((?:\.\./)*docs/([^)]*)\)")
_TRAINERS = re.compile(r"\[([^]]*)\]\((?:\.\./)*(?:trainers|benchmarks|src|action\.yml)[^)]*\)")


def _rewrite_links(text: str) -> str:
    """Rewrite the links of a page to files of the repository as links to pages."""
    text = _CARD.sub(lambda m: f"(/{CARDS[m[1]]}/{m[2]}.md{m[3] or ''})", text)
    text = _HOME.sub(lambda m: f"(/home/{m[1].lower()}.md{m[2] or ''})", text)
    text = _DOCS.sub(lambda m: f"(/{m[1]})", text)
    return _TRAINERS.sub(r"\1", text)


def _copy_cards(app: Any) -> None:
    for folder, pages in CARDS.items():
        shutil.rmtree(DOCS / pages, ignore_errors=True)
        (DOCS / pages).mkdir()
        for card in sorted((ROOT / folder).glob("*/README.md")):
            text = _FRONT_MATTER.sub("", card.read_text(encoding="utf-8"))
            (DOCS / pages / f"{card.parent.name}.md").write_text(text, encoding="utf-8")
        names = "\n".join(sorted(card.parent.name for card in (ROOT / folder).glob("*/README.md")))
        (DOCS / pages / "index.md").write_text(
            f"# {'The sets' if pages == 'sets' else 'The metrics'}\n\n```{{toctree}}\n:maxdepth: 1\n\n{names}\n```\n",
            encoding="utf-8",
        )
    (DOCS / "home").mkdir(exist_ok=True)
    for name in ("SECURITY", "CONTRIBUTING", "CHANGELOG"):
        shutil.copyfile(ROOT / f"{name}.md", DOCS / "home" / f"{name.lower()}.md")


def _write_llms_txt(app: Any, error: Exception | None) -> None:
    """Write `llms.txt` beside the pages of a complete HTML build."""
    if error is None and app.builder.format == "html":
        text = build_llms_txt(DOCS, app.env.found_docs)
        (Path(app.outdir) / "llms.txt").write_text(text, encoding="utf-8")


def setup(app: Any) -> None:
    """Connect the copying of cards, the rewriting of links and `llms.txt` to the build."""
    app.connect("builder-inited", _copy_cards)
    app.connect("build-finished", _write_llms_txt)
    app.connect("source-read", lambda app, name, source: source.__setitem__(0, _rewrite_links(source[0])))
