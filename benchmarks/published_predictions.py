"""Score published predictions of NLI models on CS_λ and ReSNLI, and write the page of the study.

    python benchmarks/published_predictions.py FOLDER [--sources FILE.toml] [--page PAGE.md] [--embeddings MODEL]

FOLDER contains `<split>.parquet` or `.csv` (one column of predicted labels per system) or `<split>__<system>.<format>`
(one system per file) for the splits in `SPLITS`. `unbag.score` matches the rows with those of the sets. The file
`published_predictions.toml` describes the systems; `--sources` adds or replaces descriptions. Systems without a
description are scored, too, but are not part of the test of the two groups.

The script replaces the generated blocks of the page and writes the chart beside it. The page contains figures only.
"""

import argparse
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from statistics import NormalDist
from typing import Any, Final, NamedTuple

import numpy as np
import vl_convert
from numpy.typing import NDArray

import unbag
from published_predictions_statistics import (
    GroupEffect,
    Predictions,
    average_matched_pairs,
    compute_accuracies,
    compute_loss,
    compute_loss_by_slope,
    compute_reliability,
    estimate_group_effect,
    match_systems,
)
from unbag.challenge_sets.request import SetRequest, build_requested_set
from unbag.challenge_sets.results import Result
from unbag.data.columns import read_column, read_numeric_column
from unbag.evaluation.prediction_labels import resolve_answers
from unbag.evaluation.prediction_matching import match_rows
from unbag.inference.prediction_files import read_published_predictions
from unbag.scoring.bootstrap import DIFFERENCE, RATIO, Estimate, Sample
from unbag.scoring.compositionality_sensitivity import THRESHOLDS
from unbag.scoring.significance import compute_paired_difference, correct_p_values

ROOT: Final = Path(__file__).parents[1]
SOURCES: Final = Path(__file__).with_suffix(".toml")
PAGE: Final = ROOT / "docs" / "studies" / "published_predictions.md"

SPLITS: Final = {
    "mnli_matched": ("mnli", "validation_matched", "MNLI matched"),
    "mnli_mismatched": ("mnli", "validation_mismatched", "MNLI mismatched"),
    "snli_dev": ("snli", "validation", "SNLI validation"),
    "snli_test": ("snli", "test", "SNLI test"),
    "sick_test": ("sick", "test", "SICK test"),
    "anli_r1_dev": ("anli", "dev_r1", "ANLI round 1, dev"),
    "anli_r2_dev": ("anli", "dev_r2", "ANLI round 2, dev"),
    "anli_r3_dev": ("anli", "dev_r3", "ANLI round 3, dev"),
}
"""Corpus, split and title by file name."""

TESTED: Final = "mnli_matched"
"""Split of the test: the only one with several models of both kinds."""
LAMBDA: Final = 0.5
"""λ of the test. At the paper's 0.7, the sample of 800 pairs that most models share has 23 pairs."""
MIN_ROWS: Final = 20
"""Minimum number of pairs of a reported accuracy."""
MIN_TESTED: Final = 50
"""Minimum number of pairs in CS_λ for a system in a test."""
COMMON: Final = 0.95
"""Minimum share of a sample of pairs that a system predicts. Some answers of language models could not be read."""
TOLERANCE: Final = 0.01
"""Maximum difference of accuracies that count as equal."""
ENCODER, PROMPTED = "encoder", "prompted"
KINDS: Final = {
    ENCODER: "encoder",
    PROMPTED: "language model, prompted",
    "tuned": "language model, fine-tuned",
    "older": "older or hybrid",
    "partial": "one sentence only",
    "transfer": "encoder, other training data",
    "": "not described",
}

NORMAL: Final = NormalDist()

Floats = NDArray[np.float64]


class System(NamedTuple):
    """Description of a system. All fields except the name are empty if nothing describes it."""

    name: str
    repository: str = ""
    kind: str = ""
    model: str = ""
    variant: str = ""
    compared_with: str = ""
    comparison: str = ""
    stated: Mapping[str, float] = {}

    @property
    def title(self) -> str:
        """Name in the tables."""
        return ", ".join(filter(None, [self.model or self.name, self.variant]))


