# /// script
# requires-python = ">=3.11"
# dependencies = ["unbag[all]"]
#
# [tool.hf-jobs]
# image = "ghcr.io/astral-sh/uv:python3.12-bookworm"
# flavor = "l4x1"
# python = "3.12"
# env = { HF_HUB_DISABLE_PROGRESS_BARS = "1" }
# secrets = ["HF_TOKEN"]
# timeout = "12h"
# ///
"""Evaluate 25 well-known NLI models on a machine of the Hub, and publish the results.

    python examples/hf_jobs/evaluate_models.py --org ORG                    # the estimated cost; nothing else
    hf jobs uv run examples/hf_jobs/evaluate_models.py --org ORG --yes      # the evaluation, on a rented machine
    python examples/hf_jobs/evaluate_models.py --org ORG --table            # the table of the stored results

Each finished model is stored in the data set ORG/unbag-runs, so the same command continues after a stop. At the end,
all stored results go to ORG/unbag-results and to the leaderboard.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from unbag.challenge_sets.results import Result
    from unbag.hub.push import HubUpload

BY_CONFIG: Final = "by config"
"""Label order that was not found in a public copy: unbag reads the names, and rejects unknown ones."""

CHECKED: Final = "2026-11-25"
"""Date on which label orders, licenses and prices were looked up, in archived copies of the pages; their age varies."""

_CEN: Final = "contradiction,entailment,neutral"
_CNE: Final = "contradiction,neutral,entailment"
_ENC: Final = "entailment,neutral,contradiction"
_TWO: Final = "entailment,not_entailment"
_HUB: Final = "https://huggingface.co"


@dataclass(frozen=True)
class Model:
    """A model to evaluate.

    Attributes:
        id: Repository on the Hub.
        license: License on the model's page; `see card` if no copy of the page was found.
        labels: Label of each output, in order, or `BY_CONFIG`.
        outputs: Number of outputs.
        parameters: Number of parameters in millions, computed from the dimensions in the config.
        source: Page with the label order: the config of the model, of a copy, or of a model fine-tuned from it that
            names it in `_name_or_path` and keeps its labels.
    """

    id: str
    license: str
    labels: str
    outputs: int
    parameters: int
    source: str

    @property
    def folder(self) -> str:
        """Folder of the model in the data set of runs."""
        return f"results/{self.id.replace('/', '--')}"


# fmt: off
MODELS: Final = (
    Model("cross-encoder/nli-deberta-v3-xsmall", "apache-2.0", _CEN, 3, 71,
          f"{_HUB}/Xenova/nli-deberta-v3-xsmall/blame/main/config.json"),
    Model("cross-encoder/nli-deberta-v3-small", "apache-2.0", BY_CONFIG, 3, 142,
          f"{_HUB}/cross-encoder/nli-deberta-v3-small"),
    Model("cross-encoder/nli-deberta-v3-base", "apache-2.0", _CEN, 3, 184,
          f"{_HUB}/knowledgator/comprehend_it-base/blame/ba57149003bbc48cb61fed923db1e3f2607770a1/config.json"),
    Model("cross-encoder/nli-deberta-v3-large", "apache-2.0", _CEN, 3, 435,
          f"{_HUB}/plexatic/big-whack-model/blob/refs%2Fpr%2F1/config.json"),
    Model("cross-encoder/nli-roberta-base", "apache-2.0", _CEN, 3, 125,
          f"{_HUB}/anonyiv/elastic_zero_log/blob/main/config.json"),
    Model("cross-encoder/nli-distilroberta-base", "apache-2.0", BY_CONFIG, 3, 82,
          f"{_HUB}/cross-encoder/nli-distilroberta-base"),
    Model("cross-encoder/nli-MiniLM2-L6-H768", "apache-2.0", _CEN, 3, 82,
          f"{_HUB}/cross-encoder/nli-MiniLM2-L6-H768/blob/main/config.json"),
    Model("facebook/bart-large-mnli", "mit", _CNE, 3, 407,
          f"{_HUB}/oigele/awesome_fb_model/blame/7ba65bf1518560a1fc76e77c3ac88be6a3a7a19a/config.json"),
    Model("FacebookAI/roberta-large-mnli", "mit", _CNE, 3, 355,
          f"{_HUB}/FacebookAI/roberta-large-mnli/blame/main/config.json"),
    Model("microsoft/deberta-base-mnli", "mit", _CNE, 3, 139,
          f"{_HUB}/microsoft/deberta-base-mnli/commit/0dab230ddb6c99b20299bd50501dd830875b0e51"),
    Model("microsoft/deberta-large-mnli", "mit", BY_CONFIG, 3, 406, f"{_HUB}/microsoft/deberta-large-mnli"),
    Model("microsoft/deberta-xlarge-mnli", "mit", BY_CONFIG, 3, 759, f"{_HUB}/microsoft/deberta-xlarge-mnli"),
    Model("MoritzLaurer/DeBERTa-v3-base-mnli-fever-anli", "mit", _ENC, 3, 184,
          f"{_HUB}/MoritzLaurer/DeBERTa-v3-base-mnli-fever-anli/raw/refs%2Fpr%2F8/config.json"),
    Model("MoritzLaurer/DeBERTa-v3-large-mnli-fever-anli-ling-wanli", "mit", _ENC, 3, 435,
          f"{_HUB}/ymcnabb/dutch_threeway_sentiment_classification_v2/blob/main/config.json"),
    Model("MoritzLaurer/deberta-v3-base-zeroshot-v2.0", "mit", _TWO, 2, 184,
          f"{_HUB}/amritpuhan/fine-tuned-MoritzLaurer-deberta-v3-base-zeroshot-v2.0-arceasy/blame/main/config.json"),
    Model("MoritzLaurer/deberta-v3-large-zeroshot-v2.0", "mit", _TWO, 2, 435,
          f"{_HUB}/amritpuhan/fine-tuned-MoritzLaurer-deberta-v3-large-zeroshot-v2.0-swag/blob/main/config.json"),
    Model("MoritzLaurer/roberta-large-zeroshot-v2.0", "see card", BY_CONFIG, 2, 355,
          f"{_HUB}/MoritzLaurer/roberta-large-zeroshot-v2.0"),
    Model("MoritzLaurer/bge-m3-zeroshot-v2.0", "mit", _TWO, 2, 568,
          f"{_HUB}/MoritzLaurer/bge-m3-zeroshot-v2.0/blame/main/onnx/config.json"),
    Model("MoritzLaurer/ModernBERT-large-zeroshot-v2.0", "apache-2.0", BY_CONFIG, 2, 396,
          f"{_HUB}/MoritzLaurer/ModernBERT-large-zeroshot-v2.0"),
    Model("MoritzLaurer/mDeBERTa-v3-base-xnli-multilingual-nli-2mil7", "mit", _ENC, 3, 279,
          f"{_HUB}/quangdan/mdeberta_model_new/blob/main/config.json"),
    Model("joeddav/xlm-roberta-large-xnli", "mit", _CNE, 3, 560,
          f"{_HUB}/daijin219/dl_project_roberta_large_nli/blame/main/config.json"),
    # An earlier commit of this model, 75d12f3, has the reverse order. The later names and the label probe decide.
    Model("typeform/distilbert-base-uncased-mnli", "see card", _ENC, 3, 67,
          f"{_HUB}/typeform/distilbert-base-uncased-mnli/blame/f507f5c180b7d75a396e81341f8728f6278e1bff/config.json"),
    Model("tasksource/ModernBERT-base-nli", "apache-2.0", _ENC, 3, 150,
          f"{_HUB}/tasksource/ModernBERT-base-embed/raw/3b0d1a4a22632c9d239b094d5d957572f5ed9a50/config.json"),
    Model("tasksource/deberta-base-long-nli", "apache-2.0", BY_CONFIG, 3, 184,
          f"{_HUB}/tasksource/deberta-base-long-nli"),
    Model("ynie/roberta-large-snli_mnli_fever_anli_R1_R2_R3-nli", "mit", _ENC, 3, 355,
          f"{_HUB}/GuardrailsAI/finetuned_nli_provenance/blob/main/config.json"),
)
# fmt: on

PRICES: Final = {"cpu-upgrade": 0.03, "cpu-performance": 1.90, "t4-small": 0.40, "t4-medium": 0.60, "l4x1": 0.80}
"""Dollars per hour, as of `CHECKED`, from `PRICES_SOURCE`."""

PRICES_SOURCE: Final = "https://huggingface.co/docs/hub/jobs-pricing"

PAIRS: Final = 50_000
"""Pairs per model, with those of shuffled words. The suite without Breaking NLI, SICCK and ReSNLI has 42,609."""

TOKENS: Final = 50
"""Tokens per pair, assuming 1.25 per word; these pairs have 40 words on average."""

RUNS: Final = "unbag-runs"
_RESULTS: Final = "results.json"
_RUN: Final = "run.json"
_CARD: Final = """---
pretty_name: Runs of unbag
license: cc0-1.0
tags:
- unbag
---

