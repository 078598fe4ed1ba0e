"""CS_λ: NLI pairs with a score of how strongly lexical cues mislead a model that ignores word order."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import datasets
import pyarrow as pa

from unbag.baselines.lexical.fitting import (
    DEFAULT_SEED,
    DEFAULT_TRAINING,
    FOLDS,
    LexicalTrainingOptions,
    load_lexical_model,
)
from unbag.baselines.lexical.hub import locate_lexical_model
from unbag.baselines.lexical.model import CONFIG_FILE
from unbag.baselines.lexical.scorer import (
    SCHEMA,
    ExampleScorer,
    fit_or_load_scorer_models,
    iter_misleading_example_tables,
)
from unbag.baselines.lexical.words import ALL, BY_CONTEXT, PIPELINES
from unbag.challenge_sets import requirements
from unbag.challenge_sets.builder import ChallengeSetBuilder
from unbag.challenge_sets.config import SourceConfig, build_source_configs
from unbag.challenge_sets.requirements import Requirement, UnsuitablePairsError
from unbag.data.readers import is_hub_id
from unbag.data.sources import Example, PairSource
from unbag.data.text.tokens import SEGMENTER, is_segmenter_required, validate_language
from unbag.utils import optional_deps
from unbag.utils.options import validate_int
from unbag.utils.safe_io import validate_file

_CITATION = """@inproceedings{nie-etal-2019-analyzing,
  title = {Analyzing Compositionality-Sensitivity of {NLI} Models},
  author = {Nie, Yixin and Wang, Yicheng and Bansal, Mohit},
  booktitle = {Proceedings of AAAI}, year = {2019}, url = {https://doi.org/10.1609/aaai.v33i01.33016867},
  eprint = {1811.07033}, archivePrefix = {arXiv}}"""
_MIN_FOLDS = 2


@dataclass
class CsLambdaConfig(SourceConfig):
    """Options of the lexical model that scores the pairs, and the threshold for including a pair.

    Attributes:
        train_data: Corpora (train splits) and files of pairs for fitting the lexical model (default: SNLI and MNLI; for
            Chinese OCNLI).
        lexical: Folder or Hub repository of an already fitted lexical model.
        pipeline: spaCy pipeline that tags the sentences (default: by language). Only nouns, verbs, adjectives, adverbs
            and *there* are used as features; `all` uses all words.
        max_train_pairs: Maximum number of training pairs (default: all).
        folds: Number of cross-fitting folds, used if the scored pairs are among the training pairs.
        min_lms: λ, the minimum lexically misleading score (LMS) of an example. Filter the column `lms` for other
            values of λ.
        seed: Random seed for sampling, the held-out pairs and the folds.
    """

    FILES: ClassVar[tuple[str, ...]] = (*SourceConfig.FILES, "train_data", "lexical", "pipeline")

    train_data: Sequence[str] | None = None
    lexical: str | None = None
    pipeline: str | None = None
    max_train_pairs: int | None = None
    folds: int = FOLDS
    min_lms: float = 0.0
    seed: int = DEFAULT_SEED

    def validate(self) -> None:
        """Validate the options.

        Raises:
            ValueError: If an option has an invalid value.
        """
        super().validate()
        validate_language(self.sentence_language)
        if not (self.train_data or self.lexical) and self.sentence_language not in DEFAULT_TRAINING:
            raise UnsuitablePairsError(
                f"train_data: expected training pairs in the language {self.sentence_language!r} for the lexical "
                "model, got none; pass your own files with -o train_data=FILE"
            )
        if self.max_train_pairs is not None:
            validate_int("max_train_pairs", self.max_train_pairs, minimum=1)
        if not 0 <= self.min_lms <= 1:
            raise ValueError(f"min_lms: expected λ from 0 to 1, got {self.min_lms}")
        if self.folds < _MIN_FOLDS:
            raise ValueError(f"folds: expected at least {_MIN_FOLDS}, got {self.folds}")
        if self.lexical and (self.train_data or self.pipeline or self.max_train_pairs):
            raise ValueError(
                "lexical: expected either a fitted model (lexical) or options to fit one "
                "(train_data, pipeline, max_train_pairs), got both; omit one of them"
            )


class CsLambda(ChallengeSetBuilder):
    """Pairs of a corpus split, with lexically misleading scores (LMS) and the features and probabilities behind them.

    Configs: `<corpus>-<split>`. `data=…` uses your own data. If the corpus is in the lexical model's training data,
    the scores come from cross-fitting.
    """

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = CsLambdaConfig
    SCHEMA = SCHEMA
    CITATION = _CITATION
    EXCLUSION_REASON = "below λ"
    EXAMPLE_ID = "id"  # pairs of one document share a source

    def iter_tables(self, source: PairSource, examples: Iterator[Example]) -> Iterator[pa.Table]:
        """Iterate over the examples with at least the minimum LMS, including their scores."""
        scorer = _scorer(self._models(source), self.config.seed)
        return iter_misleading_example_tables(examples, scorer, min_lms=self.config.min_lms)

    def warm_caches(self, source: PairSource) -> None:
        """Fit the lexical models before worker processes start."""
        self._models(source)

    def validate_resources(self) -> None:
        """Validate the names, the config file of a local lexical model, and the tokenizer package."""
        super().validate_resources()
        if is_segmenter_required(self.config.sentence_language):
            optional_deps.validate_dependency(SEGMENTER)
        if self.config.lexical and not is_hub_id(self.config.lexical):
            validate_file(Path(self.config.lexical) / CONFIG_FILE)

    def describe_provenance(self) -> dict[str, Any]:
        """Collect the records of the lexical models."""
        [source] = self.open_sources()
        return {"lexical_models": [_record(folder) for folder in self._models(source)]}

    def iter_requirements(self) -> Iterator[Requirement]:
        """Iterate over the requirements: pairs, and the lexical model or its training data and pipeline."""
        yield from super().iter_requirements()
        config = self.config
        if config.lexical:
            if is_hub_id(config.lexical):
                yield Requirement(f"the lexical model {config.lexical}", lambda: locate_lexical_model(config.lexical))
            return
        yield from requirements.iter_train_split_requirements(
            config.train_data or DEFAULT_TRAINING[config.sentence_language]
        )
        pipeline = config.pipeline or PIPELINES.get(config.sentence_language, ALL)
        if pipeline != ALL:
            yield requirements.build_pipeline_requirement(pipeline)

    def _models(self, source: PairSource) -> tuple[Path, ...]:
        config = self.config
        if config.lexical:
            return (locate_lexical_model(config.lexical, test_source=source),)
        train_data = tuple(config.train_data) if config.train_data else None
        recipe = LexicalTrainingOptions(
            train_data,
            source.language,
            config.pipeline,
            BY_CONTEXT,
            max_train_pairs=config.max_train_pairs,
            seed=config.seed,
        )
        return tuple(fit_or_load_scorer_models(recipe, source, n_folds=config.folds))


@lru_cache(maxsize=1)
def _scorer(folders: tuple[Path, ...], seed: int) -> ExampleScorer:
    return ExampleScorer([load_lexical_model(folder) for folder in folders], seed)


def _record(folder: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))["record"]
    return record


CsLambda.BUILDER_CONFIGS = build_source_configs(CsLambdaConfig, CsLambda.VERSION, has_two_label_corpora=False)
