"""Run the attack. Print the table and the smallest input of each failure; the exit code is 1 if there are any."""

import argparse
import random
import re
import sys
import tempfile
import time
from pathlib import Path

from tests.robustness.malformed_inputs.running import (
    Attack,
    describe_outcome,
    format_table,
    group_failures,
    list_classes,
    sample_inputs,
)
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
            for name, make in list_classes(attack.valid_files).items()
            if re.search(arguments.only, name) and not (arguments.skip and re.search(arguments.skip, name))
        }
        inputs = list(sample_inputs(chosen, arguments.inputs, arguments.attack_seed))
        # balances the load, since the classes take different times
        random.Random(arguments.attack_seed).shuffle(inputs)
        inputs = [*attack.list_valid_inputs(), *inputs]
        n_done = 0

        def report(outcome):
            nonlocal n_done
            n_done += 1
            if outcome.verdict in FAILURES:
                print(f"{outcome.verdict}: {outcome.symptom}\n{describe_outcome(outcome)}", file=sys.stderr, flush=True)
            if n_done % 100 == 0:
                print(f"{n_done} of {len(inputs)} inputs, {time.monotonic() - begun:.0f} s", file=sys.stderr)

        outcomes = [attack.rerun_alone(each) for each in attack.run(inputs, report)]
        found = group_failures(outcomes)
        print(f"seed {arguments.attack_seed}, {time.monotonic() - begun:.0f} s\n\n{format_table(outcomes)}\n")
        for name, alike in found.items():
            print(f"{name} ({len(alike)} inputs)\n{describe_outcome(attack.minimize(alike[0]))}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