# Runs of unbag

`results/MODEL/results.json` is the output of `unbag evaluate` for a model; `run.json` has the date, the hardware and
the options. `examples/hf_jobs/evaluate_models.py` of unbag writes and reads this data set.
"""


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line; `evaluate` becomes a list of words, and `models` a list of models."""
    parser = argparse.ArgumentParser(
        description="Evaluate well-known NLI models and publish the results. Without --yes: only the estimated cost."
    )
    parser.add_argument("--org", required=True, help="organization or user for runs, results and leaderboard")
    parser.add_argument("--models", type=lambda text: text.split(","), help="ids of the list (default: all)")
    parser.add_argument("--yes", action="store_true", help="evaluate and publish")
    parser.add_argument("--table", action="store_true", help="print a Markdown table of the stored results")
    parser.add_argument("--public", action="store_true", help="make new repositories public (default: private)")
    parser.add_argument(
        "--pull-requests", action="store_true", help="propose .eval_results and model-index to each model's owners"
    )
    parser.add_argument("--flavor", default="l4x1", help="machine of the estimate (default: l4x1)")
    parser.add_argument("--price", type=float, help="dollars per hour of the machine (default: of the listed flavors)")
    parser.add_argument("--pairs", type=int, default=PAIRS, help=f"pairs per model (default: {PAIRS})")
    parser.add_argument("--tflops", type=float, default=5.0, help="assumed useful TFLOP/s of the machine (default: 5)")
    parser.add_argument("--overhead", type=float, default=10.0, help="assumed further minutes per model (default: 10)")
    parser.add_argument(  # not words after `--`, which `hf jobs uv run` drops
        "--evaluate", type=shlex.split, default=[], help="options of `unbag evaluate`, such as --evaluate='--full'"
    )
    options = parser.parse_args(arguments)
    known = {model.id: model for model in MODELS}
    if unknown := [name for name in options.models or () if name not in known]:
        parser.error(
            f"--models: expected ids of the list, got {', '.join(unknown)}; see MODELS in {Path(__file__).name}"
        )
    if options.price is None and options.flavor not in PRICES:
        parser.error(f"--flavor: expected one of {', '.join(PRICES)}, got {options.flavor}; pass --price")
    options.models = [known[name] for name in options.models] if options.models else list(MODELS)
    return options


