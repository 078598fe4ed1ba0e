"""Kinds of file corruption that every cache is tested with."""

import random

from tests.robustness.command import ALL

SEEDS = range(3 if ALL else 1)


def flip_bit(content, seed):
    """Return the content with one bit flipped."""
    position = random.Random(seed).randrange(len(content))
    return content[:position] + bytes([content[position] ^ 1 << seed % 8]) + content[position + 1 :]


def flip_bits(content, seed):
    """Return the content with a hundred bits flipped."""
    for number in range(100):
        content = flip_bit(content, 1000 * (seed + 1) + number)
    return content


def truncate(content, seed):
    """Return the first part of the content."""
    return content[: random.Random(seed).randrange(len(content))]


def zero_second_half(content, seed):
    """Return the content with the second half replaced by zeros, as after a lost write."""
    return content[: len(content) // 2] + bytes(len(content) - len(content) // 2)


def make_lfs_pointer(content, seed):
    """Return a git-lfs pointer, as in a clone without large files."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize {len(content)}\n".encode()


def make_empty(content, seed):
    """Return no content."""
    return b""


DAMAGES = (flip_bit, flip_bits, truncate, zero_second_half, make_lfs_pointer, make_empty)


def apply_damage(damage, path, seed=0):
    """Damage a file. Return whether its content changed."""
    before = path.read_bytes()
    after = damage(before, seed) if before else b"?"
    path.write_bytes(after)
    return after != before
