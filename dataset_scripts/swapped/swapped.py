"""Swapped set: NLI pairs, and neutral pairs and contradictions with premise and hypothesis exchanged."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import RenderableType

from unbag.challenge_sets.base import DIFFERENCE, ChallengeSet, MetricDefinition
from unbag.challenge_sets.pairs import Pairs
from unbag.challenge_sets.papers import PublishedColumn
from unbag.challenge_sets.result import Result
from unbag.challenge_sets.views import examples, figures, tables
from unbag.data.columns import read_column, read_numeric_column
from unbag.data.labels import ENTAILMENT, get_label_id
from unbag.data.predictions import Columns, SetPredictions
from unbag.scoring.skill import RowScores
from unbag.scoring.swap_consistency import score_swapped

_PAPER = "ReSNLI 2019"


class Swapped(ChallengeSet):
    """All pairs of a corpus split, and a copy of each neutral or contradiction pair with the two sentences swapped.

    Configs: `<corpus>-<split>`. `data=…` uses your own data.
    """

    name = "swapped"
    title = "Swapped"
    question = "Does the prediction stay the same when both sentences are exchanged?"
    paper = "Wang, Sun & Xing 2019, https://doi.org/10.1609/aaai.v33i01.33017136"
    citation = """@inproceedings{wang-etal-2019-swap,
  title = {What If We Simply Swap the Two Text Fragments? {A} Straightforward yet Effective Way to Test the Robustness
    of Methods to Confounding Signals in Nature Language Inference Tasks},
  author = {Wang, Haohan and Sun, Da and Xing, Eric P.},
  booktitle = {Proceedings of AAAI}, year = {2019}, url = {https://doi.org/10.1609/aaai.v33i01.33017136},
  eprint = {1809.02719}, archivePrefix = {arXiv}}"""
    shuffled = (
        "The gold label of the exchanged pair in the original word order. Without word order, a pair and the "
        "exchanged pair differ only in the words on each side."
    )
    own_columns = {"swapped": "bool"}
    tokenizes = False
    has_two_label_corpora = False
    metrics = ("swap_consistency",)
    score_function = staticmethod(score_swapped)
    columns = ("source_id", "swapped")
    # Over neutral pairs and contradictions, which are exchanged; the last one over the whole set.
    metric_definitions = (
        MetricDefinition(
            "accuracy_before",
            "accuracy, as given",
            roles=("quoted", "harness"),
            meaning="of neutral pairs and contradictions",
        ),
        MetricDefinition(
            "accuracy_after", "accuracy, exchanged", roles=("quoted", "harness"), meaning="of the same pairs"
        ),
        MetricDefinition(
            "drop",
            "drop",
            higher_is_better=False,
            limits=DIFFERENCE,
            meaning="accuracy as given minus accuracy exchanged",
        ),
        MetricDefinition("agreement", "same prediction both ways", meaning="share of the same pairs"),
        MetricDefinition(
            "accuracy_after_whole",
            "accuracy on the whole set, Table 1",
            "overall.accuracy_after",
            roles=("beside_papers",),
            published_columns=(PublishedColumn(_PAPER, "1", "after", "snli"),),
            meaning="these pairs exchanged, entailment pairs as given",
        ),
    )
    corpus_pairs = {"swapped": False}
    evaluation_order = 2
    report_order = 5
    example_rule = (
        f"Up to {examples.PER_KIND} examples of each kind, sorted by the mean probability of the two predictions. The "
        "exchanged pair is shown with both predictions."
    )

    def rows(self, pairs: Pairs) -> Iterator[dict[str, Any]]:
        """Build one row per pair, and a second row with premise and hypothesis exchanged (ReSNLI paper, 5.2).

        Neutral and contradiction are taken to hold in both orders. Entailment need not, so an entailment pair has no
        second row.
        """
        for name, premise, hypothesis, label, *_ in pairs:
            shared = {"source_id": name, "label": get_label_id(label)}
            yield {"id": name, "premise": premise, "hypothesis": hypothesis, "swapped": False, **shared}
            if label != ENTAILMENT:
                yield {"id": f"{name}#swapped", "premise": hypothesis, "hypothesis": premise, "swapped": True, **shared}

    def counts_for_skill(self, columns: Columns) -> NDArray[np.bool_]:
        return np.asarray(columns["swapped"], dtype=np.bool_)

    def score_examples(self, columns: Columns, predictions: SetPredictions) -> RowScores:
        """Compute the row scores: 1 if the prediction is correct after the sentences are exchanged, else 0.

        There is one row score per pair. Pairs without an exchanged row do not count.
        """
        swapped = np.asarray(columns["swapped"], dtype=np.bool_)
        gold = predictions.to_label_positions(columns["label"])
        right = predictions.predicted == gold
        # As objects: a fixed-width string array would take the length of the longest id for each.
        names = np.array(columns["source_id"], dtype=object)
        after = dict(zip(names[swapped], right[swapped], strict=True))
        counts = np.array([name in after for name in names[~swapped]], dtype=np.bool_)
        row_scores = np.array([after.get(name, False) for name in names[~swapped]])
        return RowScores(row_scores, gold[~swapped], range(len(row_scores)), is_counted=counts)

    def build_table(self, result: Result) -> RenderableType:
        scores = result.scores
        columns = ("accuracy", "as given", "exchanged", "drop [95 %]", "same prediction")
        grid = tables.create_result_table(self.title, result, *columns)
        grid.collapse_padding = True  # with intervals, the table fits 80 columns
        parts = {"both labels": scores, **{f"  {name}": part for name, part in scores["by_label"].items()}}
        for name, part in parts.items():
            before, after, agreement = (
                tables.format_value(part[key]) for key in ("accuracy_before", "accuracy_after", "agreement")
            )
            grid.add_row(name, before, after, tables.format_interval(part["drop"]), agreement)
        whole = (tables.format_value(scores["overall"][key]) for key in ("accuracy_before", "accuracy_after", "drop"))
        note = (
            f"{tables.summarize_exclusions(result.data)}. Entailment pairs ({scores['n_excluded']:,}) are not "
            "exchanged. Accuracy on all pairs, with these in the original order (Table 1): {} before, {} after, drop "
            "{}."
        )
        return tables.add_notes(grid, note.format(*whole))

    def summarize_result(self, result: Result) -> str:
        scores = result.scores
        if scores["drop"].value is None:
            return "no pair is neutral or a contradiction."
        before, after = scores["accuracy_before"], scores["accuracy_after"]
        return (
            f"correct on {tables.format_percentage(before)} of {after.n:,} neutral pairs and contradictions as given, "
            f"and on {tables.format_percentage(after)} with premise and hypothesis exchanged: "
            f"{tables.describe_accuracy_drop(scores['drop'])}; "
            f"{tables.format_points(scores['agreement'].value)} % have the same prediction both times."
        )

    def build_figures(self, group: figures.ResultGroup) -> Iterator[figures.Figure | None]:
        yield figures.build_group_figure(
            group,
            lambda scores: (
                (f"{label}, {order}", accuracies[key])
                for label, accuracies in scores["by_label"].items()
                for order, key in (("as given", "accuracy_before"), ("exchanged", "accuracy_after"))
            ),
            title="Accuracy as given and exchanged",
            about="The closer the two dots of a label, the less the model depends on the order of the two sentences.",
            x="gold label",
        )

    def select_examples(self, pairs: examples.PredictedPairs) -> Iterator[examples.ReportExample]:
        originals = _find_originals(pairs.rows)
        after, before = (np.array(list(indices), dtype=np.int64) for indices in (originals, originals.values()))
        # Rows without an exchanged copy are never selected, so that their key has no effect.
        key = np.zeros(len(pairs.right))
        key[after] = examples.round_probability((pairs.confidence[after] + pairs.confidence[before]) / 2)
        kinds = (
            ("right, then wrong", pairs.right[before] & ~pairs.right[after]),
            ("wrong, then right", ~pairs.right[before] & pairs.right[after]),
            ("wrong both times", ~pairs.right[before] & ~pairs.right[after]),
        )
        for kind, wanted in kinds:
            for index in examples.select_top_rows(after[wanted], key):
                yield _build_example(pairs, kind, index, originals[index])

    def select_short_examples(self, pairs: examples.PredictedPairs) -> Iterator[examples.ReportExample]:
        originals = _find_originals(pairs.rows)
        for index in pairs.select_shortest(np.array(list(originals), dtype=np.int64)):
            yield _build_example(pairs, "exchanged", index, originals[index])


def _find_originals(rows: Any) -> dict[int, int]:
    """Map the index of each exchanged row to that of the same pair as given."""
    names, swapped = read_column(rows, "source_id").to_pylist(), read_numeric_column(rows, "swapped").astype(bool)
    # By source, since the rows of a pair need not be adjacent.
    as_given = {names[index]: index for index in np.flatnonzero(~swapped).tolist()}
    return {index: as_given[names[index]] for index in np.flatnonzero(swapped).tolist()}


def _build_example(pairs: examples.PredictedPairs, kind: str, index: int, was: int) -> examples.ReportExample:
    lines = examples.build_pair_lines(pairs.get_row(index))
    return pairs.build_example(kind, index, lines, before=pairs.get_prediction(was, "as given"), where="exchanged")
