"""Recombined set: documents that contain all words of a claim, with or without a sentence that supports it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, Final

import datasets
import pyarrow as pa

from unbag.challenge_sets import requirements
from unbag.challenge_sets.builder import ChallengeSetBuilder, PairPart
from unbag.challenge_sets.config import SourceConfig, build_source_configs
from unbag.challenge_sets.perturbations.recombined import (
    DEFAULT_SEED,
    DEFAULT_SIZES,
    LONG_EVIDENCE,
    NOT_ENTAILED,
    OTHER_WORDS,
    SCHEMA,
    build_sentence_pool,
    draw_filler_sentences,
    find_example_exclusion_reason,
    iter_recombined_set_tables,
)
from unbag.challenge_sets.requirements import Requirement
from unbag.data.labels import TWO_WAY
from unbag.data.sources import Example, PairSource
from unbag.data.text.parses import Parser, precompute_parses
from unbag.data.text.tagging import PIPELINE

_CITATION = """@article{nie-etal-2019-analyzing,
  title = {Analyzing Compositionality-Sensitivity of {NLI} Models},
  author = {Nie, Yixin and Wang, Yicheng and Bansal, Mohit},
  journal = {Proceedings of the AAAI Conference on Artificial Intelligence}, volume = {33}, number = {01},
  pages = {6867--6874}, year = {2019}, url = {https://doi.org/10.1609/aaai.v33i01.33016867},
  eprint = {1811.07033}, archivePrefix = {arXiv}}"""
_LANGUAGE: Final = "en"  # the operator supports only English grammar
_MOST_SENTENCES: Final = 1_000  # per document; longer rows exceed the maximum length of all models


@dataclass
class RecombinedConfig(SourceConfig):
    """Options of the generated documents.

    Attributes:
        k: Document sizes in sentences, comma-separated.
        seed: Random seed for selecting the sentences, their order and the arguments to exchange.
        pipeline: spaCy pipeline of the parser: a package, a folder or a Hub repository.
    """

    FILES: ClassVar[tuple[str, ...]] = (*SourceConfig.FILES, "pipeline")

    k: str = ",".join(map(str, DEFAULT_SIZES))
    seed: int = DEFAULT_SEED
    pipeline: str = PIPELINE

    @property
    def sizes(self) -> tuple[int, ...]:
        """Document sizes in sentences, in ascending order.

        Raises:
            ValueError: If `k` is not a list of whole numbers within the limits, or none is above 1.
        """
        try:
            sizes = sorted({int(part) for part in self.k.split(",")})
        except ValueError:
            sizes = []
        if not sizes or sizes[0] < 1 or not 1 < sizes[-1] <= _MOST_SENTENCES:
            raise ValueError(
                f"k: expected whole numbers from 1 to {_MOST_SENTENCES:,}, comma-separated, one of them above 1, got "
                f"{self.k!r}; pass k=1,4,16"
            )
        return tuple(sizes)

    def validate(self) -> None:
        """Validate the options.

        Raises:
            ValueError: If an option has an invalid value, or the pairs are not in English.
        """
        super().validate()
        _ = self.sizes
        if self.sentence_language != _LANGUAGE:
            raise ValueError(
                f"recombined: expected English pairs, got the language {self.sentence_language!r}; choose an English "
                "corpus"
            )


class Recombined(ChallengeSetBuilder):
    """Documents built from the premises of a corpus split, with supported and unsupported claims.

    Configs: `<corpus>-<split>` for every English corpus; `data=…` uses your own data. Options: `k`, `seed`,
    `pipeline`.
    """

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = RecombinedConfig
    SCHEMA = SCHEMA
    LABEL_NAMES = TWO_WAY
    MACHINE_MADE: ClassVar[frozenset[PairPart]] = frozenset({"sentences", "labels"})
    CITATION = _CITATION
    REQUIRES_ENGLISH = True
    EXCLUSION_REASON = "whose claim has no argument to exchange"

    def warm_caches(self, source: PairSource) -> None:
        """Parse the claims and the pool of sentences with several processes, if enabled."""
        claims = (
            example.hypothesis for example in source.iter_examples() if find_example_exclusion_reason(example) is None
        )
        texts = (text for _, text in draw_filler_sentences(source.iter_examples(), self.config.seed))
        precompute_parses(self.config.pipeline, chain(texts, claims))

    def iter_tables(self, source: PairSource, examples: Iterator[Example]) -> Iterator[pa.Table]:
        """Iterate over the rows. The entire source is read first to collect sentences for the documents."""
        config = self.config
        parser = Parser(config.pipeline)
        pool = build_sentence_pool(draw_filler_sentences(source.iter_examples(), config.seed), parser)
        counts: Counter[str] = Counter()
        yield from iter_recombined_set_tables(
            examples, pool, parser, sizes=config.sizes, seed=config.seed, counts=counts
        )
        self.save_build_counts(counts)

    def get_exclusion_counts(self) -> dict[str, int]:
        """Count the examples that are not used as claims, by reason."""
        counts = self.load_build_counts()
        return {reason: counts.get(f"excluded: {reason}", 0) for reason in (NOT_ENTAILED, LONG_EVIDENCE, OTHER_WORDS)}

    def iter_requirements(self) -> Iterator[Requirement]:
        """Iterate over the requirements: the pairs and the parser's pipeline."""
        yield from super().iter_requirements()
        yield requirements.build_pipeline_requirement(self.config.pipeline)

    def describe_provenance(self) -> dict[str, Any]:
        """Describe the parser, and count the claims, the rows per operation and the excluded examples by reason."""
        return {"parser": Parser(self.config.pipeline).identity, "counts": self.load_build_counts()}


Recombined.BUILDER_CONFIGS = build_source_configs(RecombinedConfig, Recombined.VERSION, language=_LANGUAGE)
