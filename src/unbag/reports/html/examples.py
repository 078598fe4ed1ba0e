"""Examples in the report: sentences with highlighted words, predictions, and a card with two pairs per set."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from markupsafe import Markup

from unbag import challenge_sets
from unbag.challenge_sets.views.examples import ExampleLine, ReportExample, truncate_line
from unbag.challenge_sets.views.figures import FigureSeries, ResultGroup, ScoredModel
from unbag.reports.html.charts import draw_swatch
from unbag.reports.html.data import ReportData, VerdictsByModel, select_main_model_result

_SIGNS: Final = {"right": "✓", "wrong": "✗"}

MarkedText = tuple[str, str]
"""Part of a sentence with the type of mark; "" for no mark."""


@dataclass(frozen=True)
class PredictionView:
    """A formatted prediction for an example."""

    where: str  # form of the example, such as `in order`; empty if there is only one form
    outcome: str  # such as `right`
    sign: str  # symbol of the outcome; empty for a permuted pair, which is accepted or refused
    label: str
    probability: str  # in percent; empty if unknown


@dataclass(frozen=True)
class ExampleView:
    """A formatted example with the predictions of a model."""

    example: ReportExample
    lines: tuple[tuple[str, tuple[MarkedText, ...]], ...]  # name and marked text of each sentence
    predictions: tuple[PredictionView, ...]  # the prediction on the unchanged form comes first

    @property
    def gold(self) -> str:
        """Gold label as text."""
        return _words(self.example.gold)


@dataclass(frozen=True)
class GalleryExample:
    """A formatted example in the gallery, with its set and model."""

    set: str
    model: str
    view: ExampleView


def format_example(example: ReportExample) -> ExampleView:
    """Format an example with its predictions."""
    lines = tuple((line.name, split_at_marks(line)) for line in example.lines)
    predictions = [_answer(example.where, example.outcome, example.answer, example.probability)]
    if (before := example.before) is not None:
        outcome = "right" if before.answer == example.gold else "wrong"
        predictions.insert(0, _answer(before.where, outcome, before.answer, before.probability))
    return ExampleView(example, lines, tuple(predictions))


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


def iter_gallery_examples(report_data: ReportData) -> Iterator[GalleryExample]:
    """Iterate over the examples that the gallery of the report shows, for all models."""
    for group, each in iter_scored_results(report_data):
        for example in each.selection.examples if each.selection else ():
            title = f"{challenge_sets.get_challenge_set(group.set).title}, {group.title}"
            yield GalleryExample(title, each.model.name, format_example(example))


def list_mark_types(report_data: ReportData) -> list[tuple[str, str]]:
    """List the types of highlighting that occur in the examples, as tuples (type, explanation)."""
    used = {
        mark.kind
        for each in iter_gallery_examples(report_data)
        for line in each.view.example.lines
        for mark in line.marks
    }
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


def _answer(where: str, outcome: str, answer: str, probability: float | None) -> PredictionView:
    sign = _SIGNS.get(outcome, "")
    where = where if sign else f"{where}: {outcome}"
    return PredictionView(where, outcome, sign, _words(answer), format_percent(probability))


def _words(label: str) -> str:
    return label.replace("_", " ")


SHORT: Final = 240
"""Maximum number of characters of a short pair."""

_WORD_PENALTY: Final = 0.01
"""Rank penalty per word, in units of probability, which prefers shorter pairs."""


class FeaturedPair(NamedTuple):
    """A sentence pair that is shown on a card of the report."""

    example: ReportExample  # with the prediction of the main model
    predictions: Mapping[str, ReportExample]  # by model name


def select_featured_pairs(report_data: ReportData) -> dict[str, list[FeaturedPair]]:
    """Select an error and a right answer of the main model for the card of each group (challenge set and corpus).

    Only short pairs are candidates, or the shortest ones if no pair is short. Pairs whose unchanged form is predicted
    correctly rank first, and among these, pairs that another model predicts wrongly. Ties are broken by the probability
    of the main model's prediction, minus `_WORD_PENALTY` per word. No pair of sentences is featured twice.
    """
    used: set[frozenset[str]] = set()
    selected: dict[str, list[FeaturedPair]] = {}
    for group in report_data.groups:
        every = _pairs(group, report_data)
        selected[group.key] = []
        for fails in (True, False):
            pairs = [pair for pair in every if pair.example.fails == fails and _sentences(pair) not in used]
            if pairs:
                most = max(SHORT, min(map(_length, pairs)))
                best = max((pair for pair in pairs if _length(pair) <= most), key=compute_featured_pair_sort_key)
                used.add(_sentences(best))
                selected[group.key].append(best)
    return selected


def _pairs(group: ResultGroup, report_data: ReportData) -> list[FeaturedPair]:
    """List the candidate pairs shared by all models with candidates; empty if the main model has none."""
    subject = select_main_model_result(group, report_data).model.name
    by_model = {
        scored.model.name: {each.id: each for each in scored.selection.candidates}
        for scored in group.scored_models
        if scored.selection and scored.selection.candidates
    }
    if subject not in by_model:
        return []
    shared = [each for each in by_model[subject] if all(each in candidates for candidates in by_model.values())]
    return [
        FeaturedPair(by_model[subject][each], {name: candidates[each] for name, candidates in by_model.items()})
        for each in shared
    ]


def _length(pair: FeaturedPair) -> int:
    return sum(len(line.text) for line in pair.example.lines)


def _sentences(pair: FeaturedPair) -> frozenset[str]:
    return frozenset(line.text for line in pair.example.lines[:2])


def compute_featured_pair_sort_key(pair: FeaturedPair) -> tuple[bool, bool, float]:
    """Compute the sort key that decides which pair with the same outcome a report card shows: the highest."""
    example = pair.example
    words = sum(len(line.text.split()) for line in example.lines)
    was_right = example.before is None or example.before.answer == example.gold
    fails = any(each.fails for each in pair.predictions.values())
    return was_right, fails, (example.probability or 0.0) - _WORD_PENALTY * words


@dataclass(frozen=True)
class ReportCard:
    """A card at the top of the report, with the skill score on a challenge set and two sentence pairs of the set."""

    key: str
    title: str
    data: str  # corpus, and the evaluated model if it is not the main model
    # Featured pairs, each with the symbol, name and predictions of each model. Empty if no run stored candidates.
    pairs: tuple[tuple[ExampleView, tuple[tuple[Markup, str, tuple[PredictionView, ...]], ...]], ...]
    number: str
    standing: str
    reading: str  # sentence with the main metrics, for cards without a pair


def build_cards(report_data: ReportData, verdicts: VerdictsByModel, summaries: Mapping[str, str]) -> list[ReportCard]:
    """Build one report card per group (challenge set and corpus), in the order of the groups."""
    names, short = report_data.names, _short_names(report_data)
    featured = select_featured_pairs(report_data)
    cards = []
    for group in report_data.groups:
        scored = select_main_model_result(group, report_data)
        own = verdicts[scored.model.name][group.key]
        pairs = [
            (
                format_example(_shorten_lines(pair.example)),
                tuple(
                    (
                        draw_swatch(FigureSeries(name, ()), names, line=False),
                        short[name],
                        format_example(each).predictions,
                    )
                    for name, each in pair.predictions.items()
                ),
            )
            for pair in featured[group.key]
        ]
        cards.append(
            ReportCard(
                key=group.key,
                title=challenge_sets.get_challenge_set(group.set).title,
                data=group.title if scored.model == report_data.main_model else f"{group.title}, {scored.model.name}",
                pairs=tuple(pairs),
                number=format_score(own.score.value),
                standing=str(own),
                reading=summaries[group.key],
            )
        )
    return cards


def _shorten_lines(example: ReportExample) -> ReportExample:
    """Shorten the sentences of an example to fit a card."""
    return replace(example, lines=tuple(truncate_line(line, SHORT) for line in example.lines))


def _short_names(report_data: ReportData) -> dict[str, str]:
    """Shorten model names to the part after the last slash, if these parts are distinct."""
    ends = {model.name: model.name.rpartition("/")[2] for model in report_data.models}
    return ends if len(set(ends.values())) == len(ends) and all(ends.values()) else {name: name for name in ends}


def format_score(value: float | None) -> str:
    """Format a skill score with three decimals, as in the terminal, and a minus sign; a dash without a score.

    >>> format_score(-0.2304), format_score(-0.0001), format_score(None)
    ('−0.230', '0.000', '–')
    """
    # A small negative score rounds to -0.000, which must not look negative.
    return "–" if value is None else f"{value:.3f}".replace("-0.000", "0.000").replace("-", "−")
