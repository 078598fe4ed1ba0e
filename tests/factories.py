"""Synthetic results of models that are correct on a given proportion of the pairs, without building sets or predicting,
and helpers for results.
"""

from pathlib import Path

import numpy as np
from rich.console import Console, RenderableType

from unbag.challenge_sets import results
from unbag.challenge_sets.base import SKILL
from unbag.challenge_sets.results import Result
from unbag.data import demo
from unbag.data.labels import LABELS
from unbag.evaluation import samples
from unbag.evaluation.published import score_published_predictions
from unbag.reports import terminal
from unbag.scoring.accuracy import accuracy
from unbag.scoring.skill import RowScores, skill_score
from unbag.scoring.swap_consistency import swap_consistency

ROWS = 300
# Options of an evaluation without baselines.
BARE = {"lexical_baseline": False, "shuffled": False, "progress": False}
# Options of a quick evaluation of the demonstration's pairs.
QUICK = {"data": str(demo.get_demo_file("validation")), "max_examples": 30, **BARE}


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


def score_swapped_pairs(predictions, references, swapped_predictions, **options):
    """Compute swap consistency from one row per pair, with the predictions for both orders in two columns."""
    n = len(references)
    predicted = [*predictions, *swapped_predictions]
    return swap_consistency(predicted, [*references] * 2, [*range(n)] * 2, [False] * n + [True] * n, **options)


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


def score_file(source, request, **options):
    """Score a file or table of predictions of one model on one set. Returns the result."""
    [result] = score_published_predictions([source], [request], **options).results
    return result
