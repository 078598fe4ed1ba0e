"""CS_λ: NLI pairs with a score of how strongly lexical cues mislead a model that ignores word order."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa
from annotated_types import Ge
from numpy.typing import NDArray
from rich.console import RenderableType

from unbag.baselines.lexical import fitting, scorer
from unbag.baselines.lexical.model import CONFIG_FILE, locate_lexical_model
from unbag.baselines.lexical.words import ALL, BY_CONTEXT, PIPELINES
from unbag.challenge_sets import requirements
from unbag.challenge_sets.base import DIFFERENCE, ChallengeSet, MetricDefinition, Role
from unbag.challenge_sets.pairs import Pairs, SetOptions
from unbag.challenge_sets.papers import PublishedColumn
from unbag.challenge_sets.requirements import Requirement, UnsuitablePairsError
from unbag.challenge_sets.result import Result
from unbag.challenge_sets.views import examples, figures, tables
from unbag.data.columns import read_numeric_column
from unbag.data.labels import LABELS
from unbag.data.predictions import Columns
from unbag.data.readers import is_hub_id
from unbag.data.sources import PairSource
from unbag.data.text.tokens import SEGMENTER, is_segmenter_required, validate_language
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.compositionality_sensitivity import score_cs_lambda
from unbag.utils import optional_deps
from unbag.utils.options import Fraction, PositiveInt
from unbag.utils.safe_io import validate_file

MISLED = 0.7
"""The λ of the pairs that the skill score uses."""

_PAPER = "Nie et al. 2019"
_MIN_PAIRS = 50  # from 50 pairs the standard error of an accuracy is below 0.1
_REFERENCES = {"human": "one annotator", "majority": "best constant"}


@dataclass
class CsLambdaOptions(SetOptions):
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

    FILES: ClassVar[tuple[str, ...]] = ("train_data", "lexical")

    train_data: Sequence[str] | None = None
    lexical: str | None = None
    pipeline: str | None = None
    max_train_pairs: PositiveInt | None = None
    folds: Annotated[int, Ge(2)] = fitting.FOLDS
    min_lms: Fraction = 0.0
    seed: int = fitting.DEFAULT_SEED

    def validate(self) -> None:
        validate_language(self.sentence_language)
        if not (self.train_data or self.lexical) and self.sentence_language not in fitting.DEFAULT_TRAINING:
            raise UnsuitablePairsError(
                f"train_data: expected training pairs in the language {self.sentence_language!r} for the lexical "
                "model, got none; pass your own files with -o train_data=FILE"
            )
        if self.lexical and (self.train_data or self.pipeline or self.max_train_pairs):
            raise ValueError(
                "lexical: expected either a fitted model (lexical) or options to fit one "
                "(train_data, pipeline, max_train_pairs), got both; omit one of them"
            )


def _define_accuracy(threshold: float, *more_roles: Role) -> MetricDefinition:
    """Define the accuracy on CS_λ for a λ of the paper's Table 5."""
    return MetricDefinition(
        f"accuracy_cs_{threshold:g}",
        f"accuracy, CS_{threshold:g}",
        f"subsets.lambda={threshold:g}.accuracy",
        roles=("quoted", "harness", *more_roles),
        published_columns=(PublishedColumn(_PAPER, "5", f"CS_{threshold:g}"),),
    )


