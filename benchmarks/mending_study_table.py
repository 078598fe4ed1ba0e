"""The tables of `mending_study.py`: the grid with one seed, and the chosen entry and soups with several."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from recipe_study_table import PLAIN, Measures, differences_table, markdown_table, open_results, read, summary

TITLES: Final = {
    **{"snli-test": "SNLI test", "mnli-validation_matched": "MNLI-m", "CS_0.7": "CS_0.7", "swapped": "swapped"},
    **{"soswap": "SOSwap", "addamod": "AddAmod", "Breaking NLI": "Breaking NLI"},
    **{"Breaking NLI, held-out words": "… held-out words", "negation": "negation", "recombined": "recombined"},
    **{"Ω_max, p ≥ 0.5": "Ω_max, p ≥ 0.5", "P^c": "P^c", "ECE, snli-test": "ECE"},
}
"""Titles of the reported measures. The others are for selection."""
FIRST_SEED: Final = 1
_SEED: Final = " seed "
_CHOSEN: Final = " chosen"
INTERPOLATED: Final = ", interpolated"
_SOUP: Final = "soup of "


def load(results: Any) -> dict[str, dict[int, Measures]]:
    """Load the results by name and seed; a soup has seed 1.

    The folder (`Path`) or archive (`zipfile.Path`) has the subfolder `measures`. Results of a model at the chosen α, if
    it is below 1, have a name that ends in `INTERPOLATED`.
    """
    alphas = load_alphas(results)
    found: dict[str, dict[int, Measures]] = {}
    for file in sorted((results / "measures").iterdir(), key=lambda file: file.name):
        title, _, suffix = file.name.rpartition(".")
        if suffix != "npz":
            continue
        name, _, rest = title.partition(_SEED)
        if title.startswith(_SOUP):
            name, rest = title, str(FIRST_SEED)
        elif rest.endswith(_CHOSEN):
            rest = rest.removesuffix(_CHOSEN)
            if alphas[f"{name}{_SEED}{rest}"] == 1:
                continue  # the model itself
            name += INTERPOLATED
        found.setdefault(name, {})[int(rest)] = read(file)
    return found


def load_alphas(results: Any) -> dict[str, float]:
    """Load the chosen α of each model."""
    files = [file for file in (results / "measures").iterdir() if file.name.endswith(".json")]
    return {file.name.removesuffix(".json"): float(json.loads(file.read_text())["alpha"]) for file in files}


def results_of(out: Path) -> dict[str, Any]:
    """Summarise the grid, the soups, and the models with all seeds; `out` is a folder or a zip archive."""
    results = open_results(out)
    found = load(results)
    first = {name: {FIRST_SEED: by_seed[FIRST_SEED]} for name, by_seed in found.items() if FIRST_SEED in by_seed}
    soups = {name: each for name, each in first.items() if name.startswith(_SOUP)}
    seeds = {name: by_seed for name, by_seed in found.items() if len(by_seed) > 1}
    parts = {"grid": {name: each for name, each in first.items() if name not in soups}, "soups": soups, "seeds": seeds}
    record: dict[str, Any] = {"alphas": dict(sorted(load_alphas(results).items()))}
    record |= {name: summary({PLAIN: found[PLAIN]} | some) for name, some in parts.items() if some}
    chosen = results / "chosen.json"
    return record | (json.loads(chosen.read_text()) if chosen.is_file() else {})


def markdown(out: Path) -> str:
    """Build the tables in Markdown: the grid without interpolation, then soups and all seeds with their differences."""
    record = results_of(out)
    parts = [
        markdown_table(record["grid"], [each for each in _names(record["grid"]) if INTERPOLATED not in each], TITLES)
    ]
    for part in ("soups", "seeds"):
        if part in record:
            names = _names(record[part])
            parts.append(markdown_table(record[part], names, TITLES))
            parts.append(differences_table(record[part], [name for name in names if name != PLAIN], TITLES))
    parts.append("\n".join(f"{name}: α = {alpha:g}" for name, alpha in record["alphas"].items()))
    return "\n\n".join(parts)


def _names(record: Mapping[str, Any]) -> list[str]:
    return [name for name in next(iter(record["measures"].values())) if name != "n"]
