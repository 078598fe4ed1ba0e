"""The expected outputs in `expected/`: short texts in full, and of long texts a digest and all numbers.

Each file holds the outputs of one folder. A section starts with `=== NAME`. The header of a summary contains the number
of lines and a digest of the text without its numbers; the numbers follow in the order of the text, with eight digits.
To read the full text of every output, run `python -m tests.golden.write --to FOLDER`.
"""

import math
import re
import textwrap
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

EXPECTED = Path(__file__).parent / "expected"
# Excludes parts of hashes: no letter is next to the number, and an exponent without a decimal point has a sign.
_NUMBER = re.compile(r"(?<![\w.])-?(?:\d*\.\d+(?:e[-+]\d+)?|\d+e[-+]\d+)(?![\w.]*\w)")
_SECTION = "=== "
_SUMMARY = ": summary of "
_MAX_CHARACTERS = 6000
_IN_FULL = ("runs/names/", "hub/plain-own.md", "hub/model_card.md")
"""Long outputs that are stored in full: one run with its report, one card of a set and one of a model."""
_RELATIVE, _ABSOLUTE = 1e-5, 1e-7  # other processors sum float32 values in another order


def build_section(name: str, text: str) -> str:
    """Build what is stored for an output: the text, or a summary if the text is long."""
    if name.startswith(_IN_FULL) or len(text) <= _MAX_CHARACTERS:
        return f"{_SECTION}{name}\n{text}"
    numbers = " ".join(map(_round, _NUMBER.findall(text)))
    wrapped = textwrap.fill(numbers, 120, break_long_words=False, break_on_hyphens=False)
    digest = sha256(_NUMBER.sub("#", text).encode()).hexdigest()[:32]
    return f"{_SECTION}{name}{_SUMMARY}{text.count(chr(10))} lines, digest {digest}\n{wrapped}\n"


def _round(number: str) -> str:
    """Return a number with eight significant digits. Short numbers keep their form, which determines the tolerance."""
    if len(number) <= 10:
        return number
    rounded = f"{float(number):.8g}"
    return rounded if set(rounded) & set(".e") else f"{rounded}.0"


def read_sections() -> dict[str, str]:
    """Read the stored sections by name of the output."""
    stored = "".join(path.read_text(encoding="utf-8") for path in sorted(EXPECTED.iterdir()))
    sections = re.split(rf"^(?={_SECTION})", stored, flags=re.MULTILINE)[1:]
    return {section[len(_SECTION) :].split("\n")[0].split(_SUMMARY)[0]: section for section in sections}


def write_sections(sections: Mapping[str, str]) -> None:
    """Replace all files in `expected/`."""
    files: dict[str, list[str]] = {}
    for name, section in sorted(sections.items()):
        files.setdefault(re.split("[/.]", name)[0], []).append(section)
    for path in EXPECTED.iterdir():
        path.unlink()
    for file, texts in files.items():
        (EXPECTED / f"{file}.txt").write_text("".join(texts), encoding="utf-8")


def is_equal_up_to_rounding(one: str, two: str, *, is_prose: bool) -> bool:
    """Check whether two texts differ only in the last digits of numbers that are not counts."""
    if _NUMBER.sub("#", one).split() != _NUMBER.sub("#", two).split():  # numbers of other lengths are wrapped elsewhere
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(two), strict=True)
    return all(
        math.isclose(float(a), float(b), rel_tol=_RELATIVE, abs_tol=_last_digit(a) if is_prose else _in_json(a))
        for a, b in pairs
    )


def _last_digit(number: str) -> float:
    """Return the tolerance of a number rounded to three or four digits. Any other number is that of a record."""
    digits = len(number.partition(".")[2])
    return 1.01 * 10.0**-digits if digits in (3, 4) else _in_json(number)


def _in_json(number: str) -> float:
    """Return the tolerance of a number in a record: thresholds have six digits, of which the last one may differ."""
    return 2.5e-6 if len(number.partition(".")[2]) <= 6 else _ABSOLUTE
