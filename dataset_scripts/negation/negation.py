"""Negation set: premises with the same words for both labels, which differ only in the scope of the negation."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import datasets
import pyarrow as pa

from unbag.challenge_sets import requirements
from unbag.challenge_sets.builder import ChallengeSetBuilder, PairPart
from unbag.challenge_sets.config import SourceConfig, build_source_configs
from unbag.challenge_sets.perturbations import vocabulary_split
from unbag.challenge_sets.perturbations.negation import DEFAULT_SEED, SCHEMA, iter_negation_tables
from unbag.challenge_sets.perturbations.soswap_addamod import iter_distinct_premises
from unbag.challenge_sets.requirements import Requirement
from unbag.data.labels import TWO_WAY
from unbag.data.sources import Example, PairSource
from unbag.data.text.parses import Parser, precompute_parses
from unbag.data.text.tagging import PIPELINE

_CITATION: Final = """@inproceedings{gardner-etal-2020-evaluating,
  title = {Evaluating Models' Local Decision Boundaries via Contrast Sets},
  author = {Gardner, Matt and others},
  booktitle = {Findings of EMNLP}, year = {2020}, url = {https://aclanthology.org/2020.findings-emnlp.117},
  eprint = {2004.02709}, archivePrefix = {arXiv}}"""
_LANGUAGE: Final = "en"  # the operations implement English grammar only


@dataclass
class NegationConfig(SourceConfig):
    """Options of the generated pairs.

    Attributes:
        seed: Random seed for the sentences and words that are added to a premise.
        pipeline: spaCy pipeline of the parser: a package, a folder or a Hub repository.
        words: Vocabulary of the pairs: `all`; `held_out` (subject, verb, added noun and negation are in the half of
            the vocabulary that `unbag train mend` does not use); or `training` (all four are in the other half).
    """

    FILES: ClassVar[tuple[str, ...]] = (*SourceConfig.FILES, "pipeline")

    seed: int = DEFAULT_SEED
    pipeline: str = PIPELINE
    words: str = vocabulary_split.ALL

    def validate(self) -> None:
        """Validate the options.

        Raises:
            ValueError: If an option has an invalid value.
        """
        super().validate()
        vocabulary_split.validate_vocabulary_option(self.words)
        if self.sentence_language != _LANGUAGE:
            raise ValueError(
                f"negation: expected English sentences, got the language {self.sentence_language!r}; use an English "
                "corpus"
            )


class Negation(ChallengeSetBuilder):
    """Pairs built from each distinct premise of a corpus split.

    Configs: `<corpus>-<split>` for every English corpus; `data=…` and `text=…` use your own data. Options: `seed`,
    `pipeline`, `words`.
    """

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = NegationConfig
    SCHEMA = SCHEMA
    LABEL_NAMES = TWO_WAY
    MACHINE_MADE: ClassVar[frozenset[PairPart]] = frozenset({"sentences", "labels"})
    CITATION = _CITATION
    REQUIRES_ENGLISH = True
    EXCLUSION_REASON = "with a repeated premise or a premise that is not a plain clause"

    def open_sources(self, *, streaming: bool = False) -> list[PairSource]:
        """Open the pairs for a single process, so that each distinct premise is used once."""
        return [source.with_single_span() for source in super().open_sources(streaming=streaming)]

    def warm_caches(self, source: PairSource) -> None:
        """Parse the premises with several processes. `tables` runs in one process and then reads the cached parses."""
        precompute_parses(
            self.config.pipeline, (premise for _, premise in iter_distinct_premises(source.iter_examples()))
        )

    def iter_tables(self, source: PairSource, examples: Iterator[Example]) -> Iterator[pa.Table]:
        """Iterate over the pairs, and count the operations and the rejected premises."""
        config = self.config
        counts: Counter[str] = Counter()
        yield from iter_negation_tables(
            examples, Parser(config.pipeline), seed=config.seed, words=config.words, counts=counts
        )
        self.save_build_counts(counts)

    def iter_requirements(self) -> Iterator[Requirement]:
        """Iterate over the pairs and the pipeline of the parser."""
        yield from super().iter_requirements()
        yield requirements.build_pipeline_requirement(self.config.pipeline)

    def describe_provenance(self) -> dict[str, Any]:
        """Describe the parser, and count premises, claims, rows of each operation and rejections by reason."""
        return {"parser": Parser(self.config.pipeline).identity, "counts": self.load_build_counts()}


Negation.BUILDER_CONFIGS = build_source_configs(NegationConfig, Negation.VERSION, language=_LANGUAGE)
