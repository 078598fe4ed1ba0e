"""Swapped set: NLI pairs, and neutral pairs and contradictions with premise and hypothesis exchanged."""

from collections.abc import Iterator
from dataclasses import dataclass

import datasets
import pyarrow as pa

from unbag.challenge_sets.builder import ChallengeSetBuilder
from unbag.challenge_sets.config import SourceConfig, build_source_configs
from unbag.challenge_sets.perturbations.swapped import SCHEMA, iter_swapped_set_tables
from unbag.data.sources import Example, PairSource

_CITATION = """@inproceedings{wang-etal-2019-swap,
  title = {What If We Simply Swap the Two Text Fragments? {A} Straightforward yet Effective Way to Test the Robustness
    of Methods to Confounding Signals in Nature Language Inference Tasks},
  author = {Wang, Haohan and Sun, Da and Xing, Eric P.},
  booktitle = {Proceedings of AAAI}, year = {2019}, url = {https://doi.org/10.1609/aaai.v33i01.33017136},
  eprint = {1809.02719}, archivePrefix = {arXiv}}"""


@dataclass
class SwappedConfig(SourceConfig):
    """Options for selecting pairs. The set has no other options."""


class Swapped(ChallengeSetBuilder):
    """All pairs of a corpus split, and a copy of each neutral or contradiction pair with the two sentences swapped.

    Configs: `<corpus>-<split>`. `data=…` uses your own data.
    """

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = SwappedConfig
    SCHEMA = SCHEMA
    CITATION = _CITATION
    MAX_SENTENCE_CHARACTERS = None  # sentences are not tokenized

    def iter_tables(self, source: PairSource, examples: Iterator[Example]) -> Iterator[pa.Table]:
        """Iterate over the rows, one or two per example."""
        return iter_swapped_set_tables(examples)


Swapped.BUILDER_CONFIGS = build_source_configs(SwappedConfig, Swapped.VERSION, has_two_label_corpora=False)
