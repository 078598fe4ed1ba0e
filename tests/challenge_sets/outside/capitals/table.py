"""The table."""

from capitals import SET
from unbag.challenge_sets.views.tables import interval, result_table


def table(result):
    shown = result_table(SET.title, result, "pairs", "accuracy [95 %]")
    shown.add_row("all", interval(result.scores["accuracy"]))
    return shown


def reading(result):
    return f"right on {result.scores['accuracy'].value:.0%} of what is shouted."
