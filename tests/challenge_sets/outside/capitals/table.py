"""The table."""

from capitals import SET
from unbag.challenge_sets.views.tables import headed, interval


def table(result):
    shown = headed(SET.title, result, "pairs", "accuracy [95 %]")
    shown.add_row("all", interval(result.scores["accuracy"]))
    return shown


def reading(result):
    return f"right on {result.scores['accuracy'].value:.0%} of what is shouted."
