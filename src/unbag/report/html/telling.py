"""The pairs that the page shows of the sets before their numbers: the same for all models, and picked to be telling."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from unbag import challenge_sets
from unbag.challenge_sets.views.examples import ReportExample
from unbag.challenge_sets.views.figures import Group
from unbag.report.html.gathered import Gathered
from unbag.report.html.profile import subject_of

SHORT: Final = 240
"""Characters of a pair up to which it is short."""

_A_WORD: Final = 0.01
"""What a word more costs in probability: of mistakes made as surely, the shortest is read by most."""


class Telling(NamedTuple):
    """A pair, with what each model answered, by the models' names; the first is whose mistake it is."""

    example: ReportExample
    answers: Mapping[str, ReportExample]


def telling(gathered: Gathered) -> dict[str, Telling]:
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


def _pairs(group: Group, gathered: Gathered) -> list[Telling]:
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
    return [Telling(by_model[subject][each], {name: of[each] for name, of in by_model.items()}) for each in asked]


def _length(pair: Telling) -> int:
    """Return how many characters a pair has."""
    return sum(len(line.text) for line in pair.example.lines)


def _sentences(pair: Telling) -> frozenset[str]:
    return frozenset(line.text for line in pair.example.lines[:2])


def how_telling(pair: Telling) -> tuple[bool, bool, bool, float]:
    """Return by what pairs are compared, of one set or of several."""
    example = pair.example
    words = sum(len(line.text.split()) for line in example.lines)
    was_right = example.before is None or example.before.answer == example.gold
    fails = any(each.fails for each in pair.answers.values())
    return example.fails, was_right, fails, (example.probability or 0.0) - _A_WORD * words
