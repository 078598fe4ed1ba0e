"""Change one entry of the YAML at the head of a card, and nothing else: not a comment, not a quotation mark."""

import re
from typing import Any, Final

import yaml  # type: ignore[import-untyped]

from unbag.hub.card import FRONT_MATTER, parted

_NEXT_LINE: Final = "\x85"


def dumped(value: Any, *, line_break: str = "\n") -> str:
    """Return a value as YAML, its entries in their order."""
    how: dict[str, Any] = {"sort_keys": False, "line_break": line_break, "width": float("inf")}
    text: str = yaml.safe_dump(value, allow_unicode=True, **how)
    if _NEXT_LINE in text:  # PyYAML writes it bare, and reads it as the end of a line
        text = yaml.safe_dump(value, allow_unicode=False, **how)
    return text


def with_entry(text: str, name: str, value: Any) -> str:
    r"""Return a card with one entry at its head set; it stays in its place, or comes last.

    Raises:
        ValueError: if the head is not YAML, or written so that one entry cannot be replaced alone.

    >>> print(with_entry("---\na: 1  # one\nb:\n- 2\nc: 'x'\n---\n# Title", "b", [3]))
    ---
    a: 1  # one
    b:
    - 3
    c: 'x'
    ---
    # Title
    """
    found = FRONT_MATTER.match(text)
    if found is None:
        return f"---\n{dumped({name: value})}---\n{text}"
    line_break = "\r\n" if text[: found.start(1)].endswith("\r\n") else "\n"
    lines = found[1].splitlines(keepends=True)
    start, end = _span(lines, name)
    entry = dumped({name: value}, line_break=line_break)
    changed = "".join([*lines[:start], entry, *lines[end:]])
    result = f"{text[: found.start(1)]}{changed}{text[found.end(1) :]}"
    if parted(text.encode())[0] | {name: value} != parted(result.encode())[0]:
        raise ValueError(f"cannot set {name} at the head of the card without changing more; set it by hand once")
    return result


def _span(lines: list[str], name: str) -> tuple[int, int]:
    """Return where an entry's lines begin and end; both at the end where there is none."""
    start = next((i for i, line in enumerate(lines) if re.match(rf"{re.escape(name)}[ \t]*:(\s|$)", line)), None)
    if start is None:
        return len(lines), len(lines)
    # The next entry begins at the margin; a list's dashes may stand there too.
    after = next((i for i in range(start + 1, len(lines)) if re.match(r"[^\s#-]", lines[i])), len(lines))
    while after > start + 1 and re.match(r"\s*(#|$)", lines[after - 1]):
        after -= 1  # what stands above the next entry, or the end, is left alone
    return start, after
