"""Report of SICCK: terminal table, metrics, figures and examples."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unbag.challenge_sets.results import Result
from unbag.challenge_sets.sicck import SET
from unbag.challenge_sets.sicck.scores import map_four_way_label
from unbag.challenge_sets.views.examples import (
    PER_KIND,
    PredictedPairs,
    ReportExample,
    TextMark,
    build_pair_lines,
    mark_phrases,
    select_top_rows,
)
from unbag.challenge_sets.views.figures import Figure, ResultGroup, build_group_figure
from unbag.challenge_sets.views.tables import (
    create_result_table,
    create_table,
    format_interval,
    format_value,
    summarize_exclusions,
)
from unbag.data.columns import read_column, read_numeric_column
from unbag.data.labels import CONTRADICTION, FORWARD_ENTAILMENT, NEUTRAL, REVERSE_ENTAILMENT
from unbag.data.predictions import SetPredictions
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.natural_logic import MEASURES, apply_reverse_rule

_TYPES: Final = {
    "universal": "universal quantifiers",
    "existential": "existential quantifiers",
    "negation": "negation",
    "adjective/adverb": "adjectives, adverbs",
}
_PARTS: Final = {
    "subject": "subject modified",
    "verb": "verb modified",
    "object": "object modified",
    "subject+object": "subject, object modified",
    "verb+object": "verb, object modified",
}
_NEUTRAL: Final = {
    ("modifier_type", "negation"): "negation",
    ("modifier_type+part", "negation+subject"): "  subject",
    ("modifier_type+part", "negation+verb"): "  verb",
    ("modifier_type+part", "negation+object"): "  object",
    ("modifier_type+part", "universal+verb"): "universal, verb",
}
"""Groups whose neutral pairs are analysed in Table 10 and section 5."""
_MIN_PAIRS: Final = 100  # from 100 pairs the standard error of a share is below .05


def build_table(result: Result) -> RenderableType:
    """Build the table of metrics by modifier type and modified part, and the table of predictions for neutral pairs."""
    scores = result.scores
    grid = create_result_table(SET.title, result, "", "F1", "precision", "recall", "accuracy", "pairs")
    overall = [scores[name] for name in MEASURES]
    grid.add_row("all", *map(format_value, overall), f"{scores['n_examples']:,}")
    for column, names in (("modifier_type", _TYPES), ("part", _PARTS)):
        grid.add_section()
        for name, words in names.items():
            if name in (groups := scores["by"][column]):
                group = groups[name]
                grid.add_row(words, *(format_value(group[measure]) for measure in MEASURES), f"{group['accuracy'].n:,}")
    neutral = _neutral(scores["by"])
    values = f"F1 {format_interval(scores['f1'])}, accuracy {format_interval(scores['accuracy'])}"
    about = f"{values}, with 95 % intervals over the seeds. Seeds: {summarize_exclusions(result.data)}"
    return Group(grid, *neutral, Text(about, style="dim"))


def _neutral(by: Mapping[str, Any]) -> Iterator[Table]:
    """Build the table of the predictions for neutral pairs, if there are neutral pairs."""
    grid = create_table(
        "Neutral pairs and their predicted labels (Table 10, section 5)",
        *("", "pairs", "neutral", "wrong", "contradiction", "forward", "reverse"),
    )
    for (column, name), words in _NEUTRAL.items():
        confusion = by.get(column, {}).get(name, {}).get("confusion", {})
        answers = confusion.get(NEUTRAL, {})
        if n := sum(answers.values()):
            pairs = sum(sum(each.values()) for each in confusion.values())
            wrong = n - answers.get(NEUTRAL, 0)
            others = (answers.get(label, 0) for label in (CONTRADICTION, FORWARD_ENTAILMENT, REVERSE_ENTAILMENT))
            grid.add_row(words, *(f"{each:,}" for each in (pairs, n)), f"{wrong / n:.1%}", *map(str, others))
    if grid.row_count:
        yield grid


def _constant_f1(by_label: Mapping[str, Any]) -> float:
    """Compute the macro F1 of the best constant prediction.

    A constant prediction of a label with a share s of the pairs has precision s and recall 1 on that label, hence an
    F1 of 2s / (1 + s), and 0 on all others.
    """
    gold = [each["gold"] for each in by_label.values() if each["gold"]]
    if not gold:
        return 0.0
    share = max(gold) / sum(gold)
    return float(2 * share / (1 + share) / len(gold))


def summarize_result(result: Result) -> str:
    """Summarize macro F1, the macro F1 of the best constant prediction, and the best and worst type of modifier."""
    scores = result.scores
    pairs = f"{scores['n_examples']:,} pairs (the best constant prediction: {_constant_f1(scores['by_label']):.2f})"
    f1 = f"macro F1 {format_interval(scores['f1'])} on {pairs}"
    groups = {name: scores["by"]["modifier_type"].get(name) for name in _TYPES}
    large = {name: group["f1"] for name, group in groups.items() if group is not None and group["f1"].n >= _MIN_PAIRS}
    if len(large) < 2:
        return f"{f1}."
    best, worst = (pick(large, key=lambda name: large[name].value) for pick in (max, min))
    kinds = (
        f"{word} for {_TYPES[name]} ({large[name].value:.2f} on {large[name].n:,})"
        for word, name in (("highest", best), ("lowest", worst))
    )
    return f"{f1}; {', '.join(kinds)}."


_GROUPS: Final = {"modifier_type": "type of modifier", "part": "modified part", "modifier": "modifier"}
_NONE: Final = "none"
_NAMES: Final = {"f1": "macro F1", "precision": "macro precision", "recall": "macro recall"}
_MEANING: Final = {"accuracy": "share of correct pairs"}


def iter_set_metrics(scores: Any) -> Iterator[tuple[str, str, Estimate]]:
    """Iterate over macro F1, precision, recall and accuracy on all pairs."""
    for name in MEASURES:
        yield _NAMES.get(name, name), _MEANING.get(name, "mean over the labels"), scores[name]


def build_figures(group: ResultGroup) -> list[Figure | None]:
    """Build figures of macro F1 by type of modifier and by modified part, and of accuracy by modifier."""
    return [
        build_group_figure(
            group,
            _points(column),
            title=f"{'Macro F1' if column != 'modifier' else 'Accuracy'} by {name}",
            about="Four-way labels are derived by the reverse rule. Lines are 95 % intervals over the seeds.",
            x=name,
            y="macro F1" if column != "modifier" else "accuracy",
            kind="dots",
        )
        for column, name in _GROUPS.items()
    ]


def _points(column: str) -> Callable[[Any], Iterator[tuple[float | str, Estimate]]]:
    # The pairs of one modifier have only one or two of the labels, and the macro F1 over few labels is unstable.
    measure = "accuracy" if column == "modifier" else "f1"

    def points(scores: Any) -> Iterator[tuple[float | str, Estimate]]:
        for name, measures in scores["by"][column].items():
            if name != _NONE:
                yield name, measures[measure]

    return points


_PER_MODIFIER: Final = 2
EXAMPLE_RULE: Final = (
    f"Up to {PER_KIND} pairs of each kind, at most {_PER_MODIFIER} per modifier, sorted by the probability of the "
    "three-way prediction that determines the four-way one. The modifier is marked."
)
MARK_MEANINGS: Final[Mapping[str, str]] = {"modifier": "the modifier"}
"""Meaning of marked words, by the kind of mark."""


def select_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Select the most confident wrong and correct four-way predictions.

    A four-way prediction combines the predictions for both orders of the two sentences.
    """
    both_ways = _BothWays(rows, predictions)
    forth, modifiers = both_ways.forth, read_column(rows, "modifier").to_pylist()
    right = both_ways.predictions[forth] == both_ways.gold[forth]
    for kind, wanted in (("most confident wrong", ~right), ("most confident right", right)):
        for index in select_top_rows(
            forth[wanted], both_ways.pairs.confidence, per_group=_PER_MODIFIER, groups=modifiers
        ):
            yield both_ways.example(kind, index)


