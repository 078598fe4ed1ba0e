"""Repository cards: YAML front matter, text, blocks maintained by unbag, and the description of unbag.

A block is enclosed in two HTML comments, so that a later publication can replace it. Everything outside the blocks
belongs to the card's author and is not changed, including comments and quotation marks in the YAML.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import metadata
from pathlib import Path
from typing import Any, Final

import yaml  # type: ignore[import-untyped]

from unbag.utils.templates import render_template

FRONT_MATTER: Final = re.compile(r"\A\ufeff?\s*---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_BLOCK: Final = re.compile(
    r"<!-- unbag: (?P<name>[^\n]+?) -->\n(?P<text>.*?)\n<!-- end of unbag: (?P=name) -->", re.DOTALL
)


def split_card(card: bytes | None) -> tuple[dict[str, Any], str]:
    """Split a card into metadata and text. Both are empty if there is no card."""
    text = (card or b"").decode("utf-8", errors="replace")
    match = FRONT_MATTER.match(text)
    if match is None:
        return {}, text
    try:
        metadata = dict(yaml.safe_load(match[1]) or {})
    except (yaml.YAMLError, TypeError, ValueError) as error:
        raise ValueError(
            f"front matter of the published README.md: expected YAML, got an error ({error}); correct it first"
        ) from None
    return metadata, text[match.end() :]


def join_card(metadata: Mapping[str, Any], text: str) -> bytes:
    """Build a card from metadata and text."""
    head = yaml.safe_dump(dict(metadata), sort_keys=False, allow_unicode=True, width=120)
    return f"---\n{head}---\n\n{text.strip()}\n".encode()


def find_card_blocks(text: str) -> dict[str, str]:
    """Find the blocks of a card's text that unbag's comments enclose. Returns their contents by block name."""
    return {match["name"]: match["text"] for match in _BLOCK.finditer(text)}


def set_card_block(text: str, name: str, content: str, *, before: str | None = None) -> str:
    """Replace or add a block (in Markdown) in a card's text. An existing block keeps its position.

    A new block is inserted before the block `before`; by default, or if there is no such block, at the end.
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
    """Serialize a value as YAML. Entries keep their order and lines are not wrapped."""
    how: dict[str, Any] = {"sort_keys": False, "line_break": line_break, "width": float("inf")}
    text: str = yaml.safe_dump(value, allow_unicode=True, **how)
    if _NEXT_LINE in text:  # PyYAML writes U+0085 without escaping, and reads it back as a line break
        text = yaml.safe_dump(value, allow_unicode=False, **how)
    return text


def set_metadata_entry(text: str, name: str, value: Any) -> str:
    r"""Set an entry of a card's front matter. An existing entry keeps its position; a new entry is appended.

    >>> print(set_metadata_entry("---\na: 1  # one\nb:\n- 2\nc: 'x'\n---\n# Title", "b", [3]))
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
    entry = dump_yaml({name: value}, line_break=line_break)
    # The next entry starts in column 0. Dashes of a list may also be in column 0, and belong to this entry. Comments
    # and blank lines above the next entry belong to the next entry.
    old = rf"^{re.escape(name)}[ \t]*:(?:[ \t\r].*)?\n(?:(?:[ \t\r]*(?:#.*)?\n)*(?:-|[ \t]+[^\s#]).*\n)*"
    changed, count = re.subn(old, lambda _: entry, match[1], count=1, flags=re.MULTILINE)
    result = f"{text[: match.start(1)]}{changed if count else match[1] + entry}{text[match.end(1) :]}"
    # The edit works on lines to preserve comments. An anchor or a flow mapping could cause other changes, so the parsed
    # result is verified.
    if split_card(text.encode())[0] | {name: value} != split_card(result.encode())[0]:
        raise ValueError(
            f"front matter of the card: cannot set {name} without changing other entries; set {name} manually once"
        )
    return result


_PACKAGE: Final = "unbag"
_URL_LABELS: Final = ("homepage", "repository", "source", "documentation")  # in order of preference
_RELATIVE_LINK: Final = re.compile(r"\[([^\]]+)\]\((?!https?://|#)[^)]*\)")
_ARXIV: Final = re.compile(r"arxiv\.org/abs/(\d{4}\.\d{4,5})|eprint = \{(\d{4}\.\d{4,5})\}")


def render_card(template: str, **values: Any) -> str:
    """Render the template of a card in the folder `templates`."""
    text = render_template(__package__, f"templates/{template}", **values, table=format_markdown_table)
    return text.strip() + "\n"


def format_markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: int = 0) -> str:
    """Format a Markdown table. If `numbers` > 0, columns from this index are right-aligned."""
    rule = ["---:" if numbers and i >= numbers else "---" for i in range(len(heads))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, rule, *rows))


def describe_package() -> str:
    """Build the Markdown sentence that describes unbag on all cards.

    Only releases have a project URL. Before the first release, the name in the package index may belong to a stranger,
    so the cards of other builds contain no installation command.
    """
    about = metadata(_PACKAGE)
    entries = [entry.partition(",") for entry in about.get_all("Project-URL") or []]
    urls = {label.strip().lower(): url.strip() for label, _, url in entries}
    url = next((urls[name] for name in _URL_LABELS if name in urls), None)
    named = f"[{_PACKAGE}]({url}) (`pip install {_PACKAGE}`)" if url else f"`{_PACKAGE}`"
    return f"{named} is a Python package: {about['Summary']}."


def collect_arxiv_tags(texts: Iterable[str]) -> list[str]:
    """Collect the Hub tags of arXiv papers in BibTeX entries or links, without duplicates.

    >>> collect_arxiv_tags(["eprint = {2101.00010}, archivePrefix = {arXiv}", "[x](https://arxiv.org/abs/1811.07033)"])
    ['arxiv:2101.00010', 'arxiv:1811.07033']
    """
    numbers = (match[1] or match[2] for text in texts for match in _ARXIV.finditer(text))
    return [f"arxiv:{number}" for number in dict.fromkeys(numbers)]


def strip_relative_links(text: str) -> str:
    """Replace relative links in Markdown with the link text, because the targets do not exist on the Hub.

    >>> strip_relative_links("[its metric](../x/README.md) [here](#limits)")
    'its metric [here](#limits)'
    """
    return _RELATIVE_LINK.sub(r"\1", text)


_LOCAL: Final = (os.sep, "~", f".{os.sep}", f"..{os.sep}")


def replace_paths_with_file_names(value: Any) -> Any:
    """Replace the local paths in a record with their file names. Tuples are converted to lists.

    >>> replace_paths_with_file_names({"embeddings": "../vectors/glove.txt", "mode": "hypothesis", "sizes": (1, 2)})
    {'embeddings': 'glove.txt', 'mode': 'hypothesis', 'sizes': [1, 2]}
    """
    if isinstance(value, Mapping):
        return {key: replace_paths_with_file_names(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [replace_paths_with_file_names(each) for each in value]
    if isinstance(value, Path) or (isinstance(value, str) and value.startswith(_LOCAL)):
        return Path(value).name
    return value
