"""Test each extra alone: install the wheel in a fresh environment, run its commands, and check errors of the others.

    python -m tests.wheel_extras                 # the plain installation, then each extra, then all of them
    python -m tests.wheel_extras zh wordnet      # some; `none` is the plain installation

This requires `uv`, a package registry, minutes, and gigabytes for extras with torch. `UV_*` variables set the registry,
and `UV_TORCH_BACKEND=cpu` the torch build. The clients of the Hub are offline. Each environment prints one line of
JSON: the commands, the duration of installation and commands, and the size.
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
import time
import tomllib
from pathlib import Path
from typing import Final, NamedTuple

from tests.fake_llm.running import running_endpoint

ROOT: Final = Path(__file__).parents[1]
NONE: Final = "none"

_PAIRS: Final = """
import csv
from unbag.data.demo import iter_demo_pairs
with open("pairs.csv", "w", newline="", encoding="utf-8") as file:
    writer = csv.writer(file)
    writer.writerow(["premise", "hypothesis", "label"])
    pairs = zip(iter_demo_pairs("validation"), range(60))
    writer.writerows([pair.premise, pair.hypothesis, pair.label] for pair, _ in pairs)
with open("chinese.csv", "w", newline="", encoding="utf-8") as file:
    writer = csv.writer(file)
    writer.writerow(["premise", "hypothesis", "label"])
    writer.writerow(["两只大狗今天在田野上奔跑，孩子们在看着。", "今天有一些动物在田野上奔跑。", "entailment"])
with open("yes.py", "w") as file:
    file.write("def says(premises, hypotheses):\\n    return ['entailment'] * len(premises)\\n")
"""
_METRIC: Final = """
import evaluate
from unbag import scripts
metric = evaluate.load(str(scripts.ROOT / "metrics" / "swap_consistency"))
print(metric.compute(predictions=[0, 1], references=[0, 1], source_id=["a", "a"], swapped=[False, True]))
"""
_ASKED: Final = "--data pairs.csv --sets plain --no-lexical-baseline"
_TUNE: Final = "unbag train finetune --model dan --corpus pairs.csv --validation pairs.csv --max-steps 2"


class Use(NamedTuple):
    """A use case: the extras that it needs, and its commands, `unbag …` or `python …`."""

    name: str
    needs: frozenset[str]
    commands: list[list[str]]


def uses(endpoint: str) -> list[Use]:
    """Return the use cases for every environment. Later ones may use files of earlier ones."""
    cases = {
        ("build, ask a function, score, report", ""): [
            "unbag build swapped --data pairs.csv --output swapped.parquet",
            f"unbag evaluate yes:says {_ASKED} --output-dir said",
            "unbag report said --output said.html",
        ],
        ("the demonstration", ""): ["unbag demo"],
        ("make, train and ask a model", "models"): [
            "unbag models init dan --corpus pairs.csv --output-dir dan",
            f"{_TUNE} --output-dir tuned",
            f"unbag evaluate ./tuned {_ASKED} --output-dir asked",
        ],
        ("train under trackers", "models trackers"): [
            f"{_TUNE} --report-to tensorboard --report-to trackio --output-dir tracked"
        ],
        ("permute Chinese", "zh"): ["unbag build permuted --data chinese.csv --language zh --output chinese.parquet"],
        ("ask WordNet", "wordnet"): [
            "python -m unbag.baselines.wordnet.install",
            f"unbag evaluate wordnet {_ASKED} --output-dir known",
        ],
        ("ask an endpoint", "llm"): [
            f"unbag evaluate endpoint:tiny --base-url {endpoint} {_ASKED} --max-examples 3 --output-dir answered"
        ],
        ("compute a metric by evaluate", "metrics"): [f"python -c {shlex.quote(_METRIC)}"],
    }
    return [Use(name, frozenset(needs.split()), [*map(shlex.split, each)]) for (name, needs), each in cases.items()]


def brought_by(extra: str) -> frozenset[str]:
    """Return the extras that an extra includes, itself among them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = re.findall(r"unbag\[([^]]*)\]", " ".join(project["optional-dependencies"].get(extra, [])))
    others = [each for names in named for each in names.split(",")]
    return frozenset({extra} - {NONE}).union(*map(brought_by, others))


