"""Examples in the report: sentences with highlighted words, predictions, and a card with two pairs per set."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from unbag import challenge_sets
from unbag.challenge_sets.views.examples import ExampleLine, ReportExample, truncate_line
from unbag.challenge_sets.views.figures import ResultGroup, ScoredModel
from unbag.reports.html.data import ReportData, select_main_model_result

_SIGNS: Final = {"right": "✓", "wrong": "✗"}

MarkedText = tuple[str, str]
"""Part of a sentence with the type of mark; "" for no mark."""


def list_predictions(example: ReportExample) -> list[tuple[str, str, str, str, str]]:
    """List the predictions for an example, that for its unchanged form first.

    Returns tuples (outcome, symbol, label, probability in percent, form of the example). The symbol of a permuted pair,
    which is accepted or refused, is empty, like an unknown probability, and like the form if there is only one.
    """
    shown = [(example.where, example.outcome, example.answer, example.probability)]
    if (before := example.before) is not None:
        outcome = "right" if before.answer == example.gold else "wrong"
        shown.insert(0, (before.where, outcome, before.answer, before.probability))
    predictions = []
    for where, outcome, answer, probability in shown:
        sign = _SIGNS.get(outcome, "")
        form = where if sign else f"{where}: {outcome}"
        predictions.append((outcome, sign, answer.replace("_", " "), format_percent(probability), form))
    return predictions


def split_at_marks(line: ExampleLine) -> tuple[MarkedText, ...]:
    """Split a sentence into highlighted and plain parts, as tuples (text, type). The type of a plain part is "".

    >>> from unbag.challenge_sets.views.examples import TextMark
    >>> split_at_marks(ExampleLine("premise", "An old man", (TextMark(3, 6, "moved"),)))
    (('An ', ''), ('old', 'moved'), (' man', ''))
    """
    parts, end = [], 0
    for start, until, kind in line.marks:
        parts += [(line.text[end:start], ""), (line.text[start:until], kind)]
        end = until
    return tuple(part for part in (*parts, (line.text[end:], "")) if part[0])


def format_percent(probability: float | None) -> str:
    r"""Format a probability in percent. None becomes an empty string.

    >>> format_percent(0.971), format_percent(0.997), format_percent(1.0), format_percent(None)
    ('97\xa0%', '>\xa099\xa0%', '>\xa099\xa0%', '')
    """
    if probability is None:
        return ""
    rounded = f"{100 * probability:.0f}"
    whole = "> 99 %" if rounded == "100" else f"{rounded} %"  # a probability below 1 must not be shown as 100 %
    return whole.replace(" ", "\N{NO-BREAK SPACE}")


def iter_scored_results(report_data: ReportData) -> Iterator[tuple[ResultGroup, ScoredModel]]:
    """Iterate over all results as tuples (group, result), one model after the other."""
    for model in report_data.models:
        yield from report_data.list_results_of_model(model)


def iter_gallery_examples(report_data: ReportData) -> Iterator[tuple[str, str, ReportExample]]:
    """Iterate over the examples that the gallery of the report shows, as tuples (set, model, example)."""
    for group, each in iter_scored_results(report_data):
        for example in each.selection.examples if each.selection else ():
            title = f"{challenge_sets.get_challenge_set(group.set).title}, {group.title}"
            yield title, each.model.name, example


def list_mark_types(report_data: ReportData) -> list[tuple[str, str]]:
    """List the types of highlighting that occur in the examples, as tuples (type, explanation)."""
    shown = (example for *_, example in iter_gallery_examples(report_data))
    used = {mark.kind for example in shown for line in example.lines for mark in line.marks}
    meanings: dict[str, str] = {}
    for group in report_data.groups:
        meanings |= challenge_sets.get_challenge_set(group.set).mark_meanings
    return [(kind, meaning) for kind, meaning in meanings.items() if kind in used]


def collect_selection_rules(report_data: ReportData) -> dict[str, str]:
    """Collect the rules by which the examples were selected, as a mapping from set title to rule."""
    return {
        challenge_sets.get_challenge_set(group.set).title: each.selection.rule
        for group, each in iter_scored_results(report_data)
        if each.selection
    }


SHORT: Final = 240
"""Maximum number of characters of a short pair."""

_WORD_PENALTY: Final = 0.01
"""Rank penalty per word, in units of probability, which prefers shorter pairs."""


class FeaturedPair(NamedTuple):
    """A sentence pair that is shown on a card of the report."""

    example: ReportExample  # with the prediction of the main model
    predictions: Mapping[str, ReportExample]  # by model name

    @property
    def sentences(self) -> frozenset[str]:
        """Both sentences, in any order."""
        return frozenset(line.text for line in self.example.lines[:2])

    @property
    def n_characters(self) -> int:
        """Number of characters of both sentences."""
        return sum(len(line.text) for line in self.example.lines)

    @property
    def sort_key(self) -> tuple[bool, bool, float]:
        """Rank among the pairs with the same outcome, of which the card shows the highest."""
        example = self.example
        words = sum(len(line.text.split()) for line in example.lines)
        was_right = example.before is None or example.before.answer == example.gold
        fails = any(each.fails for each in self.predictions.values())
        return was_right, fails, (example.probability or 0.0) - _WORD_PENALTY * words


def select_featured_pairs(report_data: ReportData) -> dict[str, list[FeaturedPair]]:
    """Select an error and a right answer of the main model for the card of each group (challenge set and corpus).

    Candidates are the pairs shared by all models with candidates. Only short pairs are selected, or the shortest one if
    no pair is short. Pairs whose unchanged form is predicted correctly rank first, and among these, pairs that another
    model predicts wrongly. Ties are broken by the probability of the main model's prediction, minus `_WORD_PENALTY` per
    word. No pair of sentences is featured twice.
    """
    used: set[frozenset[str]] = set()
    selected: dict[str, list[FeaturedPair]] = {}
    for group in report_data.groups:
        main = select_main_model_result(group, report_data).model.name
        by_model = {
            scored.model.name: {each.id: each for each in scored.selection.candidates}
            for scored in group.scored_models
            if scored.selection and scored.selection.candidates
        }
        every = [
            FeaturedPair(example, {name: candidates[key] for name, candidates in by_model.items()})
            for key, example in by_model.get(main, {}).items()
            if all(key in candidates for candidates in by_model.values())
        ]
        selected[group.key] = []
        for fails in (True, False):
            pairs = [pair for pair in every if pair.example.fails == fails and pair.sentences not in used]
            if pairs:
                most = max(SHORT, min(pair.n_characters for pair in pairs))
                best = max((pair for pair in pairs if pair.n_characters <= most), key=lambda pair: pair.sort_key)
                used.add(best.sentences)
                selected[group.key].append(best)
    return selected


def list_short_names(report_data: ReportData) -> dict[str, str]:
    """List the names of the models without their organizations, or in full if the short names are not unique."""
    ends = {name: name.rpartition("/")[2] for name in report_data.names}
    return ends if len(set(ends.values())) == len(ends) and all(ends.values()) else {name: name for name in ends}


def shorten_lines(example: ReportExample) -> ReportExample:
    """Truncate the sentences of an example for a card."""
    return replace(example, lines=tuple(truncate_line(line, SHORT) for line in example.lines))


def format_score(value: float | None) -> str:
    """Format a skill score with three decimals, as in the terminal, and a minus sign; a dash without a score.

    >>> format_score(-0.2304), format_score(-0.0001), format_score(None)
    ('−0.230', '0.000', '–')
    """
    # A small negative score rounds to -0.000, which must not look negative.
    return "–" if value is None else f"{value:.3f}".replace("-0.000", "0.000").replace("-", "−")
