"""Comparison of the papers' models and a transformer, trained alike, on their use of sentence structure.

    unbag prefetch …                       # or a test Hub: see `make hub`
    python benchmarks/before_transformers.py --vectors glove.840B.300d.zip --out runs/before-transformers
    python benchmarks/before_transformers.py --out runs/before-transformers --table      # results so far

Models: every model of `unbag models`, with the words of the corpus's train split and the given vectors; a pre-trained
transformer; and DAM over the outputs of that transformer, frozen, in place of ELMo.

Training: all models are trained on the same pairs with the same budget, by AdamW with linear decay as in
`unbag train finetune`, in each word order and with each seed. The learning rate follows a rule and is not tuned: one
value for all networks over given vectors, one for the transformer. Models with more than 300 hidden units in their
papers get the width of the others (`SIZES`), so that size gives no advantage and an epoch takes minutes on a CPU. The
table marks these models, and `--paper-sizes` uses the authors' sizes. The sets are evaluated in float32, as
`unbag evaluate` does.

Folders in `--out`: `models/NAME-seed-1`; `evaluations/NAME-seed-1` with the `results.json` that `unbag compare` and
`unbag publish results-dataset` read; and `runs/NAME-seed-1.json`, which marks a finished run. A new start skips
finished runs and resumes an interrupted one. Several processes may share a folder if their `--only` differ.

Speed: pairs per CPU second of the process (per wall second on a GPU). Training counts the median step without
evaluations, inference 1,000 pairs of the corpus. Parameter counts exclude the table of word embeddings and include a
frozen encoder.

A Markdown table (mean ± standard deviation over seeds) and the outcomes of the papers' claims go to stderr, one JSON
line to stdout.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import datasets
import torch
import transformers

from recipe_study import open_results
from unbag.challenge_sets import results, selection
from unbag.challenge_sets.request import SetRequest, build_requested_set
from unbag.data.columns import read_column
from unbag.evaluation import evaluator
from unbag.evaluation.metrics import collect_metrics
from unbag.evaluation.model_loading import load_predictor
from unbag.models import ARCHITECTURES, get_architecture
from unbag.training.config import TrainConfig
from unbag.training.initialization import initialize_model
from unbag.training.run import run
from unbag.training.seeds import compute_mean_and_deviation
from unbag.utils.files import write_json

ORDERS: Final = {"normal": "natural", "shuffled": "shuffled"}
MEASURES: Final = {
    "accuracy": ("cs_lambda", "accuracy"),
    "CS_0.7": ("cs_lambda", "accuracy_cs_0.7"),
    "Ω_max": ("permuted", "omega_max"),
    "P^c": ("permuted", "p_c"),
    "P^f": ("permuted", "p_f"),
    "swapped": ("swapped", "accuracy_after"),
    "SOSwap": ("soswap_addamod", "accuracy_soswap"),
    "AddAmod": ("soswap_addamod", "accuracy_addamod"),
    "Breaking NLI": ("breaking_nli", "accuracy"),
    "SICCK": ("sicck", "accuracy"),
}
SPEEDS: Final = ("trained a second", "answered a second")
CONTEXTUAL: Final = {"dam-contextual": "dam"}
"""Kinds over the outputs of the transformer, frozen, in place of word vectors: what each is called here."""

_WITH_BAGS: Final = ("rse", "esim", "dr-bilstm")
_RECURRENT: Final = ("infersent", "bilstm-last", *_WITH_BAGS)

Run = dict[str, Any]


def table(found: list[Run]) -> list[Run]:
    """Build one row per model and word order, with the numbers over seeds."""
    rows = []
    known = [*ARCHITECTURES, *CONTEXTUAL]
    order = [*known, *sorted({run["asked"]["model"] for run in found} - set(known))]
    for name in order:
        for words in ORDERS:
            runs = [run for run in found if (run["asked"]["model"], run["asked"]["order"]) == (name, words)]
            if not runs:
                continue
            values = {key: [run["measures"][key] for run in runs] for key in MEASURES}
            values |= {key: [run[key] for run in runs] for key in SPEEDS}
            there = {key: [each for each in column if each is not None] for key, column in values.items()}
            rows.append(
                {
                    "model": name,
                    "options": runs[0]["asked"].get("options", {}),
                    "order": words,
                    "seeds": [run["asked"]["seed"] for run in runs],
                    "parameters": runs[0]["parameters"],
                    "asked": {key: value for key, value in runs[0]["asked"].items() if key != "seed"},
                    "n": runs[0]["n"],
                    **{key: compute_mean_and_deviation(column) if column else None for key, column in there.items()},
                }
            )
    return rows


def show(rows: list[Run]) -> None:
    """Print the table to stderr, shares in percent."""
    columns = ["model", "trained on", "seeds", *MEASURES, "parameters", *SPEEDS]
    n = {
        name: count for name, count in rows[0]["n"].items() if not name.startswith("P^")
    }  # theirs are each model's own
    titles = [f"{name}, {n[name]:,}" if name in n else name for name in columns]
    lines = [titles, ["---", "---", *["---:"] * (len(columns) - 2)]]
    for row in rows:
        options = " ".join(f"{key}={value}" for key, value in row["options"].items())
        cells = [f"{row['model']} ({options})" if options else row["model"], row["order"], str(len(row["seeds"]))]
        cells += [_cell(row[key], 100, 1) for key in MEASURES]
        cells += [f"{row['parameters'] / 1e6:.2f} M", *(_cell(row[key], 1, 0) for key in SPEEDS)]
        lines.append(cells)
    for cells in lines:
        print(f"| {' | '.join(cells)} |", file=sys.stderr)


def _cell(numbers: Run | None, factor: int, digits: int) -> str:
    if numbers is None:
        return ""
    spread = numbers["standard_deviation"]
    cell = f"{factor * numbers['mean']:,.{digits}f}"
    return cell if spread is None else f"{cell} ± {factor * spread:,.{digits}f}"


def claims(found: list[Run]) -> Iterator[str]:
    """Iterate over the outcomes of the papers' claims: differences in points between models of the same seeds."""
    by = {(run["asked"]["model"], run["asked"]["order"], run["asked"]["seed"]): run["measures"] for run in found}

    def difference(what: str, one: tuple[str, str], other: tuple[str, str]) -> str | None:
        both = [(by[key], by[*other, key[2]]) for key in by if key[:2] == one and (*other, key[2]) in by]
        values = [100 * (a[what] - b[what]) for a, b in both if None not in (a[what], b[what])]
        if not values:
            return None
        spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
        return f"{what} {statistics.mean(values):+.1f}{spread} ({len(values)} seed{'s' if values[1:] else ''})"

    known = [*ARCHITECTURES, *CONTEXTUAL]
    last = [name for name in {key[0] for key in by} if name not in known]
    order, bags = ("accuracy", "CS_0.7"), ("Ω_max", "P^c")
    asked: list[tuple[str, str, str, tuple[str, ...]]] = [
        (name, f"{name}-bow", "with its recurrence less as a bag of words", order) for name in _WITH_BAGS
    ]
    asked += [(name, kind, f"less {kind}", (*order, *bags)) for name, kind in CONTEXTUAL.items()]
    asked.append(("s-tlstm", "esim", "with trees in the place of sequences", order))  # Nie et al. 2019, Table 5
    asked += [(name, peer, f"less {peer}", bags) for peer in last for name in _RECURRENT]
    for name, peer, what, keys in asked:
        if said := [each for key in keys if (each := difference(key, (name, "normal"), (peer, "normal")))]:
            yield f"{name}, {what}: {', '.join(said)}"
    for name in [*known, *last]:
        both = ((name, "shuffled"), (name, "normal"))
        if said := [each for key in (*order, "Ω_max") if (each := difference(key, *both))]:
            yield f"{name}, words shuffled in training less in order: {', '.join(said)}"


