"""Counter-based random numbers, which are equal on all machines.

Each number is a hash of its coordinates (seed, example, permutation, …). It is independent of previous numbers, and
equal in any order and any process. The mixing function is the finalizer of SplitMix64 (Steele et al. 2014, "Fast
splittable pseudorandom number generators", Figure 17), whose output passes the usual statistical tests.
"""

import hashlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIERS: Final = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def compute_key(*values: object) -> np.uint64:
    """Compute a 64-bit key from values such as a seed and an example id. Keys are equal on all machines.

    >>> int(compute_key("snli-validation-7", "premise", 13)) == int(compute_key("snli-validation-7", "premise", 13))
    True
    """
    text = "\x1f".join(map(str, values)).encode()  # the unit separator does not occur in names, so parts cannot merge
    return np.uint64(int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little"))


def generate_random_numbers(key: np.uint64, *counters: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Compute uniform 64-bit numbers for a key (`compute_key`) and counters, with SplitMix64.

    The counters are integer arrays that broadcast against each other, the outermost first. The result has their
    broadcast shape.
    """
    state: NDArray[np.uint64] = np.asarray(key, dtype=np.uint64)
    for counter in counters:
        # SplitMix64 computes modulo 2^64, so overflow is intended.
        with np.errstate(over="ignore"):
            state = _mix(state + (counter.astype(np.uint64) + np.uint64(1)) * _GOLDEN)
    return state


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    # Each step is invertible, so different states produce different numbers.
    state = (state ^ (state >> np.uint64(30))) * _MULTIPLIERS[0]
    state = (state ^ (state >> np.uint64(27))) * _MULTIPLIERS[1]
    return state ^ (state >> np.uint64(31))
