"""The results table of the set."""

from capitals import SET
from unbag.challenge_sets.views.tables import create_result_table, format_interval


def build_table(result):
    shown = create_result_table(SET.title, result, "pairs", "accuracy [95 %]")
    shown.add_row("all", format_interval(result.scores["accuracy"]))
    return shown


def summarize_result(result):
    return f"right on {result.scores['accuracy'].value:.0%} of what is shouted."