WIDER: Final = (
    *("hypothesis-only", "infersent", "bilstm-last", "convnet"),
    *("rse", "rse-bow", "dr-bilstm", "dr-bilstm-bow"),
)
SIZES: Final = {
    **{name: {"hidden_size": "300"} for name in WIDER},
    "diin": {"length": "32"},
}
TIMED: Final = 1_000


def main() -> None:
    """Train and evaluate the unfinished models, and print all results."""
    args = arguments()
    datasets.disable_progress_bars()
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # a head is new on purpose
    for name in [] if args.table else names(args):
        for order in args.order:
            for seed in args.seeds:
                finished(args, name, order, seed)
    runs = open_results(args.out) / "runs"
    files = sorted(runs.iterdir(), key=lambda path: str(path.name)) if runs.is_dir() else []
    found = [json.loads(path.read_text()) for path in files]
    if not found:
        raise SystemExit(f"nothing is finished in {args.out}")
    rows = table(found)
    show(rows)
    said = list(claims(found))
    print("\n".join(["", *said]), file=sys.stderr)
    print(json.dumps({"benchmark": "before_transformers", "rows": rows, "claims": said}, ensure_ascii=False))


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--out", type=Path, default=Path("runs/before-transformers"), help="output folder (default %(default)s)")
    add("--table", action="store_true", help="print the finished results without training")
    add("--only", nargs="+", metavar="MODEL", help="of `unbag models`, `dam-contextual` or `pretrained` (default all)")
    add("--seeds", nargs="+", type=int, default=[1, 2, 3])
    add("--order", nargs="+", choices=list(ORDERS), default=list(ORDERS), help="word orders of the training pairs")
    add("--corpus", default="snli", help="training corpus (default snli)")
    add("--examples", type=int, help="training pairs (default all)")
    add("--vectors", help="word vectors of the untrained models (default: random)")
    add("--pretrained", default="sentence-transformers/all-MiniLM-L6-v2", metavar="MODEL", help="Hub id or folder")
    add("--pipeline", help="spaCy pipeline for DIIN and S-TLSTM (default: that of `unbag models init`)")
    add("--epochs", type=int, default=3)
    add("--batch-size", type=int, default=32)
    add("--learning-rate", type=float, default=1e-3, help="for networks over word vectors (default 1e-3)")
    add("--pretrained-learning-rate", type=float, default=1e-4, help="for the transformer (default 1e-4)")
    add("--precision", choices=("no", "bf16"), default="no", help="training precision (default float32)")
    add("-o", dest="options", action="append", default=[], metavar="MODEL.NAME=VALUE", help="option of a model")
    add("--paper-sizes", action="store_true", help="use the authors' sizes, except for -o")
    add("--evaluated", type=int, help="examples of swapped, SOSwap and Breaking NLI each (default all)")
    add("--permuted", type=int, default=200, help="sentence pairs to permute (default %(default)s)")
    add("--train-data", nargs="+", help="training data of CS's lexical model (default: the suite's)")
    add("--files", help="folder with the authors' files of Breaking NLI and SICCK (default: downloaded)")
    return parser.parse_args()


