"""Result tables of `unbag train mend`, cross-validation on SICCK, and training on a rearranged corpus.

Tables 8, 9 and 18-24 of Akoju et al. (2023); Table 3 and both ends of Figure 2 of the ReSNLI paper.
"""

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from unbag.challenge_sets.views.tables import create_table, format_interval
from unbag.evaluation.comparison import Comparison
from unbag.reports import comparison as compared
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.natural_logic import MEASURES

_DOMAIN: Final = "plain"  # the set with the unchanged pairs of a corpus


def build_mend_view(record: Mapping[str, Any], comparison: Comparison | None) -> RenderableType:
    """Build the terminal view of a model trained with `unbag train mend`: comparison with the original, and remarks."""
    chosen = [_interpolation_sentence(run["interpolation"]) for run in record["runs"] if "interpolation" in run]
    remarks = [Text(line, style="dim") for line in (*chosen, *_remarks(record))]
    if comparison is None:
        return Group(*remarks)
    return Group(compared.build_comparison_view(comparison), Text(format_in_domain_change(comparison)), *remarks)


def format_in_domain_change(comparison: Comparison) -> str:
    """Format as a sentence how the accuracy on the unmodified pairs of each corpus changes."""
    own = [each for each in comparison.differences if each.set == _DOMAIN and each.quantity == "accuracy"]
    if not own:
        return "In domain: not evaluated."
    parts = []
    for each in own:
        # In percentage points.
        value, low, high = (None if bound is None else 100 * bound for bound in each.difference[:3])
        interval = "" if low is None or high is None else f" [{low:+.1f}, {high:+.1f}]"
        points = "–" if value is None else f"{value:+.1f}{interval}"
        outcome = {True: "significant", False: "not significant", None: "not tested"}[comparison.is_significant(each)]
        parts.append(f"{each.data}, accuracy {points} points ({outcome})")
    return f"In domain: {'; '.join(parts)}."


def build_mend_card(
    record: Mapping[str, Any], comparison: Comparison | None, *, description: str, command: str, name: str
) -> str:
    """Build the README of a model trained with `unbag train mend`, in Markdown."""
    [trained] = record["runs"]
    parts = [
        f"# {name}",
        f"`{trained['model']['name']}` (revision `{trained['model']['revision']}`), mended by unbag: a standard "
        "transformers classifier with label names in the config.",
        description,
        f"```\n{command}\n```",
        build_interpolation_section(trained),
    ]
    if comparison is not None:
        exported = compared.export_comparison(comparison)
        parts += ["## Before and after", exported.text("md"), format_in_domain_change(comparison)]
    parts += [" ".join(_remarks(record))]
    return "\n\n".join(part for part in parts if part) + "\n"


def build_interpolation_section(record: Mapping[str, Any]) -> str:
    """Build the Markdown section on weight interpolation. Return "" if the training record has no interpolation."""
    if (found := record.get("interpolation")) is None:
        return ""
    rows = []
    for row in found["curve"]:
        label = f"{row['alpha']:g}" + (" (published)" if row["alpha"] == found["alpha"] else "")
        rows.append(f"| {label} | {row['all']['accuracy']:.4f} | {row['all']['loss']:.4f} |")
    method = "WiSE-FT ([Wortsman et al. 2022](https://arxiv.org/abs/2109.01903))"
    pairs = f"{found['curve'][0]['all']['pairs']:,} validation pairs"
    text = f"{_interpolation_sentence(found)} The method is {method}. The table shows the {pairs}."
    return "\n".join(["## Interpolated weights", "", text, "", "| α | accuracy | loss |", "|---:|---:|---:|", *rows])


def _interpolation_sentence(interpolation: Mapping[str, Any]) -> str:
    """Describe the weights that `mend --interpolate` published."""
    alpha, points = interpolation["alpha"], interpolation["max_loss"]
    return (
        f"The weights are (1 − α) θ_original + α θ_trained with α = {alpha:g}, the largest α in the grid that "
        f"loses at most {points} point of accuracy on each validation corpus."
    )


def _remarks(record: Mapping[str, Any]) -> list[str]:
    lines = [f"No comparison: {record['why_not']}."] if record["why_not"] else []
    lines += [f"Skipped: {name} ({why})." for name, why in record["skipped"].items()]
    return lines