class Split(NamedTuple):
    """Systems with predictions of one split, their results, and their correct predictions row by row."""

    name: str  # key of `SPLITS`
    systems: list[System]  # in the order of the results
    results: list[Result]  # results of `unbag.score` on CS_λ
    predictions: Predictions  # on all rows of the split
    lms: Floats  # lexically misleading score of each row, shape (rows,)
    lexical: float  # accuracy of the lexical model that selects CS_λ

    def select(self, *kinds: str) -> "Split":
        """Select the systems of the given kinds (default: all) with enough rows in CS_λ (λ = `LAMBDA`)."""
        has_prediction = ~np.isnan(self.predictions.right)
        enough = (has_prediction & (self.lms >= LAMBDA)).sum(axis=1) >= MIN_TESTED
        return self.select_systems(enough & [not kinds or system.kind in kinds for system in self.systems])

    def select_common_rows(self) -> "Split":
        """Select the sample of rows that most models predict, and the systems that predict nearly all of its rows."""
        has_prediction = ~np.isnan(self.predictions.right)
        shares = has_prediction.astype(np.float64) @ has_prediction.T / has_prediction.sum(axis=1)
        predicts = shares >= COMMON  # by system and sample
        sizes = has_prediction.sum(axis=1).tolist()
        samples = [(len(set(self.predictions.model[each])), size) for each, size in zip(predicts.T, sizes, strict=True)]
        common = self.select_systems(predicts[:, samples.index(max(samples))])
        rows = np.asarray(~np.isnan(common.predictions.right).any(axis=0), dtype=np.bool_)
        return common._replace(predictions=common.predictions.select_rows(rows), lms=common.lms[rows])

    def select_systems(self, mask: NDArray[np.bool_]) -> "Split":
        """Select some of the systems."""
        keep = np.flatnonzero(mask).tolist()
        return self._replace(
            systems=[self.systems[i] for i in keep],
            results=[self.results[i] for i in keep],
            predictions=self.predictions.select(mask),
        )


def load_sources(*files: Path) -> tuple[dict[str, Any], dict[str, System]]:
    """Load the descriptions of repositories and systems. Later files add to earlier ones or replace their entries."""
    repositories: dict[str, Any] = {}
    systems: dict[str, System] = {}
    for file in files:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        repositories |= table.get("repositories", {})
        systems |= {name: System(name, **fields) for name, fields in table.get("systems", {}).items()}
    return repositories, systems


def find_files(folder: Path) -> dict[str, list[Path]]:
    """Find the files of predictions by split."""
    found: dict[str, list[Path]] = {}
    for file in sorted(folder.iterdir()):
        split = file.stem.partition("__")[0]
        if split in SPLITS and file.is_file():
            found.setdefault(split, []).append(file)
    if not found:
        raise SystemExit(
            f"{folder}: expected files such as mnli_matched.parquet, got none; pass the folder of the files"
        )
    return {split: found[split] for split in SPLITS if split in found}


def describe(name: str, systems: Mapping[str, System]) -> System:
    """Return the description of a system, by the name of its column or file."""
    short = re.sub(r"\.\w+$", "", name.partition("__")[2]) if "__" in name else name
    return systems.get(short, System(short))


def score_split(split: str, files: Sequence[Path], systems: Mapping[str, System]) -> Split:
    """Score all systems of a split on CS_λ."""
    corpus, part, _ = SPLITS[split]
    results = list(unbag.score(files, "cs_lambda", corpus=corpus, split=part, progress=False).results)
    built = build_requested_set(SetRequest("cs_lambda", f"{corpus}-{part}"))
    gold = read_column(built.rows, "label").to_numpy()
    names = built.rows.features["label"].names
    rows = []  # in the order of the results
    for table in map(read_published_predictions, files):
        match = match_rows(table, built)
        for model in table.models:
            answers = resolve_answers(table, model, match.positions, [names[label] for label in gold])
            right = np.full(len(gold), np.nan)
            right[answers.is_predicted] = answers.predictions.predicted == answers.predictions.to_label_positions(
                gold[answers.is_predicted]
            )
            rows.append(right)
    described = [describe(str(result.model["name"]), systems) for result in results]
    lexical = np.stack([read_numeric_column(built.rows, f"lexical_{name}") for name in names], axis=1)
    premises = read_column(built.rows, "premise").to_pylist()
    return Split(
        split,
        described,
        results,
        Predictions(
            np.stack(rows),
            np.array([system.model or system.name for system in described]),
            np.array([system.kind == ENCODER for system in described]),
            gold.astype(np.int64),
            np.unique(premises, return_inverse=True)[1].astype(np.int64),
        ),
        np.asarray(read_numeric_column(built.rows, "lms"), dtype=np.float64),
        float((lexical.argmax(axis=1) == gold).mean()),
    )