def extras() -> list[str]:
    """Return the names of all extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return list(project["optional-dependencies"])


def tried(extra: str, wheel: Path, endpoint: str) -> dict[str, object]:
    """Install the wheel with an extra in a new environment, run all use cases there, and return a record.

    A use case that lacks an extra must fail with an error that names this extra.
    """
    has = brought_by(extra)
    with _folder() as name:
        folder, began = Path(name), time.monotonic()
        environment = folder / "environment"
        # pip is needed to install WordNet.
        _done("uv", "venv", "--quiet", "--seed", "--python", sys.executable, str(environment))
        wanted = str(wheel) if extra == NONE else f"{wheel}[{extra}]"
        programs = environment / ("Scripts" if os.name == "nt" else "bin")
        _done("uv", "pip", "install", "--quiet", "--python", str(programs / "python"), wanted)
        installed = time.monotonic()
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        variables |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hub"), "UNBAG_CACHE": str(folder / "cache")}
        work = folder / "work"
        work.mkdir()

        def run(*command: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [str(programs / command[0]), *command[1:]], capture_output=True, text=True, cwd=work, env=variables
            )

        made = run("python", "-c", _PAIRS)
        assert made.returncode == 0, made.stderr
        done, refused = [], []
        for use in uses(endpoint):
            lacking = use.needs - has
            if not use.needs and extra not in (NONE, "all"):
                continue  # the module that WordNet is installed with works without the extra
            commands = use.commands
            if lacking:  # the first command must fail, and the others need its output
                commands = [command for command in commands if command[0] == "unbag"][:1]
            for command in commands:
                result = run(*command)
                said = f"{extra}: {' '.join(command)}\n{result.stdout[-2000:]}{result.stderr[-2000:]}"
                if not lacking:
                    assert result.returncode == 0, said
                    continue
                named = set(re.findall(r"pip install 'unbag\[(\w+)\]'", result.stderr))
                assert result.returncode != 0, said
                assert named, said
                assert named <= lacking, said
                assert "Traceback" not in result.stderr, said
            if commands:
                (refused if lacking else done).append(use.name)
        size = sum(path.stat().st_size for path in environment.rglob("*") if path.is_file() and not path.is_symlink())
        return {
            "extra": extra,
            "does": done,
            "names what it takes": refused,
            "install_seconds": round(installed - began, 1),
            "try_seconds": round(time.monotonic() - installed, 1),
            "megabytes": round(size / 1e6),
        }


def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="unbag.wheel_extras.")


def _done(*command: str) -> None:
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, f"{' '.join(command)}\n{run.stdout}{run.stderr}"


def main() -> None:
    """Test the given extras, or all. The exit code is 1 if a test fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extras", nargs="*", default=[NONE, *extras()], metavar="EXTRA")
    wanted = parser.parse_args().extras
    if unknown := sorted(set(wanted) - {NONE, *extras()}):
        parser.error(f"expected extras ({', '.join((NONE, *extras()))}), found {', '.join(unknown)}")
    if shutil.which("uv") is None:
        parser.error("this takes uv: pip install uv")
    failed = False
    with _folder() as folder, running_endpoint() as endpoint:
        _done("uv", "build", "--quiet", "--wheel", "--out-dir", folder, str(ROOT))
        [wheel] = Path(folder).glob("*.whl")
        for extra in wanted:
            try:
                sys.stdout.write(json.dumps(tried(extra, wheel, endpoint.base_url)) + "\n")
            except AssertionError as error:
                failed = True
                sys.stderr.write(f"{error}\n")
            sys.stdout.flush()
    sys.exit(failed)


if __name__ == "__main__":
    main()
