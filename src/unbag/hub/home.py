"""What unbag is and where it is found, for everything that is read on the Hub: said here, and nowhere else."""

import re
from collections.abc import Iterable
from importlib.metadata import metadata
from typing import Final

_PACKAGE: Final = "unbag"
INSTALL: Final = f"pip install {_PACKAGE}"
_HOMES: Final = ("homepage", "repository", "source", "documentation")  # the better comes first
_RELATIVE_LINK: Final = re.compile(r"\[([^\]]+)\]\((?!https?://|#)[^)]*\)")
_ARXIV: Final = re.compile(r"arxiv\.org/abs/(\d{4}\.\d{4,5})|eprint = \{(\d{4}\.\d{4,5})\}")


def address() -> str | None:
    """Return where the project is, as the installed distribution says; None where it has no public address."""
    entries = [entry.partition(",") for entry in metadata(_PACKAGE).get_all("Project-URL") or []]
    urls = {label.strip().lower(): url.strip() for label, _, url in entries}
    return next((urls[name] for name in _HOMES if name in urls), None)


def link() -> str:
    """Return the name of the package in Markdown, with a link where there is an address."""
    url = address()
    return f"[{_PACKAGE}]({url})" if url else f"`{_PACKAGE}`"


def what_it_is() -> str:
    """Return a sentence in Markdown."""
    return f"{link()} (`{INSTALL}`) is a Python package: {metadata(_PACKAGE)['Summary']}."


def arxiv_tags(texts: Iterable[str]) -> list[str]:
    """Return the Hub's tags for the papers on arXiv that BibTeX or links name, each once.

    >>> arxiv_tags(["eprint = {2101.00010}, archivePrefix = {arXiv}", "[x](https://arxiv.org/abs/1811.07033)"])
    ['arxiv:2101.00010', 'arxiv:1811.07033']
    """
    found = (match[1] or match[2] for text in texts for match in _ARXIV.finditer(text))
    return [f"arxiv:{number}" for number in dict.fromkeys(found)]


def without_relative_links(text: str) -> str:
    """Return Markdown with the words of links into our repository, which a repository of the Hub has not.

    >>> without_relative_links("[its metric](../x/README.md) [here](#limits)")
    'its metric [here](#limits)'
    """
    return _RELATIVE_LINK.sub(r"\1", text)
