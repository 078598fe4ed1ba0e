"""Compositionality sensitivity as a table: the rows of Nie et al. 2019, Table 5, for one model."""

from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.cs_lambda import SET
from unbag.challenge_sets.cs_lambda.scores import MISLED
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.tables import change, exclusions, headed, interval, points, share, value

_ENOUGH: Final = 50  # pairs: the standard error of an accuracy is then below a tenth


def table(result: Result) -> RenderableType:
    """Return accuracy, drop, majority vote and human estimate by λ."""
    subsets = result.scores["subsets"]
    people = any("human" in subset for subset in subsets)
    grid = headed(SET.title, result, "", "n", "accuracy [95 %]", "drop [95 %]", "vote", *(["human"] if people else []))
    for subset in subsets:
        cells = [interval(subset["accuracy"]), interval(subset["drop"]) if subset["lambda"] else ""]
        person = [value(subset.get("human"))] if people else []
        name = f"CS_{subset['lambda']:g}" if subset["lambda"] else "all"
        grid.add_row(name, f"{subset['n']:,}", *cells, value(subset["majority"]), *person)
    models = result.config.get("lexical_models", [])
    return Group(grid, Text(f"{exclusions(result.data)}. {_lexical(models)}", style="dim"))


def reading(result: Result) -> str:
    """Return what is left of the model's accuracy where words mislead."""
    subsets = result.scores["subsets"]
    hardest = next((subset for subset in subsets if subset["lambda"] == MISLED), None)
    if hardest is None or hardest["n"] < _ENOUGH:
        pairs = 0 if hardest is None else hardest["n"]
        return f"{pairs:,} of {subsets[0]['n']:,} pairs are in CS_{MISLED:g}; a statement about these takes {_ENOUGH}."
    accuracy, majority = hardest["accuracy"], hardest["majority"]
    label = result.scores["labels"][hardest["majority_label"]]
    return (
        f"where words mislead (λ = {hardest['lambda']:g}, {accuracy.n:,} pairs) it is right {share(accuracy)} of the "
        f"time (who always says {label}: {points(majority.value)} %); from all pairs to these, "
        f"{change(hardest['drop'])}."
    )


def _lexical(models: list[dict[str, Any]]) -> str:
    """Return what the lexical model was fitted to."""
    if not models:
        return ""
    names = ", ".join(f"{part['origin']} {part['split']}".strip() for part in models[0]["training"])
    folds = f", in {len(models)} folds" if len(models) > 1 else ""
    return f"Lexical model: {models[0]['pairs']:,} pairs of {names}{folds}."
