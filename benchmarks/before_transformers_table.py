"""The table of `before_transformers.py`: the results of each model, and the outcomes of the papers' claims."""

import statistics
import sys
from collections.abc import Iterator
from typing import Any, Final

from unbag.models import ARCHITECTURES
from unbag.training.seeds import compute_mean_and_deviation

ORDERS: Final = {"normal": "natural", "shuffled": "shuffled"}
MEASURES: Final = {
    "accuracy": ("cs_lambda", "accuracy"),
    "CS_0.7": ("cs_lambda", "accuracy_cs_0.7"),
    "Ω_max": ("permuted", "omega_max"),
    "P^c": ("permuted", "p_c"),
    "P^f": ("permuted", "p_f"),
    "swapped": ("swapped", "accuracy_after"),
    "SOSwap": ("soswap_addamod", "accuracy_soswap"),
    "AddAmod": ("soswap_addamod", "accuracy_addamod"),
    "Breaking NLI": ("breaking_nli", "accuracy"),
    "SICCK": ("sicck", "accuracy"),
}
SPEEDS: Final = ("trained a second", "answered a second")
CONTEXTUAL: Final = {"dam-contextual": "dam"}
"""Kinds over the outputs of the transformer, frozen, in place of word vectors: what each is called here."""

_WITH_BAGS: Final = ("rse", "esim", "dr-bilstm")
_RECURRENT: Final = ("infersent", "bilstm-last", *_WITH_BAGS)

Run = dict[str, Any]


def table(found: list[Run]) -> list[Run]:
    """Build one row per model and word order, with the numbers over seeds."""
    rows = []
    known = [*ARCHITECTURES, *CONTEXTUAL]
    order = [*known, *sorted({run["asked"]["model"] for run in found} - set(known))]
    for name in order:
        for words in ORDERS:
            runs = [run for run in found if (run["asked"]["model"], run["asked"]["order"]) == (name, words)]
            if not runs:
                continue
            values = {key: [run["measures"][key] for run in runs] for key in MEASURES}
            values |= {key: [run[key] for run in runs] for key in SPEEDS}
            there = {key: [each for each in column if each is not None] for key, column in values.items()}
            rows.append(
                {
                    "model": name,
                    "options": runs[0]["asked"].get("options", {}),
                    "order": words,
                    "seeds": [run["asked"]["seed"] for run in runs],
                    "parameters": runs[0]["parameters"],
                    "asked": {key: value for key, value in runs[0]["asked"].items() if key != "seed"},
                    "n": runs[0]["n"],
                    **{key: compute_mean_and_deviation(column) if column else None for key, column in there.items()},
                }
            )
    return rows


def show(rows: list[Run]) -> None:
    """Print the table to stderr, shares in percent."""
    columns = ["model", "trained on", "seeds", *MEASURES, "parameters", *SPEEDS]
    n = {
        name: count for name, count in rows[0]["n"].items() if not name.startswith("P^")
    }  # theirs are each model's own
    titles = [f"{name}, {n[name]:,}" if name in n else name for name in columns]
    lines = [titles, ["---", "---", *["---:"] * (len(columns) - 2)]]
    for row in rows:
        options = " ".join(f"{key}={value}" for key, value in row["options"].items())
        cells = [f"{row['model']} ({options})" if options else row["model"], row["order"], str(len(row["seeds"]))]
        cells += [_cell(row[key], 100, 1) for key in MEASURES]
        cells += [f"{row['parameters'] / 1e6:.2f} M", *(_cell(row[key], 1, 0) for key in SPEEDS)]
        lines.append(cells)
    for cells in lines:
        print(f"| {' | '.join(cells)} |", file=sys.stderr)


def _cell(numbers: Run | None, factor: int, digits: int) -> str:
    if numbers is None:
        return ""
    spread = numbers["standard_deviation"]
    cell = f"{factor * numbers['mean']:,.{digits}f}"
    return cell if spread is None else f"{cell} ± {factor * spread:,.{digits}f}"


def claims(found: list[Run]) -> Iterator[str]:
    """Iterate over the outcomes of the papers' claims: differences in points between models of the same seeds."""
    by = {(run["asked"]["model"], run["asked"]["order"], run["asked"]["seed"]): run["measures"] for run in found}

    def difference(what: str, one: tuple[str, str], other: tuple[str, str]) -> str | None:
        both = [(by[key], by[*other, key[2]]) for key in by if key[:2] == one and (*other, key[2]) in by]
        values = [100 * (a[what] - b[what]) for a, b in both if None not in (a[what], b[what])]
        if not values:
            return None
        spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
        return f"{what} {statistics.mean(values):+.1f}{spread} ({len(values)} seed{'s' if values[1:] else ''})"

    known = [*ARCHITECTURES, *CONTEXTUAL]
    last = [name for name in {key[0] for key in by} if name not in known]
    order, bags = ("accuracy", "CS_0.7"), ("Ω_max", "P^c")
    asked: list[tuple[str, str, str, tuple[str, ...]]] = [
        (name, f"{name}-bow", "with its recurrence less as a bag of words", order) for name in _WITH_BAGS
    ]
    asked += [(name, kind, f"less {kind}", (*order, *bags)) for name, kind in CONTEXTUAL.items()]
    asked.append(("s-tlstm", "esim", "with trees in the place of sequences", order))  # Nie et al. 2019, Table 5
    asked += [(name, peer, f"less {peer}", bags) for peer in last for name in _RECURRENT]
    for name, peer, what, keys in asked:
        if said := [each for key in keys if (each := difference(key, (name, "normal"), (peer, "normal")))]:
            yield f"{name}, {what}: {', '.join(said)}"
    for name in [*known, *last]:
        both = ((name, "shuffled"), (name, "normal"))
        if said := [each for key in (*order, "Ω_max") if (each := difference(key, *both))]:
            yield f"{name}, words shuffled in training less in order: {', '.join(said)}"
