"""The examples that the report shows."""

import numpy as np

from unbag.challenge_sets.views.examples import Line, Pairs, top_rows

RULE = "Up to twelve shouted pairs."
MARKS = {}


def choose(rows, answers):
    pairs = Pairs(rows, answers)
    for place in top_rows(np.flatnonzero(~pairs.right), pairs.confidence):
        row = pairs.row(place)
        yield pairs.example("wrong", place, [Line(side, row[side]) for side in ("premise", "hypothesis")])
