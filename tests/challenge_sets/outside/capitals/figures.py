"""Figures for the report."""

from unbag.challenge_sets.views.figures import build_group_figure


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
