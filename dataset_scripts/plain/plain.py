"""Plain set: the unchanged pairs of a corpus, as a reference for the challenge sets."""

from collections.abc import Iterator
from dataclasses import dataclass

import datasets
import pyarrow as pa

from unbag.challenge_sets.builder import ChallengeSetBuilder
from unbag.challenge_sets.config import SourceConfig, build_source_configs
from unbag.challenge_sets.plain.rows import SCHEMA, iter_plain_set_tables
from unbag.data.sources import Example, PairSource

_CITATION = """@inproceedings{talman-chatzikyriakidis-2019-testing,
  title = {Testing the Generalization Power of Neural Network Models across {NLI} Benchmarks},
  author = {Talman, Aarne and Chatzikyriakidis, Stergios},
  booktitle = {Proceedings of BlackboxNLP}, year = {2019}, url = {https://aclanthology.org/W19-4810},
  eprint = {1810.09774}, archivePrefix = {arXiv}}"""


@dataclass
class PlainConfig(SourceConfig):
    """Options for selecting pairs. The set has no other options."""


class Plain(ChallengeSetBuilder):
    """All labelled pairs of a corpus split, unmodified.

    Configs: `<corpus>-<split>`. `data=…` uses your own data.
    """

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = PlainConfig
    SCHEMA = SCHEMA
    CITATION = _CITATION
    EXAMPLE_ID = "id"  # pairs of one document share a source
    MAX_SENTENCE_CHARACTERS = None  # sentences are not tokenized
    ACCEPTS_CONTRADICTION_LABELS = True

    def iter_tables(self, source: PairSource, examples: Iterator[Example]) -> Iterator[pa.Table]:
        """Iterate over the rows, one per example. User-provided pairs with the same document have one source."""
        return iter_plain_set_tables(examples, label_space=source.labels)


Plain.BUILDER_CONFIGS = build_source_configs(PlainConfig, Plain.VERSION)
