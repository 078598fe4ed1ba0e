"""Run the attack. Print the table and the smallest input of each failure; the exit code is 1 if there are any."""

import argparse
import random
import re
import sys
import tempfile
import time
from pathlib import Path

from tests.robustness.malformed_inputs.running import Attack, classes, drawn, failures, table, told
from tests.robustness.malformed_inputs.verdicts import FAILURES


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attack-seed", type=int, default=0, help="decides all that is drawn")
    parser.add_argument("--inputs", type=int, default=1500)
    parser.add_argument("--only", default="", help="a regular expression: only these classes, e.g. files.pairs")
    parser.add_argument("--skip", default="", help="likewise: not these")
    arguments = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        attack = Attack(Path(folder) / "attack")
        chosen = {
            name: make
            for name, make in classes(attack.valid_files).items()
            if re.search(arguments.only, name) and not (arguments.skip and re.search(arguments.skip, name))
        }
        inputs = list(drawn(chosen, arguments.inputs, arguments.attack_seed))
        # balances the load, since the classes take different times
        random.Random(arguments.attack_seed).shuffle(inputs)
        inputs = [*attack.sound(), *inputs]
        seen = 0

        def tell(outcome):
            nonlocal seen
            seen += 1
            if outcome.verdict in FAILURES:
                print(f"{outcome.verdict}: {outcome.symptom}\n{told(outcome)}", file=sys.stderr, flush=True)
            if seen % 100 == 0:
                print(f"{seen} of {len(inputs)} inputs, {time.monotonic() - begun:.0f} s", file=sys.stderr)

        outcomes = [attack.alone(each) for each in attack.run(inputs, tell)]
        found = failures(outcomes)
        print(f"seed {arguments.attack_seed}, {time.monotonic() - begun:.0f} s\n\n{table(outcomes)}\n")
        for name, alike in found.items():
            print(f"{name} ({len(alike)} inputs)\n{told(attack.smaller(alike[0]))}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