def names(args: argparse.Namespace) -> list[str]:
    """List the selected models."""
    known = [*ARCHITECTURES, *CONTEXTUAL, "pretrained"]
    if unknown := sorted(set(args.only or ()) - set(known)):
        raise SystemExit(f"expected --only of {', '.join(known)}; found {', '.join(unknown)}")
    return args.only or known


def finished(args: argparse.Namespace, name: str, order: str, seed: int) -> Run:
    """Train and evaluate a model, unless it is finished."""
    title = Path(args.pretrained).name if name == "pretrained" else name
    folder = f"{title}{'' if order == 'normal' else f'-{order}'}-seed-{seed}"
    asked = {"model": title, "order": order, "seed": seed, **deciding(args, name)}

    def made() -> Run:
        started, begun = name if name != "pretrained" else args.pretrained, time.perf_counter()
        print(f"{folder} …", file=sys.stderr, flush=True)
        model = args.out / "models" / folder
        record, trained = train(args, untrained(args, started), asked, model)
        out = args.out / "evaluations" / folder
        store = args.out / "predictions"
        found = evaluator.evaluate_all(
            [model], requests(args), output_dir=out, predictions=store, lexical_baseline=False, shuffled=False
        ).results
        predictor, _ = load_predictor(model)
        network = predictor.model  # type: ignore[attr-defined]
        numbers = {result.set: collect_metrics(result) for result in found}
        return {
            "parameters": network.num_parameters() - network.get_input_embeddings().weight.numel(),
            "pairs_per_epoch": record["pairs_per_epoch"],
            "steps": record["steps"],
            "measures": {key: numbers[of][path].estimate.value for key, (of, path) in MEASURES.items()},
            "n": {key: numbers[of][path].estimate.n for key, (of, path) in MEASURES.items()},
            SPEEDS[0]: trained,
            SPEEDS[1]: answered(args, predictor),
            "device": record["device"],
            "threads": torch.get_num_threads(),
            "minutes": (time.perf_counter() - begun) / 60,
            "environment": results.collect_environment(),
        }

    return kept(args.out / "runs" / f"{folder}.json", asked, made)


def deciding(args: argparse.Namespace, name: str) -> dict[str, Any]:
    """Collect the settings that determine the numbers of a model, besides word order and seed."""
    pretrained = name == "pretrained"
    shared = ("corpus", "examples", "epochs", "batch_size", "precision", "evaluated", "permuted", "train_data")
    return {
        **{key: getattr(args, key) for key in shared},
        "learning_rate": args.pretrained_learning_rate if pretrained else args.learning_rate,
        **({} if pretrained else made_with(args, name)),
    }