def format_share(share: float | None, digits: int = 1) -> str:
    """Format a fraction as a percentage without unit; a dash if there is none."""
    return "–" if share is None or math.isnan(share) else f"{100 * share:.{digits}f}".replace("-", "−")


def format_estimate(estimate: Estimate, *, signed: bool = False, min_n: int = MIN_ROWS) -> str:
    """Format an estimate in percent with its interval; a dash below the minimum of its n."""
    if estimate.value is None or estimate.n < min_n:
        return "–"
    value = f"{100 * estimate.value:+.1f}" if signed else f"{100 * estimate.value:.1f}"
    interval = "" if estimate.low is None else f" [{format_share(estimate.low)}, {format_share(estimate.high)}]"
    return f"{value}{interval}".replace("-", "−")


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Format a Markdown table whose first `left` columns are aligned on the left."""
    rule = ["---"] * left + ["---:"] * (len(header) - left)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *rows)) + "\n"


def build_systems_table(split: Split) -> str:
    """Build the table of all systems of a split, the most accurate first."""
    rows = []
    has_skill = any(result.scores.get("skill") for result in split.results)
    for system, result in zip(split.systems, split.results, strict=True):
        scores = {subset["lambda"]: subset for subset in result.scores["subsets"]}
        whole = scores[0.0]["accuracy"]
        skill = (result.scores.get("skill") or {}).get("score")
        row = [
            system.title,
            KINDS[system.kind],
            f"{whole.n:,}",
            format_share(whole.value, 2),
            f"{system.stated[split.name]:.4g}" if split.name in system.stated else "–",
        ]
        for threshold in THRESHOLDS:
            accuracy = scores[threshold]["accuracy"]
            row.append(format_share(accuracy.value) if accuracy.n >= MIN_ROWS else "–")
        row += [format_estimate(scores[threshold]["drop"], signed=True) for threshold in (LAMBDA, 0.7)]
        if has_skill:
            row.append("–" if skill is None else format_estimate(skill))
        rows.append((whole.value, row))
    header = ["system", "kind", "n", "accuracy", "stated", *(f"CS_{threshold}" for threshold in THRESHOLDS)]
    header += [f"drop to CS_{threshold} [95 %]" for threshold in (LAMBDA, 0.7)]
    header += ["skill [95 %]"] * has_skill
    return format_table(header, [row for _, row in sorted(rows, key=lambda each: (-each[0], each[1]))], left=2)


def build_lexical_table(splits: Sequence[Split]) -> str:
    """Build the table of the sizes of CS_λ, and of the accuracy of the lexical model that selects it."""
    rows = []
    for split in splits:
        subsets = [split.lms >= threshold for threshold in THRESHOLDS]
        majority = np.bincount(split.predictions.label[subsets[-1]]).max() / subsets[-1].sum()
        sizes = [f"{subset.sum():,}" for subset in subsets]
        rows.append(
            [SPLITS[split.name][2], f"{len(split.lms):,}", format_share(split.lexical), *sizes, format_share(majority)]
        )
    header = ["split", "pairs", "accuracy of the lexical model", *(f"CS_{threshold}" for threshold in THRESHOLDS)]
    return format_table([*header, "most frequent label in CS_0.7"], rows)


class Comparison(NamedTuple):
    """Paired comparison of two systems on the rows that both predict: first minus second."""

    kind: str  # what differs between the systems
    first: System
    second: System
    n: tuple[int, int]  # numbers of common rows, in total and in CS_λ for `LAMBDA`
    accuracy: Estimate  # difference of the accuracies on all common rows
    drops: dict[float, Estimate]  # difference of the drops to CS_λ by λ
    p: float  # of the difference of the drops to CS_λ for `LAMBDA`, from its interval


def compare_systems(split: Split, first: int, second: int, kind: str) -> Comparison:
    """Compare two systems of a split on their common rows."""
    right = split.predictions.right[[first, second]]
    common = ~np.isnan(right).any(axis=0)
    right, lms = right[:, common], split.lms[common]
    every = np.ones(len(lms))

    def build_sample(hits: Floats, threshold: float | None = None) -> Sample:
        if threshold is None:
            return Sample(RATIO, np.stack([hits, every], axis=1))
        subset = (lms >= threshold).astype(np.float64)
        return Sample(DIFFERENCE, np.stack([hits, every, hits * subset, subset], axis=1))

    accuracy, drop, further = (
        # The limits have a closed form, so one resample is enough.
        compute_paired_difference(*(build_sample(hits, threshold) for hits in right[::-1]), resamples=1).difference
        for threshold in (None, LAMBDA, 0.7)
    )
    assert drop.low is not None
    assert drop.high is not None
    misled = int((lms >= 0.7).sum())
    return Comparison(
        kind,
        split.systems[first],
        split.systems[second],
        (len(lms), int((lms >= LAMBDA).sum())),
        accuracy,
        {LAMBDA: drop, 0.7: Estimate(*further[:3], misled)},
        # A normal 95 % interval has a width of 2 · 1.96 standard errors, which gives the standard error.
        2 * NORMAL.cdf(-abs(drop.low + drop.high) / (drop.high - drop.low) * NORMAL.inv_cdf(0.975)),
    )


def iter_comparisons(split: Split) -> Iterator[Comparison]:
    """Iterate over the comparisons that the descriptions name, and those of encoders with prompted language models.

    A model with several variants is represented by the variant that is most accurate outside CS_λ.
    """
    places = {system.name: place for place, system in enumerate(split.systems)}
    for system in split.systems:
        if system.compared_with in places:
            yield compare_systems(split, places[system.name], places[system.compared_with], system.comparison)
    accuracies = compute_accuracies(split.predictions, split.lms < LAMBDA)
    best: dict[tuple[str, str], int] = {}
    for place in np.argsort(-accuracies, kind="stable").tolist():
        best.setdefault((split.systems[place].kind, split.systems[place].model), place)
    groups = [[place for (kind, _), place in best.items() if kind == each] for each in (ENCODER, PROMPTED)]
    has_prediction = ~np.isnan(split.predictions.right)
    for first, second in product(*groups):
        if (has_prediction[first] & has_prediction[second] & (split.lms >= LAMBDA)).sum() >= MIN_TESTED:
            yield compare_systems(split, first, second, "encoder, language model")


def build_comparisons_table(splits: Sequence[Split]) -> str:
    """Build the table of paired comparisons, with p values corrected for their number."""
    compared = [(split, each) for split in splits for each in iter_comparisons(split.select())]
    corrected = correct_p_values([each.p for _, each in compared]).tolist()
    rows = [
        [
            each.kind,
            SPLITS[split.name][2],
            f"{each.first.title} − {each.second.title}",
            f"{each.n[0]:,} ({each.n[1]:,})",
            *(format_estimate(value, signed=True) for value in (each.accuracy, *each.drops.values())),
            f"{p:.3f}" if p >= 0.001 else "< 0.001",
        ]
        for (split, each), p in zip(compared, corrected, strict=True)
    ]
    header = ["difference in", "split", "systems", "pairs (CS_0.5)", "accuracy", "drop to CS_0.5", "drop to CS_0.7"]
    return format_table([*header, "p (Holm), CS_0.5"], rows, left=3)


def build_test_rows(split: Split, others: Sequence[Split]) -> dict[str, tuple[Split, GroupEffect]]:
    """Estimate the difference between the two kinds in several ways. The first one is the test; the others check it."""
    every = split.select(ENCODER, PROMPTED)
    common = every.select_common_rows()

    def estimate(on: Split, threshold: float = LAMBDA, balanced: bool = False, **options: Any) -> GroupEffect:
        loss = partial(compute_loss, subset=on.lms >= threshold, balanced=balanced)
        return estimate_group_effect(on.predictions, loss, **options)

    found = {
        f"CS_{LAMBDA}": (common, estimate(common)),
        "CS_0.6": (common, estimate(common, 0.6)),
        "CS_0.7": (common, estimate(common, 0.7)),
        f"CS_{LAMBDA}, equal weight of labels": (common, estimate(common, balanced=True)),
        f"CS_{LAMBDA}, each system, errors clustered by model": (common, estimate(common, clustered=True)),
        f"CS_{LAMBDA}, not at equal accuracy": (common, estimate(common, slope=0.0)),
        "regression on the LMS of all pairs": (
            common,
            estimate_group_effect(
                common.predictions, partial(compute_loss_by_slope, lms=common.lms, subset=common.lms >= LAMBDA)
            ),
        ),
        f"CS_{LAMBDA}, all pairs of each system": (every, estimate(every)),
        "CS_0.7, all pairs of each system": (every, estimate(every, 0.7)),
    }
    pooled = pool_splits(every, others)
    if pooled is not None:
        found[f"CS_{LAMBDA}, … with MNLI mismatched"] = pooled, estimate(pooled)
    for model in np.unique(common.predictions.model).tolist():
        rest = common.select_systems(common.predictions.model != model)
        if has_two_groups(rest):
            found[f"CS_{LAMBDA}, without {model}"] = rest, estimate(rest)
    return found


def pool_splits(split: Split, others: Sequence[Split]) -> Split | None:
    """Append the rows of the other split of MNLI to those of a split, for the same systems."""
    other = next((each for each in others if each.name == "mnli_mismatched"), None)
    if other is None:
        return None
    places = {system.name: place for place, system in enumerate(other.systems)}
    missing = np.full(len(other.lms), np.nan)
    right = [
        other.predictions.right[places[system.name]] if system.name in places else missing for system in split.systems
    ]
    one, two = split.predictions, other.predictions
    return split._replace(
        predictions=one._replace(
            right=np.concatenate([one.right, np.stack(right)], axis=1),
            label=np.concatenate([one.label, two.label]),
            # The splits have different premises, so the indices of the second one are shifted.
            source=np.concatenate([one.source, two.source + one.source.max() + 1]),
        ),
        lms=np.concatenate([split.lms, other.lms]),
    )


def count_models(split: Split) -> tuple[int, int]:
    """Count the encoders and the prompted language models among the models of a split."""
    predictions = split.predictions
    return len(set(predictions.model[predictions.in_group])), len(set(predictions.model[~predictions.in_group]))


def has_two_groups(split: Split) -> bool:
    """Check whether there are enough models of both kinds for a test."""
    counts = count_models(split)
    return min(counts) > 0 and sum(counts) > 3


def build_test_table(found: Mapping[str, tuple[Split, GroupEffect]]) -> str:
    """Build the table of the estimates of the test."""
    rows = []
    for title, (split, effect) in found.items():
        encoders, prompted = count_models(split)
        rows.append(
            [
                title,
                f"{encoders} + {prompted}",
                f"{(~np.isnan(split.predictions.right)).any(axis=0).sum():,}",
                format_estimate(effect.estimate, signed=True, min_n=1),
                f"{effect.p:.2f}",
                format_share(effect.error_models),
                format_share(effect.error_rows),
                format_share(effect.detectable),
            ]
        )
    header = ["loss on", "models", "pairs", "encoders − language models [95 %]", "p", "error, models", "error, pairs"]
    split, _ = next(iter(found.values()))
    predictions = split.predictions
    reliability = compute_reliability(predictions, split.lms >= LAMBDA)
    accuracies = compute_accuracies(predictions, split.lms < LAMBDA)
    gap = abs(accuracies[predictions.in_group].mean() - accuracies[~predictions.in_group].mean())
    return (
        format_table([*header, "detectable"], rows)
        + f"\nIn the first row, the kinds differ by {format_share(gap)} points in accuracy outside CS_{LAMBDA}. The "
        f"reliability of these accuracies is {reliability:.2f}. Regression to the mean can therefore shift the "
        f"difference by about {format_share((1 - reliability) * gap)} points.\n"
    )


def build_pairs_table(split: Split) -> str:
    """Build the table of encoders and language models with the same accuracy outside CS_λ."""
    predictions, subset = split.predictions, split.lms >= LAMBDA
    pairs = match_systems(predictions, subset, tolerance=TOLERANCE, min_rows=MIN_TESTED)
    if not pairs:
        return "No pair of systems has the same accuracy.\n"
    corrected = correct_p_values([pair.p for pair in pairs]).tolist()
    rows = [
        [
            split.systems[pair.first].title,
            split.systems[pair.second].title,
            f"{100 * pair.elsewhere:+.1f}".replace("-", "−"),
            format_estimate(pair.on_subset, signed=True),
            f"{pair.p:.2f}",
            f"{p:.2f}",
        ]
        for pair, p in zip(pairs, corrected, strict=True)
    ]
    mean = average_matched_pairs(predictions, subset, pairs)
    rows.append([f"mean over {mean.n} pairs of models", "", "", format_estimate(mean, signed=True, min_n=1), "", ""])
    header = ["encoder", "language model", "outside CS_0.5", "on CS_0.5 [95 %]", "p", "p (Holm)"]
    return format_table(header, rows, left=2)


def build_summary(found: Mapping[str, tuple[Split, GroupEffect]]) -> str:
    """Build the sentences that state the result of the test."""
    split, effect = next(iter(found.values()))
    estimate = effect.estimate
    assert estimate.value is not None  # more than three models
    assert estimate.low is not None
    assert estimate.high is not None
    encoders, prompted = count_models(split)
    low, high = format_share(estimate.low), format_share(estimate.high)
    more = "more" if estimate.value > 0 else "less"
    if estimate.low <= 0 <= estimate.high:
        verdict = (
            "The interval contains 0, so these data do not show a difference. They do not show equality either: the "
            f"test detects a true difference of {format_share(effect.detectable)} points with a probability of 80 %."
        )
    else:
        verdict = f"The interval excludes 0: the {encoders} encoders lose {more} than the {prompted} language models."
    return (
        f"At equal accuracy outside CS_{LAMBDA}, fine-tuned encoders lose {format_share(abs(estimate.value))} "
        f"percentage points {more} on CS_{LAMBDA} than prompted language models. The 95 % interval is from {low} to "
        f"{high} (p = {effect.p:.2f}). The test covers {encoders} encoders, {prompted} language models and "
        f"{len(split.lms):,} pairs, of which {(split.lms >= LAMBDA).sum():,} are in CS_{LAMBDA}. {verdict}\n"
    )


def build_sources_table(splits: Sequence[Split], repositories: Mapping[str, Any]) -> str:
    """Build the table of repositories with commit, license and systems."""
    models: dict[str, dict[str, None]] = {}
    for split in splits:
        for system in split.systems:
            models.setdefault(system.repository, {})[system.model or system.name] = None
    rows = []
    for repository, names in sorted(models.items()):
        record = repositories.get(repository, {})
        commit = str(record.get("commit", ""))
        link = f"[{repository}](https://github.com/{repository})" if repository else "not described"
        rows.append([link, f"`{commit[:10]}`" if commit else "–", record.get("licence", "–"), "; ".join(names)])
    return format_table(["repository", "commit", "licence", "models"], rows, left=4)


def draw_chart(split: Split) -> str:
    """Draw the accuracies and the drops of the systems of a split as SVG."""
    values = []
    for system, result in zip(split.systems, split.results, strict=True):
        scores = {subset["lambda"]: subset for subset in result.scores["subsets"]}
        drop = scores[LAMBDA]["drop"]
        fields = {"accuracy": scores[0.0]["accuracy"].value, "drop": drop.value, "low": drop.low, "high": drop.high}
        points = {name: None if value is None else round(100 * value, 2) for name, value in fields.items()}
        values.append({**points, "kind": KINDS[system.kind]})
    x = {"field": "accuracy", "type": "quantitative", "scale": {"zero": False}, "title": "accuracy on all pairs, %"}
    y = {"type": "quantitative", "title": f"drop to CS_{LAMBDA}, percentage points"}
    rule = {
        "mark": {"type": "rule", "opacity": 0.35},
        "encoding": {"y": {"field": "low", **y}, "y2": {"field": "high"}},
    }
    kind = {"field": "kind", "type": "nominal", "title": None, "legend": {"orient": "bottom", "columns": 3}}
    point = {
        "mark": {"type": "point", "filled": True, "size": 60},
        "encoding": {"y": {"field": "drop", **y}, "color": kind, "shape": kind},
    }
    spec = {
        "data": {"values": values},
        "width": 560,
        "height": 320,
        "background": "white",
        "encoding": {"x": x},
        "layer": [rule, point],
        "config": {"font": "system-ui, sans-serif", "legend": {"labelLimit": 0}},
    }
    return vl_convert.vegalite_to_svg(spec, vl_version="6.1")


def build_resnli_table(
    files: Mapping[str, Sequence[Path]], systems: Mapping[str, System], embeddings: str | None
) -> str:
    """Build the table of accuracies by the uncertainty of a bag of words, for the pairs of SNLI in ReSNLI's test."""
    rows = []
    for split in ("snli_dev", "snli_test"):
        if split not in files:
            continue
        options = {} if embeddings is None else {"embeddings": embeddings}
        try:
            report = unbag.score(files[split], "resnli", corpus="snli", options=options, progress=False)
        except ValueError as error:  # for example, the embeddings cannot be downloaded
            return f"Not computed: {error}\n"
        for result in report.results:
            scores = result.scores
            parts = [part["accuracy"] for part in scores["by_partition"]]
            quarters = np.array_split(np.arange(len(parts)), 4) if len(parts) % 4 == 0 else []
            shares = [
                sum(parts[i].value * parts[i].n for i in quarter) / sum(parts[i].n for i in quarter)
                for quarter in quarters
            ]
            rows.append(
                [
                    describe(str(result.model["name"]), systems).title,
                    SPLITS[split][2],
                    f"{scores['accuracy'].n:,}",
                    format_estimate(scores["accuracy"]),
                    *(map(format_share, shares) if shares else ["–"] * 4),
                    format_estimate(scores["drop"], signed=True),
                ]
            )
    if not rows:
        return "These files have no predictions of SNLI.\n"
    header = ["system", "split", "pairs", "accuracy", *(f"quarter {number}" for number in range(1, 5))]
    return format_table([*header, "easiest − hardest twentieth"], rows, left=2)


