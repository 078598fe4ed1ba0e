"""Pairs in capitals."""

from dataclasses import dataclass

from unbag.challenge_sets.base import ACCURACY, ChallengeSet
from unbag.challenge_sets.pairs import SetOptions
from unbag.data.labels import get_gold_id


@dataclass
class CapitalsOptions(SetOptions):
    """The options of the set.

    Attributes:
        marks: the number of exclamation marks after each hypothesis.
    """

    marks: int = 1


class Capitals(ChallengeSet):
    """All pairs of a corpus split in capital letters."""

    name = "capitals"
    title = "Capitals"
    question = "Is it right when it is shouted at?"
    paper = "Nobody 2026, https://example.org"
    Options = CapitalsOptions
    own_columns = {"letters": "int64"}
    metric_definitions = (ACCURACY.explain("share of shouted pairs right"),)
    sample = 5
    is_accuracy = True

    def rows(self, pairs):
        """Build one row per pair."""
        for pair in pairs:
            yield {
                "id": pair.source_id,
                "source_id": pair.source_id,
                "premise": pair.premise.upper(),
                "hypothesis": pair.hypothesis.upper() + "!" * pairs.options.marks,
                "label": get_gold_id(pair.label, pairs.source.labels),
                "letters": len(pair.premise),
            }
