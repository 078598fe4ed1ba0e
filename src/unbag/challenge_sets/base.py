"""What a challenge set is to everything else: one description, which evaluation, tables, reports and the Hub read."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unbag.challenge_sets.papers.counterparts import Counterpart
from unbag.data.predictions import SetPredictions
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.nested import iter_estimates
from unbag.scoring.skill import Credits, skill_score

LAST: Final = 1_000
"""The place of a set that asks for none."""

DEFAULT_SAMPLE: Final = 1_000
"""Source examples drawn from a set for the suite, where it does not say how many."""

SKILL: Final = "skill"
"""Where `scoring.skill` is in the scores of every set; None there where it says nothing."""

Role = Literal["quoted", "compared", "beside_papers", "harness"]
"""Where a number is shown: in cards and leaderboards; by `unbag compare`; in the report beside what papers print; and
as a score of the task that other harnesses are given."""

Scores = Mapping[str, Any]


@dataclass(frozen=True)
class Quantity:
    """One number of a set's scores.

    Attributes:
        name: for machines; unique in its set.
        label: for people, in the terms of the set's paper.
        path: where it is in the scores (`scoring.nested`); "" where `worked_out` makes it of others.
        higher_is_better: the direction.
        roles: where it is shown.
        counterparts: the same number in the papers.
        worked_out: makes it from the scores; returns None where these lack it.
        limits: the least and the greatest value that it can have.
    """

    name: str
    label: str
    path: str = ""
    higher_is_better: bool = True
    roles: frozenset[Role] = frozenset()
    counterparts: tuple[Counterpart, ...] = ()
    worked_out: Callable[[Scores], Estimate | None] | None = None
    limits: tuple[float, float] = (0.0, 1.0)

    def value(self, scores: Scores) -> Estimate | None:
        """Return the number; None where the scores lack it."""
        return self.worked_out(scores) if self.worked_out else dict(iter_estimates(scores)).get(self.path)


def roles(*names: Role) -> frozenset[Role]:
    """Return some roles."""
    return frozenset(names)


DIFFERENCE: Final = (-1.0, 1.0)
"""The limits of a difference between two shares."""

SCORE: Final = Quantity(
    "skill",
    "skill score",
    f"{SKILL}.score",
    roles=roles("quoted", "compared"),
    limits=(-math.inf, 1.0),  # far below 0 where the floor is near 1
)
"""What stands for every set where one number is asked for (`scoring.skill`)."""


class Measured(NamedTuple):
    """A number with its value, its 95 % interval and how many examples it rests on."""

    quantity: Quantity
    estimate: Estimate


@dataclass(frozen=True, kw_only=True)
class ChallengeSet:
    """A challenge set.

    Beside this description a set's package has four modules, imported when they are asked for:

        scores.py    <name>_scores(columns, answers, *, resamples, partial) and <name>_credits(columns, answers), what
                     the skill score is made of, and, where it rests on some rows only, <name>_decisive(columns),
                     which these are; they need numpy alone
        table.py     table(result), which fits 80 columns, and reading(result), the scores in a sentence
        figures.py   measures(scores), rows of name, meaning and estimate, and figures(group)
        examples.py  RULE, what is chosen in words; MARKS, what marked words are; choose(rows, answers); and
                     candidates(rows, answers), chosen by the rows alone, of which the report shows one first

    Attributes:
        name: what commands call it.
        title: the display name, in a word or two, on every surface but commands.
        question: what it asks of a model.
        paper: where it is from, with its address.
        figures_from: the paper whose figures stand beside a model's, as `papers` names it.
        metrics: the modules of `metrics/` that read its columns, the one that scores it first.
        package: the Python package of the modules above.
        builder: its `datasets` builder, as `module:Class`.
        columns: what its metric reads of a row beside the label.
        more_columns: what it reads beside these where all of a row is at hand.
        quantities: the numbers of its scores that are shown elsewhere, in the order in which they are shown.
        sample: source examples that the suite draws.
        sample_options: options that the suite sets, of pairs of a corpus in English, where none of them is given.
        sample_options_unless: further options that say these are not wanted.
        evaluation_order: its place among the sets that are evaluated; those cheap to make and to ask come first.
        report_order: its place in a report.
        shuffled: what the gold label of a pair means when the words of both sentences are shuffled: how to read the
            model's answers to such pairs (`challenge_sets.perturbations.shuffled`), which its score is held against.
        has_shuffled_control: whether they are asked; a set whose rows are in no order already needs none.
        is_control: whether it is a corpus as it is, which challenge sets are held against.
        is_accuracy: whether its score is the share of rows answered right, which any harness can compute.
        corpus_pairs: which rows are pairs of the corpus as they are, chosen for no difficulty: those that have these
            values in these columns, all where there are none. On them a file of predictions is read in every order of
            the labels (`label_fit`). None where there are no such rows.
    """

    name: str
    title: str
    question: str
    paper: str
    figures_from: str = ""
    metrics: tuple[str, ...] = ()
    package: str
    builder: str
    columns: tuple[str, ...] = ()
    more_columns: tuple[str, ...] = ()
    quantities: tuple[Quantity, ...]
    sample: int = DEFAULT_SAMPLE
    sample_options: Mapping[str, Any] = field(default_factory=dict)
    sample_options_unless: frozenset[str] = frozenset()
    evaluation_order: int = LAST
    report_order: int = LAST
    shuffled: str = ""
    has_shuffled_control: bool = True
    is_control: bool = False
    is_accuracy: bool = False
    corpus_pairs: Mapping[str, Any] | None = None

    def of_role(self, role: Role) -> list[Quantity]:
        """Return the numbers that are shown somewhere; the skill score comes first."""
        return [quantity for quantity in (SCORE, *self.quantities) if role in quantity.roles]

    def by_path(self) -> dict[str, Quantity]:
        """Return the numbers by where they are in the scores, the skill score among them."""
        return {quantity.path: quantity for quantity in (SCORE, *self.quantities)}

    def measured(self, scores: Scores, role: Role) -> list[Measured]:
        """Return the numbers that are shown somewhere with their values; without any example, left out."""
        return list(self._measured(scores, role))

    def score(self, scores: Scores) -> Measured | None:
        """Return the number that stands for the set, the skill score; None where the set cannot say."""
        return next((one for one in self._measured(scores, "quoted") if one.quantity is SCORE), None)

    def score_rows(
        self,
        rows: Any,
        answers: SetPredictions,
        lexical: SetPredictions | None = None,
        shuffled: Sequence[SetPredictions] = (),
        *,
        lexical_model: Mapping[str, str] | None = None,
    ) -> Scores:
        """Compute the scores of answers to all rows of the set, with the skill score.

        Args:
            rows: a `datasets.Dataset`.
            answers: of the model.
            lexical: of the lexical baseline, if it was asked.
            shuffled: of the model to the rows with shuffled words (`challenge_sets.perturbations.shuffled`), one for
                each draw.
            lexical_model: the record of the lexical baseline.
        """
        from unbag.data.columns import values

        answers = answers.for_gold(getattr(rows.features["label"], "names", ()))
        columns = {name: values(rows, name) for name in ("label", *self.columns, *self.more_columns)}
        scores: Scores = getattr(self.module("scores"), f"{self.name}_scores")(columns, answers)
        credits_of = getattr(self.module("scores"), f"{self.name}_credits", None)
        if credits_of is None:  # of another package, which has no such scale
            return scores

        def worth(given: SetPredictions) -> Credits:
            credits: Credits = credits_of(columns, given.in_space(answers.label_space))
            return credits if credits.names is not None else credits._replace(names=answers.label_space)

        draws = [worth(each) for each in shuffled] if self.has_shuffled_control else []
        control = draws[0]._replace(credit=np.mean([each.credit for each in draws], axis=0)) if draws else None
        votes = [[int(answers.folded[vote]) for vote in labels] for labels in columns.get("annotator_labels", ())]
        beyond = skill_score(
            worth(answers),
            None if lexical is None else worth(lexical),
            control,
            annotators=votes if any(votes) else None,
        )
        return {**scores, SKILL: None if beyond is None else {**beyond, "lexical_model": lexical_model}}

    def decisive_rows(self, rows: Any) -> NDArray[np.bool_]:
        """Return which rows the skill score rests on, shape (n,); the others need no shuffled control.

        Args:
            rows: a `datasets.Dataset`.
        """
        from unbag.data.columns import values

        decisive = getattr(self.module("scores"), f"{self.name}_decisive", None)
        if decisive is None:
            return np.ones(len(rows), dtype=np.bool_)
        columns = {name: values(rows, name) for name in (*self.columns, *self.more_columns)}
        found: NDArray[np.bool_] = decisive(columns)
        return found

    def module(self, part: Literal["scores", "table", "figures", "examples"]) -> Any:
        """Import one of the set's modules."""
        return import_module(f"{self.package}.{part}")

    def builder_class(self) -> Any:
        """Import the `datasets` builder, whose base has no types."""
        module, _, name = self.builder.partition(":")
        return getattr(import_module(module), name)

    def _measured(self, scores: Scores, role: Role) -> Iterator[Measured]:
        for quantity in self.of_role(role):
            estimate = quantity.value(scores)
            if estimate is not None and estimate.value is not None:
                yield Measured(quantity, estimate)
