"""Spread of a language model's metrics over several prompts."""

from collections.abc import Sequence
from typing import NamedTuple

from unbag import challenge_sets
from unbag.challenge_sets.results import Result
from unbag.evaluation.model_loading import PROMPT_MARK
from unbag.scoring.significance import compute_seed_spread


class PromptSpread(NamedTuple):
    """Mean and spread of one metric of a model over several prompts.

    The standard deviation over prompts is no sampling error of the examples: all prompts have the same examples.
    """

    model: str  # name of the model, without the prompt
    set: str
    data: str  # corpus that the set is made from
    number: str  # name of the number, as in gates
    label: str  # label of the number in tables
    values: dict[str, float]  # value by the name of the prompt, at least two
    mean: float
    deviation: float  # denominator: prompts - 1
    lowest: str  # name of the prompt with the lowest value, the first one of equal values
    highest: str


def compute_prompt_spreads(results: Sequence[Result]) -> list[PromptSpread]:
    """Compute the spread of each metric for all models that were evaluated with several prompts.

    Numbers of the role "compared" (`challenge_sets`) are included if at least two prompts have a value.
    """
    groups: dict[tuple[str, str, str], dict[str, Result]] = {}
    for result in results:
        name, mark, prompt = str(result.model["name"]).rpartition(PROMPT_MARK)
        if mark and "prompt" in (result.model.get("options") or {}):
            groups.setdefault((name, result.set, result.corpus), {})[prompt] = result
    spreads = []
    for (name, set_name, corpus), by_prompt in groups.items():
        described = challenge_sets.find_challenge_set(set_name)
        for metric in () if described is None else described.list_metrics_with_role("compared"):
            estimates = {prompt: metric.get_estimate(result.scores) for prompt, result in by_prompt.items()}
            values = {p: each.value for p, each in estimates.items() if each is not None and each.value is not None}
            if len(values) < 2:
                continue
            mean, deviation = compute_seed_spread(list(values.values()))
            fields = (name, set_name, corpus, metric.name, metric.label, values)
            ends = (pick(values, key=values.__getitem__) for pick in (min, max))
            spreads.append(PromptSpread(*fields, mean, deviation or 0.0, *ends))
    return spreads
