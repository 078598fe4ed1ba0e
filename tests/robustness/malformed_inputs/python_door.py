"""Run the Python code on standard input, and say what it raises as the command does; what no caller expects it raises.

A caller's mistake is a ValueError, a disk's or network's fault an OSError, a missing package an ImportError.
"""

import sys


def run(code: str) -> int:
    """Run code; return 0, or 1 where it raised what a caller expects, said on standard error."""
    try:
        exec(compile(code, "<input>", "exec"), {"__name__": "__main__"})
    except (ValueError, OSError, ImportError) as error:
        sys.stderr.write("unbag: " + " ".join(ascii(str(error))[1:-1].splitlines()) + "\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.stdin.read()))
