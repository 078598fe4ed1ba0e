"""Synthetic results of models that are correct on a given proportion of the pairs, without building sets or predicting,
and helpers for results and files.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas
from rich.console import Console, RenderableType
from typer.testing import CliRunner

from unbag import cli, scripts
from unbag.challenge_sets import results
from unbag.challenge_sets.base import SKILL
from unbag.challenge_sets.results import Result
from unbag.data import demo
from unbag.data.corpora import Corpus
from unbag.data.labels import LABELS
from unbag.evaluation import samples
from unbag.evaluation.published import score_published_predictions
from unbag.hub.metric_page import parse_metric_columns, read_table
from unbag.reports import terminal
from unbag.scoring.accuracy import accuracy
from unbag.scoring.skill import RowScores, skill_score
from unbag.scoring.swap_consistency import swap_consistency

ROWS = 300
# Options of an evaluation without baselines.
BARE = {"lexical_baseline": False, "shuffled": False, "progress": False}
# Options of a quick evaluation of the demonstration's pairs.
QUICK = {"data": str(demo.get_demo_file("validation")), "max_examples": 30, **BARE}

# Fields of a result on SNLI, as of models on the Hub.
SNLI = {
    "name": "snli",
    "split": "test",
    "origin": "stanfordnlp/snli (plain_text)",
    "revision": "c" * 40,
    "rows": 60,
    "excluded": {},
    "sha256": "5" * 64,
}

# Inputs of the metric `pos_minitree`, whose ratios are 0.5 and 1.
MINITREES = {
    "words": [["sleeps", "the", "cat"], ["the", "cat", "sleeps"]],
    "tags": [["VERB", "DET", "NOUN"], ["DET", "NOUN", "VERB"]],
    "original_words": [["the", "cat", "sleeps"]] * 2,
    "original_tags": [["DET", "NOUN", "VERB"]] * 2,
    "usual": {"cat": [0.0] * 5 + [0.6] + [0.0] * 9 + [0.4, 0.0]},
    "radius": 1,
    "k": 2,
}


def build_result(
    name="model", proportion_correct=0.8, *, set_name="plain", rows=ROWS, seed=0, kind="function", data="ours.jsonl"
):
    """Build a result of one model on one set, `plain` or `swapped`."""
    gold = np.arange(rows) % 3
    uniform = np.random.default_rng(seed).random(rows)
    predicted = np.where(uniform < proportion_correct, gold, (gold + 1) % 3)
    labels = {"labels": list(LABELS)}
    scores = (
        accuracy(predicted, gold) | labels if set_name == "plain" else score_swapped_pairs(predicted, gold, predicted)
    )
    skill = skill_score(RowScores(predicted == gold, gold, range(rows)))
    return Result(
        set=set_name,
        config={},
        model={"name": name, "kind": kind, "options": {}},
        data={"name": data, "split": "", "origin": data, "revision": "sha256:0", "rows": rows, "excluded": {}}
        | {"sha256": f"{data} {rows}"},
        scores={**scores, SKILL: skill and {**skill, "lexical_model": None}},
        environment={"python": "3", "unbag": "0"},
    )


def build_model_record(name="org/model", revision="a" * 40, **more):
    return {"name": name, "kind": "transformer", "model": name, "revision": revision, "dtype": "float32", **more}


def build_plain_result(about=None, *, seed=1):
    """Build a result of a model on the Hub on SNLI."""
    return replace(build_result(rows=60, seed=seed), model=about or build_model_record(), data=SNLI)


def build_swapped_result(about=None, *, seed=1):
    """Build a result on swapped pairs of SNLI, of which 40 of 60 are neutral or contradictions."""
    made = build_result(set_name="swapped", rows=60, seed=seed)
    return replace(made, model=about or build_model_record(), data=SNLI | {"sha256": "6" * 64})


def score_swapped_pairs(predictions, references, swapped_predictions, **options):
    """Compute swap consistency from one row per pair, with the predictions for both orders in two columns."""
    n = len(references)
    predicted = [*predictions, *swapped_predictions]
    return swap_consistency(predicted, [*references] * 2, [*range(n)] * 2, [False] * n + [True] * n, **options)


def write_pairs(path: Path, pairs) -> Path:
    """Write pairs with labels in the format of the file's suffix. Return the path."""
    return write_table(path, pairs, ["premise", "hypothesis", "label"])


def write_table(path: Path, rows, columns=None) -> Path:
    """Write a data frame or rows in the format of the file's suffix. Return the path."""
    frame = pandas.DataFrame(rows, columns=columns)
    if path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    return path


def write_corpus(root: Path, corpus: Corpus, pairs) -> None:
    """Write the pairs of each split of a corpus as on the Hub, in a folder to mount. A pair without a label has -1."""
    folder = root / "datasets" / corpus.hub_id
    card = folder / "README.md"
    (folder / corpus.config).mkdir(parents=True, exist_ok=True)
    configs = [f"- config_name: {corpus.config}", "  data_files:"]
    for split, rows in pairs.items():
        ids = [(*texts, corpus.labels.index(label) if label in corpus.labels else -1) for *texts, label in rows]
        path = f"{corpus.config}/{split}.parquet"
        write_table(folder / path, ids, [corpus.premise, corpus.hypothesis, corpus.label])
        configs += [f"  - split: {split}", f"    path: {path}"]
    earlier = card.read_text().removeprefix("---\nconfigs:\n").removesuffix("---\n") if card.exists() else ""
    card.write_text("\n".join(["---", "configs:", *configs, ""]) + earlier + "---\n")


def write_run(folder: Path, *run_results: Result) -> Path:
    """Write results to a folder as an evaluation does, but without examples."""
    samples.write_samples(run_results, folder)
    results.write_results(run_results, folder / results.FILE)
    return folder


def render(*renderables: RenderableType, width: int = 80) -> str:
    """Render views as in a terminal, each followed by an empty line."""
    console = Console(width=width, highlight=False)
    with console.capture() as capture:
        terminal.print_views(renderables, console)
    return capture.get()


def render_result(result: Result) -> str:
    """Render the views of a result as in a terminal with 80 columns."""
    return render(*terminal.build_result_views([result]))


def run_unbag(*arguments, **environment):
    """Run a command in this process, in a terminal with 200 columns. Return its exit code, output and exception."""
    runner = CliRunner(env={"COLUMNS": "200", **environment})
    return runner.invoke(cli.app, list(map(str, arguments)), prog_name="unbag")


def read_metric_example(name):
    """Read the columns of the example table of a metric."""
    return parse_metric_columns(read_table((scripts.find_script_folder("metrics", name) / "example.csv").read_text()))


def score_file(source, request, **options):
    """Score a file or table of predictions of one model on one set. Returns the result."""
    [result] = score_published_predictions([source], [request], **options).results
    return result