def estimate_hours(model: Model, pairs: int, *, tflops: float, overhead: float) -> float:
    """Estimate the hours of a model: two operations per parameter and token, and a constant.

    Args:
        model: Model.
        pairs: Number of pairs.
        tflops: Useful operations per second of the machine, in units of 1e12.
        overhead: Further minutes: download, sets, lexical baseline, scores.
    """
    operations = 2 * model.parameters * 1e6 * pairs * TOKENS
    return operations / (tflops * 1e12) / 3600 + overhead / 60


def print_estimate(models: Sequence[Model], options: argparse.Namespace) -> None:
    """Print the estimated hours and cost of the models, and what the estimate assumes."""
    price = PRICES[options.flavor] if options.price is None else options.price
    total = 0.0
    for model in models:
        hours = estimate_hours(model, options.pairs, tflops=options.tflops, overhead=options.overhead)
        total += hours
        print(f"{model.id:60} {model.parameters:4} M parameters {hours:6.2f} h {hours * price:6.2f} $")
    source = "--price" if options.price is not None else f"{PRICES_SOURCE}, looked up {CHECKED}"
    print(
        f"Total of {len(models)}: {total:.1f} h, {total * price:.2f} $ on {options.flavor} at {price:.2f} $ per hour "
        f"({source}).\nAssumed: {options.pairs:,} pairs of {TOKENS} tokens, {options.tflops:g} TFLOP/s, "
        f"{options.overhead:g} further minutes per model."
    )