class CsLambda(ChallengeSet):
    """Pairs of a corpus split, with lexically misleading scores (LMS) and the features and probabilities behind them.

    Configs: `<corpus>-<split>`. `data=…` uses your own data. If the corpus is in the lexical model's training data,
    the scores come from cross-fitting.
    """

    name = "cs_lambda"
    title = "CS_λ"
    question = "Is the model correct on pairs whose words suggest a wrong label?"
    paper = "Nie et al. 2019, https://doi.org/10.1609/aaai.v33i01.33016867"
    citation = """@inproceedings{nie-etal-2019-analyzing,
  title = {Analyzing Compositionality-Sensitivity of {NLI} Models},
  author = {Nie, Yixin and Wang, Yicheng and Bansal, Mohit},
  booktitle = {Proceedings of AAAI}, year = {2019}, url = {https://doi.org/10.1609/aaai.v33i01.33016867},
  eprint = {1811.07033}, archivePrefix = {arXiv}}"""
    shuffled = (
        "The gold label of the pair in the original order. The words of these pairs suggest a different label. "
        "Accuracy without word order therefore shows lexical knowledge that the lexical model lacks."
    )
    Options = CsLambdaOptions
    schema = scorer.SCHEMA
    has_two_label_corpora = False
    exclusion_reason = "below λ"
    example_id = "id"  # pairs of one document share a source
    corpus_pairs = {}  # unless `min_lms` selects pairs
    metrics = ("compositionality_sensitivity",)
    score_function = staticmethod(score_cs_lambda)
    columns = ("lms",)
    optional_columns = ("annotator_labels",)
    metric_definitions = (
        MetricDefinition(
            "accuracy",
            "accuracy, all",
            "subsets.lambda=0.accuracy",
            roles=("quoted", "compared", "harness"),
            published_columns=(PublishedColumn(_PAPER, "5", "whole"),),
        ),
        _define_accuracy(0.5),
        _define_accuracy(0.6),
        _define_accuracy(0.7, "compared", "beside_papers"),
        MetricDefinition(
            "drop_cs_0.7",
            "drop, all to CS_0.7",
            "subsets.lambda=0.7.drop",
            higher_is_better=False,
            roles=("quoted",),
            limits=DIFFERENCE,
        ),
    )
    is_accuracy = True
    has_verification = True
    sample = 10_000  # large, since only a few pairs reach λ = 0.7
    # Without these options, tagging a million sentences for the lexical model would dominate the time of the suite.
    sample_options = {"train_data": ("snli",), "max_train_pairs": 20_000}
    sample_options_unless = frozenset({"lexical"})
    sample_options_language = "en"
    evaluation_order = 6
    report_order = 3
    example_rule = (
        f"Up to {examples.PER_KIND} examples of each kind, sorted by the lexical model's probability of a wrong label "
        "(LMS), for wrong and for right predictions. The words of the most misleading features are marked."
    )
    mark_meanings = {"misleads": "misleading words"}

    def rows(self, pairs: Pairs) -> Iterator[pa.Table]:
        models = [fitting.load_lexical_model(folder) for folder in _fit_models(pairs.source, pairs.options)]
        yield from scorer.iter_misleading_example_tables(
            iter(pairs), models, seed=pairs.options.seed, min_lms=pairs.options.min_lms
        )

    def warm_caches(self, source: PairSource, options: Any) -> None:
        _fit_models(source, options)

    def validate_resources(self, options: Any) -> None:
        if is_segmenter_required(options.sentence_language):
            optional_deps.validate_dependency(SEGMENTER)
        if options.lexical and not is_hub_id(options.lexical):
            validate_file(Path(options.lexical) / CONFIG_FILE)

    def iter_requirements(self, options: Any) -> Iterator[Requirement]:
        if options.lexical:
            if is_hub_id(options.lexical):
                yield Requirement(f"the lexical model {options.lexical}", lambda: locate_lexical_model(options.lexical))
            return
        train_data = options.train_data or fitting.DEFAULT_TRAINING[options.sentence_language]
        yield from requirements.iter_train_split_requirements(train_data)
        pipeline = options.pipeline or PIPELINES.get(options.sentence_language, ALL)
        if pipeline != ALL:
            yield requirements.build_pipeline_requirement(pipeline)

    def describe_provenance(self, builder: Any) -> dict[str, Any]:
        [source] = builder.open_sources()
        models = _fit_models(source, builder.config)
        return {
            "lexical_models": [
                json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))["record"] for folder in models
            ]
        }

    def counts_for_skill(self, columns: Columns) -> NDArray[np.bool_]:
        misled: NDArray[np.bool_] = np.asarray(columns["lms"], dtype=np.float64) >= MISLED
        return misled

    def build_table(self, result: Result) -> RenderableType:
        subsets = result.scores["subsets"]
        human = ["human"] if any("human" in subset for subset in subsets) else []
        columns = ("", "n", "accuracy [95 %]", "drop [95 %]", "constant", *human)
        grid = tables.create_result_table(self.title, result, *columns)
        grid.collapse_padding = True  # with intervals, the table fits 80 columns
        for subset in subsets:
            # The subset λ = 0 is the whole set, so that its drop would always be 0.
            drop = tables.format_interval(subset["drop"]) if subset["lambda"] else ""
            others = (tables.format_value(subset.get(name)) for name in ("majority", *human))
            accuracy = tables.format_interval(subset["accuracy"])
            grid.add_row(_get_name(subset), f"{subset['n']:,}", accuracy, drop, *others)
        note = f"{tables.summarize_exclusions(result.data)}. "
        if models := result.config.get("lexical_models"):
            names = ", ".join(f"{part['origin']} {part['split']}".strip() for part in models[0]["training"])
            folds = f", in {len(models)} folds" if len(models) > 1 else ""
            note += f"Lexical model: {models[0]['pairs']:,} pairs of {names}{folds}."
        return tables.add_notes(grid, note)

    def summarize_result(self, result: Result) -> str:
        subsets = result.scores["subsets"]
        hardest = next((subset for subset in subsets if subset["lambda"] == MISLED), None)
        if hardest is None or hardest["n"] < _MIN_PAIRS:
            pairs = 0 if hardest is None else hardest["n"]
            return (
                f"too few misleading pairs: {pairs:,} of {subsets[0]['n']:,} pairs are in CS_{MISLED:g}, {_MIN_PAIRS} "
                "are needed."
            )
        accuracy, majority = hardest["accuracy"], hardest["majority"]
        label = result.scores["labels"][hardest["majority_label"]]
        return (
            f"with misleading lexical cues (λ = {hardest['lambda']:g}), correct on "
            f"{tables.format_percentage(accuracy)} of {accuracy.n:,} pairs (always {label}: "
            f"{tables.format_points(majority.value)} %); compared with all pairs, "
            f"{tables.describe_accuracy_drop(hardest['drop'])}."
        )

    def iter_set_metrics(self, scores: Any) -> Iterator[tuple[str, str, Estimate]]:
        for subset in scores["subsets"]:
            name = _get_name(subset)
            yield name, f"accuracy on {subset['n']:,} pairs", subset["accuracy"]
            if subset["lambda"]:
                yield f"{name} drop", f"accuracy on all pairs minus accuracy on {name}", subset["drop"]
            yield f"{name} majority", "accuracy of always predicting the most frequent label", subset["majority"]
            if "human" in subset:
                yield f"{name} human", "accuracy of one annotator, drawn at random", subset["human"]

    def build_figures(self, group: figures.ResultGroup) -> Iterator[figures.Figure | None]:
        scores, references = group.scored_models[0].result.scores, []
        for number, (key, name) in enumerate(_REFERENCES.items()):
            if key in scores["subsets"][0]:
                points = tuple(figures.FigurePoint(*point) for point in _iter_points(scores, key))
                references.append(figures.FigureSeries(name, points, is_reference=True, reference_index=number))
        yield figures.build_group_figure(
            group,
            lambda scores: _iter_points(scores, "accuracy"),
            kind="curve",
            references=references,
            title="Accuracy by λ",
            about="λ is the lowest LMS of a pair: the lexical model's probability of a wrong label. λ = 0 includes all "
            "pairs, λ = 0.7 the most misleading ones.",
            x="λ",
        )

    def select_examples(self, pairs: examples.PredictedPairs) -> Iterator[examples.ReportExample]:
        lms = read_numeric_column(pairs.rows, "lms").astype(np.float64)
        return self.iter_wrong_and_right(pairs, "most misleading,", lms)

    def select_short_examples(self, pairs: examples.PredictedPairs) -> Iterator[examples.ReportExample]:
        is_misled = self.counts_for_skill({"lms": read_numeric_column(pairs.rows, "lms")})
        return self.iter_shortest(pairs, "words mislead", is_misled)

    def build_example(self, pairs: examples.PredictedPairs, kind: str, index: int) -> examples.ReportExample:
        row = pairs.get_row(index)
        lines = examples.build_pair_lines(
            row,
            lambda side: examples.mark_phrases(row[side], [feature[side] for feature in row["misleading"]], "misleads"),
        )
        probabilities = {label: row[f"lexical_{label}"] for label in LABELS}
        # A tie goes to the first label in the order of `LABELS`.
        likeliest = max(probabilities, key=probabilities.__getitem__)
        features = ", ".join(map(_describe_feature, row["misleading"]))
        note = f"lexical model: {likeliest} ({probabilities[likeliest]:.2f}); most misleading: {features}"
        return pairs.build_example(kind, index, lines, note)


