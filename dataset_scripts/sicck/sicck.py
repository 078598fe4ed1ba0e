"""SICCK: quantifiers, negations and adjectives put to both sentences of a pair, and what natural logic makes of it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import datasets
import pyarrow as pa

from unbag import needs
from unbag.building import ChallengeSet, SourceConfig, source_configs
from unbag.corpora import CORPORA
from unbag.examples import Example, Source, open_data
from unbag.files import cache_folder, whole
from unbag.natlog import sicck
from unbag.natlog.sicck import FILE, Row
from unbag.perturb import modified
from unbag.perturb.modified import FOUR_WAY, SPACES
from unbag.perturb.modifiers import NONE
from unbag.perturb.permutation import DEFAULT_SEED
from unbag.pinned import fetch
from unbag.text.tags import Tagger

PAPER = "Akoju et al. 2023, https://aclanthology.org/2023.nlrse-1.12"
_CITATION = """@inproceedings{akoju-etal-2023-synthetic,
  title = {Synthetic Dataset for Evaluating Complex Compositional Knowledge for Natural Language Inference},
  author = {Akoju, Sushma Anand and Vacareanu, Robert and Blanco, Eduardo and Riaz, Haris and Surdeanu, Mihai},
  booktitle = {Proceedings of the 1st Workshop on Natural Language Reasoning and Structured Explanations (NLRSE)},
  year = {2023}, url = {https://aclanthology.org/2023.nlrse-1.12}}"""

OFFICIAL: Final = "official"
_LICENCE: Final = "cc-by-nc-sa-4.0"


@dataclass
class SicckConfig(SourceConfig):
    """Which pairs, and in which labels.

    Attributes:
        file: the official configs: your copy of the authors' csv file; without it, it is downloaded.
        space: the labels of the column `target`: `four_way`, `seven_way` or `three_way`. Pairs that the space has no
            label for (four-way: equivalence) are left out.
        folds: the official configs: how many folds for cross-validation the column `fold` has.
        whole_seeds: keep all pairs of a seed in one fold; by default each seed's are spread over all.
        seed: decides the folds.
        combinations: generated configs: also modify subject and object, or verb and object, at a time.
        pipeline: generated configs: a spaCy pipeline (a Hub repository, a package or a folder) that tags sentences
            whose verb has no auxiliary; without it these make no seeds.
    """

    file: str | None = None
    space: str = FOUR_WAY
    folds: int = 5
    whole_seeds: bool = False
    seed: int = DEFAULT_SEED
    combinations: bool = False
    pipeline: str | None = None

    @property
    def is_official(self) -> bool:
        """Whether these are the authors' pairs."""
        return bool(self.name.split("-")[0] == OFFICIAL)

    def own_options(self) -> dict[str, Any]:
        """Return the options that decide the rows: not where the file is, since its content is known."""
        return {name: value for name, value in super().own_options().items() if name != "file"}

    def check(self) -> None:
        """Refuse what cannot be.

        Raises:
            ValueError: if an option has no such value, or the config does not take it.
        """
        if self.space not in SPACES:
            raise ValueError(f"expected one of the label spaces {', '.join(SPACES)}, found {self.space!r}")
        if self.is_official:
            if self.combinations or self.pipeline:
                raise ValueError(f"the config {self.name!r} modifies nothing, so it takes no combinations or pipeline")
            return
        super().check()
        if self.file:
            raise ValueError(f"expected a file with the config {OFFICIAL!r} only, found {self.file!r}")
        if self.language != "en":
            raise ValueError(f"expected English pairs, found the language {self.language!r}: the modifiers are English")


class Sicck(ChallengeSet):
    """Modified pairs, each as it is and with premise and hypothesis exchanged.

    Configs: `official`, the authors' 1,304 pairs made from 15 seeds, with four-way labels as target,
    `official-seven_way`, `official-three_way`; `<corpus>-<split>` makes pairs from a corpus's; `data=…` from your own.
    """

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = SicckConfig
    DEFAULT_CONFIG_NAME = OFFICIAL
    SCHEMA = modified.SCHEMA
    CITATION = _CITATION
    UNFIT = "of another form than subject, verb, object"

    def sources(self, *, streaming: bool = False) -> list[Source]:
        """Open the seeds."""
        if not self.config.is_official:
            return [self.config.open(streaming=streaming)]
        # The seeds are in the authors' file like all other pairs, with the labels they gave them.
        path = cache_folder("files") / FILE.sha256[:16] / "seeds.jsonl"
        with whole(path) as beside, beside.open("w", encoding="utf-8") as file:
            for row in self._official():
                if row.type == NONE:
                    said = {"premise": row.premise, "hypothesis": row.hypothesis, "label": row.label}
                    file.write(json.dumps({"id": modified.source_id(row), **said}) + "\n")
        opened = open_data(path)
        return [replace(opened, name=OFFICIAL, licence=_LICENCE, origin=FILE.url, revision=FILE.sha256)]

    def needed(self) -> Iterator[needs.Need]:
        """Yield the pairs, and the pipeline where one tags."""
        yield from super().needed()
        if self.config.pipeline:
            yield needs.pipeline(self.config.pipeline)

    def tables(self, source: Source, examples: Iterator[Example]) -> Iterator[pa.Table]:
        """Yield both rows of each pair made from some seeds."""
        config = self.config
        if not config.is_official:
            tagger = Tagger(config.pipeline) if config.pipeline else None
            pairs = modified.generated(examples, combinations=config.combinations, tagger=tagger)
            return modified.tables(pairs, config.space)
        rows = self._official()
        folds = sicck.folds([row.seed for row in rows], config.folds, seed=config.seed, whole=config.whole_seeds)
        wanted = {example.source_id for example in examples}
        made = (pair for pair in modified.official(rows, folds) if pair.source_id in wanted)
        return modified.tables(made, config.space)

    def _info(self) -> datasets.DatasetInfo:
        info = super()._info()
        if self.config.is_official:
            info.license = _LICENCE
        return info

    def _official(self) -> list[Row]:
        rows, _ = sicck.read(fetch(FILE, given=Path(self.config.file) if self.config.file else None))
        return rows


Sicck.BUILDER_CONFIGS = [
    SicckConfig(name=OFFICIAL if space == FOUR_WAY else f"{OFFICIAL}-{space}", version=Sicck.VERSION, space=space)
    for space in SPACES
] + [config for config in source_configs(SicckConfig, Sicck.VERSION) if CORPORA[config.corpus].language == "en"]
