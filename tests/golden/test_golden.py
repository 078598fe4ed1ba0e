"""Test that the outputs of unbag on a small corpus equal the files in `expected/`."""

import difflib
import json
import math
import re
from pathlib import Path

import pytest

from tests.golden.outputs import BYTES, SHARED, WORDNET

EXPECTED = Path(__file__).parent / "expected"
NAMES = sorted(path.relative_to(EXPECTED).as_posix() for path in EXPECTED.rglob("*") if path.is_file())
WRITE = "if that is meant, write it anew: python -m tests.golden.write"
# Excludes parts of hashes: no letter is next to the number, and an exponent without a decimal point has a sign.
_NUMBER = re.compile(r"(?<![\w.])-?(?:\d*\.\d+(?:e[-+]\d+)?|\d+e[-+]\d+)(?![\w.]*\w)")
_RELATIVE, _ABSOLUTE = 1e-5, 1e-7  # other processors sum float32 values in another order
_SHOWN = 60  # maximum number of lines of a diff


@pytest.mark.parametrize("name", NAMES)
def test_output_equals_golden_file(name, request):
    for prefix, fixture in ((SHARED, "shared"), (WORDNET, "wordnet")):
        if name.startswith(prefix):
            request.getfixturevalue(fixture)  # skips if the files are missing
    outputs = request.getfixturevalue("outputs")
    assert name in outputs, f"{name} is not made any more; {WRITE}"
    expected = (EXPECTED / name).read_text(encoding="utf-8")
    found = outputs[name]
    if name.endswith(BYTES) and parse_versions(expected) != parse_versions(found):
        pytest.skip(
            f"other versions than those that wrote the files: {parse_versions(found)}, not {parse_versions(expected)}"
        )
    is_prose = name.endswith((".txt", "shown.json"))
    if found != expected and not is_equal_up_to_rounding(expected, found, is_prose=is_prose):
        pytest.fail(f"{name} has moved; {WRITE}\n{format_difference(expected, found)}", pytrace=False)


def test_all_outputs_are_expected(outputs):
    assert sorted(set(outputs) - set(NAMES)) == [], WRITE


def parse_versions(text):
    return json.loads(text)["written with"]


def is_equal_up_to_rounding(one, two, *, is_prose):
    """Check whether two texts differ only in the last digits of numbers that are not counts."""
    if _NUMBER.sub("#", one) != _NUMBER.sub("#", two):
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(two), strict=True)
    return all(
        math.isclose(float(a), float(b), rel_tol=_RELATIVE, abs_tol=_last_digit(a) if is_prose else _in_json(a))
        for a, b in pairs
    )


def _last_digit(number):
    """Return the tolerance of a number rounded to three or four digits. For any other number, it is almost zero."""
    digits = len(number.partition(".")[2])
    return 1.01 * 10.0**-digits if digits in (3, 4) else _ABSOLUTE


def _in_json(number):
    """Return the tolerance of a number in a record: thresholds have six digits, of which the last one may differ."""
    return 2.5e-6 if len(number.partition(".")[2]) <= 6 else _ABSOLUTE


def format_difference(one, two):
    lines = list(difflib.unified_diff(one.splitlines(), two.splitlines(), "expected", "found", lineterm="", n=1))
    more = [f"… and {len(lines) - _SHOWN} lines more"] if len(lines) > _SHOWN else []
    return "\n".join(line[:400] for line in [*lines[:_SHOWN], *more])


@pytest.mark.parametrize(
    ("one", "two", "where_rounded", "anywhere"),
    [
        ("a 0.123456789", "a 0.123456999", True, True),
        ("a 0.123456789", "a 0.123556789", False, False),
        ("a 0.123 of 12", "a 0.124 of 12", True, False),
        ("a 0.123 of 12", "a 0.125 of 12", False, False),
        ("a 0.5 of 12", "a 0.6 of 12", False, False),
        ("a 0.123 of 12", "a 0.123 of 13", False, False),
        ("a 0.123", "b 0.123", False, False),
        ("a 1234.5678", "a 1234.5679", True, True),
        ("sha256:3e7656", "sha256:3e7656", True, True),
        ("sha256:3e7656", "sha256:3e7657", False, False),
        ("sha256:a1.5", "sha256:a1.6", False, False),
        ("at 1.5e-07", "at 1.6e-07", True, True),
    ],
)
def test_numbers_are_compared_up_to_last_digits(one, two, where_rounded, anywhere):
    assert is_equal_up_to_rounding(one, two, is_prose=True) == where_rounded
    assert is_equal_up_to_rounding(one, two, is_prose=False) == anywhere
