"""CS_λ: NLI pairs scored by how far their words mislead, so that composing them is what is left."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import datasets
import pyarrow as pa

from unbag.baselines.lexical.fitting import DEFAULT_SEED, DEFAULT_TRAINING, FOLDS, Recipe, load
from unbag.baselines.lexical.hub import open_lexical_model
from unbag.baselines.lexical.model import CONFIG_FILE
from unbag.baselines.lexical.scorer import SCHEMA, Scorer, scored_tables, scorer_folders
from unbag.baselines.lexical.words import ALL, BY_CONTEXT, PIPELINES
from unbag.challenge_sets import requirements
from unbag.challenge_sets.builder import ChallengeSetBuilder
from unbag.challenge_sets.config import SourceConfig, source_configs
from unbag.challenge_sets.requirements import Requirement
from unbag.data.readers import is_hub_id
from unbag.data.sources import Example, Source
from unbag.data.text.tokens import SEGMENTER, is_segmented, validate_language
from unbag.utils import optional_deps
from unbag.utils.options import check_int
from unbag.utils.safe_io import validate_file

_CITATION = """@inproceedings{nie-etal-2019-analyzing,
  title = {Analyzing Compositionality-Sensitivity of {NLI} Models},
  author = {Nie, Yixin and Wang, Yicheng and Bansal, Mohit},
  booktitle = {Proceedings of AAAI}, year = {2019}, url = {https://doi.org/10.1609/aaai.v33i01.33016867},
  eprint = {1811.07033}, archivePrefix = {arXiv}}"""
_LEAST_FOLDS = 2


@dataclass
class CsLambdaConfig(SourceConfig):
    """Which lexical model scores the pairs, and which of them are kept.

    Attributes:
        training: corpora, whose train splits are taken, and files of pairs: what the lexical model is fitted to. By
            default SNLI and MNLI, for Chinese OCNLI.
        lexical: a fitted model instead: a folder or Hub repository.
        pipeline: which words count: those that a spaCy pipeline tags as nouns, verbs, adjectives, adverbs or *there* in
            their sentence, by default the language's own one, or `all`.
        pairs: how many training pairs to draw; None for all.
        folds: into how many parts the training pairs are cut, where the pairs to score are among them.
        least_lms: λ: the LMS that an example must have. The `lms` column makes any other a filter.
        seed: decides what is drawn, held out, and in which fold a pair is.
    """

    FILES: ClassVar[tuple[str, ...]] = (*SourceConfig.FILES, "training", "lexical", "pipeline")

    training: Sequence[str] | None = None
    lexical: str | None = None
    pipeline: str | None = None
    pairs: int | None = None
    folds: int = FOLDS
    least_lms: float = 0.0
    seed: int = DEFAULT_SEED

    def check(self) -> None:
        """Refuse what cannot be.

        Raises:
            ValueError: if an option has no such value.
        """
        super().check()
        validate_language(self.sentences_in)
        if self.pairs is not None:
            check_int("the number of training pairs", self.pairs, least=1)
        if not 0 <= self.least_lms <= 1:
            raise ValueError(f"expected a least LMS (λ) from 0 to 1, found {self.least_lms}")
        if self.folds < _LEAST_FOLDS:
            raise ValueError(f"expected at least {_LEAST_FOLDS} folds, found {self.folds}")
        if self.lexical and (self.training or self.pipeline or self.pairs):
            raise ValueError("expected either a fitted lexical model or how to fit one (training, pipeline, pairs)")


class CsLambda(ChallengeSetBuilder):
    """Every example of a corpus split with its LMS, the lexical model's probabilities and the misleading features.

    Configs: `<corpus>-<split>`; `data=…` takes data of your own. Where the corpus is in the lexical model's training
    data, the scores come from cross-fitting.
    """

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = CsLambdaConfig
    SCHEMA = SCHEMA
    CITATION = _CITATION
    UNFIT = "below λ"

    def tables(self, source: Source, examples: Iterator[Example]) -> Iterator[pa.Table]:
        """Yield each example that has the least LMS, with its scores."""
        scorer = _scorer(self._models(source), self.config.seed)
        return scored_tables(examples, scorer, least_lms=self.config.least_lms)

    def warm_caches(self, source: Source) -> None:
        """Fit the lexical models."""
        self._models(source)

    def validate_names(self) -> None:
        """Refuse what is surely no lexical model, and to begin without what cuts the sentences, too."""
        super().validate_names()
        if is_segmented(self.config.sentences_in):
            optional_deps.validate_dependency(SEGMENTER)
        if self.config.lexical and not is_hub_id(self.config.lexical):
            validate_file(Path(self.config.lexical) / CONFIG_FILE)

    def provenance(self) -> dict[str, Any]:
        """Return the records of the lexical models."""
        [source] = self.sources()
        return {"lexical_models": [_record(folder) for folder in self._models(source)]}

    def requirements(self) -> Iterator[Requirement]:
        """Yield the pairs, and the lexical model or what it is fitted to."""
        yield from super().requirements()
        config = self.config
        if config.lexical:
            if is_hub_id(config.lexical):
                yield Requirement(f"the lexical model {config.lexical}", lambda: open_lexical_model(config.lexical))
            return
        yield from requirements.of_corpora(config.training or DEFAULT_TRAINING[config.sentences_in])
        pipeline = config.pipeline or PIPELINES[config.sentences_in]
        if pipeline != ALL:
            yield requirements.pipeline(pipeline)

    def _models(self, source: Source) -> tuple[Path, ...]:
        config = self.config
        if config.lexical:
            return (open_lexical_model(config.lexical, unseen=source),)
        training = tuple(config.training) if config.training else None
        recipe = Recipe(training, source.language, config.pipeline, BY_CONTEXT, pairs=config.pairs, seed=config.seed)
        return tuple(scorer_folders(recipe, source, folds=config.folds))


@lru_cache(maxsize=1)
def _scorer(folders: tuple[Path, ...], seed: int) -> Scorer:
    return Scorer([load(folder) for folder in folders], seed)


def _record(folder: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))["record"]
    return record


CsLambda.BUILDER_CONFIGS = source_configs(CsLambdaConfig, CsLambda.VERSION, two_way=False)
