"""Test each extra alone: install the wheel in a fresh environment, run its commands, and check errors of the others.

    python -m tests.wheel_extras                 # the plain installation, then each extra, then all of them
    python -m tests.wheel_extras zh wordnet      # some; `none` is the plain installation

This requires `uv`, a package registry, minutes, and gigabytes for extras with torch. `UV_*` variables set the registry,
and `UV_TORCH_BACKEND=cpu` the torch build. The clients of the Hub are offline. Each environment prints one line of
JSON: the use cases that work, those that name a missing extra, and the size.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from itertools import islice
from pathlib import Path
from typing import Final

from tests.factories import write_table
from tests.fake_llm import running_endpoint
from unbag.data.demo import iter_demo_pairs

ROOT: Final = Path(__file__).parents[1]
NONE: Final = "none"
EXTRAS: Final[dict[str, list[str]]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]
_CHINESE: Final = ("两只大狗今天在田野上奔跑，孩子们在看着。", "今天有一些动物在田野上奔跑。", "entailment")
_METRIC: Final = """
import evaluate
from unbag import scripts
metric = evaluate.load(str(scripts.ROOT / "metrics" / "swap_consistency"))
print(metric.compute(predictions=[0, 1], references=[0, 1], source_id=["a", "a"], swapped=[False, True]))
"""
_PAIRS: Final = "--data pairs.csv --sets plain --no-lexical-baseline"
_TUNE: Final = "unbag train finetune --model dan --corpus pairs.csv --validation pairs.csv --max-steps 2"


def build_use_cases(endpoint: str) -> dict[tuple[str, str], list[str]]:
    """Build the commands of each use case, by its name and the extras that it needs.

    Later use cases may use files of earlier ones.
    """
    return {
        ("build, ask a function, score, report", ""): [
            "unbag build swapped --data pairs.csv --output swapped.parquet",
            f"unbag evaluate yes:says {_PAIRS} --output-dir said",
            "unbag report said --output said.html",
        ],
        ("the demonstration", ""): ["unbag demo"],
        ("make, train and ask a model", "models"): [
            "unbag models init dan --corpus pairs.csv --output-dir dan",
            f"{_TUNE} --output-dir tuned",
            f"unbag evaluate ./tuned {_PAIRS} --output-dir asked",
        ],
        ("train under trackers", "models trackers"): [
            f"{_TUNE} --report-to tensorboard --report-to trackio --output-dir tracked"
        ],
        ("permute Chinese", "zh"): ["unbag build permuted --data chinese.csv --language zh --output chinese.parquet"],
        ("ask WordNet", "wordnet"): [
            "python -m unbag.baselines.wordnet.install",
            f"unbag evaluate wordnet {_PAIRS} --output-dir known",
        ],
        ("ask an endpoint", "llm"): [
            f"unbag evaluate endpoint:tiny --base-url {endpoint} {_PAIRS} --max-examples 3 --output-dir answered"
        ],
        ("compute a metric by evaluate", "metrics"): [f"python -c {shlex.quote(_METRIC)}"],
    }


def list_included_extras(extra: str) -> set[str]:
    """List the extras that an extra includes, itself among them."""
    named = re.findall(r"unbag\[([^]]*)\]", " ".join(EXTRAS.get(extra, [])))
    return ({extra} - {NONE}).union(*(list_included_extras(each) for names in named for each in names.split(",")))


def write_files(folder: Path) -> None:
    """Write the files that the commands read."""
    pairs = [(pair.premise, pair.hypothesis, pair.label) for pair in islice(iter_demo_pairs("validation"), 60)]
    for name, rows in (("pairs", pairs), ("chinese", [_CHINESE])):
        write_table(folder / f"{name}.csv", rows, ["premise", "hypothesis", "label"])
    (folder / "yes.py").write_text("def says(premises, hypotheses):\n    return ['entailment'] * len(premises)\n")


def check_extra(extra: str, wheel: Path, endpoint: str, folder: Path) -> dict[str, object]:
    """Install the wheel with an extra in a new environment, run all use cases there, and return a record.

    A use case that lacks an extra must fail with an error that names this extra.
    """
    environment, work = folder / "environment", folder / "work"
    work.mkdir()
    write_files(work)
    # pip is needed to install WordNet.
    run_checked("uv", "venv", "--quiet", "--seed", "--python", sys.executable, str(environment))
    wanted = str(wheel) if extra == NONE else f"{wheel}[{extra}]"
    programs = environment / ("Scripts" if os.name == "nt" else "bin")
    run_checked("uv", "pip", "install", "--quiet", "--python", str(programs / "python"), wanted)
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    variables |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hub"), "UNBAG_CACHE": str(folder / "cache")}
    works, lacks = [], []
    for (name, needs), commands in build_use_cases(endpoint).items():
        lacking = set(needs.split()) - list_included_extras(extra)
        if not needs and extra not in (NONE, "all"):
            continue
        if lacking:  # the first command must fail, and the others need its output
            # The module that WordNet is installed with works without the extra.
            commands = [command for command in commands if command.startswith("unbag")][:1]
        for command in commands:
            program, *arguments = shlex.split(command)
            done = subprocess.run(
                [str(programs / program), *arguments], capture_output=True, text=True, cwd=work, env=variables
            )
            said = f"{extra}: {command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
            named = set(re.findall(r"pip install 'unbag\[(\w+)\]'", done.stderr))
            assert (done.returncode == 0) == (not lacking), said
            assert not lacking or (named and named <= lacking and "Traceback" not in done.stderr), said
        if commands:
            (lacks if lacking else works).append(name)
    size = sum(path.stat().st_size for path in environment.rglob("*") if path.is_file() and not path.is_symlink())
    return {"extra": extra, "works": works, "names missing extra": lacks, "megabytes": round(size / 1e6)}


def run_checked(*command: str) -> None:
    """Run a command that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"


def main() -> None:
    """Test the given extras, or all. The exit code is 1 if a test fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extras", nargs="*", default=[NONE, *EXTRAS], metavar="EXTRA")
    wanted = parser.parse_args().extras
    if unknown := sorted(set(wanted) - {NONE, *EXTRAS}):
        parser.error(f"expected extras ({', '.join((NONE, *EXTRAS))}), got {', '.join(unknown)}")
    if shutil.which("uv") is None:
        parser.error("requires uv; run pip install uv")
    failed = False
    with tempfile.TemporaryDirectory(prefix="wheel-") as folder, running_endpoint() as endpoint:
        run_checked("uv", "build", "--quiet", "--wheel", "--out-dir", folder, str(ROOT))
        [wheel] = Path(folder).glob("*.whl")
        for extra in wanted:
            try:
                with tempfile.TemporaryDirectory(prefix="extra-") as fresh:
                    print(json.dumps(check_extra(extra, wheel, endpoint.base_url, Path(fresh))), flush=True)  # noqa: T201
            except AssertionError as error:
                failed = True
                print(error, file=sys.stderr, flush=True)  # noqa: T201
    sys.exit(failed)


if __name__ == "__main__":
    main()
