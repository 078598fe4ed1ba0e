"""The tables of `mending_study.py`: the grid with one seed, and the chosen entry and soups with several."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from recipe_study_table import PLAIN, Measures, differences_table, markdown_table, read, summary

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
_SOUP: Final = "soup of "


def load(out: Path) -> dict[str, dict[int, Measures]]:
    """Load the results by name and seed. A name with the chosen α between 0 and 1 ends in it; a soup has seed 1."""
    found: dict[str, dict[int, Measures]] = {}
    for path in sorted((out / "measures").glob("*.npz")):
        title = path.stem
        if title.startswith(_SOUP):
            found.setdefault(title, {})[FIRST_SEED] = read(path)
            continue
        name, _, rest = title.partition(_SEED)
        if rest.endswith(_CHOSEN):
            if load_alpha(out, title.removesuffix(_CHOSEN)) == 1:
                continue  # the model itself
            name += ", interpolated"
        found.setdefault(name, {})[int(rest.removesuffix(_CHOSEN))] = read(path)
    return found


def load_alpha(out: Path, title: str) -> float:
    """Load the α that was chosen for a model."""
    return float(json.loads((out / "measures" / f"{title}.json").read_text())["alpha"])


def results_of(out: Path) -> dict[str, Any]:
    """Summarise the grid, and the models with all seeds."""
    found = load(out)
    first = {name: {FIRST_SEED: by_seed[FIRST_SEED]} for name, by_seed in found.items() if FIRST_SEED in by_seed}
    seeds = {name: by_seed for name, by_seed in found.items() if len(by_seed) > 1}
    chosen = out / "chosen.json"
    alphas = {path.stem: load_alpha(out, path.stem) for path in sorted((out / "measures").glob("*.json"))}
    record: dict[str, Any] = {"alphas": alphas, "grid": summary(_ordered(first))}
    record |= json.loads(chosen.read_text()) if chosen.is_file() else {}
    return record | ({"seeds": summary(_ordered(seeds))} if PLAIN in seeds else {})


def _ordered(found: Mapping[str, dict[int, Measures]]) -> dict[str, dict[int, Measures]]:
    return {PLAIN: found[PLAIN]} | dict(found)


def markdown(out: Path) -> str:
    """Build the tables in Markdown."""
    record = results_of(out)
    parts = [markdown_table(record["grid"], _names(record["grid"]), TITLES)]
    if "seeds" in record:
        parts.append(markdown_table(record["seeds"], _names(record["seeds"]), TITLES))
        names = [name for name in _names(record["seeds"]) if name != PLAIN]
        parts.append(differences_table(record["seeds"], names, TITLES))
    parts.append("\n".join(f"{name}: α = {alpha:g}" for name, alpha in record["alphas"].items()))
    return "\n\n".join(parts)


def _names(record: Mapping[str, Any]) -> list[str]:
    return [name for name in next(iter(record["measures"].values())) if name != "n"]
