"""Safe terminal output of untrusted text: names of files and models, records, server messages.

A terminal executes control characters, and rich interprets brackets as markup. Plain output of commands passes through
`escape_control_chars`; rich layouts are printed on a `console` from this module.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions

_CONTROL_CHARS: Final = (
    *range(0x00, 0x20),
    *range(0x7F, 0xA0),
    *(0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)),  # writing direction
    *(0x2028, 0x2029, 0xFEFF, *range(0xE0000, 0xE0080)),  # line separators, byte order mark, invisible tags
    *range(0xD800, 0xE000),  # surrogates, which represent bytes of file names that are not valid UTF-8
)
_PICTURES: Final = {
    code: chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "�"
    for code in _CONTROL_CHARS
    if chr(code) not in "\n\t"
}
# Characters below 0x20 are always escaped in JSON.
_IN_JSON: Final = re.compile("[{}]".format("".join(chr(code) for code in _CONTROL_CHARS if code > 0x20)))


def escape_control_chars(text: str) -> str:
    r"""Replace terminal control characters with visible symbols.

    >>> escape_control_chars("a\x1b[31mb\x9b")
    'a␛[31mb�'
    """
    return text.translate(_PICTURES)


def escape_json(text: str) -> str:
    r"""Escape control characters in a JSON text as JSON escapes. The parsed values do not change.

    >>> escape_json('"\x9b"')
    '"\\u009b"'
    """
    # JSON escapes consist of UTF-16 code units.
    return _IN_JSON.sub(
        lambda found: re.sub("....", r"\\u\g<0>", found[0].encode("utf-16-be", "surrogatepass").hex()), text
    )


def create_console(**options: Any) -> "Console":
    """Create a rich console that ignores markup and escapes control characters."""
    from rich.console import Console
    from rich.segment import Segment

    class SafeConsole(Console):
        def render(self, renderable: Any, options: "ConsoleOptions | None" = None) -> Iterator[Segment]:
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(escape_control_chars(segment.text), segment.style)

    return SafeConsole(highlight=False, markup=False, emoji=False, **options)