def stored_runs(org: str) -> dict[str, tuple[Path, dict[str, Any]]]:
    """Fetch the finished runs: by model id, the file of results and the record of the run."""
    from huggingface_hub import hf_hub_download

    from unbag.hub.push import fetch_remote_repository

    remote = fetch_remote_repository(f"{org}/{RUNS}", "dataset")
    runs: dict[str, tuple[Path, dict[str, Any]]] = {}
    for model in MODELS if remote else ():
        paths = [f"{model.folder}/{name}" for name in (_RESULTS, _RUN)]
        if remote is not None and all(path in remote.files for path in paths):
            results, run = (
                Path(hf_hub_download(remote.repo, path, repo_type="dataset", revision=remote.commit)) for path in paths
            )
            runs[model.id] = results, json.loads(run.read_text(encoding="utf-8"))
    return runs


def validate_settings(runs: Mapping[str, tuple[Path, Mapping[str, Any]]], evaluate: Sequence[str]) -> None:
    """Check that the stored runs have the options of this command, since one table compares them.

    Raises:
        ValueError: If a run has other options.
    """
    for model, (_, run) in runs.items():
        if run["options"] != list(evaluate):
            raise ValueError(
                f"{RUNS}, {model}: expected the options {list(evaluate)}, got {run['options']}; repeat these options, "
                "or use another --org"
            )


def validate_labels(model: Model) -> None:
    """Check the label order of the model's config against the list, before its weights are downloaded.

    Raises:
        ValueError: If the order differs, or a label has an unknown name.
    """
    from transformers import AutoConfig

    from unbag.data.labels import resolve_output_labels

    order = ",".join(resolve_output_labels(AutoConfig.from_pretrained(model.id).id2label))
    if model.labels not in (BY_CONFIG, order):
        raise ValueError(f"{model.id}: expected the labels {model.labels}, got {order}; the model changed, check it")


def evaluate_model(model: Model, options: argparse.Namespace) -> None:
    """Evaluate a model in a process of its own, and store its results in the data set of runs.

    Raises:
        ValueError: If the evaluation fails, with its last line; or the results cannot be stored.
    """
    import torch

    from unbag import __version__
    from unbag.hub.push import HubUpload

    validate_labels(model)
    hardware = torch.cuda.get_device_name(0) if torch.cuda.is_available() else f"CPU, {os.cpu_count()} cores"
    with tempfile.TemporaryDirectory(prefix="unbag-") as folder:
        start = time.monotonic()
        command = [sys.executable, "-m", "unbag", "evaluate", model.id, *options.evaluate, "--output-dir", folder]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            print(done.stderr, file=sys.stderr)
            lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            raise ValueError(lines[-1])
        run = {
            "model": model.id,
            "date": datetime.now(tz=UTC).date().isoformat(),
            "hardware": hardware,
            "seconds": round(time.monotonic() - start),
            "options": options.evaluate,
            "unbag": __version__,
        }
        files: dict[str, Any] = {
            "README.md": lambda existing: existing or _CARD.encode(),
            f"{model.folder}/{_RESULTS}": Path(folder) / _RESULTS,
            f"{model.folder}/{_RUN}": (json.dumps(run, indent=2) + "\n").encode(),
        }
        publish(HubUpload(f"{options.org}/{RUNS}", "dataset", files, f"Add results of {model.id}"), options)


def publish(upload: "HubUpload", options: argparse.Namespace) -> None:
    """Publish to an own repository, private if it is new and `--public` is not set."""
    from unbag.hub.push import fetch_remote_repository, publish_files

    is_new = fetch_remote_repository(upload.repo, upload.kind) is None
    print(publish_files(upload, private=is_new and not options.public).url)


def evaluate_models(models: Iterable[Model], options: argparse.Namespace) -> dict[str, str]:
    """Evaluate the models one after another. Returns the reasons of failures, by model id."""
    failures: dict[str, str] = {}
    for model in models:
        print(f"\n{model.id}", flush=True)
        try:
            evaluate_model(model, options)
        except Exception as error:  # the next model may succeed
            failures[model.id] = str(error) or type(error).__name__
            print(f"failed: {failures[model.id]}", file=sys.stderr)
    return failures


