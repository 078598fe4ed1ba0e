"""What becomes of files on disks: the damages that every test of a cache goes through."""

import random

from tests.robustness.command import ALL

SEEDS = range(3 if ALL else 1)


def flipped(content, seed):
    """Return a content with one bit changed."""
    position = random.Random(seed).randrange(len(content))
    return content[:position] + bytes([content[position] ^ 1 << seed % 8]) + content[position + 1 :]


def scrambled(content, seed):
    """Return a content with a hundred bits changed."""
    for number in range(100):
        content = flipped(content, 1000 * (seed + 1) + number)
    return content


def truncated(content, seed):
    """Return the beginning of a content."""
    return content[: random.Random(seed).randrange(len(content))]


def zeroed(content, seed):
    """Return a content whose second half never reached the disk."""
    return content[: len(content) // 2] + bytes(len(content) - len(content) // 2)


def pointer(content, seed):
    """Return what git leaves where large files were not fetched."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize {len(content)}\n".encode()


def emptied(content, seed):
    """Return nothing."""
    return b""


DAMAGES = (flipped, scrambled, truncated, zeroed, pointer, emptied)


def do(damage, path, seed=0):
    """Damage a file; tell whether it is another one now."""
    before = path.read_bytes()
    after = damage(before, seed) if before else b"?"
    path.write_bytes(after)
    return after != before
