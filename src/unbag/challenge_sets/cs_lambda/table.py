"""Terminal table of compositionality sensitivity: the rows of Nie et al. 2019, Table 5, for one model."""

from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from unbag.challenge_sets.cs_lambda import SET
from unbag.challenge_sets.cs_lambda.scores import MISLED
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.tables import (
    create_result_table,
    describe_change,
    format_interval,
    format_points,
    format_share,
    format_value,
    summarize_exclusions,
)

_MIN_PAIRS: Final = 50  # from 50 pairs the standard error of an accuracy is below 0.1


def build_table(result: Result) -> RenderableType:
    """Build the table of accuracy, drop, best constant prediction and human accuracy by λ."""
    subsets = result.scores["subsets"]
    has_human = any("human" in subset for subset in subsets)
    grid = create_result_table(
        SET.title, result, "", "n", "accuracy [95 %]", "drop [95 %]", "constant", *(["human"] if has_human else [])
    )
    grid.collapse_padding = True  # with intervals, the table fits 80 columns
    for subset in subsets:
        cells = [format_interval(subset["accuracy"]), format_interval(subset["drop"]) if subset["lambda"] else ""]
        human = [format_value(subset.get("human"))] if has_human else []
        name = f"CS_{subset['lambda']:g}" if subset["lambda"] else "all"
        grid.add_row(name, f"{subset['n']:,}", *cells, format_value(subset["majority"]), *human)
    models = result.config.get("lexical_models", [])
    return Group(grid, Text(f"{summarize_exclusions(result.data)}. {_lexical(models)}", style="dim"))


def summarize_result(result: Result) -> str:
    """Summarize the accuracy on CS_0.7, the best constant prediction, and the difference from all pairs."""
    subsets = result.scores["subsets"]
    hardest = next((subset for subset in subsets if subset["lambda"] == MISLED), None)
    if hardest is None or hardest["n"] < _MIN_PAIRS:
        pairs = 0 if hardest is None else hardest["n"]
        return (
            f"too few misleading pairs: {pairs:,} of {subsets[0]['n']:,} pairs are in CS_{MISLED:g}, {_MIN_PAIRS} "
            "are needed."
        )
    accuracy, majority = hardest["accuracy"], hardest["majority"]
    label = result.scores["labels"][hardest["majority_label"]]
    return (
        f"with misleading lexical cues (λ = {hardest['lambda']:g}), correct on {format_share(accuracy)} of "
        f"{accuracy.n:,} pairs "
        f"(always {label}: {format_points(majority.value)} %); compared with all pairs, "
        f"{describe_change(hardest['drop'])}."
    )


def _lexical(models: list[dict[str, Any]]) -> str:
    """Describe the training data of the lexical model; empty without a lexical model."""
    if not models:
        return ""
    names = ", ".join(f"{part['origin']} {part['split']}".strip() for part in models[0]["training"])
    folds = f", in {len(models)} folds" if len(models) > 1 else ""
    return f"Lexical model: {models[0]['pairs']:,} pairs of {names}{folds}."
