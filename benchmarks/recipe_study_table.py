"""The table of `recipe_study.py`: means over seeds, and tested differences from plain fine-tuning."""

import io
import json
import sys
import zipfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.stats import norm

from recipes import OF_CATEGORY
from unbag.scoring.bootstrap import Sample
from unbag.scoring.significance import compute_sample_value, correct_p_values, resample_statistics
from unbag.training.seeds import compute_mean_and_deviation

PLAIN: Final = "plain"
RESAMPLES: Final = 2_000
LEVEL: Final = 0.05
_WIDTH: Final = 36
TITLES: Final = {
    **{"snli": "SNLI validation", "snli, CS_0.7": "… CS_0.7", "snli, words tell least": "… hardest ReSNLI partition"},
    **{"snli-test": "SNLI test", "swapped, both orders": "swapped, both orders"},
    **{"mnli-validation_matched": "MNLI-m", "sick-test": "SICK test"},
    **{"soswap, held-out words": "SOSwap, held-out words", "addamod, held-out words": "AddAmod, held-out words"},
    **{"Breaking NLI": "Breaking NLI", "held-out words of Breaking NLI": "… held-out words"},
    **{
        "Ω_max, p ≥ 0.5": "Ω_max, p ≥ 0.5",
        "P^c": "P^c",
        "SICCK, macro F1": "SICCK, macro F1",
        "snli, ECE": "SNLI, ECE",
    },
}
"""Titles of the measures in Markdown; those without a title are in the table of a terminal and in the JSON."""


class Measures(NamedTuple):
    """The results of one model: numbers with their examples, and numbers without examples."""

    samples: Mapping[str, Sample]
    values: Mapping[str, float]


def open_results(out: Path) -> Any:
    """Open the results of a study: a folder (`Path`) or a zip archive (`zipfile.Path`)."""
    return out if out.is_dir() or out.suffix != ".zip" else zipfile.Path(out)


def read(path: Any) -> Measures:
    """Load the results that `write` stored, in a folder or in an archive."""
    with np.load(io.BytesIO(path.read_bytes())) as kept:
        about = json.loads(str(kept["about"]))
        statistics: dict[str, str] = about["statistics"]
        samples = {name: Sample(how, kept[f"sample {number}"]) for number, (name, how) in enumerate(statistics.items())}
    return Measures(samples, about["values"])


def summary(found: Mapping[str, Mapping[int, Measures]]) -> dict[str, Any]:
    """Compute mean and standard deviation of every number, and the differences from `plain`."""
    models = [measures for by_seed in found.values() for measures in by_seed.values()]
    first = models[0]
    # A number that some model lacks (P^f of a model without errors) is excluded from the table and listed.
    numbers_of = [{*each.samples, *each.values} for each in models]
    shared = set.intersection(*numbers_of)
    table: dict[str, dict[str, Any]] = {}
    for measure in (name for name in (*first.samples, *first.values) if name in shared):
        is_sample = measure in first.samples
        row: dict[str, Any] = {"n": len(first.samples[measure].columns)} if is_sample else {}
        for name, by_seed in found.items():
            values = [
                compute_sample_value(m.samples[measure]) if is_sample else m.values[measure] for m in by_seed.values()
            ]
            row[name] = {**compute_mean_and_deviation(values), "seeds": list(by_seed)}
        if is_sample and PLAIN in found:
            for name, difference in differences(measure, found).items():
                row[name]["difference"] = difference
        table[measure] = row
    tested = [row[name]["difference"] for row in table.values() for name in found if "difference" in row.get(name, {})]
    for each, p in zip(tested, correct_p_values([each["p"] for each in tested]), strict=True):
        each["p_holm"] = float(p)
    # Bonferroni's correction, because Holm's does not give intervals.
    z = norm.isf(LEVEL / 2 / max(len(tested), 1))
    for each in tested:
        each["corrected"] = [each["value"] - z * each["error"], each["value"] + z * each["error"]]
    excluded = sorted(set.union(*numbers_of) - shared)
    return {"compared_with": PLAIN, "differences": len(tested), "excluded": excluded, "measures": table}


