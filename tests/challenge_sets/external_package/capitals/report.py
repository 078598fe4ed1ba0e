"""Terminal table, figures and examples of the set."""

import numpy as np

from capitals import SET
from unbag.challenge_sets.views.examples import PredictedPairs, build_pair_lines, select_top_rows
from unbag.challenge_sets.views.figures import build_group_figure
from unbag.challenge_sets.views.tables import create_result_table, format_interval

EXAMPLE_RULE = "Up to twelve shouted pairs."
MARK_MEANINGS = {}


def build_table(result):
    shown = create_result_table(SET.title, result, "pairs", "accuracy [95 %]")
    shown.add_row("all", format_interval(result.scores["accuracy"]))
    return shown


def summarize_result(result):
    return f"right on {result.scores['accuracy'].value:.0%} of what is shouted."


def iter_set_metrics(scores):
    yield "accuracy", "share of pairs right", scores["accuracy"]


def build_figures(group):
    return [
        build_group_figure(
            group,
            lambda scores: [("all", scores["accuracy"])],
            title="Accuracy in capitals",
            about="Of all pairs.",
            x="pairs",
            y="accuracy",
            kind="dots",
        )
    ]


def select_examples(rows, predictions):
    pairs = PredictedPairs(rows, predictions)
    for place in select_top_rows(np.flatnonzero(~pairs.right), pairs.confidence):
        yield pairs.build_example("wrong", place, build_pair_lines(pairs.get_row(place)))
