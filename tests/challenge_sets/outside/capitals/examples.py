"""Examples for the report."""

import numpy as np

from unbag.challenge_sets.views.examples import ExampleLine, PredictedPairs, select_top_rows

RULE = "Up to twelve shouted pairs."
MARKS = {}


def select_examples(rows, predictions):
    pairs = PredictedPairs(rows, predictions)
    for place in select_top_rows(np.flatnonzero(~pairs.right), pairs.confidence):
        row = pairs.get_row(place)
        yield pairs.build_example("wrong", place, [ExampleLine(side, row[side]) for side in ("premise", "hypothesis")])
