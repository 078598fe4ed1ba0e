"""SOSwap and AddAmod set: premise and hypothesis with the same words but different meanings."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import datasets
import pyarrow as pa

from unbag.challenge_sets import requirements
from unbag.challenge_sets.builder import ChallengeSetBuilder, PairPart
from unbag.challenge_sets.config import SourceConfig, build_source_configs
from unbag.challenge_sets.perturbations import vocabulary_split
from unbag.challenge_sets.perturbations.addamod import ADJECTIVE, DEFAULT_MIN_COUNT, DEFAULT_SEED
from unbag.challenge_sets.perturbations.soswap_addamod import (
    BOTH,
    KINDS,
    SCHEMA,
    SOSWAP,
    build_soswap_addamod_operators,
    count_adjectives,
    iter_distinct_premises,
    iter_soswap_addamod_tables,
)
from unbag.challenge_sets.requirements import Requirement
from unbag.data.sources import Example, PairSource
from unbag.data.text.parses import Parser, precompute_parses
from unbag.data.text.tagging import PIPELINE

_CITATION = """@article{nie-etal-2019-analyzing,
  title = {Analyzing Compositionality-Sensitivity of {NLI} Models},
  author = {Nie, Yixin and Wang, Yicheng and Bansal, Mohit},
  journal = {Proceedings of the AAAI Conference on Artificial Intelligence}, volume = {33}, number = {01},
  pages = {6867--6874}, year = {2019}, url = {https://doi.org/10.1609/aaai.v33i01.33016867},
  eprint = {1811.07033}, archivePrefix = {arXiv}}"""
_LANGUAGE = "en"  # the operators implement only English grammar


@dataclass
class SoswapAddamodConfig(SourceConfig):
    """Options of the generated pairs.

    Attributes:
        kind: Type of pairs: `soswap`, `addamod` or `both`.
        seed: Random seed for the adjectives of AddAmod and their positions.
        min_count: Minimum number of occurrences of an adjective with a noun.
        attested_split: Additional split of the corpus for counting adjectives, such as `train`.
        pipeline: spaCy pipeline of the parser: a package, a folder or a Hub repository.
        words: Vocabulary of the pairs: `all`; `held_out` (verb, adjective and nouns are in the half of the
            vocabulary that `unbag train … --augment` does not use); or `training` (all are in the other half).
    """

    FILES: ClassVar[tuple[str, ...]] = (*SourceConfig.FILES, "pipeline")

    kind: str = BOTH
    seed: int = DEFAULT_SEED
    min_count: int = DEFAULT_MIN_COUNT
    attested_split: str | None = None
    pipeline: str = PIPELINE
    words: str = vocabulary_split.ALL

    def get_set_options(self) -> dict[str, Any]:
        """Collect the options that determine the rows, except `words` if it has its default."""
        return {
            name: value
            for name, value in super().get_set_options().items()
            if (name, value) != ("words", vocabulary_split.ALL)
        }

    def validate(self) -> None:
        """Validate the options.

        Raises:
            ValueError: If an option has an invalid value.
        """
        super().validate()
        if self.kind not in KINDS:
            raise ValueError(f"kind: expected one of {', '.join(KINDS)}, got {self.kind!r}")
        if self.min_count < 1:
            raise ValueError(f"min_count: expected at least 1, got {self.min_count}")
        vocabulary_split.validate_vocabulary_option(self.words)
        if self.sentence_language != _LANGUAGE:
            raise ValueError(
                f"soswap_addamod: expected English pairs, got the language {self.sentence_language!r}; choose an "
                "English "
                "corpus"
            )
        if self.attested_split and not self.corpus:
            raise ValueError(f"attested_split: expected a corpus, got data={self.data!r}; omit attested_split")


def _of_kind(config: SoswapAddamodConfig, kind: str) -> SoswapAddamodConfig:
    copy = replace(config, kind=kind)
    if kind != BOTH:
        copy.name += f"-{kind}"
    return copy


class SoswapAddamod(ChallengeSetBuilder):
    """Pairs built from each distinct premise of a corpus split.

    Configs: `<corpus>-<split>-soswap`, `<corpus>-<split>-addamod`, and `<corpus>-<split>` with both, for every English
    corpus. `data=…` uses your own data. Options: `kind`, `seed`, `min_count`, `attested_split`, `pipeline`,
    `words`.
    """

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = SoswapAddamodConfig
    SCHEMA = SCHEMA
    MACHINE_MADE: ClassVar[frozenset[PairPart]] = frozenset({"sentences", "labels"})
    CITATION = _CITATION
    REQUIRES_ENGLISH = True
    EXCLUSION_REASON = "with a repeated premise or one that makes no pair"

    def open_sources(self, *, streaming: bool = False) -> list[PairSource]:
        """Open the pairs for a single process, so that each distinct premise is used once."""
        return [source.with_single_span() for source in super().open_sources(streaming=streaming)]

    def warm_caches(self, source: PairSource) -> None:
        """Parse the sentences with several processes. `tables` then reads the cached parses in one process."""
        premises = (premise for _, premise in iter_distinct_premises(source.iter_examples()))
        precompute_parses(self.config.pipeline, premises)
        if self.config.kind != SOSWAP:
            sentences = (
                text
                for attesting in self._attesting(source)
                for example in attesting.iter_examples()
                for text in (example.premise, example.hypothesis)
            )
            precompute_parses(self.config.pipeline, sentences, tag=ADJECTIVE)

    def _attesting(self, source: PairSource) -> list[PairSource]:
        """List the sources in which combinations of adjectives and nouns are counted."""
        split = self.config.attested_split
        return [source, *([replace(self.config, source_split=split).open_pairs()] if split else [])]

    def iter_tables(self, source: PairSource, examples: Iterator[Example]) -> Iterator[pa.Table]:
        """Iterate over the pairs, and count the rejected premises. AddAmod first reads adjectives from all sources."""
        config = self.config
        parser = Parser(config.pipeline)
        adjectives = None
        if config.kind != SOSWAP:
            for attesting in self._attesting(source):
                adjectives = count_adjectives(attesting.iter_examples(), parser, adjectives)
        counts: Counter[str] = Counter()
        operators = build_soswap_addamod_operators(
            config.kind,
            adjectives=adjectives,
            seed=config.seed,
            min_count=config.min_count,
            words=config.words,
            is_written_text=bool(config.text),
        )
        yield from iter_soswap_addamod_tables(examples, parser, operators, counts)
        self.save_build_counts(counts)

    def iter_requirements(self) -> Iterator[Requirement]:
        """Iterate over the requirements: pairs, the split for counting adjectives, and the parser's pipeline."""
        yield from super().iter_requirements()
        if self.config.attested_split:
            splits = [self.config.attested_split]
            yield from requirements.iter_corpus_requirements(self.config.corpus, splits, self.config.revision)
        yield requirements.build_pipeline_requirement(self.config.pipeline)

    def describe_provenance(self) -> dict[str, Any]:
        """Describe the parser, and count the premises, the pairs per type and the rejections by reason."""
        return {"parser": Parser(self.config.pipeline).identity, "counts": self.load_build_counts()}


SoswapAddamod.BUILDER_CONFIGS = [
    _of_kind(config, kind)
    for config in build_source_configs(
        SoswapAddamodConfig, SoswapAddamod.VERSION, language=_LANGUAGE, has_two_label_corpora=False
    )
    for kind in KINDS
]
