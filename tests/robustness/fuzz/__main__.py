"""Fuzz the parsers for a total time in seconds. The exit code is 1 if a parser raised an unexpected exception."""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
import traceback
from collections.abc import Callable

ROOM_MB = 3000
SECONDS_EACH = 25
"""An input that takes longer hangs."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=120, help="of all parsers together")
    parser.add_argument("--parser", default="", help="only this one")
    parser.add_argument("--attack-seed", type=int, default=0, help="decides what is tried")
    parser.add_argument("--here", action="store_true", help="in this process: what the command starts for each parser")
    arguments = parser.parse_args()
    if arguments.here:
        _fuzz(arguments.parser, arguments.seconds, arguments.attack_seed)
        return 0
    from tests.robustness.fuzz.parsers import FOUND, PARSERS

    names = [arguments.parser] if arguments.parser else list(PARSERS)
    failed = []
    for name in names:
        (FOUND / name).mkdir(parents=True, exist_ok=True)
        told = ["--here", "--parser", name, "--seconds", str(max(1, arguments.seconds // len(names)))]
        told += ["--attack-seed", str(arguments.attack_seed)]
        done = subprocess.run([sys.executable, "-m", "tests.robustness.fuzz", *told], capture_output=True, text=True)
        lines = [line for line in done.stderr.splitlines() if "DONE" in line or "Error" in line or "tried" in line]
        print(
            f"{name}: {'held' if done.returncode == 0 else 'FAILED'}: {(lines or [''])[-1].strip()[:200]}", flush=True
        )
        if done.returncode:
            failed.append(name)
            print("\n".join(done.stderr.splitlines()[-25:]))
    return 1 if failed else 0


def _fuzz(name: str, seconds: int, seed: int) -> None:
    """Fuzz one parser, guided by coverage if atheris is installed, and otherwise with damaged valid files."""
    try:
        import atheris
    except ImportError:
        return _without_coverage(name, seconds, seed)
    with atheris.instrument_imports(include=["unbag", "csv", "json"]):
        from tests.robustness.fuzz.parsers import CORPUS, FOUND, parse

        parse(name, (CORPUS / name / "sound").read_bytes())  # instrument modules that are imported on first use
    corpus = FOUND.parent / ".tried" / name
    corpus.mkdir(parents=True, exist_ok=True)
    limits = [
        f"-max_total_time={seconds}",
        f"-seed={seed or 1}",
        f"-rss_limit_mb={ROOM_MB}",
        f"-timeout={SECONDS_EACH}",
    ]
    where = [f"-artifact_prefix={FOUND / name}/", str(corpus), str(CORPUS / name)]
    atheris.Setup([sys.argv[0], *limits, *where], lambda content: void(parse, name, content))
    return atheris.Fuzz()


def void(call: Callable[..., object], *given: object) -> None:
    """Call a function and return None, as atheris requires."""
    call(*given)


def _without_coverage(name: str, seconds: int, seed: int) -> None:
    from tests.robustness.fuzz.parsers import CORPUS, FOUND, parse
    from tests.robustness.malformed_inputs.inputs import damage

    rng, contents = random.Random(seed), [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]
    until, tried = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        content = rng.choice(contents)
        for _ in range(rng.choice((1, 1, 2, 4))):
            content, _ = damage(content, rng)
        tried += 1
        try:
            parse(name, content)
        except Exception:
            traceback.print_exc()
            (FOUND / name / f"crash-{tried}").write_bytes(content)
            sys.exit(1)
    print(f"{tried} tried", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
