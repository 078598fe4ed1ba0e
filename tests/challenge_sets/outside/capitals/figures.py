"""What the report shows."""

from unbag.challenge_sets.views.figures import group_figure


def measures(scores):
    yield "accuracy", "share of pairs right", scores["accuracy"]


def figures(group):
    return [
        group_figure(
            group,
            lambda scores: [("all", scores["accuracy"])],
            title="Accuracy in capitals",
            about="Of all pairs.",
            x="pairs",
            y="accuracy",
            kind="dots",
        )
    ]
