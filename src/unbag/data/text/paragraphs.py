"""Paragraphs of prose in plain text and Markdown, excluding markup, headings, code and tables."""

import html
import re
from collections.abc import Iterable, Iterator
from typing import Final

LONGEST_PARAGRAPH: Final = 20_000
"""Maximum number of characters in memory. Longer paragraphs are split between lines."""

_WRAPPED: Final = 50  # minimum characters of a line that may continue on the next line, in text without blank lines
_SENTENCE_END: Final = re.compile(r"[.!?…:][\"'”’)\]]*$")

_FENCE: Final = re.compile(r"^\s{0,3}(`{3,}|~{3,})")
_HEADING: Final = re.compile(r"^\s{0,3}#{1,6}(\s|$)")
_RULE: Final = re.compile(r"^\s{0,3}([-*_=]\s*){3,}$|^\s{0,3}[=-]+\s*$")
_ITEM: Final = re.compile(r"^\s*([-*+]|\d{1,9}[.)])\s+(\[[ xX]\]\s+)?")
_QUOTE: Final = re.compile(r"^\s{0,3}(>\s?)+")
_TABLE: Final = re.compile(r"^\s*\|.*\|\s*$|^\s*:?-+:?\s*\|")
_DEFINITION: Final = re.compile(r"^\s{0,3}\[[^\]]{1,200}\]:\s")
_DIRECTIVE: Final = re.compile(r"^\s{0,3}(:::|\{%|%\}|<!--.*-->\s*$|</?[a-zA-Z][^>]{0,500}>\s*$)")
_MATTER: Final = "---"

_INLINE: Final = (
    (re.compile(r"<!--.{0,5000}?-->"), ""),
    (re.compile(r"!\[[^\]]{0,500}\](\([^)]{0,2000}\)|\[[^\]]{0,200}\])"), ""),  # images
    (re.compile(r"\[([^\]\[]{1,500})\](\([^)]{0,2000}\)|\[[^\]]{0,200}\])"), r"\1"),  # links
    (re.compile(r"\[\^[^\]]{1,100}\]"), ""),  # footnotes
    (re.compile(r"</?[a-zA-Z][^<>]{0,500}>"), ""),
    (re.compile(r"(\*\*\*|\*\*|__)(?=\S)(.{1,2000}?)(?<=\S)\1"), r"\2"),
    (re.compile(r"(?<![\w*])([*_])(?=\S)([^*_]{1,2000}?)(?<=\S)\1(?![\w*])"), r"\2"),
    (re.compile(r"\\([\\`*_{}\[\]()#+.!|>~-])"), r"\1"),
)


def iter_plain_paragraphs(lines: Iterable[str]) -> Iterator[str]:
    """Iterate over the paragraphs of a plain text by joining the lines between blank lines.

    In text without blank lines, a line continues on the next line if it is long and does not end a sentence.

    >>> list(iter_plain_paragraphs(["A dog", "sleeps.", "", "It rains."]))
    ['A dog sleeps.', 'It rains.']
    >>> list(iter_plain_paragraphs(["A Title", "A dog sleeps.", "It rains."]))
    ['A Title', 'A dog sleeps.', 'It rains.']
    """
    block: list[str] = []
    size = 0
    for line in lines:
        text = line.strip()
        if block and (not text or size > LONGEST_PARAGRAPH or not _continues(block[-1], text)):
            yield " ".join(block)
            block, size = [], 0
        if text:
            block.append(text)
            size += len(text)
    if block:
        yield " ".join(block)


def _continues(line: str, following: str) -> bool:
    if following[0].islower():
        return True
    return len(line) >= _WRAPPED and not (_SENTENCE_END.search(line) and len(following) < _WRAPPED)


def iter_markdown_paragraphs(lines: Iterable[str]) -> Iterator[str]:
    """Iterate over the paragraphs and list items of a Markdown text, without markup.

    Headings, code blocks, tables, HTML blocks, link definitions and the front matter are excluded.

    >>> lines = ["# Dogs", "A **dog** [sleeps](a.md).", "", "- It `rains`.", "```", "x = 1", "```"]
    >>> list(iter_markdown_paragraphs(lines))
    ['A dog sleeps.', 'It `rains`.']
    """
    block: list[str] = []
    size = 0
    for line in _prose_lines(lines):
        begins = line is not None and _ITEM.match(line) is not None
        if block and (line is None or begins or size > LONGEST_PARAGRAPH):
            yield strip_inline_markup(" ".join(block))
            block, size = [], 0
        if line is not None:
            text = _ITEM.sub("", line).strip()
            block.append(text)
            size += len(text)
    if block:
        yield strip_inline_markup(" ".join(block))


def _prose_lines(lines: Iterable[str]) -> Iterator[str | None]:
    """Iterate over the lines of prose. Yields None at the end of a paragraph."""
    fence, matter, indented = "", False, True
    for number, raw in enumerate(lines):
        line = raw.rstrip()
        if number == 0 and line == _MATTER:
            matter = True
            continue
        if matter:
            matter = line not in (_MATTER, "...")
            continue
        opening = _FENCE.match(line)
        if fence:
            fence = "" if opening and opening[1].startswith(fence) else fence
            continue
        if opening:
            fence = opening[1]
            yield None
            continue
        # An indented line after a blank line is code, unless it continues a list item.
        is_code = indented and line.startswith(("    ", "\t")) and not _ITEM.match(line)
        line = _QUOTE.sub("", line)
        if not line.strip() or is_code or _is_no_prose(line):
            indented = not line.strip() or is_code
            yield None
            continue
        indented = False
        yield line


def _is_no_prose(line: str) -> bool:
    return any(pattern.search(line) for pattern in (_HEADING, _RULE, _TABLE, _DEFINITION, _DIRECTIVE))


def strip_inline_markup(text: str) -> str:
    """Remove inline Markdown markup. Code keeps its backticks, so that filters can distinguish it from prose.

    >>> strip_inline_markup("See [the *guide*](g.md) &amp; **read** it.")
    'See the guide & read it.'
    """
    for pattern, replacement in _INLINE:
        text = pattern.sub(replacement, text)
    return " ".join(html.unescape(text).split())
