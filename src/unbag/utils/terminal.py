"""Text that others wrote, on its way to a terminal: names of files and models, records, what servers say.

A terminal obeys some characters, and rich reads brackets as markup. What is shown by a command passes `shown`; what
rich lays out passes a `console` made here.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderResult

_UNSEEN: Final = (
    *range(0x00, 0x20),
    *range(0x7F, 0xA0),
    *(0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)),  # they turn the direction of writing
    *(0x2028, 0x2029, 0xFEFF, *range(0xE0000, 0xE0080)),
    *range(0xD800, 0xE000),  # half a character: of a file's name that is no UTF-8
)
_PICTURES: Final = {
    code: chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "�"
    for code in _UNSEEN
    if chr(code) not in "\n\t"
}
_IN_JSON: Final = re.compile("[{}]".format("".join(chr(code) for code in _UNSEEN if code > 0x20)))


def escape_control_chars(text: str) -> str:
    r"""Return a text as a terminal may have it: with a picture of each character that it would obey.

    >>> escape_control_chars("a\x1b[31mb\x9b")
    'a␛[31mb�'
    """
    return text.translate(_PICTURES)


def json_shown(text: str) -> str:
    r"""Return JSON with those characters escaped as JSON escapes them: the same values.

    >>> json_shown('"\x9b"')
    '"\\u009b"'
    """
    return _IN_JSON.sub(lambda found: "".join(f"\\u{unit:04x}" for unit in _units(found[0])), text)


def console(**options: Any) -> "Console":
    """Return a console of rich that reads no markup, and shows no character that a terminal would obey."""
    from rich.console import Console

    made = Console(highlight=False, markup=False, emoji=False, **options)
    made.push_render_hook(_Hook())  # type: ignore[arg-type]  # rich is imported here alone
    return made


class _Hook:
    """What rich passes all through before it lays it out."""

    def process_renderables(self, renderables: "list[ConsoleRenderable]") -> "list[ConsoleRenderable]":
        return [_Shown(each) for each in renderables]


class _Shown:
    """Something to be shown, with its text as `shown` has it."""

    def __init__(self, renderable: "ConsoleRenderable") -> None:
        self._renderable = renderable

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from rich.segment import Segment

        for segment in console.render(self._renderable, options):
            yield segment if segment.control else Segment(escape_control_chars(segment.text), segment.style)


def _units(character: str) -> Iterable[int]:
    """Return the units of UTF-16 that JSON writes a character with."""
    content = character.encode("utf-16-be", "surrogatepass")
    return (int.from_bytes(content[i : i + 2], "big") for i in range(0, len(content), 2))
