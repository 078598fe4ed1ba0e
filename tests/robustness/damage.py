"""Kinds of file corruption that every cache is tested with."""

import random

from tests.robustness.command import ALL

SEEDS = range(3 if ALL else 1)


def flipped(content, seed):
    """Return the content with one bit flipped."""
    position = random.Random(seed).randrange(len(content))
    return content[:position] + bytes([content[position] ^ 1 << seed % 8]) + content[position + 1 :]


def scrambled(content, seed):
    """Return the content with a hundred bits flipped."""
    for number in range(100):
        content = flipped(content, 1000 * (seed + 1) + number)
    return content


def truncated(content, seed):
    """Return the first part of the content."""
    return content[: random.Random(seed).randrange(len(content))]


def zeroed(content, seed):
    """Return the content with the second half replaced by zeros, as after a lost write."""
    return content[: len(content) // 2] + bytes(len(content) - len(content) // 2)


def pointer(content, seed):
    """Return a git-lfs pointer, as in a clone without large files."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize {len(content)}\n".encode()


def emptied(content, seed):
    """Return no content."""
    return b""


DAMAGES = (flipped, scrambled, truncated, zeroed, pointer, emptied)


def do(damage, path, seed=0):
    """Damage a file. Return whether its content changed."""
    before = path.read_bytes()
    after = damage(before, seed) if before else b"?"
    path.write_bytes(after)
    return after != before
