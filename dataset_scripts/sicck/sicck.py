"""SICCK: quantifiers, negations and adjectives put to both sentences of a pair, and what natural logic makes of it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import datasets
import pyarrow as pa

from unbag.challenge_sets import requirements
from unbag.challenge_sets.builder import Made
from unbag.challenge_sets.config import source_configs
from unbag.challenge_sets.official import OfficialConfig, OfficialSet
from unbag.challenge_sets.perturbations import sicck, sicck_rows
from unbag.challenge_sets.perturbations.modifiers import NONE
from unbag.challenge_sets.perturbations.permutation import DEFAULT_SEED
from unbag.challenge_sets.perturbations.sicck import CONTIGUOUS, FILE, FOLDINGS, PAIRS, SEED_PAIRS, WHOLE_SEEDS, Row
from unbag.challenge_sets.perturbations.sicck_rows import FOUR_WAY, SPACES
from unbag.challenge_sets.requirements import Requirement
from unbag.data.corpora import OFFICIAL
from unbag.data.sources import Example, Source
from unbag.data.text.tagging import Tagger
from unbag.utils.options import check_int

_CITATION = """@inproceedings{akoju-etal-2023-synthetic,
  title = {Synthetic Dataset for Evaluating Complex Compositional Knowledge for Natural Language Inference},
  author = {Akoju, Sushma Anand and Vacareanu, Robert and Blanco, Eduardo and Riaz, Haris and Surdeanu, Mihai},
  booktitle = {Proceedings of the 1st Workshop on Natural Language Reasoning and Structured Explanations (NLRSE)},
  year = {2023}, url = {https://aclanthology.org/2023.nlrse-1.12}, eprint = {2307.05034},
  archivePrefix = {arXiv}}"""


@dataclass
class SicckConfig(OfficialConfig):
    """Which pairs, and in which labels.

    Attributes:
        space: the labels of the column `target`: `four_way`, `seven_way` or `three_way`. Pairs that the space has no
            label for (four-way: equivalence) are left out.
        folds: the official configs: how many folds for cross-validation the column `fold` has.
        folding: which pairs a fold has: `contiguous`, blocks of the file as the authors' folds are, `spread`, each
            seed's dealt to all folds, or `whole_seeds`, all of a seed in one.
        seed: decides the folds that are `spread` or of `whole_seeds`.
        combinations: generated configs: also modify subject and object, or verb and object, at a time.
        pipeline: generated configs: a spaCy pipeline (a Hub repository, a package or a folder) that tags sentences
            whose verb has no auxiliary; without it these make no seeds.
    """

    FILES: ClassVar[tuple[str, ...]] = (*OfficialConfig.FILES, "pipeline")

    space: str = FOUR_WAY
    folds: int = 5
    folding: str = CONTIGUOUS
    seed: int = DEFAULT_SEED
    combinations: bool = False
    pipeline: str | None = None

    def check(self) -> None:
        """Refuse what cannot be.

        Raises:
            ValueError: if an option has no such value, or the config does not take it.
        """
        if self.space not in SPACES:
            raise ValueError(f"expected one of the label spaces {', '.join(SPACES)}, found {self.space!r}")
        if self.folding not in FOLDINGS:
            raise ValueError(f"expected a folding of {', '.join(FOLDINGS)}, found {self.folding!r}")
        super().check()
        check_int("folds", self.folds, least=2)
        most = SEED_PAIRS if self.folding == WHOLE_SEEDS else PAIRS
        if self.is_official and self.folds > most:
            raise ValueError(f"expected at most {most:,} folds of the authors' pairs, found {self.folds:,}")
        if self.is_official and (self.combinations or self.pipeline):
            raise ValueError(f"the config {self.name!r} modifies nothing, so it takes no combinations or pipeline")


class Sicck(OfficialSet):
    """Modified pairs, each as it is and with premise and hypothesis exchanged.

    Configs: `official`, the authors' 1,304 pairs made from 15 seeds, with four-way labels as target,
    `official-seven_way`, `official-three_way`; `<corpus>-<split>` makes pairs from a corpus's; `data=…` from your own.
    """

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = SicckConfig
    FILE = FILE
    LICENCE = "cc-by-nc-sa-4.0"
    CREATORS: ClassVar[Mapping[Made, Sequence[str]]] = {
        "sentences": ("crowdsourced", "machine-generated"),
        "labels": ("expert-generated",),
    }
    MACHINE_MADE: ClassVar[frozenset[Made]] = frozenset({"sentences", "labels"})
    SCHEMA = sicck_rows.SCHEMA
    CITATION = _CITATION
    UNFIT = "of another form than subject, verb, object"

    def sources(self, *, streaming: bool = False) -> list[Source]:
        """Open the seeds."""
        if not self.config.is_official:
            return [self.open_pairs(streaming=streaming)]
        # The seeds are in the authors' file like all other pairs, with the labels they gave them.
        lines = [
            json.dumps(
                {
                    "id": sicck_rows.source_id(row),
                    "premise": row.premise,
                    "hypothesis": row.hypothesis,
                    "label": row.label,
                }
            )
            for row in self._official()
            if row.type == NONE
        ]
        return [self.official_source("seeds.jsonl", "".join(f"{line}\n" for line in lines).encode())]

    def requirements(self) -> Iterator[Requirement]:
        """Yield the pairs, and the pipeline where one tags."""
        yield from super().requirements()
        if self.config.pipeline:
            yield requirements.pipeline(self.config.pipeline)

    def tables(self, source: Source, examples: Iterator[Example]) -> Iterator[pa.Table]:
        """Yield both rows of each pair made from some seeds."""
        config = self.config
        if not config.is_official:
            tagger = Tagger(config.pipeline) if config.pipeline else None
            pairs = sicck_rows.generated(examples, combinations=config.combinations, tagger=tagger)
            return sicck_rows.tables(pairs, config.space)
        rows = self._official()
        folds = sicck.folds([row.seed for row in rows], config.folds, folding=config.folding, seed=config.seed)
        source_ids = {example.source_id for example in examples}
        pairs = (pair for pair in sicck_rows.official(rows, folds) if pair.source_id in source_ids)
        return sicck_rows.tables(pairs, config.space)

    def _official(self) -> list[Row]:
        rows, _ = sicck.read(self.official_file())
        return rows


Sicck.BUILDER_CONFIGS = [
    SicckConfig(name=OFFICIAL if space == FOUR_WAY else f"{OFFICIAL}-{space}", version=Sicck.VERSION, space=space)
    for space in SPACES
] + source_configs(SicckConfig, Sicck.VERSION, language="en", two_way=False)