def select_short_examples(rows: Any, predictions: SetPredictions) -> Iterator[ReportExample]:
    """Iterate over the shortest pairs that have a four-way label."""
    both_ways = _BothWays(rows, predictions)
    for index in both_ways.pairs.select_shortest(both_ways.forth):
        yield both_ways.example("modified", index)


class _BothWays:
    """The pairs with a four-way label, and the four-way predictions derived from both orders of each pair."""

    def __init__(self, rows: Any, predictions: SetPredictions) -> None:
        self.pairs = PredictedPairs(rows, predictions)
        reverse = read_numeric_column(rows, "reverse").astype(bool)
        names, gold = read_column(rows, "pair").to_pylist(), read_column(rows, "four_way").to_pylist()
        back = {names[index]: index for index in np.flatnonzero(reverse).tolist()}
        labelled = [index for index in np.flatnonzero(~reverse).tolist() if gold[index] is not None]
        self.forth = np.array(labelled, dtype=np.int64)
        self._back = {index: back[names[index]] for index in labelled}
        predicted = self.pairs.names
        self.predictions = np.full(len(gold), "", dtype=object)
        self.predictions[self.forth] = apply_reverse_rule(predicted[self.forth], predicted[list(self._back.values())])
        self.gold = np.array([map_four_way_label(str(label), predictions) for label in gold], dtype=object)

    def example(self, kind: str, index: int) -> ReportExample:
        """Build an example with the four-way prediction and the two three-way predictions from which it is derived."""
        row = self.pairs.get_row(index)
        phrase = None if row["modifier"] == _NONE else row["modifier"]

        def mark(side: str) -> tuple[TextMark, ...]:
            return mark_phrases(row[side], [phrase] if row["position"] in (side, "both") else [], "modifier")

        lines = build_pair_lines(row, mark)
        predicted = f"predicted {self.pairs.names[index]}, reversed {self.pairs.names[self._back[index]]}"
        note = ", ".join(filter(None, (row["modifier"], row["part"], f"annotated {row['relation']}", predicted)))
        return self.pairs.build_example(kind, index, lines, note, (str(self.gold[index]), str(self.predictions[index])))
