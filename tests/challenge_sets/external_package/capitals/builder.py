"""Pairs in capitals."""

from dataclasses import dataclass

import datasets
import pyarrow as pa

from unbag.challenge_sets.builder import ChallengeSetBuilder
from unbag.challenge_sets.config import SourceConfig, build_source_configs
from unbag.data.columns import PAIR, iter_tables
from unbag.data.labels import get_label_id


@dataclass
class CapitalsConfig(SourceConfig):
    """The options of the set.

    Attributes:
        marks: the number of exclamation marks after each hypothesis.
    """

    marks: int = 1


class Capitals(ChallengeSetBuilder):
    """All pairs of a corpus split in capital letters."""

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = CapitalsConfig
    SCHEMA = pa.schema([*PAIR, ("letters", pa.int64())])
    CITATION = ""

    def iter_tables(self, source, examples):
        rows = (
            {
                "id": example.source_id,
                "source_id": example.source_id,
                "premise": example.premise.upper(),
                "hypothesis": example.hypothesis.upper() + "!" * self.config.marks,
                "label": get_label_id(example.label),
                "letters": len(example.premise),
            }
            for example in examples
        )
        return iter_tables(rows, self.SCHEMA)


Capitals.BUILDER_CONFIGS = build_source_configs(CapitalsConfig, Capitals.VERSION)
