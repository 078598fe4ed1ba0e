"""Published figures beside a model's, with their names; hollow where they are of something else than ours."""

from collections.abc import Iterator
from typing import Final

from unbag.challenge_sets.base import ChallengeSet
from unbag.challenge_sets.papers.counterparts import published
from unbag.challenge_sets.views.figures import Figure, Group, Point, Series, bare

_SAME: Final = "published, same rows"
_OTHER: Final = "published, other rows or training"
_MOST: Final = 16  # names below each other in one figure


def beside_papers(group: Group, described: ChallengeSet) -> Iterator[Figure]:
    """Yield a figure for each number of a set's profile that papers print of the same corpus.

    A published figure is full where it is of the very rows that were asked here (all of a set that is not made anew)
    and needs no training: people, a rule. Of all others the rows differ, or the training data do or may: what a model
    of the Hub was trained on, no record says.
    """
    drawn = any(scored.result.config.get("examples") is not None for scored in group.scored)
    for quantity in described.of_role("beside_papers"):
        theirs = published(quantity.counterparts, group.corpus)[:_MOST]
        if not theirs:
            continue
        ours = [(each.model.name, quantity.value(each.result.scores)) for each in group.scored]
        series = [Series(name, (Point(name, one),)) for name, one in ours if one is not None and one.value is not None]
        full = [one for one in theirs if one.is_comparable and not drawn]
        for name, some in ((_SAME, full), (_OTHER, [one for one in theirs if one not in full])):
            points = tuple(Point(one.model, bare(one.value), one.source) for one in some)
            if points:
                series.append(Series(name, points, is_reference=True, is_hollow=name == _OTHER))
        sources = ", ".join(dict.fromkeys(one.source for one in theirs))
        other = " Hollow: of other rows than these, or of a model whose training data differ or may."
        yield Figure(
            title=f"Beside the papers: {quantity.label}",
            about=f"Bars are published figures ({sources}).{other if len(full) < len(theirs) else ''} A better reader "
            f"has {'more' if quantity.higher_is_better else 'less; so may a guess'}.",
            x="model",
            y="value",
            kind="dots",
            series=tuple(series),
        )