_PROTOCOLS: Final = {
    "authors": "the authors' protocol",
    "spread": "pairs of each seed spread",
    "whole_seeds": "whole seeds",
}
_OMITTED: Final = "none"  # pairs without a modifier, for which the paper has no table
_KFOLD_NAMES: Final = {
    "adjective/adverb": "adj./adverb",
    "seen": "seen seed",
    "unseen": "unseen seed",
}  # for 80 columns


def build_kfold_table(record: Mapping[str, Any]) -> Table:
    """Build the cross-validation table, with the scores of the original and the fine-tuned model per group of pairs."""
    seeds, folds = len(record["seeds"]), record["config"]["folds"]
    over_seeds = "one training seed" if seeds == 1 else f"mean ± standard deviation over {seeds} training seeds"
    grid = create_table(
        f"{record['model']['name']} · sicck · {folds} folds, {_PROTOCOLS[record['config']['protocol']]}",
        *("", "F1", "precision", "recall", "accuracy", "pairs"),
        caption=f"{over_seeds}; no model is trained on the pairs that it predicts",
    )
    for column in grid.columns[1:]:
        column.no_wrap = True
    summary = record["summary"]
    _add(grid, "all", summary["all"])
    for name in ("modifier_type", "part", "seed"):
        grid.add_section()
        for value, group in summary[name].items():
            if value != _OMITTED:
                _add(grid, _KFOLD_NAMES.get(value, value), group)
    return grid


def _add(grid: Table, name: str, measures: Mapping[str, Any]) -> None:
    grid.add_row(name, *(f"{measures[each]['zero_shot']:.3f}" for each in MEASURES), f"{measures['pairs']:,}")
    cells = []
    for each in MEASURES:
        mean, deviation = measures[each]["mean"], measures[each]["standard_deviation"]
        cells.append(f"{mean:.3f}" + ("" if deviation is None else f" ±{deviation:.3f}".replace("±0.", "±.")))
    grid.add_row("  fine-tuned", *cells, style="bold")


_REARRANGED_NAMES: Final = {
    "finetune": "fine-tuned",
    "hex": "HEX, f([h, 0])",  # wrapped in Text below, because Rich parses brackets as markup
    "hex, residual head": "HEX, F_L",
}


def build_rearranged_table(record: Mapping[str, Any]) -> Table:
    """Build the table of accuracies on the original and the rearranged corpus, and of the effect of HEX."""
    (corpus, plain), (_, rearranged) = record["arrangements"].items()
    seeds, several = len(record["seeds"]), len(record["seeds"]) > 1
    grid = create_table(
        f"{record['config']['model']} · trained and tested on {corpus}, original and rearranged",
        *("", f"{corpus} [95 %]", "rearranged [95 %]", "easiest", "hardest"),
        caption=f"Original: {_pairs(plain)}; rearranged: {_pairs(rearranged)}; "
        + (f"means over {seeds} training seeds, ± their standard deviation. " if several else "one training seed. ")
        + "Easiest and hardest: first and last partition of the rearranged test pairs."
        + (" The paper's models were trained on all of SNLI." if record["published"] else ""),
    )
    for name in plain["answers"]:
        own = [arrangement["answers"][name] for arrangement in (plain, rearranged)]
        ends = [own[1]["by_partition"][end]["accuracy"] for end in (0, -1)]
        grid.add_row(Text(_REARRANGED_NAMES[name]), *map(_cell, own), *(f"{value:.3f}" for value in ends))
    grid.add_section()
    for name in plain["answers"]:
        less = [arrangement["answers"][name]["less_finetune"] for arrangement in (plain, rearranged)]
        if None not in less:
            name_of_gap = Text(f"{_REARRANGED_NAMES[name]} minus fine-tuned")
            grid.add_row(name_of_gap, *(format_interval(Estimate(**each)) for each in less), "", "")
    if record["published"]:
        grid.add_section()
    for row in record["published"]:
        grid.add_row(f"{row['model']} (paper)", f"{row['SNLI']:.3f}", f"{row['ReSNLI']:.3f}", "", "", style="dim")
    return grid


def _cell(answers: Mapping[str, Any]) -> str:
    deviation = answers["over_seeds"]["standard_deviation"]
    return format_interval(Estimate(**answers["accuracy"])) + ("" if deviation is None else f" ±{deviation:.3f}")


def _pairs(arrangement: Mapping[str, Any]) -> str:
    trained = sum(part["pairs"] for part in arrangement["data"]["training"])
    return f"{trained:,} training and {arrangement['n']:,} test pairs"