def publish_results(runs: Mapping[str, tuple[Path, Mapping[str, Any]]], options: argparse.Namespace) -> dict[str, str]:
    """Publish all stored results, the leaderboard and, with `--pull-requests`, proposals to the models.

    Returns the reasons of failures, by what was not published. Content that is already published makes no commit.
    """
    from unbag.challenge_sets.results import read_results
    from unbag.hub import results_dataset, spaces

    results = {model: read_results(path) for model, (path, _) in runs.items()}
    rows = f"{options.org}/{results_dataset.NAME}"
    failures: dict[str, str] = {}
    try:
        every = [result for some in results.values() for result in some]
        publish(results_dataset.build_results_dataset_upload(rows, every), options)
        publish(spaces.build_leaderboard_space(f"{options.org}/{spaces.LEADERBOARD_SPACE}", rows), options)
    except (ValueError, OSError) as error:
        failures["results and leaderboard"] = str(error)
    for model, some in results.items() if options.pull_requests else ():
        try:
            propose_results(model, some, runs[model], options.org)
        except (ValueError, OSError) as error:
            failures[f"pull request to {model}"] = str(error)
    return failures


def propose_results(model: str, results: "Sequence[Result]", run: tuple[Path, Mapping[str, Any]], org: str) -> None:
    """Open a pull request with `.eval_results` and the model-index, or update the open one."""
    from unbag.hub.eval_results import build_model_results_upload, fetch_result_context
    from unbag.hub.push import publish_files

    path, record = run
    about = fetch_result_context(results, org, [path])._replace(date=record["date"])  # not that of the download
    print(publish_files(build_model_results_upload(model, results, org, about), pull_request=True).url)


def build_table(models: Sequence[Model], runs: Mapping[str, tuple[Path, Mapping[str, Any]]]) -> str:
    """Build the Markdown table of the models: their verdicts, and where and when they were measured."""
    from unbag.challenge_sets.results import read_results

    lines = [
        "| model | license | parameters | labels | better | no better | worse | inconclusive | measured |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for model in models:
        cells = ["–"] * 4 + ["not yet"]
        if model.id in runs:
            path, run = runs[model.id]
            cells = [*_verdict_cells(read_results(path)), f"{run['hardware']}, {run['date']}, unbag {run['unbag']}"]
        name = f"[{model.id}]({_HUB}/{model.id})"
        lines.append("| " + " | ".join([name, model.license, f"{model.parameters} M", model.labels, *cells]) + " |")
    return "\n".join(lines)


def _verdict_cells(results: "Sequence[Result]") -> list[str]:
    """Name the challenge sets of each standing, without the corpus itself."""
    from unbag.evaluation.verdict import compute_model_verdict

    verdicts = [verdict for verdict in compute_model_verdict(results) if not verdict.is_control]
    standings = ("better", "no better", "worse", "inconclusive")
    return [", ".join(each.result.set for each in verdicts if each.standing == name) or "–" for name in standings]


def main() -> int:
    """Run the command. Returns the exit code: 1 if a model or a publication failed."""
    from typer import BadParameter

    from unbag.cli.push import validate_push

    options = parse_arguments()
    try:
        if options.table:
            print(build_table(options.models, stored_runs(options.org)))
            return 0
        if not options.yes:
            print_estimate(options.models, options)
            print("Nothing was evaluated. Add --yes to evaluate and publish.")
            return 0
        validate_push(options.org, offline=False, option="--org")  # before hours of work
        runs = stored_runs(options.org)
        validate_settings(runs, options.evaluate)
        remaining = [model for model in options.models if model.id not in runs]
        print(f"{len(runs)} of {len(MODELS)} models are stored and skipped.")
        print_estimate(remaining, options)
        failures = evaluate_models(remaining, options)
        if runs := stored_runs(options.org):
            failures |= publish_results(runs, options)
    except (ValueError, OSError, BadParameter) as error:
        print(f"evaluate_models: {error}", file=sys.stderr)
        return 1
    for name, reason in failures.items():
        print(f"{name}: {reason}", file=sys.stderr)
    if failures:
        print(f"{len(failures)} failed; the same command tries them again.", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
