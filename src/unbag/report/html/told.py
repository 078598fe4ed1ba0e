"""Examples as the page has them: sentences cut at their marks, answers in words."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from unbag import challenge_sets
from unbag.challenge_sets.views.examples import Line, ReportExample
from unbag.challenge_sets.views.figures import Group, Scored
from unbag.report.html.gathered import Gathered

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
class Told:
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
    told: Told


def told(example: ReportExample) -> Told:
    """Return an example in words."""
    lines = tuple((line.name, pieces(line)) for line in example.lines)
    answers = [_answer(example.where, example.outcome, example.answer, example.probability)]
    if (before := example.before) is not None:
        outcome = "right" if before.answer == example.gold else "wrong"
        answers.insert(0, _answer(before.where, outcome, before.answer, before.probability))
    return Told(example, lines, tuple(answers))


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


def scored(gathered: Gathered) -> Iterator[tuple[Group, Scored]]:
    """Yield all results, those of one model together."""
    for model in gathered.models:
        yield from gathered.of_model(model)


def gallery(gathered: Gathered) -> Iterator[Example]:
    """Yield all examples that were chosen of some model's answers."""
    # Mistakes on ordinary pairs tell least of order.
    for group, each in sorted(scored(gathered), key=lambda pair: challenge_sets.get(pair[0].set).is_control):
        for example in each.selection.examples if each.selection else ():
            title = f"{challenge_sets.get(group.set).title}, {group.title}"
            yield Example(title, each.model.name, told(example))


def marks(gathered: Gathered) -> list[tuple[str, str]]:
    """Return the kinds of marks that the examples have, with their meaning."""
    used = {mark.kind for each in gallery(gathered) for line in each.told.shown.lines for mark in line.marks}
    meanings: dict[str, str] = {}
    for group in gathered.groups:
        meanings |= challenge_sets.get(group.set).module("examples").MARKS
    return [(kind, meaning) for kind, meaning in meanings.items() if kind in used]


def rules(gathered: Gathered) -> dict[str, str]:
    """Return how the examples were chosen, by the titles of the sets."""
    return {
        challenge_sets.get(group.set).title: each.selection.rule for group, each in scored(gathered) if each.selection
    }


def _answer(where: str, outcome: str, answer: str, probability: float | None) -> Answer:
    return Answer(where, outcome, _SIGNS[outcome], _words(answer), percent(probability))


def _words(label: str) -> str:
    return label.replace("_", " ")
