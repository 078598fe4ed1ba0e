"""ReSNLI set: a corpus rearranged so that a bag of words is least certain about the test labels."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import RenderableType

from unbag.baselines.lexical import embeddings
from unbag.baselines.lexical.predictors import BASELINES
from unbag.baselines.lexical.rearrangement import (
    SPLITS,
    Rearrangement,
    SeparablePairsError,
    fit_mean_embedding_model,
    rearrange_examples,
)
from unbag.challenge_sets.base import DIFFERENCE, ChallengeSet, MetricDefinition
from unbag.challenge_sets.build_stats import ANNOTATED, LABELLED
from unbag.challenge_sets.pairs import SetOptions
from unbag.challenge_sets.papers import PublishedColumn
from unbag.challenge_sets.perturbations.permutation import DEFAULT_SEED
from unbag.challenge_sets.requirements import Requirement, UnsuitablePairsError, build_embeddings_requirement
from unbag.challenge_sets.result import Result
from unbag.challenge_sets.views import examples, figures, tables
from unbag.data.columns import PAIR, declare_float_field, iter_tables, read_numeric_column, round_to_field
from unbag.data.corpora import CORPORA
from unbag.data.labels import LABELS, get_label_id
from unbag.data.predictions import Columns
from unbag.data.sources import PairSource, compute_source_id
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.uncertainty_partitions import find_unseen_rows, score_resnli
from unbag.utils.options import NonNegativeInt, PositiveInt
from unbag.utils.safe_io import DataError

_PAPER = "ReSNLI 2019"
_UNKNOWN = "The model's training data are unknown and may include any of these pairs."
_UNCERTAINTY = declare_float_field("uncertainty", 7)
_SCHEMA = pa.schema([*PAIR, ("source_split", pa.string()), _UNCERTAINTY, ("partition", pa.int32())])
_SHARE = 10  # default for user-provided data: one tenth of the pairs each for test and validation
_BATCH = 5000  # rows per table
_BAR = 30  # characters of a bar for an accuracy of 1


Span = tuple[int, int, int | None, int]
"""Span of rows: index of the source, first row, end (exclusive), and index of the first example among all examples."""


@dataclass
class ResnliOptions(SetOptions):
    """Sizes of the rearranged splits, and the word embeddings that determine the order of the pairs.

    Attributes:
        embeddings: Word embeddings: a Hub model or a folder, a spaCy pipeline, or a text file of word vectors
            (`unbag.baselines.lexical.embeddings.find_embeddings`). Default: a model for English.
        test_size: Number of examples in the test split (default: the size of the corpus's test split, or one tenth).
        validation_size: Number of examples in the validation split (default: as for `test_size`).
        seed: Random seed for sampling validation examples.
    """

    FILES: ClassVar[tuple[str, ...]] = ("embeddings",)

    embeddings: str = ""
    test_size: PositiveInt | None = None
    validation_size: NonNegativeInt | None = None
    seed: int = DEFAULT_SEED

    def validate(self) -> None:
        if self.corpus and self.source_split is not None:
            raise ValueError(
                f"source_split: expected none, since all splits of {self.corpus} are merged, got {self.source_split!r}"
            )
        if self.sentence_language != "en" and not self.embeddings:
            raise UnsuitablePairsError(
                f"embeddings: expected embeddings for the language {self.sentence_language!r}, got none (the default "
                "is for English); set embeddings, such as 'google-bert/bert-base-chinese' or a file of word vectors"
            )


class Plan(NamedTuple):
    """Assignment of n examples to splits and partitions, and the split to build."""

    split: int  # index in `SPLITS`
    uncertainty: NDArray[np.float64]  # rounded uncertainty of each example, shape (n,)
    rearrangement: Rearrangement


class Resnli(ChallengeSet):
    """All labelled pairs of a corpus in rearranged train, validation and test splits.

    Configs: `<corpus>` merges all of its splits. `data=…` uses your own data; a Hub dataset may name several splits
    (`source_split="train+test"`).
    """

    name = "resnli"
    title = "ReSNLI"
    question = "Is the model correct on pairs whose words reveal least about the label?"
    paper = "anonymous EMNLP-IJCNLP submission 2019"
    citation = """@misc{resnli-2019-refining,
  title = {Refining Models' Inference Ability Independent of Simple Bag-of-Word Statistics in {N}atural {L}anguage
    {I}nference},
  note = {Anonymous EMNLP-IJCNLP submission}, year = {2019}}"""
    shuffled = (
        "The gold label of the pair in the original order. The mean word embedding hardly predicts this label. "
        "Accuracy without word order therefore shows other lexical knowledge."
    )
    Options = ResnliOptions
    schema = _SCHEMA
    corpus_languages = ("en", "zh")  # with tested embeddings
    has_two_label_corpora = False
    evaluation_split = "test"
    exclusion_reason = "in the other splits"
    example_id = "id"  # pairs of one document share a source
    metrics = ("uncertainty_partitions",)
    score_function = staticmethod(score_resnli)
    columns = ("partition",)
    optional_columns = ("source_split",)
    metric_definitions = (
        # Most test pairs come from the corpus's training split, which most models were trained on. The paper's models
        # were not trained on them.
        MetricDefinition(
            "accuracy_unseen",
            "accuracy, pairs not from train",
            "unseen",
            roles=("quoted", "compared", "beside_papers"),
            published_columns=(PublishedColumn(_PAPER, "3", "ReSNLI", "snli"),),
            meaning="pairs from the corpus's other splits; a model may have been trained on these too",
        ),
        MetricDefinition(
            "accuracy",
            "accuracy, all pairs",
            roles=("quoted", "harness"),
            meaning="includes pairs from train, which a model may have been trained on",
        ),
        MetricDefinition(
            "accuracy_easiest",
            "accuracy, easiest partition",
            "easiest",
            roles=("quoted", "harness"),
            meaning="pairs whose words give the label away most",
        ),
        MetricDefinition(
            "accuracy_hardest",
            "accuracy, hardest partition",
            "hardest",
            roles=("quoted", "harness"),
            meaning="pairs whose words give the label away least",
        ),
        MetricDefinition(
            "drop",
            "drop, easiest to hardest",
            higher_is_better=False,
            limits=DIFFERENCE,
            meaning="accuracy on the easiest minus accuracy on the hardest partition",
        ),
    )
    is_accuracy = True
    has_verification = True
    corpus_pairs = {}
    sample = 2000  # a hundred in each partition
    evaluation_order = 7
    report_order = 4
    example_rule = (
        f"Up to {examples.PER_KIND} examples of each kind, sorted by how little the words give the label away (u')."
    )

    def open_sources(self, builder: Any) -> list[PairSource]:
        if not builder.config.corpus:
            parts = (builder.config.source_split or "").split("+")
            return [builder.open_pairs(part or None) for part in parts]
        base = CORPORA[builder.config.corpus]
        splits = (*base.train, *base.validation, *base.test)
        return [builder.open_pairs(split) for split in splits]

    def iter_requirements(self, options: Any) -> Iterator[Requirement]:
        yield build_embeddings_requirement(options.embeddings or embeddings.DEFAULT)

    def describe_provenance(self, builder: Any) -> dict[str, Any]:
        name = builder.config.embeddings or embeddings.DEFAULT
        return {"embeddings": embeddings.compute_embedding_table_identity(name)}

    def plan_splits(self, builder: Any, sources: Sequence[PairSource]) -> dict[str, tuple[list[Any], Any]]:
        """Read all pairs once, fit the lexical model, and assign each pair to a split and a partition."""
        config = builder.config
        table = embeddings.load_embeddings(config.embeddings or embeddings.DEFAULT, language=sources[0].language)
        spans: list[Span] = []
        labels: list[int] = []
        ids: dict[str, None] = {}  # an ordered set
        read: Counter[str] = Counter()
        labelled: Counter[str] = Counter()  # by split of the source

        def pairs() -> Iterator[tuple[str, str]]:
            for number, source in enumerate(sources):
                for start, stop in source.spans:
                    spans.append((number, start, stop, len(labels)))
                    for example in source.iter_examples(start, stop, counts=read):
                        if example.source_id in ids:
                            raise DataError(
                                f"{source.name}, split {source.split}: expected unique ids over all splits, got "
                                f"{example.source_id!r} twice; number the rows instead (--columns id=)"
                            )
                        ids[example.source_id] = None
                        labels.append(get_label_id(example.label))
                        labelled[source.split] += 1
                        read[ANNOTATED] += bool(example.annotators)
                        yield example.premise, example.hypothesis

        counts = table.count_tokens(pairs())
        builder.save_row_counts({**read, LABELLED: len(labels)})
        _require_each_label(labels, sources[0].name)
        gold = np.array(labels, dtype=np.int64)
        try:
            fitted = fit_mean_embedding_model(counts, table.vectors, gold)
        except SeparablePairsError as error:
            raise UnsuitablePairsError(str(error)) from None
        uncertainty = round_to_field(fitted.compute_uncertainty(counts, gold), _UNCERTAINTY)
        k_te, k_dv = _choose_sizes(config, labelled)
        plan = rearrange_examples(uncertainty, list(ids), k_te, k_dv, seed=config.seed)
        present = set(plan.split.tolist())
        return {name: (spans, Plan(code, uncertainty, plan)) for code, name in enumerate(SPLITS) if code in present}

    def iter_planned_tables(self, sources: Sequence[PairSource], spans: list[Any], plan: Any) -> Iterator[pa.Table]:
        rearrangement = plan.rearrangement
        rows = (
            {
                "id": example.source_id,
                "source_id": compute_source_id(example),
                "premise": example.premise,
                "hypothesis": example.hypothesis,
                "label": get_label_id(example.label),
                "source_split": sources[number].split,
                "uncertainty": float(plan.uncertainty[i]),
                "partition": int(rearrangement.partition[i]),
            }
            for number, start, stop, first in spans
            for i, example in enumerate(sources[number].iter_examples(start, stop), start=first)
            if rearrangement.split[i] == plan.split
        )
        return iter_tables(rows, _SCHEMA, size=_BATCH)

    def counts_for_skill(self, columns: Columns) -> NDArray[np.bool_]:
        """Compute a mask of the rows outside the training splits, shape (n,). If there are none, select all rows."""
        unseen = find_unseen_rows(columns)
        return unseen if unseen.any() else np.ones(len(unseen), dtype=np.bool_)

    def build_table(self, result: Result) -> RenderableType:
        scores = result.scores
        grid = tables.create_result_table(self.title, result, "", "accuracy [95 %]", "")
        grid.columns[-1].justify = "left"
        grid.add_row("all", tables.format_interval(scores["accuracy"]), _draw_bar(scores["accuracy"]))
        if "unseen" in scores:
            unseen = scores["unseen"]
            grid.add_row("… not from train", tables.format_interval(unseen), _draw_bar(unseen), end_section=True)
        n = scores["n_partitions"]
        for row in scores["by_partition"]:
            number, accuracy = row["partition"], row["accuracy"]
            end = "  easiest" if number == 0 else "  hardest" if number == n - 1 else ""
            grid.add_row(f"{number:>2}{end}", tables.format_interval(accuracy), _draw_bar(accuracy))
        grid.add_section()
        grid.add_row("drop, easiest to hardest", tables.format_interval(scores["drop"]))
        grid.add_row("rank correlation", tables.format_value(Estimate(scores["rank_correlation"], None, None, n)))
        partitions = f"{n} partition{'' if n == 1 else 's'}"
        if total := scores.get("set_partitions"):
            partitions += f" (each joins {total // n} of the set's {total}, since there are too few examples)"
        note = f"{scores['n_examples']:,} examples in {partitions}, of {tables.summarize_exclusions(result.data)}."
        if trained_on := result.model.get("training"):
            note += f" Trained on {trained_on}."
        return tables.add_notes(grid, note)

    def summarize_result(self, result: Result) -> str:
        scores = result.scores
        accuracy = scores.get("unseen", scores["accuracy"])
        pairs = f"the {accuracy.n:,} pairs not from train" if "unseen" in scores else f"all {accuracy.n:,} pairs"
        easiest, hardest = scores["easiest"], scores["hardest"]
        ends = (
            f"{tables.format_points(easiest.value)} % on the easiest partition and "
            f"{tables.format_points(hardest.value)} % on the hardest"
        )
        # In a complete set the sizes differ by at most one pair, in a sample by more.
        is_even = abs(easiest.n - hardest.n) <= 1
        sizes = f"{hardest.n:,} pairs each" if is_even else f"{easiest.n:,} and {hardest.n:,} pairs"
        # The training data of our baselines are known, even if there are none.
        is_known = bool(result.model.get("training")) or result.model["name"] in BASELINES
        return (
            f"correct on {tables.format_percentage(accuracy)} of {pairs}; {ends} ({sizes}): "
            f"{tables.describe_accuracy_drop(scores['drop'])}.{'' if is_known else ' ' + _UNKNOWN}"
        )

    def build_figures(self, group: figures.ResultGroup) -> Iterator[figures.Figure | None]:
        yield figures.build_group_figure(
            group,
            lambda scores: ((row["partition"], row["accuracy"]) for row in scores["by_partition"]),
            kind="curve",
            title="Accuracy by partition",
            about="Partitions are numbered by difficulty: in partition 0, the words reveal the label most clearly.",
            x="partition",
        )

    def select_examples(self, pairs: examples.PredictedPairs) -> Iterator[examples.ReportExample]:
        uncertainty = read_numeric_column(pairs.rows, "uncertainty").astype(np.float64)
        return self.iter_wrong_and_right(pairs, "hardest,", uncertainty)

    def select_short_examples(self, pairs: examples.PredictedPairs) -> Iterator[examples.ReportExample]:
        partition = read_numeric_column(pairs.rows, "partition")
        # A sample joins partitions, so that their number is only known from the rows.
        harder = 2 * partition >= partition.max()
        return self.iter_shortest(pairs, "words give little away", harder & self.compute_skill_score_mask(pairs.rows))

    def build_example(self, pairs: examples.PredictedPairs, kind: str, index: int) -> examples.ReportExample:
        row = pairs.get_row(index)
        note = f"u' {row['uncertainty']:.3f}, partition {row['partition']}"
        return pairs.build_example(kind, index, examples.build_pair_lines(row), note)


def _draw_bar(accuracy: Estimate) -> str:
    return "█" * round((accuracy.value or 0) * _BAR)


def _choose_sizes(config: Any, labelled: Mapping[str, int]) -> tuple[int, int]:
    """Compute the sizes of the test and validation splits from the labelled examples of each source split."""
    k_te = k_dv = max(1, sum(labelled.values()) // _SHARE)
    if config.corpus:
        base = CORPORA[config.corpus]
        k_te, k_dv = (sum(labelled[split] for split in splits) for splits in (base.test, base.validation))
    return (
        k_te if config.test_size is None else config.test_size,
        k_dv if config.validation_size is None else config.validation_size,
    )


def _require_each_label(labels: list[int], where: str) -> None:
    """Validate that each of the three labels occurs, since the lexical model is fitted to all of them."""
    counts = ", ".join(f"{labels.count(get_label_id(name)):,} {name}" for name in LABELS)
    if labels and len(set(labels)) < len(LABELS):
        raise UnsuitablePairsError(
            f"{where}: expected pairs with all three labels, since resnli sorts pairs by how well their words predict "
            f"each label, got {counts}; add pairs of the missing label, or choose other sets"
        )
