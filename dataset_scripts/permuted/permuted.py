"""Permuted set: NLI pairs with permuted words and the gold label of the original pair."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import datasets
import pyarrow as pa

from unbag.baselines.lexical.fitting import LexicalTrainingOptions, open_training_sources
from unbag.challenge_sets import requirements
from unbag.challenge_sets.builder import ChallengeSetBuilder, PairPart
from unbag.challenge_sets.config import SourceConfig
from unbag.challenge_sets.perturbations.minitrees import MiniTreeRatioCalculator, MiniTrees
from unbag.challenge_sets.perturbations.permutation import (
    BOTH,
    DEFAULT_MIN_WORDS,
    DEFAULT_Q,
    DEFAULT_SEED,
    MODES,
    Permuter,
)
from unbag.challenge_sets.perturbations.permuted import SCHEMA, TOO_FEW, iter_permuted_set_tables
from unbag.challenge_sets.requirements import Requirement
from unbag.data.corpora import CORPORA, Corpus
from unbag.data.sources import Example, PairSource
from unbag.data.text.tagging import PIPELINE, Tagger, precompute_tags
from unbag.data.text.tokens import (
    SEGMENTER,
    build_tokenizer_identity,
    is_segmenter_required,
    tokenize,
    validate_language,
)
from unbag.scoring.pos_minitree import validate_definition
from unbag.utils import optional_deps

_CITATION = """@inproceedings{sinha-etal-2021-unnatural,
  title = {{UnNatural} {L}anguage {I}nference},
  author = {Sinha, Koustuv and Parthasarathi, Prasanna and Pineau, Joelle and Williams, Adina},
  booktitle = {Proceedings of ACL-IJCNLP}, year = {2021}, url = {https://aclanthology.org/2021.acl-long.569},
  eprint = {2101.00010}, archivePrefix = {arXiv}}"""
_MIN_WORDS = 2  # a single word has no other position
_MOST_PERMUTATIONS = 10_000  # up to 100 MB for a usual pair, 2 GB for the longest sentences


@dataclass
class PermutedConfig(SourceConfig):
    """Options of the permutations (`unbag.challenge_sets.perturbations.permutation`).

    Attributes:
        mode: Sentences to permute (`both` or `hypothesis`), or the percentage of words that move as one
            block in both sentences: `clumped_25`, `clumped_50` or `clumped_75`.
        q: Number of permutations per pair.
        min_words: Minimum number of words in each sentence, excluding punctuation.
        characters: Whether to split Chinese sentences into characters (default: words, found by a segmenter).
        minitrees: Corpora (train splits) and files in which the parts of speech of each word's neighbors are
            counted, for the columns `*_minitree` (default: none, and the columns are null).
        minitree_by: Definition of the mini-tree overlap: `code` as in the authors' code, or `text` as in the paper.
        pipeline: spaCy pipeline that tags parts of speech for `minitrees`.
        seed: Random seed of the permutations.
    """

    FILES: ClassVar[tuple[str, ...]] = (*SourceConfig.FILES, "minitrees", "pipeline")

    mode: str = BOTH
    q: int = DEFAULT_Q
    min_words: int = DEFAULT_MIN_WORDS
    characters: bool = False
    minitrees: Sequence[str] | None = None
    minitree_by: str = "code"
    pipeline: str = PIPELINE
    seed: int = DEFAULT_SEED

    def validate(self) -> None:
        """Validate the options.

        Raises:
            ValueError: If an option has an invalid value.
        """
        super().validate()
        validate_language(self.sentence_language)
        Permuter(self.q, self.mode, self.seed)  # validates its options
        if self.q > _MOST_PERMUTATIONS:
            raise ValueError(
                f"q: expected at most {_MOST_PERMUTATIONS:,} permutations per pair, since all permutations of a pair "
                f"are in memory at once, got {self.q:,}; decrease q (the paper uses {DEFAULT_Q})"
            )
        if self.min_words < _MIN_WORDS:
            raise ValueError(f"min_words: expected at least {_MIN_WORDS}, got {self.min_words}")
        validate_definition(self.minitree_by)
        if self.minitrees and self.sentence_language != "en":
            raise ValueError(f"minitrees: expected English pairs, got the language {self.sentence_language!r}")
        if self.characters and self.sentence_language != "zh":
            raise ValueError(f"characters: expected Chinese pairs, got the language {self.sentence_language!r}")


def _config(corpus: Corpus, split: str, mode: str) -> PermutedConfig:
    name = "-".join([corpus.name, split, *([mode] if mode != BOTH else [])])
    return PermutedConfig(name=name, version=Permuted.VERSION, corpus=corpus.name, source_split=split, mode=mode)


class Permuted(ChallengeSetBuilder):
    """Examples of a corpus split, in original order and in q permutations.

    Configs: `<corpus>-<split>` permutes both sentences, `<corpus>-<split>-<mode>` depends on the mode. `data=…` uses
    your own data. Options: `q`, `min_words`, `characters`, `seed`, `minitrees`, `minitree_by`, `pipeline`.
    """

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = PermutedConfig
    SCHEMA = SCHEMA
    MACHINE_MADE: ClassVar[frozenset[PairPart]] = frozenset({"sentences"})
    CITATION = _CITATION
    EXCLUSION_REASON = "too short to permute"

    def validate_resources(self) -> None:
        """Validate the names, and that the tokenizer package is installed."""
        super().validate_resources()
        if is_segmenter_required(self.config.sentence_language, characters=self.config.characters):
            optional_deps.validate_dependency(SEGMENTER)

    def iter_tables(self, source: PairSource, examples: Iterator[Example]) -> Iterator[pa.Table]:
        """Iterate over the rows of each example: the original order, then the permutations."""
        config = self.config
        permuter = Permuter(config.q, config.mode, config.seed)
        counts: Counter[str] = Counter()
        yield from iter_permuted_set_tables(
            examples,
            permuter,
            min_words=config.min_words,
            language=source.language,
            characters=config.characters,
            ratios=self._ratios,
            counts=counts,
        )
        self.save_build_counts(counts)

    def warm_caches(self, source: PairSource) -> None:
        """Load the tokenizer, and tag the sentences for counting mini-trees."""
        # Forked workers share the memory of a tokenizer that is loaded before forking.
        tokenize("", source.language, characters=self.config.characters)
        if self.config.minitrees:
            precompute_tags(self.config.pipeline, self._training_texts())

    def get_exclusion_counts(self) -> dict[str, int]:
        """Count the examples with enough words but fewer than q different permutations."""
        return {f"with fewer than {self.config.q} different permutations": self.load_build_counts().get(TOO_FEW, 0)}

    def describe_provenance(self) -> dict[str, Any]:
        """Describe the tokenizer, unless it is spaCy, whose version is in all records."""
        language, characters = self.config.sentence_language, self.config.characters
        if not is_segmenter_required(language, characters=characters):
            return {}
        return {"tokenizer": build_tokenizer_identity(language, characters=characters)}

    def iter_requirements(self) -> Iterator[Requirement]:
        """Iterate over the requirements: pairs, and corpora and pipeline for mini-trees."""
        yield from super().iter_requirements()
        if self.config.minitrees:
            yield from requirements.iter_train_split_requirements(self.config.minitrees)
            yield requirements.build_pipeline_requirement(self.config.pipeline)

    @cached_property
    def _ratios(self) -> MiniTreeRatioCalculator | None:
        if not self.config.minitrees:
            return None
        tagger = Tagger(self.config.pipeline)
        return MiniTreeRatioCalculator(
            MiniTrees.from_sentences(self._training_texts(), tagger, definition=self.config.minitree_by), tagger
        )

    def _training_texts(self) -> Iterator[str]:
        sources = open_training_sources(LexicalTrainingOptions(tuple(self.config.minitrees), self.config.language))
        return (text for source in sources for example in source.iter_examples() for text in example[1:3])


Permuted.BUILDER_CONFIGS = [
    _config(corpus, split, mode) for corpus in CORPORA.values() for split in corpus.splits for mode in MODES
]
