"""The numbers of a result by name, each with its direction: what gates are set on, and what exports say of a run."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from unbag import challenge_sets
from unbag.challenge_sets.base import SCORE, SKILL, Quantity
from unbag.challenge_sets.results import Result
from unbag.evaluation.verdict import SetVerdict, of_model, sentence
from unbag.scoring.bootstrap import Estimate, to_json
from unbag.scoring.nested import iter_estimates

SCORE_NAME: Final = "score"
"""What the skill score is called beside the numbers that a set describes."""


class Number(NamedTuple):
    """One number of a result.

    Attributes:
        name: for machines.
        label: for people.
        higher_is_better: its direction; None where nobody says it.
        estimate: its value, interval and n.
        sources: source examples that the interval was drawn from.
    """

    name: str
    label: str
    higher_is_better: bool | None
    estimate: Estimate
    sources: int


def quantities(set_name: str) -> dict[str, Quantity]:
    """Return what a challenge set's numbers are, by name: `score` and those that its `SET` describes.

    Raises:
        ValueError: if there is no such set.
    """
    return {SCORE_NAME: SCORE} | {each.name: each for each in challenge_sets.get(set_name).named_quantities}


def of_result(result: Result) -> dict[str, Number]:
    """Return the numbers that a result has, by name; of a set that is not installed here, those on top of its scores.

    The skill score is there where the set has that scale, also without value.
    """
    if challenge_sets.find(result.set) is None:
        top = {path: found for path, found in iter_estimates(result.scores) if "." not in path}
        return {path: Number(path, path, None, found, found.n) for path, found in top.items()}
    numbers = {}
    for name, quantity in quantities(result.set).items():
        if (found := quantity.value(result.scores)) is not None:
            sources = result.scores[SKILL]["n_sources"] if quantity is SCORE else found.n
            numbers[name] = Number(name, quantity.label, quantity.higher_is_better, found, sources)
    return numbers


def verdicts(results: Sequence[Result]) -> dict[str, list[SetVerdict]]:
    """Return how each model stands on its sets, by the models' names."""
    return {name: of_model(of_one) for name, of_one in by_model(results).items()}


def records(verdicts: Mapping[str, Sequence[SetVerdict]]) -> list[dict[str, Any]]:
    """Return every number of the results that models were judged by as a flat record, by what the models are called.

    `standing` is that of the skill score (`verdict`).
    """
    rows = []
    for name, of_one in verdicts.items():
        for verdict in of_one:
            result = verdict.result
            about = {
                "model": name,
                "revision": result.model.get("revision"),
                "set": result.set,
                "data": result.data["name"],
                "split": result.data["split"],
                "options": json.dumps(to_json(result.config), sort_keys=True, ensure_ascii=False),
                "data_sha256": result.data["sha256"],
            }
            for number in of_result(result).values():
                tested = number.name == SCORE_NAME
                rows.append(
                    about
                    | {"number": number.name, "label": number.label, "higher_is_better": number.higher_is_better}
                    | number.estimate._asdict()
                    | {"standing": verdict.standing if tested else None}
                )
    return rows


def summarize_verdicts(verdicts: Mapping[str, Sequence[SetVerdict]]) -> dict[str, Any]:
    """Return what a script is told beside the results themselves: every number by name, and each model's verdict."""
    sentences = {name: sentence(of_one) for name, of_one in verdicts.items()}
    return {"numbers": records(verdicts), "verdicts": sentences}


def by_model(results: Sequence[Result]) -> Mapping[str, list[Result]]:
    """Return results by their models' names, in the order in which these come."""
    found: dict[str, list[Result]] = {}
    for result in results:
        found.setdefault(str(result.model["name"]), []).append(result)
    return found
