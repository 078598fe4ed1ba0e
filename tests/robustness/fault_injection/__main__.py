"""Run the table of faults and print it. The exit code is 1 if a cell fails."""

import argparse
import sys
import time
from collections import Counter

from tests.robustness.fault_injection.commands import COMMANDS
from tests.robustness.fault_injection.table import format_table, run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attack-seed", type=int, default=0, help="decides moments and damages")
    parser.add_argument(
        "--commands", default="", help=f"of {', '.join(each.name for each in COMMANDS)}; comma-separated"
    )
    parser.add_argument("--faults", default="", help="a regular expression: only these columns")
    parser.add_argument("--lanes", type=int, default=2, help="how many cells at a time")
    arguments = parser.parse_args()
    begun = time.monotonic()

    def report(cell):
        said = f": {cell.said[:300]}" if cell.verdict != "ok" else ""
        print(f"{time.monotonic() - begun:.0f} s  {cell.command} × {cell.fault}: {cell.verdict}{said}", file=sys.stderr)

    commands = [name for name in arguments.commands.split(",") if name]
    found = run(commands, arguments.faults, arguments.attack_seed, arguments.lanes, report)
    print(f"seed {arguments.attack_seed}, {time.monotonic() - begun:.0f} s\n\n{format_table(found)}\n")
    for cell in found:
        if cell.said:
            print(f"{cell.command} × {cell.fault}: {cell.verdict}: {cell.said[:300]}")
    counts = Counter(cell.verdict for cell in found)
    print(f"\n{len(found)} cells: {', '.join(f'{n} {verdict}' for verdict, n in counts.most_common())}")
    return 1 if set(counts) - {"ok", "–"} else 0


if __name__ == "__main__":
    sys.exit(main())
