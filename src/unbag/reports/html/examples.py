"""Examples as the page shows them: marked sentences and answers in words.

The first cards feature one pair per set.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from markupsafe import Markup

from unbag import challenge_sets
from unbag.challenge_sets.views.examples import Line, ReportExample, shorten_line
from unbag.challenge_sets.views.figures import Group, Scored, Series
from unbag.reports.html.charts import swatch
from unbag.reports.html.data import ReportData, Standings, subject_of
from unbag.scoring.bootstrap import Estimate

_SIGNS: Final = {"right": "✓", "wrong": "✗", "accepted": "accepted:", "refused": "refused:"}

Piece = tuple[str, str]
"""A piece of a sentence, with the kind of its mark or ""."""


@dataclass(frozen=True)
class Answer:
    """An answer as the page has it: of what (`in order`, … or ""), how it came out, its sign, label and probability."""

    where: str
    outcome: str
    sign: str
    label: str
    probability: str


@dataclass(frozen=True)
class ExampleView:
    """An example as the page has it: its sentences by name, and a model's answers, the one to its first form first."""

    shown: ReportExample
    lines: tuple[tuple[str, tuple[Piece, ...]], ...]
    answers: tuple[Answer, ...]

    @property
    def gold(self) -> str:
        """The gold label in words."""
        return _words(self.shown.gold)


@dataclass(frozen=True)
class Example:
    """An example of the gallery: of which set and model it is."""

    set: str
    model: str
    told: ExampleView


def view_example(example: ReportExample) -> ExampleView:
    """Return an example in words."""
    lines = tuple((line.name, pieces(line)) for line in example.lines)
    answers = [_answer(example.where, example.outcome, example.answer, example.probability)]
    if (before := example.before) is not None:
        outcome = "right" if before.answer == example.gold else "wrong"
        answers.insert(0, _answer(before.where, outcome, before.answer, before.probability))
    return ExampleView(example, lines, tuple(answers))


def pieces(line: Line) -> tuple[Piece, ...]:
    """Return a sentence cut where its marks begin and end: text and kind of mark, "" for none.

    >>> from unbag.challenge_sets.views.examples import Mark
    >>> pieces(Line("premise", "An old man", (Mark(3, 6, "moved"),)))
    (('An ', ''), ('old', 'moved'), (' man', ''))
    """
    parts, end = [], 0
    for start, until, kind in line.marks:
        parts += [(line.text[end:start], ""), (line.text[start:until], kind)]
        end = until
    return tuple(piece for piece in (*parts, (line.text[end:], "")) if piece[0])


def percent(probability: float | None) -> str:
    r"""Return a probability in per cent; nothing where there is none.

    >>> percent(0.971), percent(0.997), percent(1.0), percent(None)
    ('97\xa0%', '>\xa099\xa0%', '>\xa099\xa0%', '')
    """
    if probability is None:
        return ""
    rounded = f"{100 * probability:.0f}"
    whole = "> 99 %" if rounded == "100" else f"{rounded} %"  # a rounded 1 need not have been one
    return whole.replace(" ", "\N{NO-BREAK SPACE}")


def scored(gathered: ReportData) -> Iterator[tuple[Group, Scored]]:
    """Yield all results, those of one model together."""
    for model in gathered.models:
        yield from gathered.of_model(model)


def gallery(gathered: ReportData) -> Iterator[Example]:
    """Yield all examples that were chosen of some model's answers."""
    # Mistakes on ordinary pairs tell least of order.
    for group, each in sorted(scored(gathered), key=lambda pair: challenge_sets.get(pair[0].set).is_control):
        for example in each.selection.examples if each.selection else ():
            title = f"{challenge_sets.get(group.set).title}, {group.title}"
            yield Example(title, each.model.name, view_example(example))


def marks(gathered: ReportData) -> list[tuple[str, str]]:
    """Return the kinds of marks that the examples have, with their meaning."""
    used = {mark.kind for each in gallery(gathered) for line in each.told.shown.lines for mark in line.marks}
    meanings: dict[str, str] = {}
    for group in gathered.groups:
        meanings |= challenge_sets.get(group.set).module("examples").MARKS
    return [(kind, meaning) for kind, meaning in meanings.items() if kind in used]


def rules(gathered: ReportData) -> dict[str, str]:
    """Return how the examples were chosen, by the titles of the sets."""
    return {
        challenge_sets.get(group.set).title: each.selection.rule for group, each in scored(gathered) if each.selection
    }


def _answer(where: str, outcome: str, answer: str, probability: float | None) -> Answer:
    return Answer(where, outcome, _SIGNS[outcome], _words(answer), percent(probability))


def _words(label: str) -> str:
    return label.replace("_", " ")


SHORT: Final = 240
"""Characters of a pair up to which it is short."""

_A_WORD: Final = 0.01
"""What a word more costs in probability: of mistakes made as surely, the shortest is read by most."""


class FeaturedPair(NamedTuple):
    """A pair, with what each model answered, by the models' names; the first is whose mistake it is."""

    example: ReportExample
    answers: Mapping[str, ReportExample]


