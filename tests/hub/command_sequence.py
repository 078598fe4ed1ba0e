"""Run several commands of unbag in one process, because the start of a process is slow. The input is JSON."""

import json
import sys

from unbag.cli import app, run


def main() -> None:
    for arguments in json.load(sys.stdin):
        if code := run(app, arguments):
            sys.exit(code)


if __name__ == "__main__":
    main()