def made_with(args: argparse.Namespace, name: str) -> dict[str, Any]:
    """Collect the options of an untrained model."""
    options = {} if args.paper_sizes else dict(SIZES.get(name, {}))
    for text in args.options:
        of, _, option = text.partition(".")
        key, _, value = option.partition("=")
        if not value:
            raise SystemExit(f"expected -o MODEL.NAME=VALUE, found {text!r}")
        options |= {key: value} if get_architecture(of).name == CONTEXTUAL.get(name, name) else {}
    if name in CONTEXTUAL:
        return {"encoder": Path(args.pretrained).name, "options": options}
    vectors = Path(args.vectors).name if args.vectors else None
    return {"corpus": args.corpus, "vectors": vectors, "options": options}


def untrained(args: argparse.Namespace, name: str) -> str:
    """Locate the folder of an untrained model, which is built on first use, or a pre-trained model."""
    if name == args.pretrained:
        return name
    out = args.out / "untrained" / name
    given = made_with(args, name)

    def made() -> Run:
        if name in CONTEXTUAL:
            return initialize_model(
                CONTEXTUAL[name], (), out, encoder=args.pretrained, options=given["options"], seed=1
            )
        pipeline = args.pipeline if get_architecture(name).needs & {"tags", "spelling"} else None
        return initialize_model(
            name, (args.corpus,), out, vectors=args.vectors, options=given["options"], pipeline=pipeline, seed=1
        )

    kept(args.out / "untrained" / f"{name}.json", given, made)
    return str(out)


def train(args: argparse.Namespace, model: str, asked: Run, out: Path) -> tuple[Run, float | None]:
    """Train a model. Return its record and the pairs per second; the latter is None if it was trained before."""
    steps: list[float] = []

    def on_step(step: int, total: int, message: str) -> None:
        steps.append(clock())

    config = TrainConfig(
        model=model,
        corpus=(args.corpus,),
        max_examples=args.examples,
        word_order=ORDERS[asked["order"]],  # type: ignore[arg-type]
        num_train_epochs=args.epochs,
        batch_size=args.batch_size,
        learning_rate=asked["learning_rate"],
        seed=asked["seed"],
        precision=args.precision,
        output_dir=out,
    )
    record = run(config, on_step=on_step)
    seconds = [end - begin for begin, end in pairwise(steps)]
    return record, args.batch_size / statistics.median(seconds) if seconds else None


def requests(args: argparse.Namespace) -> list[SetRequest]:
    """Build the requests for the sets."""
    corpus, file = args.corpus, {"file": args.files} if args.files else {}
    lexical = selection.apply_suite_sample(selection.build_suite_request("cs_lambda")).options
    training = {"train_data": tuple(args.train_data)} if args.train_data else dict(lexical)
    return [
        SetRequest("cs_lambda", corpus, training),
        SetRequest("permuted", corpus, max_examples=args.permuted),
        SetRequest("swapped", corpus, max_examples=args.evaluated),
        SetRequest("soswap_addamod", corpus, max_examples=args.evaluated),
        SetRequest("breaking_nli", selection.build_suite_request("breaking_nli").config, file, args.evaluated),
        SetRequest("sicck", selection.build_suite_request("sicck").config, file),
    ]


def answered(args: argparse.Namespace, predictor: Any) -> float:
    """Measure how many pairs of the corpus a model predicts per second."""
    rows = build_requested_set(SetRequest("plain", args.corpus, max_examples=TIMED)).rows
    pairs = [read_column(rows, side).to_pylist() for side in ("premise", "hypothesis")]
    # Warm up, so that the costs of the first call are not counted.
    predictor.predict(*(side[:32] for side in pairs))
    begun = clock()
    predictor.predict(*pairs)
    return len(rows) / (clock() - begun)


def clock() -> float:
    """Read the CPU seconds of this process, or wall seconds if a GPU computes."""
    return time.perf_counter() if torch.cuda.is_available() else time.process_time()


def kept(path: Path, asked: Run, made: Callable[[], Run]) -> Run:
    """Load a result from a file, or compute it and write the file."""
    if path.exists():
        found: Run = json.loads(path.read_text())
        if found["asked"] != json.loads(json.dumps(asked)):
            raise SystemExit(f"{path}: expected {asked}, found {found['asked']}; name another folder with --out")
        return found
    record = {"asked": asked, **made()}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(record, path)
    return record


if __name__ == "__main__":
    main()
