"""Comparison of scores: the exported tasks in lm-evaluation-harness, lighteval and inspect-ai, and `unbag evaluate`.

    python benchmarks/harnesses.py [--keep FOLDER] [HARNESS...]

Each harness gets its own virtual environment, because their requirements conflict. The installation takes minutes and
gigabytes. The first two harnesses evaluate a tiny random language model, the third one the endpoint of the tests;
`unbag evaluate` evaluates both. The program prints one JSON line per harness: its scores, and the largest difference.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # the tests' model and endpoint

from tests.fake_llm import running_endpoint  # noqa: E402
from tests.inference.llm.tiny_lm import save_tiny_lm  # noqa: E402
from unbag import challenge_sets, evaluate  # noqa: E402
from unbag.challenge_sets import results  # noqa: E402
from unbag.challenge_sets.request import SetRequest  # noqa: E402
from unbag.integrations.harness.export import export_tasks  # noqa: E402
from unbag.scoring.nested import iter_estimates  # noqa: E402

PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "lm-eval": ("lm-eval[hf]==0.4.13",),
    # 0.13.0 uses functions of huggingface_hub and xxhash that later versions removed.
    "lighteval": ("lighteval==0.13.0", "huggingface_hub<1", "transformers<5", "datasets<5", "xxhash<4"),
    "inspect-ai": ("inspect-ai==0.3.285", "openai", "datasets"),
}
SETS: Final = ("permuted", "swapped", "plain")
_ALIKE: Final = 1e-4  # the harnesses round to four decimals

Scores = dict[str, dict[str, float]]


def pairs() -> str:
    """Build the text of a CSV file with invented pairs."""
    lines = ["premise,hypothesis,label"]
    for who in ("old man", "young woman", "red dog", "tall boy", "small cat"):
        for what in ("a ball in the big park", "the last bus to town", "an apple under the tree"):
            premise = f"The {who} over there sees {what} on the road."
            lines += [
                f"{premise},There is a {who} somewhere who has seen {what} today.,entailment",
                f"{premise},The {who} thinks that {what} is a nice thing.,neutral",
                f"{premise},No {who} at all has ever seen {what} here.,contradiction",
            ]
    return "\n".join(lines) + "\n"


def ours(model: str, requests: list[SetRequest], folder: Path, **options: Any) -> Scores:
    """Compute the scores of `unbag evaluate`, by the names that the harnesses use."""
    evaluate(model, requests, output_dir=folder, **options)
    found = results.read_results(folder / results.FILE)
    scores: Scores = {}
    for each in found:
        values = dict(iter_estimates(each.scores))
        scores[each.set] = {name: values[path].value or 0.0 for name, path in scores_of(each.set).items()}
    return scores


def scores_of(name: str) -> dict[str, str]:
    """Map the score names of a set's task to their paths in the scores of unbag."""
    return {
        metric.name: metric.path for metric in challenge_sets.get_challenge_set(name).list_metrics_with_role("harness")
    }


def lm_eval(run: Callable[..., None], tasks: Path, model: Path, out: Path, _: str) -> Scores:
    """Run lm-evaluation-harness."""
    options = ["--model_args", f"pretrained={model},dtype=float32", "--device", "cpu", "--include_path", str(tasks)]
    run("lm_eval", "--model", "hf", *options, "--tasks", "unbag", "--output_path", str(out))
    [file] = out.rglob("results_*.json")
    found = json.loads(file.read_text())["results"]
    return {s: {n: found[f"unbag_{s}"][f"{n},none"] for n in scores_of(s)} for s in SETS}


def lighteval(run: Callable[..., None], tasks: Path, model: Path, out: Path, _: str) -> Scores:
    """Run lighteval."""
    named = ",".join(f"unbag_{name}" for name in SETS)
    custom = ["--custom-tasks", str(tasks / "unbag_tasks.py"), "--output-dir", str(out)]
    run("lighteval", "accelerate", f"model_name={model},dtype=float32,batch_size=4", named, *custom)
    [file] = out.rglob("results_*.json")
    found = json.loads(file.read_text())["results"]
    return {s: {n: found[f"unbag_{s}|0"][n] for n in scores_of(s)} for s in SETS}


