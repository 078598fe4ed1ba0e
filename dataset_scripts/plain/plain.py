"""A corpus's own pairs: the reference point of the challenge sets, and the cross-domain table."""

from collections.abc import Iterator
from dataclasses import dataclass

import datasets
import pyarrow as pa

from unbag.challenge_sets.builder import ChallengeSetBuilder
from unbag.challenge_sets.config import SourceConfig, source_configs
from unbag.challenge_sets.plain.rows import SCHEMA, plain_tables
from unbag.data.sources import Example, Source

_CITATION = """@inproceedings{talman-chatzikyriakidis-2019-testing,
  title = {Testing the Generalization Power of Neural Network Models across {NLI} Benchmarks},
  author = {Talman, Aarne and Chatzikyriakidis, Stergios},
  booktitle = {Proceedings of BlackboxNLP}, year = {2019}, url = {https://aclanthology.org/W19-4810},
  eprint = {1810.09774}, archivePrefix = {arXiv}}"""


@dataclass
class PlainConfig(SourceConfig):
    """The choice of pairs. The set has no options of its own."""


class Plain(ChallengeSetBuilder):
    """Every labelled pair of a corpus split, unchanged.

    Configs: `<corpus>-<split>`. `data=…` uses data of your own.
    """

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = PlainConfig
    SCHEMA = SCHEMA
    CITATION = _CITATION
    EXAMPLE_ID = "id"  # pairs of one document share a source
    LONGEST = None  # sentences are not tokenized

    def tables(self, source: Source, examples: Iterator[Example]) -> Iterator[pa.Table]:
        """Iterate over the rows, one per example. Pairs of the user's own data that share a document share a source."""
        return plain_tables(examples, by_document=self.config.data is not None)


Plain.BUILDER_CONFIGS = source_configs(PlainConfig, Plain.VERSION)
