"""The cards that the page begins with: of each set a telling pair, what the models answered to it, and the score."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from markupsafe import Markup

from unbag import challenge_sets
from unbag.challenge_sets.views.examples import ReportExample, shortened
from unbag.challenge_sets.views.figures import Group, Series
from unbag.report.html.charts import swatch
from unbag.report.html.gathered import Gathered
from unbag.report.html.profile import Standings, subject_of
from unbag.report.html.telling import SHORT, Telling, how_telling, telling
from unbag.report.html.told import Answer, Told, told
from unbag.scoring.bootstrap import Estimate


@dataclass(frozen=True)
class Card:
    """A set at a glance.

    Attributes:
        key: of its section.
        title: the set's.
        data: where its pairs are from, and whose score it is if not the subject's.
        told: the pair; None where no run kept any.
        said: what each model answered to it: its sign, name and answers.
        number: the score beyond words.
        standing: what it comes to.
        interval: that of the score, and of how many rows.
        others: the scores of the other models.
        reading: the set's numbers in a sentence, where there is no pair.
    """

    key: str
    title: str
    data: str
    told: Told | None
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


def cards(gathered: Gathered, stand: Standings, readings: Mapping[str, str]) -> list[Card]:
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


def _place(group: Group, pair: Telling | None) -> tuple[bool, bool, bool, tuple[float, ...]]:
    is_wide = pair is not None and pair.example.before is not None
    least_first = tuple(-float(part) for part in how_telling(pair)) if pair else ()
    return is_wide, challenge_sets.get(group.set).is_control, pair is None, least_first


def _card(
    group: Group,
    pair: Telling | None,
    gathered: Gathered,
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
        told=told(_cut(pair.example)) if pair else None,
        said=tuple(
            (swatch(Series(name, ()), names, line=False), short[name], told(each).answers) for name, each in answers
        ),
        number=_number(own.score.value),
        standing=str(own),
        interval=f"[{low}, {high}], {own.score.n:,} rows" if own.score.low is not None else "",
        others=", ".join(f"{short[name]} {_number(_score(stand, name, group).value)}" for name in others),
        reading="" if pair else readings[group.key],
    )


def _cut(example: ReportExample) -> ReportExample:
    """Return an example as a card has room for."""
    return replace(example, lines=tuple(shortened(line, SHORT) for line in example.lines))


def _short_names(gathered: Gathered) -> dict[str, str]:
    """Return the models' names without what comes before the last slash, where that tells them apart."""
    ends = {model.name: model.name.rpartition("/")[2] for model in gathered.models}
    return ends if len(set(ends.values())) == len(ends) and all(ends.values()) else {name: name for name in ends}


def _score(stand: Standings, name: str, group: Group) -> Estimate:
    return stand[name][group.key].score


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value + 0.0:.2f}".replace("-0.00", "0.00").replace("-", "−")
