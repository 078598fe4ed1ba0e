"""Compare all numbers in the outputs of two versions of unbag, ignoring text and keys.

    python -m tests.golden.compare_numbers REVISION   # a git revision with the checkout

Both versions create their outputs, which takes some minutes. A change of names or words must not change any number.
Digests, versions and commits do not count as numbers.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
_NO_NUMBERS = re.compile(
    r"\b[0-9a-f]{7,64}\b(?<![0-9]{7})|sha256:\S+|\b\d+\.\d+\.\d+\S*|data:\S+"  # digests, versions, images
)
_NUMBER = re.compile(r"(?<![\w.])[-−]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])|(?<![\w.\d])\.\d+")


def count_numbers(name: str, text: str) -> Counter[str]:
    """Count the numbers in an output, except those in the keys of JSON."""
    if name.endswith(".json"):
        text = re.sub(r'"(?:[^"\\]|\\.)*":', " ", text)
    found = _NUMBER.findall(_NO_NUMBERS.sub(" ", text))
    return Counter(f"{float(each.replace('−', '-').replace(',', '')):.12g}" for each in found)


def create_outputs(root: Path, folder: Path) -> dict[str, str]:
    """Create the outputs of the checkout in `root`, and return their texts by name."""
    command = [sys.executable, "-m", "tests.golden.write", "--to", str(folder)]
    environment = os.environ | {"PYTHONPATH": str(root / "src")}
    subprocess.run(command, cwd=root, env=environment, check=True, stdout=subprocess.DEVNULL)
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def main(revision: str, folder: Path) -> int:
    """Print the differences between a revision and the checkout. Return 1 if there are any."""
    worktree = folder / "checkout" / revision.replace("/", "-")
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(worktree), revision], check=True)
    if (ROOT.parent / "shared").is_dir():
        (worktree.parent / "shared").symlink_to((ROOT.parent / "shared").resolve())
    try:
        before = create_outputs(worktree, folder / "before")
    finally:
        subprocess.run([*git, "remove", "--force", str(worktree)], check=True)
    after = create_outputs(ROOT, folder / "after")
    total = different = 0
    for name in sorted(before.keys() | after.keys()):
        old, new = (count_numbers(name, texts.get(name, "{}")) for texts in (before, after))
        total += sum(old.values())
        if old != new or (name in before) != (name in after):
            different += 1
            print(f"{name}: less {dict(old - new)}, more {dict(new - old)}")  # noqa: T201
    assert total, f"expected numbers in the outputs of {revision}, got none"
    print(f"{total:,} numbers in {len(before)} outputs of {revision}; {different} outputs differ")  # noqa: T201
    print(f"Full texts: diff -r {folder / 'before'} {folder / 'after'}")  # noqa: T201
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(tempfile.mkdtemp(prefix="golden-"))))