def _fit_models(source: PairSource, options: Any) -> tuple[Path, ...]:
    """Fit the lexical models of the folds or find fitted ones, and return their folders."""
    if options.lexical:
        return (locate_lexical_model(options.lexical, test_source=source),)
    recipe = fitting.LexicalTrainingOptions(
        tuple(options.train_data) if options.train_data else None,
        source.language,
        options.pipeline,
        BY_CONTEXT,
        max_train_pairs=options.max_train_pairs,
        seed=options.seed,
    )
    # With several folds, no model scores a pair that it was fitted on.
    return tuple(scorer.fit_or_load_scorer_models(recipe, source, n_folds=options.folds))


def _get_name(subset: dict[str, Any]) -> str:
    return f"CS_{subset['lambda']:g}" if subset["lambda"] else "all"


def _iter_points(scores: Any, key: str) -> Iterator[tuple[float | str, Estimate]]:
    # High values of λ may have no pair in a small sample.
    return ((subset["lambda"], subset[key]) for subset in scores["subsets"] if subset["n"])


def _describe_feature(feature: dict[str, Any]) -> str:
    premise, hypothesis = feature["premise"], feature["hypothesis"]
    if premise and hypothesis:
        name = f"{premise} → {hypothesis}"
    else:
        name = f"{premise} (premise)" if premise else f"{hypothesis} (hypothesis)"
    return f"{name} {feature['logit']:+.1f}"
