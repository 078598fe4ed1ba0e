"""The permuted set: NLI pairs whose words are in no order, with the gold label of the original."""

from collections.abc import Iterator
from dataclasses import dataclass

import datasets
import pyarrow as pa

from unbag.building import ChallengeSet, SourceConfig
from unbag.corpora import CORPORA, Corpus
from unbag.examples import Example, Source
from unbag.perturb.permutation import BOTH, DEFAULT_MIN_WORDS, DEFAULT_Q, DEFAULT_SEED, MODES, Permuter
from unbag.perturb.permuted import SCHEMA, permuted_tables

PAPER = "Sinha et al. 2021, https://aclanthology.org/2021.acl-long.569"
_CITATION = """@inproceedings{sinha-etal-2021-unnatural,
  title = {{UnNatural} {L}anguage {I}nference},
  author = {Sinha, Koustuv and Parthasarathi, Prasanna and Pineau, Joelle and Williams, Adina},
  booktitle = {Proceedings of ACL-IJCNLP}, year = {2021}, url = {https://aclanthology.org/2021.acl-long.569}}"""
_LEAST_WORDS = 2  # one word has nowhere to go


@dataclass
class PermutedConfig(SourceConfig):
    """What is permuted, and how: the options of `unbag.perturb.permutation`.

    Attributes:
        mode: both, hypothesis, clumped_25, clumped_50 or clumped_75.
        q: permutations of each pair.
        min_words: words, beside punctuation, that both sentences must have.
        seed: decides every permutation.
    """

    mode: str = BOTH
    q: int = DEFAULT_Q
    min_words: int = DEFAULT_MIN_WORDS
    seed: int = DEFAULT_SEED

    def check(self) -> None:
        """Refuse what cannot be.

        Raises:
            ValueError: if an option has no such value.
        """
        super().check()
        Permuter(self.q, self.mode, self.seed)  # refuses what cannot be
        if self.min_words < _LEAST_WORDS:
            raise ValueError(f"expected min_words of at least {_LEAST_WORDS}, found {self.min_words}")


def _config(corpus: Corpus, split: str, mode: str) -> PermutedConfig:
    name = "-".join([corpus.name, split, *([mode] if mode != BOTH else [])])
    return PermutedConfig(name=name, version=Permuted.VERSION, corpus=corpus.name, source_split=split, mode=mode)


class Permuted(ChallengeSet):
    """Every used example of a corpus split, unpermuted and in q permutations.

    Configs: `<corpus>-<split>` permutes both sentences, `<corpus>-<split>-<mode>` what the mode says; `data=…` takes
    data of your own. Options: `q`, `min_words`, `seed`.
    """

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = PermutedConfig
    SCHEMA = SCHEMA
    CITATION = _CITATION
    UNFIT = "too short to permute"

    def tables(self, source: Source, examples: Iterator[Example]) -> Iterator[pa.Table]:
        """Yield each used example's rows: in order, then permuted."""
        config = self.config
        permuter = Permuter(config.q, config.mode, config.seed)
        return permuted_tables(examples, permuter, min_words=config.min_words, language=source.language)


Permuted.BUILDER_CONFIGS = [
    _config(corpus, split, mode) for corpus in CORPORA.values() for split in corpus.splits for mode in MODES
]
