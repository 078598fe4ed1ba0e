"""Run unbag with a fault in its process.

`python -m tests.robustness.fault_injection.child clock,impatient build …`
"""

import ctypes
import sys
import time

_DAC_OVERRIDE, _DAC_READ_SEARCH = 1, 2
_TEN_YEARS = 10 * 365 * 86_400


def clock() -> None:
    """Set the clock back by ten years."""
    seconds, nanoseconds = time.time, time.time_ns
    time.time = lambda: seconds() - _TEN_YEARS
    time.time_ns = lambda: nanoseconds() - _TEN_YEARS * 10**9


def impatient() -> None:
    """Shorten all delays, so that retries are immediate."""
    sleep = time.sleep
    time.sleep = lambda seconds: sleep(min(seconds, 0.02))


def no_root() -> None:
    """Drop the capabilities of root, so that file permissions apply."""
    library = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    sets = (ctypes.c_uint32 * 6)()
    library.capget(header, sets)
    for place in (0, 1):  # effective and permitted capabilities
        sets[place] &= ~(1 << _DAC_OVERRIDE | 1 << _DAC_READ_SEARCH)
    if library.capset(header, sets):
        raise OSError(ctypes.get_errno(), "capset")


FAULTS = {each.__name__: each for each in (clock, impatient, no_root)}


def main() -> None:
    names, *arguments = sys.argv[1:]
    for name in names.split(","):
        if name:
            FAULTS[name]()
    sys.argv = ["unbag", *arguments]
    from unbag.cli import main as unbag

    unbag()


if __name__ == "__main__":
    main()
