"""Compare the numbers of two versions of the golden files, ignoring text and keys.

    python -m tests.golden.compare_numbers REVISION   # the golden files of a git revision with those of the checkout

A change of names or words must not change any number. Digests, versions and commits do not count as numbers.
"""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "expected"
_NO_NUMBERS = re.compile(
    r"\b[0-9a-f]{7,64}\b(?<![0-9]{7})|sha256:\S+|\b\d+\.\d+\.\d+\S*|data:\S+"  # digests, versions, images
)
_NUMBER = re.compile(r"(?<![\w.])[-−]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])|(?<![\w.\d])\.\d+")


def count_numbers_in_text(text: str) -> Counter[str]:
    """Count the numbers in a text."""
    return Counter(each.replace("−", "-").replace(",", "") for each in _NUMBER.findall(_NO_NUMBERS.sub(" ", text)))


def count_numbers_in_json(value: Any) -> Counter[str]:
    """Count the numbers in the values of a JSON document, including those in strings."""
    if isinstance(value, dict):
        return sum((count_numbers_in_json(each) for each in value.values()), Counter())
    if isinstance(value, list):
        return sum((count_numbers_in_json(each) for each in value), Counter())
    if isinstance(value, str):
        return count_numbers_in_text(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Counter([f"{value:.12g}"])
    return Counter()


def count_numbers(name: str, text: str) -> Counter[str]:
    """Count the numbers in a golden file."""
    if not name.endswith(".json"):
        return count_numbers_in_text(text)
    try:
        record = json.loads(text)
    except json.JSONDecodeError:  # one JSON document per line
        record = [json.loads(line) for line in text.splitlines()]
    if isinstance(record, dict):
        record.pop("schema", None)
    return count_numbers_in_json(record)


def main(revision: str) -> int:
    """Print the differences between a revision and the checkout. Return 1 if there are any."""
    listed = ["git", "ls-tree", "-r", "--name-only", "--full-tree", revision, "tests/golden/expected"]
    root = HERE.parents[2]
    names = subprocess.run(listed, capture_output=True, text=True, check=True, cwd=root).stdout.splitlines()
    files = total = different = 0
    for name in names:
        if not (root / name).is_file():
            print(f"{name}: only in {revision}")  # noqa: T201
            continue
        before = subprocess.run(["git", "show", f"{revision}:{name}"], capture_output=True, check=True, cwd=root).stdout
        old = count_numbers(name, before.decode())
        new = count_numbers(name, (root / name).read_text(encoding="utf-8"))
        files += 1
        total += sum(old.values())
        if old != new:
            different += 1
            print(f"{name}: less {dict(old - new)}, more {dict(new - old)}")  # noqa: T201
    assert total, f"expected numbers in the golden files of {revision}, got none"
    print(f"{total:,} numbers in {files} files of {revision}; {different} files differ")  # noqa: T201
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
