"""Build every set and evaluate the demonstration on simulated processors, and compare the outputs.

    python -m tools.portability [--shared ../shared] [--only "no AVX2" …]

Each environment below is a separate process with empty caches. Its variables select the code that libraries use on
another processor: for matrix products (OPENBLAS_CORETYPE, ONEDNN_MAX_CPU_ISA, ATEN_CPU_CAPABILITY), for NumPy's loops
(NPY_DISABLE_CPU_FEATURES), and for exp and log of the C library (GLIBC_TUNABLES). They also set the number of threads.

The program compares the bytes of each set's Parquet file and the texts of the demonstration's report. With `--shared`,
it also compares sets of real SNLI pairs, which need a lexical model, word embeddings and a parser, and the labels that
a real model predicts. It prints a table, and exits with code 1 if any output differs. `tests/tools/test_portability.py`
runs a part of it.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
_NO_AVX512: Final = "X86_V4 AVX512_ICL AVX512_SPR"
# Variables that may be set for the current processor; removed in all environments.
_UNSET: Final = ("OPENBLAS_L2_SIZE",)

ENVIRONMENTS: Final[Mapping[str, Mapping[str, str]]] = {
    "this processor": {},
    "no AVX2": {
        "OPENBLAS_CORETYPE": "Sandybridge",
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "NPY_DISABLE_CPU_FEATURES": f"X86_V3 {_NO_AVX512}",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA",
        "OMP_NUM_THREADS": "1",
    },
    "no AVX2, 2 threads": {
        "OPENBLAS_CORETYPE": "Sandybridge",
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "AVX",
        "OMP_NUM_THREADS": "2",
    },
    "AVX2": {
        "OPENBLAS_CORETYPE": "Haswell",
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "NPY_DISABLE_CPU_FEATURES": _NO_AVX512,
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F",
        "OMP_NUM_THREADS": "2",
    },
    "AVX2, 1 thread": {
        "OPENBLAS_CORETYPE": "Haswell",
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "OMP_NUM_THREADS": "1",
    },
    "Zen": {"OPENBLAS_CORETYPE": "Zen", "ATEN_CPU_CAPABILITY": "avx2", "OMP_NUM_THREADS": "2"},
    "AVX-512": {"OPENBLAS_CORETYPE": "SkylakeX", "ATEN_CPU_CAPABILITY": "avx512", "OMP_NUM_THREADS": "1"},
    "AVX-512, 2 threads": {"OPENBLAS_CORETYPE": "SkylakeX", "ATEN_CPU_CAPABILITY": "avx512", "OMP_NUM_THREADS": "2"},
}
"""Environment variables of each simulated processor, by name."""

_FRACTIONS: Final = ("cs_lambda", "resnli", "permuted")  # the demonstration's sets with columns of fractions
_QUICK: Final[Mapping[str, Any]] = {"cs_lambda": {"max_train_pairs": 2_000}, "permuted": {"q": 5}}
_EXAMPLES: Final = 150

Found = dict[str, str]
"""Hashes of the outputs, by name."""


def is_supported(environment: Mapping[str, str]) -> bool:
    """Check whether the current processor supports the instructions of an environment."""
    if "avx512" not in environment.values():
        return True
    cpu = Path("/proc/cpuinfo")
    return cpu.is_file() and "avx512f" in cpu.read_text()


def start_build(name: str, folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    """Start a process that builds all outputs in an empty folder. `finish_build` returns the hashes."""
    chosen = {variable for each in ENVIRONMENTS.values() for variable in each} | set(_UNSET)
    environment = {variable: value for variable, value in os.environ.items() if variable not in chosen}
    environment |= {
        **ENVIRONMENTS[name],
        "XDG_CACHE_HOME": str(folder / "cache"),
        "HF_HOME": str(folder / "hf"),
        "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
        "COLUMNS": "120",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),
    }
    command = [sys.executable, "-m", "tools.portability", "--make", *arguments]
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish_build(process: "subprocess.Popen[str]") -> Found:
    """Wait for a process of `start_build`, and return the hashes of the outputs."""
    out, err = process.communicate()
    if process.returncode:
        raise RuntimeError(f"building the sets failed with exit code {process.returncode}: {err[-2000:]}")
    found: Found = json.loads(out.splitlines()[-1])
    return found


def build_outputs(shared: Path | None, *, quick: bool) -> Found:
    """Build all outputs in the current folder, and hash them.

    Without a `shared` folder of real corpora and models, only the pairs of the demonstration are used. If `quick`, only
    sets with fractions are built, with a few examples each.
    """
    from unbag.baselines.demo_reader import DemoNetworkPredictor
    from unbag.cli.output import write_tables
    from unbag.evaluation.demo import build_demo_requests, build_demo_training_options, run_demo, write_demo_data
    from unbag.evaluation.evaluator import evaluate_all
    from unbag.reports import html, terminal

    here = Path("demo")
    if quick:
        write_demo_data(here)
        some = [replace(each, max_examples=_EXAMPLES) for each in build_demo_requests(here) if each.name in _FRACTIONS]
        some = [replace(each, options={**each.options, **_QUICK.get(each.name, {})}) for each in some]
        models, options = (DemoNetworkPredictor(), "majority"), build_demo_training_options(here)
        outcome = evaluate_all(models, some, output_dir=here, lexical_baseline=False, **options)
    else:
        outcome = run_demo(here)
        some = build_demo_requests(here)
    assert outcome.contents is not None
    write_tables(outcome.results, here, outcome.contents)
    found = {}
    for request in some:
        found[f"demo {request.name}"] = _exported(request)
    found["demo report.txt"] = _hash(_lasting((here / terminal.FILE).read_text(encoding="utf-8")))
    found["demo report.html"] = _hash(_lasting(_text((here / html.FILE).read_text(encoding="utf-8"))))
    if shared is not None:
        for name, request in _real(shared):
            found[f"SNLI {name}"] = _exported(request)
        found["labels of MiniLM"] = _labels(shared)
    return found


def _real(shared: Path) -> Iterator[tuple[str, Any]]:
    """Iterate over requests for sets of real pairs, by name."""
    from unbag.challenge_sets.request import SetRequest

    snli, models = shared / "hub/datasets/stanfordnlp/snli", shared / "hub/models"
    parser = str(models / "spacy/en_core_web_sm")
    [train], [validation] = (list(snli.glob(f"*/{split}-*.parquet")) for split in ("train", "validation"))
    data = {"data": _some(validation, 1000)}
    train_data = (_some(train, 3000),)
    minilm = str(models / "nli-fixtures/minilm-l6-snli")
    options: dict[str, tuple[str, dict[str, Any]]] = {
        "cs_lambda": ("cs_lambda", {"train_data": train_data, "pipeline": parser}),
        "resnli": ("resnli", {"embeddings": minilm}),
        "breaking_nli": ("breaking_nli", {"train_data": train_data, "embeddings": minilm}),
        "permuted": ("permuted", {"q": 5, "pipeline": parser, "minitrees": train_data}),
        "soswap_addamod": ("soswap_addamod", {"pipeline": parser, "min_count": 1}),
        "recombined": ("recombined", {"pipeline": parser}),
        "negation": ("negation", {"pipeline": parser}),
    }
    for name, (of_set, own) in options.items():
        yield name, SetRequest(of_set, options={**data, **own})


def _some(parquet: Path, n: int) -> str:
    """Write the first n labelled pairs of a Parquet file to a JSONL file. Returns the file name."""
    from unbag.data.labels import LABELS
    from unbag.data.sources import open_data

    file = Path(f"{parquet.name.partition('-')[0]}.jsonl")
    if not file.is_file():
        pairs = islice(open_data(parquet, labels=LABELS).iter_examples(), n)
        lines = (
            json.dumps(
                {"id": each.source_id, "premise": each.premise, "hypothesis": each.hypothesis, "label": each.label}
            )
            for each in pairs
        )
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file.name


def _labels(shared: Path) -> str:
    """Hash the labels that a real model predicts, because float32 logits differ between processors."""
    from unbag.evaluation.model_loading import load_predictor

    model, _ = load_predictor(str(shared / "hub/models/nli-fixtures/minilm-l6-snli"))
    rows = [json.loads(line) for line in Path("validation.jsonl").read_text().splitlines()[:200]]
    answers = model.predict([row["premise"] for row in rows], [row["hypothesis"] for row in rows])
    return _hash(answers.argmax(axis=1).tolist())


def _exported(request: Any) -> str:
    from unbag.challenge_sets.request import export_challenge_set

    file = Path("set.parquet")
    export_challenge_set(request, file)
    return sha256(file.read_bytes()).hexdigest()


def _text(page: str) -> str:
    """Extract the text of an HTML page, without figures, scripts and styles."""
    return re.sub(r"<[^>]*>", " ", re.sub(r"(?s)<(script|style|svg)\b.*?</\1>", " ", page))


def _lasting(text: str) -> str:
    """Remove dates, times and the mark of uncommitted changes (`git describe --dirty`) from a text."""
    return re.sub(r"\d{4}-\d\d-\d\d[\d:T .+Z]*|-dirty\b", "", text)


def _hash(value: Any) -> str:
    return sha256(json.dumps(value).encode()).hexdigest()


def main() -> int:
    """Build the outputs in every environment, and print the differences."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shared", type=Path, help="folder of real corpora and models")
    parser.add_argument("--only", nargs="*", default=list(ENVIRONMENTS), help="names of environments")
    parser.add_argument("--quick", action="store_true", help="only the sets with fractions, a few examples each")
    parser.add_argument("--make", action="store_true", help=argparse.SUPPRESS)  # internal mode of child processes
    args = parser.parse_args()
    shared = args.shared.resolve() if args.shared else None
    if args.make:
        print(json.dumps(build_outputs(shared, quick=args.quick)))
        return 0
    options = [*(["--shared", str(shared)] if shared else []), *(["--quick"] if args.quick else [])]
    expected: Found | None = None
    same = True
    for name in args.only:
        if not is_supported(ENVIRONMENTS[name]):
            print(f"{name:20} skipped: this processor lacks the instructions", flush=True)
            continue
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            found = finish_build(start_build(name, Path(folder), *options))
        expected = expected or found
        differing = sorted(each for each in {*expected, *found} if expected.get(each) != found.get(each))
        same = same and not differing
        outcome = f"differ: {', '.join(differing)}" if differing else f"all {len(found)} outputs are equal"
        print(f"{name:20} {outcome} ({time.monotonic() - begun:.0f} s)", flush=True)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
