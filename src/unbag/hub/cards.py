"""Cards of repositories: YAML front matter, text, blocks of ours in cards of others, and the description of unbag.

A block stands between two HTML comments, so that it can be found and replaced. Everything outside belongs to the card's
author and stays, comments and quotation marks of the YAML included.
"""

import re
from collections.abc import Iterable, Mapping
from importlib.metadata import metadata
from typing import Any, Final

import yaml  # type: ignore[import-untyped]

FRONT_MATTER: Final = re.compile(r"\A\ufeff?\s*---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_BLOCK: Final = re.compile(
    r"<!-- unbag: (?P<name>[^\n]+?) -->\n(?P<text>.*?)\n<!-- end of unbag: (?P=name) -->", re.DOTALL
)


def split_card(card: bytes | None) -> tuple[dict[str, Any], str]:
    """Return a card's metadata and its text; nothing of both where there is no card.

    Raises:
        ValueError: if the metadata is not YAML that says names and values.
    """
    text = (card or b"").decode("utf-8", errors="replace")
    match = FRONT_MATTER.match(text)
    if match is None:
        return {}, text
    try:
        metadata = yaml.safe_load(match[1]) or {}
    except yaml.YAMLError as error:
        raise ValueError(f"the head of the README.md that is there cannot be read ({error}); mend it first") from None
    if not isinstance(metadata, dict):
        raise ValueError(f"the head of the README.md that is there is no mapping but {metadata!r}; mend it first")
    return metadata, text[match.end() :]


def join_card(metadata: Mapping[str, Any], text: str) -> bytes:
    """Return the card of some metadata and text."""
    head = yaml.safe_dump(dict(metadata), sort_keys=False, allow_unicode=True, width=120)
    return f"---\n{head}---\n\n{text.strip()}\n".encode()


def find_blocks(text: str) -> dict[str, str]:
    """Return our blocks of a card's text, by name, in their order."""
    return {match["name"]: match["text"] for match in _BLOCK.finditer(text)}


def set_block(text: str, name: str, content: str, *, before: str | None = None) -> str:
    """Return a card's text with a block of ours, in its old place if it is there.

    Args:
        text: the card's.
        name: the block's.
        content: what stands in it.
        before: the block that a new one is put before; the end where there is none of that name.
    """
    block = f"<!-- unbag: {name} -->\n{content.strip()}\n<!-- end of unbag: {name} -->"
    for match in _BLOCK.finditer(text):
        if match["name"] == name:
            return text[: match.start()] + block + text[match.end() :]
    for match in _BLOCK.finditer(text):
        if match["name"] == before:
            return text[: match.start()] + block + "\n\n" + text[match.start() :]
    return f"{text.rstrip()}\n\n{block}\n".lstrip()


_NEXT_LINE: Final = "\x85"


def dump_yaml(value: Any, *, line_break: str = "\n") -> str:
    """Return a value as YAML, its entries in their order."""
    how: dict[str, Any] = {"sort_keys": False, "line_break": line_break, "width": float("inf")}
    text: str = yaml.safe_dump(value, allow_unicode=True, **how)
    if _NEXT_LINE in text:  # PyYAML writes it bare, and reads it as the end of a line
        text = yaml.safe_dump(value, allow_unicode=False, **how)
    return text


def set_entry(text: str, name: str, value: Any) -> str:
    r"""Return a card with one entry at its head set; it stays in its place, or comes last.

    Raises:
        ValueError: if the head is not YAML, or written so that one entry cannot be replaced alone.

    >>> print(set_entry("---\na: 1  # one\nb:\n- 2\nc: 'x'\n---\n# Title", "b", [3]))
    ---
    a: 1  # one
    b:
    - 3
    c: 'x'
    ---
    # Title
    """
    match = FRONT_MATTER.match(text)
    if match is None:
        return f"---\n{dump_yaml({name: value})}---\n{text}"
    line_break = "\r\n" if text[: match.start(1)].endswith("\r\n") else "\n"
    lines = match[1].splitlines(keepends=True)
    start, end = _entry_span(lines, name)
    entry = dump_yaml({name: value}, line_break=line_break)
    changed = "".join([*lines[:start], entry, *lines[end:]])
    result = f"{text[: match.start(1)]}{changed}{text[match.end(1) :]}"
    # Lines were edited, not YAML: an anchor or a flow mapping could have made that another change.
    if split_card(text.encode())[0] | {name: value} != split_card(result.encode())[0]:
        raise ValueError(f"cannot set {name} at the head of the card without changing more; set it by hand once")
    return result


def _entry_span(lines: list[str], name: str) -> tuple[int, int]:
    """Return where an entry's lines begin and end; both at the end where there is none."""
    start = next((i for i, line in enumerate(lines) if re.match(rf"{re.escape(name)}[ \t]*:(\s|$)", line)), None)
    if start is None:
        return len(lines), len(lines)
    # The next entry begins at the margin; a list's dashes may stand there too.
    after = next((i for i in range(start + 1, len(lines)) if re.match(r"[^\s#-]", lines[i])), len(lines))
    while after > start + 1 and re.match(r"\s*(#|$)", lines[after - 1]):
        after -= 1  # what stands above the next entry, or the end, is left alone
    return start, after


_PACKAGE: Final = "unbag"
INSTALL: Final = f"pip install {_PACKAGE}"
_HOMES: Final = ("homepage", "repository", "source", "documentation")  # the better comes first
_RELATIVE_LINK: Final = re.compile(r"\[([^\]]+)\]\((?!https?://|#)[^)]*\)")
_ARXIV: Final = re.compile(r"arxiv\.org/abs/(\d{4}\.\d{4,5})|eprint = \{(\d{4}\.\d{4,5})\}")


def project_url() -> str | None:
    """Return where the project is, as the installed distribution says; None where it has no public address."""
    entries = [entry.partition(",") for entry in metadata(_PACKAGE).get_all("Project-URL") or []]
    urls = {label.strip().lower(): url.strip() for label, _, url in entries}
    return next((urls[name] for name in _HOMES if name in urls), None)


def package_link() -> str:
    """Return the name of the package in Markdown, with a link where there is an address."""
    url = project_url()
    return f"[{_PACKAGE}]({url})" if url else f"`{_PACKAGE}`"


def describe_package() -> str:
    """Return a sentence in Markdown."""
    return f"{package_link()} (`{INSTALL}`) is a Python package: {metadata(_PACKAGE)['Summary']}."


def arxiv_tags(texts: Iterable[str]) -> list[str]:
    """Return the Hub's tags for the papers on arXiv that BibTeX or links name, each once.

    >>> arxiv_tags(["eprint = {2101.00010}, archivePrefix = {arXiv}", "[x](https://arxiv.org/abs/1811.07033)"])
    ['arxiv:2101.00010', 'arxiv:1811.07033']
    """
    found = (match[1] or match[2] for text in texts for match in _ARXIV.finditer(text))
    return [f"arxiv:{number}" for number in dict.fromkeys(found)]


def strip_relative_links(text: str) -> str:
    """Return Markdown with the words of links into our repository, which a repository of the Hub has not.

    >>> strip_relative_links("[its metric](../x/README.md) [here](#limits)")
    'its metric [here](#limits)'
    """
    return _RELATIVE_LINK.sub(r"\1", text)