BLOCK: Final = re.compile(r"(?s)(<!-- figures: (?P<name>[a-z ]+) -->\n).*?(<!-- end of figures -->)")


def main() -> None:
    """Score all systems and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of prediction files")
    parser.add_argument("--sources", type=Path, help="further descriptions of systems (TOML)")
    parser.add_argument("--page", type=Path, default=PAGE, help="page to write (default: %(default)s)")
    parser.add_argument("--embeddings", help="word embeddings of ReSNLI (default: those of the set)")
    args = parser.parse_args()
    repositories, systems = load_sources(SOURCES, *filter(None, [args.sources]))
    files = find_files(args.folder)
    splits = [score_split(split, files[split], systems) for split in files]
    blocks = {
        "lexical": build_lexical_table(splits),
        "systems": "\n".join(f"### {SPLITS[split.name][2]}\n\n{build_systems_table(split)}" for split in splits),
        "resnli": build_resnli_table(files, systems, args.embeddings),
        "comparisons": build_comparisons_table(splits),
        "sources": build_sources_table(splits, repositories),
    }
    tested = next((split for split in splits if split.name == TESTED), None)
    missing = "These files have too few models of both kinds for the test.\n"
    blocks |= dict.fromkeys(("summary", "test", "pairs"), missing)
    if tested is not None:
        args.page.with_suffix(".svg").write_text(draw_chart(tested.select()), encoding="utf-8")
        if has_two_groups(tested.select(ENCODER, PROMPTED).select_common_rows()):
            found = build_test_rows(tested, splits)
            blocks |= {
                "summary": build_summary(found),
                "test": build_test_table(found),
                "pairs": build_pairs_table(next(iter(found.values()))[0]),
            }
    text = (args.page if args.page.exists() else PAGE).read_text(encoding="utf-8")
    filled = BLOCK.sub(lambda each: f"{each[1]}\n{blocks[each['name']]}\n{each[3]}", text)
    args.page.write_text(filled, encoding="utf-8")


if __name__ == "__main__":
    main()