def inspect_ai(run: Callable[..., None], tasks: Path, _: Path, out: Path, base_url: str) -> Scores:
    """Run inspect-ai against the tests' endpoint."""
    options = ["--model", "openai-api/local/tiny", "--log-dir", str(out), "--log-format", "json", "--display", "plain"]
    run("inspect", "eval", "unbag_tasks.py", *options, LOCAL_BASE_URL=base_url, LOCAL_API_KEY="none")
    found = [json.loads(file.read_text()) for file in out.glob("*.json")]
    metrics = {log["eval"]["dataset"]["name"]: log["results"]["scores"][0]["metrics"] for log in found}
    return {s: {n: metrics[s][n]["value"] for n in scores_of(s)} for s in SETS}


RUNS: Final = {"lm-eval": lm_eval, "lighteval": lighteval, "inspect-ai": inspect_ai}


def installed(name: str, folder: Path) -> Path:
    """Locate the folder of a harness's commands. Installs the harness on first use."""
    place = folder / f"venv-{name}"
    if not (place / "installed").is_file():
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        pins = folder / "constraints.txt"
        kept = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith("torch==")]
        pins.write_text("\n".join(kept) + "\n")
        pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--constraint", str(pins)]
        subprocess.run([*pip, *PACKAGES[name]], check=True)
        if name == "lighteval":  # without this file, it downloads weights of another benchmark when it starts
            [place_of] = place.glob("lib/*/site-packages/lighteval/tasks/tasks")
            (place_of / "tinyBenchmarks.pkl").touch()
        (place / "installed").touch()
    return place / "bin"


def main() -> None:
    """Run the selected harnesses (default: all). Exit with code 1 if a number differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("harnesses", nargs="*", metavar="HARNESS", help=", ".join(RUNS))
    parser.add_argument("--keep", type=Path, help="folder that keeps environments and outputs for later runs")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, running_endpoint() as endpoint:
        endpoint.takes |= {"tools", "tool_choice", "seed", "stop"}
        folder = (given.keep or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pairs.csv").write_text(pairs())
        model = save_tiny_lm(folder / "tiny")
        config = model / "tokenizer_config.json"  # the format of older versions of transformers
        config.write_text(config.read_text().replace("TokenizersBackend", "PreTrainedTokenizerFast"))
        where = {"data": str(folder / "pairs.csv")}
        requests = [SetRequest(name, options=where | ({"q": 5} if name == "permuted" else {})) for name in SETS]
        same = True
        for name in given.harnesses or RUNS:
            bin_folder = installed(name, folder)
            here = folder / f"run-{name}-{os.getpid()}"

            def run(command: str, *options: str, bin_folder: Path = bin_folder, log: Path = here, **env: str) -> None:
                outside = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
                done = subprocess.run(
                    [str(bin_folder / command), *options],
                    cwd=log / "tasks",  # inspect-ai accepts relative paths only
                    env={**outside, "OMP_NUM_THREADS": "1", **env},
                    capture_output=True,
                    text=True,
                )
                log.with_suffix(".log").write_text(done.stdout + done.stderr)
                if done.returncode:
                    raise SystemExit(f"{command} failed, see {log.with_suffix('.log')}")

            export_tasks(name, requests, here / "tasks")
            theirs = RUNS[name](run, here / "tasks", model, here / "out", endpoint.base_url)
            if name == "inspect-ai":
                mine = ours(
                    "endpoint:tiny", requests, here / "ours", base_url=endpoint.base_url, cache=here / "answers"
                )
            else:
                mine = ours(f"causal:{model}", requests, here / "ours")
            gap = max(abs(theirs[s][n] - mine[s][n]) for s in SETS for n in mine[s] if not math.isnan(theirs[s][n]))
            same &= gap < _ALIKE
            print(json.dumps({"harness": PACKAGES[name][0], "largest_difference": gap, "scores": theirs}), flush=True)
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
