"""Random numbers that are looked up, not drawn in turn.

Each number is a hash of where it is used (seed, example, permutation, …), so any of them can be had alone, in any
order, in any process, and is always the same. The mixing function is the finaliser of SplitMix64 (Steele et al. 2014,
"Fast splittable pseudorandom number generators", Figure 17), whose output passes the usual test batteries.
"""

import hashlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIERS: Final = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def key(*parts: object) -> np.uint64:
    """Return a 64-bit key for the place that `parts` name; the same on every machine.

    >>> int(key("snli-validation-7", "premise", 13)) == int(key("snli-validation-7", "premise", 13))
    True
    """
    text = "\x1f".join(map(str, parts)).encode()
    return np.uint64(int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little"))


def numbers(base: np.uint64, *counters: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the 64-bit numbers at the given counters below a key.

    Args:
        base: a `key`.
        counters: integer arrays that broadcast against each other, the outermost counter first.

    Returns:
        Uniform numbers, in the shape that the counters broadcast to.
    """
    state: NDArray[np.uint64] = np.asarray(base, dtype=np.uint64)
    for counter in counters:
        # Wrapping around at 2^64 is the arithmetic meant here.
        with np.errstate(over="ignore"):
            state = _mix(state + (counter.astype(np.uint64) + np.uint64(1)) * _GOLDEN)
    return state


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    state = (state ^ (state >> np.uint64(30))) * _MULTIPLIERS[0]
    state = (state ^ (state >> np.uint64(27))) * _MULTIPLIERS[1]
    return state ^ (state >> np.uint64(31))