def differences(measure: str, found: Mapping[str, Mapping[int, Measures]]) -> dict[str, dict[str, Any]]:
    """Compute each recipe's difference from `plain`: of means over seeds, on the same resamples of the examples."""
    places = [(name, seed) for name, by_seed in found.items() for seed in by_seed]
    samples = [found[name][seed].samples[measure] for name, seed in places]
    drawn = np.array(resample_statistics(samples, resamples=RESAMPLES))
    names = np.array([name for name, _ in places])
    at = np.array([compute_sample_value(each) for each in samples])
    differences = {}
    for name in found:
        if name == PLAIN:
            continue
        gaps = drawn[names == name].mean(axis=0) - drawn[names == PLAIN].mean(axis=0)
        # A resample may have no example that the statistic divides by.
        gaps = gaps[~np.isnan(gaps)]
        gap = float(at[names == name].mean() - at[names == PLAIN].mean())
        error = float(gaps.std(ddof=1))
        low, high = np.quantile(gaps, (0.025, 0.975))
        p = float(2 * norm.sf(abs(gap) / error)) if error else float(gap == 0)
        differences[name] = {"value": gap, "low": float(low), "high": float(high), "error": error, "p": p}
    return differences


def show(record: Mapping[str, Any]) -> None:
    """Print tables to stderr, in percent, with a few recipes each, because all do not fit beside each other."""
    names = [name for name in next(iter(record["measures"].values())) if name != "n"]
    for start in range(0, len(names), 4):
        some = names[start : start + 4]
        print(f"\n{'':30}{'n':>7}" + "".join(f"{name:>{_WIDTH}}" for name in some), file=sys.stderr)
        for measure, row in record["measures"].items():
            if measure.startswith(OF_CATEGORY):  # in the JSON
                continue
            cells = (f"{_cell(row[name]):>{_WIDTH}}" for name in some)
            print(f"{measure:30}{row.get('n', ''):>7}" + "".join(cells), file=sys.stderr)
    if record["excluded"]:
        print(f"\nexcluded, because some models have no value: {', '.join(record['excluded'])}", file=sys.stderr)
    print(f"\n* below {LEVEL:g} by Holm among {record['differences']} differences", file=sys.stderr)


def _cell(each: Mapping[str, Any]) -> str:
    cell = f"{100 * each['mean']:.1f}"
    if each["standard_deviation"] is not None:
        cell += f" ± {100 * each['standard_deviation']:.1f}"
    if found := each.get("difference"):
        star = "*" if found["p_holm"] <= LEVEL else " "
        cell += f" {100 * found['value']:+.1f} [{100 * found['low']:+.1f}, {100 * found['high']:+.1f}]{star}"
    return cell


def markdown_table(record: Mapping[str, Any], names: Sequence[str], titles: Mapping[str, str] = TITLES) -> str:
    """Build a Markdown table in percent, with one row per recipe and the differences from plain fine-tuning.

    A difference in points is in brackets if its interval excludes zero, and bold if p < .05 after Holm's correction.
    """
    rows = {title: record["measures"][measure] for measure, title in titles.items() if measure in record["measures"]}
    sizes = [f"{row['n']:,}" if "n" in row else "" for row in rows.values()]
    lines = [f"| | {' | '.join(rows)} |", "|---|" + "---:|" * len(rows), f"| n | {' | '.join(sizes)} |"]
    lines += [f"| {name} | " + " | ".join(_short(row[name]) for row in rows.values()) + " |" for name in names]
    return "\n".join(lines)


def _short(each: Mapping[str, Any]) -> str:
    cell = f"{100 * each['mean']:.1f}"
    if each["standard_deviation"] is not None:
        cell += f" ± {100 * each['standard_deviation']:.1f}"
    found = each.get("difference")
    if found and not found["low"] <= 0 <= found["high"]:
        points = f"{100 * found['value']:+.1f}".replace("-", "−")
        cell += f" (**{points}**)" if found["p_holm"] <= LEVEL else f" ({points})"
    return cell


def differences_table(record: Mapping[str, Any], names: Collection[str], titles: Mapping[str, str] = TITLES) -> str:
    """Build the Markdown table with the differences of some models from plain, in points with 95 % intervals."""
    chosen = [name for name in next(iter(record["measures"].values())) if name in names]
    lines = [f"| | n | {PLAIN} | {' | '.join(chosen)} |", "|---|---:|---:|" + "---|" * len(chosen)]
    for measure, title in titles.items():
        row = record["measures"].get(measure, {})
        if "n" in row:
            cells = [_interval(row[name]["difference"]) for name in chosen]
            lines.append(f"| {title} | {row['n']:,} | {100 * row[PLAIN]['mean']:.1f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _interval(found: Mapping[str, float]) -> str:
    value, low, high = (f"{100 * found[name]:+.1f}".replace("-", "−") for name in ("value", "low", "high"))
    return f"{value} [{low}, {high}]"
