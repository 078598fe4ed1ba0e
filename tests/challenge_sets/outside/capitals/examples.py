"""The examples that the report shows."""

import numpy as np

from unbag.challenge_sets.views.examples import Line, Pairs, top

RULE = "Up to twelve shouted pairs."
MARKS = {}


def choose(rows, answers):
    pairs = Pairs(rows, answers)
    for place in top(np.flatnonzero(~pairs.right), pairs.sure):
        row = pairs.row(place)
        yield pairs.example("wrong", place, [Line(side, row[side]) for side in ("premise", "hypothesis")])
