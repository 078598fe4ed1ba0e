"""Run Python code from standard input, and print expected exceptions like the command. Other exceptions are raised.

Expected are a ValueError for a mistake of the caller, an OSError for a disk or network error, and an ImportError for a
missing package.
"""

import sys


def run(code: str) -> int:
    """Run code. Return 0, or 1 after printing an expected exception to standard error."""
    try:
        exec(compile(code, "<input>", "exec"), {"__name__": "__main__"})
    except (ValueError, OSError, ImportError) as error:
        sys.stderr.write("unbag: " + " ".join(ascii(str(error))[1:-1].splitlines()) + "\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.stdin.read()))
