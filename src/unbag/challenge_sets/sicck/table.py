"""Terminal table of SICCK scores: Tables 8, 11-17 and 10 of Akoju et al. (2023)."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unbag.challenge_sets.results import Result
from unbag.challenge_sets.sicck import SET
from unbag.challenge_sets.views.tables import (
    create_result_table,
    create_table,
    format_interval,
    format_value,
    summarize_exclusions,
)
from unbag.data.labels import CONTRADICTION, FORWARD_ENTAILMENT, NEUTRAL, REVERSE_ENTAILMENT
from unbag.scoring.natural_logic import MEASURES

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
    """Build the table of the metrics overall, by modifier type and by modified part, and the table of neutral pairs."""
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
        if answers := confusion.get(NEUTRAL):
            n, pairs = sum(answers.values()), sum(sum(each.values()) for each in confusion.values())
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