def telling(gathered: ReportData) -> dict[str, FeaturedPair]:
    """Return the pair of each set that tells most, by the group's key; none of a group where none was kept.

    Only short pairs are picked from, or the shortest where none is. First come pairs that the report's subject fails
    on, but of those that were changed was right before; else pairs that another model fails on; then goes the
    probability of the subject's answer, less `_A_WORD` for each word; of equals the shortest. The same sentences are
    shown once, the corpus itself coming last.
    """
    shown: set[frozenset[str]] = set()
    picked = {}
    for group in sorted(gathered.groups, key=lambda group: challenge_sets.get(group.set).is_control):
        pairs = [pair for pair in _pairs(group, gathered) if _sentences(pair) not in shown]
        if pairs:
            most = max(SHORT, min(map(_length, pairs)))
            picked[group.key] = max((pair for pair in pairs if _length(pair) <= most), key=how_telling)
            shown.add(_sentences(picked[group.key]))
    return picked


def _pairs(group: Group, gathered: ReportData) -> list[FeaturedPair]:
    """Return the pairs of a set that every model was asked; none where none was kept of the subject."""
    subject = subject_of(group, gathered).model.name
    by_model = {
        scored.model.name: {each.id: each for each in scored.selection.candidates}
        for scored in group.scored
        if scored.selection and scored.selection.candidates
    }
    if subject not in by_model:
        return []
    asked = [each for each in by_model[subject] if all(each in answered for answered in by_model.values())]
    return [FeaturedPair(by_model[subject][each], {name: of[each] for name, of in by_model.items()}) for each in asked]


def _length(pair: FeaturedPair) -> int:
    """Return how many characters a pair has."""
    return sum(len(line.text) for line in pair.example.lines)


def _sentences(pair: FeaturedPair) -> frozenset[str]:
    return frozenset(line.text for line in pair.example.lines[:2])


def how_telling(pair: FeaturedPair) -> tuple[bool, bool, bool, float]:
    """Return by what pairs are compared, of one set or of several."""
    example = pair.example
    words = sum(len(line.text.split()) for line in example.lines)
    was_right = example.before is None or example.before.answer == example.gold
    fails = any(each.fails for each in pair.answers.values())
    return example.fails, was_right, fails, (example.probability or 0.0) - _A_WORD * words


@dataclass(frozen=True)
class Card:
    """A set at a glance.

    Attributes:
        key: of its section.
        title: the set's.
        data: where its pairs are from, and whose score it is if not the subject's.
        told: the pair; None where no run kept any.
        said: what each model answered to it: its sign, name and answers.
        number: the skill score.
        standing: what it comes to.
        interval: that of the score, and of how many rows.
        others: the scores of the other models.
        reading: the set's numbers in a sentence, where there is no pair.
    """

    key: str
    title: str
    data: str
    told: ExampleView | None
    said: tuple[tuple[Markup, str, tuple[Answer, ...]], ...]
    number: str
    standing: str
    interval: str
    others: str
    reading: str

    @property
    def is_of_changed(self) -> bool:
        """Whether there are two answers to show of each model, for which it is wider."""
        return self.told is not None and len(self.told.answers) > 1


def cards(gathered: ReportData, stand: Standings, readings: Mapping[str, str]) -> list[Card]:
    """Return a card for each group, the most telling first; the corpus itself, which tells least of order, comes later.

    The wide cards come last, so that those of one width stand in rows together.

    Args:
        gathered: the results.
        stand: how each model stands.
        readings: the subject's numbers in a sentence, by the group's key.
    """
    pairs = telling(gathered)
    order = sorted(gathered.groups, key=lambda group: _place(group, pairs.get(group.key)))
    return [_card(group, pairs.get(group.key), gathered, stand, readings) for group in order]


def _place(group: Group, pair: FeaturedPair | None) -> tuple[bool, bool, bool, tuple[float, ...]]:
    is_wide = pair is not None and pair.example.before is not None
    least_first = tuple(-float(part) for part in how_telling(pair)) if pair else ()
    return is_wide, challenge_sets.get(group.set).is_control, pair is None, least_first


def _card(
    group: Group,
    pair: FeaturedPair | None,
    gathered: ReportData,
    stand: Standings,
    readings: Mapping[str, str],
) -> Card:
    names, short = [model.name for model in gathered.models], _short_names(gathered)
    scored = subject_of(group, gathered)
    own = stand[scored.model.name][group.key]
    others = [each.model.name for each in group.scored if each.model != scored.model]
    answers = pair.answers.items() if pair else ()
    low, high = _number(own.score.low), _number(own.score.high)
    return Card(
        key=group.key,
        title=challenge_sets.get(group.set).title,
        data=group.title if scored.model == gathered.subject else f"{group.title}, {scored.model.name}",
        told=view_example(_cut(pair.example)) if pair else None,
        said=tuple(
            (swatch(Series(name, ()), names, line=False), short[name], view_example(each).answers)
            for name, each in answers
        ),
        number=_number(own.score.value),
        standing=str(own),
        interval=f"[{low}, {high}], {own.score.n:,} rows" if own.score.low is not None else "",
        others=", ".join(f"{short[name]} {_number(_score(stand, name, group).value)}" for name in others),
        reading="" if pair else readings[group.key],
    )


def _cut(example: ReportExample) -> ReportExample:
    """Return an example as a card has room for."""
    return replace(example, lines=tuple(shorten_line(line, SHORT) for line in example.lines))


def _short_names(gathered: ReportData) -> dict[str, str]:
    """Return the models' names without what comes before the last slash, where that tells them apart."""
    ends = {model.name: model.name.rpartition("/")[2] for model in gathered.models}
    return ends if len(set(ends.values())) == len(ends) and all(ends.values()) else {name: name for name in ends}


def _score(stand: Standings, name: str, group: Group) -> Estimate:
    return stand[name][group.key].score


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value + 0.0:.2f}".replace("-0.00", "0.00").replace("-", "−")
