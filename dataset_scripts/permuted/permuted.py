"""The permuted set: NLI pairs whose words are in no order, with the gold label of the original."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import datasets
import pyarrow as pa

from unbag.building import SourceConfig, builder_hash, features
from unbag.corpora import CORPORA, Corpus
from unbag.examples import Source
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
    """What is permuted, and how: the options of `unbag.perturb.permutation`."""

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


class Permuted(datasets.ArrowBasedBuilder):
    """Every used example of a corpus split, unpermuted and in q permutations.

    Configs: `<corpus>-<split>` permutes both sentences, `<corpus>-<split>-<mode>` what the mode says; `data=…` takes
    data of your own. Options: `q`, `min_words`, `seed`.
    """

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = PermutedConfig

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"hash": builder_hash(__file__, kwargs.get("data")), **kwargs})

    def _info(self) -> datasets.DatasetInfo:
        self.config.check()  # here, since `datasets` sets options one by one, after a config is made
        return datasets.DatasetInfo(
            description=__doc__,
            features=features(SCHEMA),
            citation="\n".join(filter(None, [_CITATION, self.config.corpus and CORPORA[self.config.corpus].citation])),
            license=CORPORA[self.config.corpus].licence if self.config.corpus else "",
        )

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        source = self.config.open(streaming=dl_manager.is_streaming)
        # A list is what `datasets` shares out among processes; the rows do not depend on who makes them.
        return [datasets.SplitGenerator(source.split or "data", {"source": source, "spans": list(source.spans)})]

    def _generate_tables(
        self, source: Source, spans: list[tuple[int, int | None]]
    ) -> Iterator[tuple[tuple[int, int], pa.Table]]:
        config = self.config
        permuter = Permuter(config.q, config.mode, config.seed)
        for start, stop in spans:
            tables = permuted_tables(
                source.examples(start, stop), permuter, min_words=config.min_words, language=source.language
            )
            for number, table in enumerate(tables):
                yield (start, number), table


Permuted.BUILDER_CONFIGS = [
    _config(corpus, split, mode) for corpus in CORPORA.values() for split in corpus.splits for mode in MODES
]
