"""SICCK: pairs with inserted quantifiers, negations and adjectives, labelled by natural logic."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import datasets
import pyarrow as pa

from unbag.challenge_sets import requirements
from unbag.challenge_sets.builder import PairPart
from unbag.challenge_sets.config import build_source_configs
from unbag.challenge_sets.official import OfficialConfig, OfficialSetBuilder
from unbag.challenge_sets.perturbations import sicck
from unbag.challenge_sets.perturbations.modifiers import NONE
from unbag.challenge_sets.perturbations.permutation import DEFAULT_SEED
from unbag.challenge_sets.perturbations.sicck import (
    CONTIGUOUS,
    FILE,
    FOLDINGS,
    FOUR_WAY,
    PAIRS,
    SEED_PAIRS,
    SPACES,
    WHOLE_SEEDS,
    SicckRow,
)
from unbag.challenge_sets.requirements import Requirement
from unbag.data.corpora import OFFICIAL
from unbag.data.sources import Example, PairSource
from unbag.data.text.tagging import Tagger
from unbag.utils.options import validate_int

_CITATION = """@inproceedings{akoju-etal-2023-synthetic,
  title = {Synthetic Dataset for Evaluating Complex Compositional Knowledge for Natural Language Inference},
  author = {Akoju, Sushma Anand and Vacareanu, Robert and Blanco, Eduardo and Riaz, Haris and Surdeanu, Mihai},
  booktitle = {Proceedings of the 1st Workshop on Natural Language Reasoning and Structured Explanations (NLRSE)},
  year = {2023}, url = {https://aclanthology.org/2023.nlrse-1.12}, eprint = {2307.05034},
  archivePrefix = {arXiv}}"""


@dataclass
class SicckConfig(OfficialConfig):
    """Options for selecting pairs and the label space.

    Attributes:
        space: Label space of the column `target`: `four_way`, `seven_way` or `three_way`. Pairs without a label in the
            space are excluded (four-way: equivalence).
        folds: Official configs only. Number of cross-validation folds in the column `fold`.
        folding: Assignment of pairs to folds: `contiguous` (blocks of the file, as the authors' folds), `spread` (the
            pairs of each seed over all folds) or `whole_seeds` (all pairs of a seed in one fold).
        seed: Random seed of the folds with `spread` and `whole_seeds`.
        combinations: Generated configs only. Whether to also modify subject and object, or verb and object, together.
        pipeline: Generated configs only. spaCy pipeline (a Hub repository, a package or a folder) that tags
            sentences without an auxiliary verb. Without a pipeline, these sentences are not used as seeds.
    """

    FILES: ClassVar[tuple[str, ...]] = (*OfficialConfig.FILES, "pipeline")

    space: str = FOUR_WAY
    folds: int = 5
    folding: str = CONTIGUOUS
    seed: int = DEFAULT_SEED
    combinations: bool = False
    pipeline: str | None = None

    def validate(self) -> None:
        """Validate the options."""
        if self.space not in SPACES:
            raise ValueError(f"space: expected one of {', '.join(SPACES)}, got {self.space!r}")
        if self.folding not in FOLDINGS:
            raise ValueError(f"folding: expected one of {', '.join(FOLDINGS)}, got {self.folding!r}")
        super().validate()
        # More folds than units would leave folds empty. The unit is the seed pair if whole seeds stay together.
        validate_int("folds", self.folds, minimum=2)
        most = SEED_PAIRS if self.folding == WHOLE_SEEDS else PAIRS
        if self.is_official and self.folds > most:
            raise ValueError(f"folds: expected at most {most:,} for the authors' pairs, got {self.folds:,}")
        if self.is_official and (self.combinations or self.pipeline):
            raise ValueError(
                f"combinations, pipeline: expected a corpus, got the config {self.name!r}, which modifies no "
                "sentences; omit them, or choose a corpus"
            )


class SicckBuilder(OfficialSetBuilder):
    """Modified pairs, each in both orders of premise and hypothesis.

    Configs: `official`, the authors' 1,304 pairs from 15 seeds with four-way labels as target, `official-seven_way`,
    `official-three_way`. `<corpus>-<split>` generates pairs from a corpus, `data=…` from your own data.
    """

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = SicckConfig
    FILE = FILE
    LICENSE = "cc-by-nc-sa-4.0"
    CREATORS: ClassVar[Mapping[PairPart, Sequence[str]]] = {
        "sentences": ("crowdsourced", "machine-generated"),
        "labels": ("expert-generated",),
    }
    MACHINE_MADE: ClassVar[frozenset[PairPart]] = frozenset({"sentences", "labels"})
    SCHEMA = sicck.SCHEMA
    CITATION = _CITATION
    EXCLUSION_REASON = "without the form subject, verb, object"

    def open_sources(self, *, streaming: bool = False) -> list[PairSource]:
        """Open the seeds."""
        if not self.config.is_official:
            return [self.open_pairs(streaming=streaming)]
        # The authors' file contains the seeds as ordinary rows without a modifier and with the authors' labels.
        lines = [
            json.dumps(
                {
                    "id": sicck.build_seed_source_id(row),
                    "premise": row.premise,
                    "hypothesis": row.hypothesis,
                    "label": row.label,
                }
            )
            for row in self._official()
            if row.type == NONE
        ]
        return [self.open_official_source("seeds.jsonl", "".join(f"{line}\n" for line in lines).encode())]

    def iter_requirements(self) -> Iterator[Requirement]:
        """Iterate over the requirements: the pairs, and the pipeline if the options set one."""
        yield from super().iter_requirements()
        if self.config.pipeline:
            yield requirements.build_pipeline_requirement(self.config.pipeline)

    def iter_tables(self, source: PairSource, examples: Iterator[Example]) -> Iterator[pa.Table]:
        """Iterate over both rows of each pair built from the seeds."""
        config = self.config
        if not config.is_official:
            # Only sentences without an auxiliary verb need tags, since "the dog runs" could be a noun phrase.
            tagger = Tagger(config.pipeline) if config.pipeline else None
            pairs = sicck.generate_sicck_pairs(examples, combinations=config.combinations, tagger=tagger)
            return sicck.iter_sicck_tables(pairs, config.space)
        rows = self._official()
        folds = sicck.assign_folds([row.seed for row in rows], config.folds, method=config.folding, seed=config.seed)
        source_ids = {example.source_id for example in examples}
        pairs = (pair for pair in sicck.build_official_pairs(rows, folds) if pair.source_id in source_ids)
        return sicck.iter_sicck_tables(pairs, config.space)

    def _official(self) -> list[SicckRow]:
        rows, _ = sicck.read_sicck(self.find_official_file())
        return rows


_VERSION = SicckBuilder.VERSION
SicckBuilder.BUILDER_CONFIGS = [
    SicckConfig(name=OFFICIAL if space == FOUR_WAY else f"{OFFICIAL}-{space}", version=_VERSION, space=space)
    for space in SPACES
] + build_source_configs(SicckConfig, _VERSION, language="en", has_two_label_corpora=False)
