"""The profile of models: the score beyond words on all sets, and where each model stands."""

from collections.abc import Mapping

from unbag.challenge_sets.views.figures import Group, Scored
from unbag.evaluation.verdict import SetVerdict, of_model
from unbag.report.html.gathered import Gathered

Standings = Mapping[str, Mapping[str, SetVerdict]]
"""How each model stands on each group, by the model's name and the group's key."""


def standings(gathered: Gathered) -> dict[str, dict[str, SetVerdict]]:
    """Return how each model stands on each group.

    The tests of a model are corrected over all of its groups.
    """
    by_model: dict[str, dict[str, SetVerdict]] = {}
    for model in gathered.models:
        own = gathered.of_model(model)
        verdicts = of_model([scored.result for _, scored in own])
        by_model[model.name] = {group.key: verdict for (group, _), verdict in zip(own, verdicts, strict=True)}
    return by_model


def subject_of(group: Group, gathered: Gathered) -> Scored:
    """Return the result of the report's subject in a group, or of the first model there."""
    own = [scored for scored in group.scored if scored.model == gathered.subject]
    return (own or list(group.scored))[0]
