"""The SOSwap and AddAmod set: the same words in premise and hypothesis, and another meaning."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import datasets
import pyarrow as pa

from unbag.challenge_sets import requirements
from unbag.challenge_sets.builder import ChallengeSetBuilder, Made
from unbag.challenge_sets.config import SourceConfig, source_configs
from unbag.challenge_sets.perturbations import vocabulary_split
from unbag.challenge_sets.perturbations.addamod import ADJECTIVE, DEFAULT_MIN_COUNT, DEFAULT_SEED
from unbag.challenge_sets.perturbations.soswap_addamod import (
    BOTH,
    KINDS,
    SCHEMA,
    SOSWAP,
    adjective_counts,
    distinct_premises,
    tables,
)
from unbag.challenge_sets.requirements import Requirement
from unbag.data.sources import Example, Source
from unbag.data.text.parses import Parser, parse_ahead
from unbag.data.text.tagging import PIPELINE

_CITATION = """@article{nie-etal-2019-analyzing,
  title = {Analyzing Compositionality-Sensitivity of {NLI} Models},
  author = {Nie, Yixin and Wang, Yicheng and Bansal, Mohit},
  journal = {Proceedings of the AAAI Conference on Artificial Intelligence}, volume = {33}, number = {01},
  pages = {6867--6874}, year = {2019}, url = {https://doi.org/10.1609/aaai.v33i01.33016867},
  eprint = {1811.07033}, archivePrefix = {arXiv}}"""
_LANGUAGE = "en"  # the operators know English grammar only


@dataclass
class SoswapAddamodConfig(SourceConfig):
    """Which pairs are made, and how.

    Attributes:
        kind: `soswap`, `addamod` or `both`.
        seed: decides the adjectives of AddAmod and where they go.
        min_count: how often an adjective must be attested with a noun.
        attested_split: another split of the corpus whose sentences attest adjectives too, e.g. `train`.
        pipeline: the spaCy pipeline that parses: a package, a folder or a Hub repository.
        words: `all`; or `held_out`, pairs whose verb, adjective and nouns are all of the half of the vocabulary that
            `unbag train … --augment` makes no pair with; or `training`, those of the half that it does.
    """

    FILES: ClassVar[tuple[str, ...]] = (*SourceConfig.FILES, "pipeline")

    kind: str = BOTH
    seed: int = DEFAULT_SEED
    min_count: int = DEFAULT_MIN_COUNT
    attested_split: str | None = None
    pipeline: str = PIPELINE
    words: str = vocabulary_split.ALL

    def own_options(self) -> dict[str, Any]:
        """Return the options that decide the rows: not the words, where they are all."""
        return {
            name: value
            for name, value in super().own_options().items()
            if (name, value) != ("words", vocabulary_split.ALL)
        }

    def check(self) -> None:
        """Refuse what cannot be.

        Raises:
            ValueError: if an option has no such value.
        """
        super().check()
        if self.kind not in KINDS:
            raise ValueError(f"expected one of the kinds {', '.join(KINDS)}, found {self.kind!r}")
        if self.min_count < 1:
            raise ValueError(f"expected min_count of at least 1, found {self.min_count}")
        vocabulary_split.check(self.words)
        if self.sentences_in != _LANGUAGE:
            raise ValueError("SOSwap and AddAmod are made of English sentences; found another language")
        if self.attested_split and not self.corpus:
            raise ValueError(f"expected attested_split with a corpus only, found it with data={self.data!r}")


def _of_kind(config: SoswapAddamodConfig, kind: str) -> SoswapAddamodConfig:
    copy = replace(config, kind=kind)
    if kind != BOTH:
        copy.name += f"-{kind}"
    return copy


class SoswapAddamod(ChallengeSetBuilder):
    """The pairs made from each distinct premise of a corpus split.

    Configs: `<corpus>-<split>-soswap`, `<corpus>-<split>-addamod`, and `<corpus>-<split>` with both, for every English
    corpus; `data=…` takes data of your own. Options: `kind`, `seed`, `min_count`, `attested_split`, `pipeline`,
    `words`.
    """

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = SoswapAddamodConfig
    SCHEMA = SCHEMA
    MACHINE_MADE: ClassVar[frozenset[Made]] = frozenset({"sentences", "labels"})
    CITATION = _CITATION
    UNFIT = "whose premise was met before or makes no pair"

    def sources(self, *, streaming: bool = False) -> list[Source]:
        """Open the pairs, for one process: a premise is used once, wherever it comes again."""
        return [source.with_one_span() for source in super().sources(streaming=streaming)]

    def warm_caches(self, source: Source) -> None:
        """Parse by several processes, where they may work, what one will then find parsed."""
        premises = (premise for _, premise in distinct_premises(source.examples()))
        parse_ahead(self.config.pipeline, premises)
        if self.config.kind != SOSWAP:
            sentences = (
                text
                for attesting in self._attesting(source)
                for example in attesting.examples()
                for text in (example.premise, example.hypothesis)
            )
            parse_ahead(self.config.pipeline, sentences, tag=ADJECTIVE)

    def _attesting(self, source: Source) -> list[Source]:
        """Return what says which adjectives go with which nouns."""
        split = self.config.attested_split
        return [source, *([replace(self.config, source_split=split).open()] if split else [])]

    def tables(self, source: Source, examples: Iterator[Example]) -> Iterator[pa.Table]:
        """Yield the pairs and count what makes none; for AddAmod the whole source is read first, for its adjectives."""
        config = self.config
        parser = Parser(config.pipeline)
        adjectives = None
        if config.kind != SOSWAP:
            for attesting in self._attesting(source):
                adjectives = adjective_counts(attesting.examples(), parser, adjectives)
        counts: Counter[str] = Counter()
        yield from tables(
            examples,
            parser,
            kind=config.kind,
            adjectives=adjectives,
            seed=config.seed,
            min_count=config.min_count,
            words=config.words,
            counts=counts,
        )
        self.keep_counts(counts)

    def requirements(self) -> Iterator[Requirement]:
        """Yield the pairs, the split that attests adjectives too, and the pipeline that parses."""
        yield from super().requirements()
        if self.config.attested_split:
            yield from requirements.of_corpus(self.config.corpus, [self.config.attested_split], self.config.revision)
        yield requirements.pipeline(self.config.pipeline)

    def provenance(self) -> dict[str, Any]:
        """Return the parser's identity; how many premises there were, pairs of each kind, and refusals by reason."""
        return {"parser": Parser(self.config.pipeline).identity, "counts": self.kept_counts()}


SoswapAddamod.BUILDER_CONFIGS = [
    _of_kind(config, kind)
    for config in source_configs(SoswapAddamodConfig, SoswapAddamod.VERSION, language=_LANGUAGE, two_way=False)
    for kind in KINDS
]
