"""Tests of the tables, readings and figures of the challenge sets, on a few synthetic rows."""

from dataclasses import replace

import numpy as np
import pytest

from tests.factories import render
from unbag import challenge_sets
from unbag.challenge_sets.perturbations.recombined import EXCHANGES
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.figures import ReportModel, ResultGroup, ScoredModel
from unbag.challenge_sets.views.tables import summarize_exclusions
from unbag.data.labels import LABELS
from unbag.data.predictions import SetPredictions, build_predictions_from_labels
from unbag.scoring.permutation_acceptance import score_permuted

DATA = {"name": "snli", "split": "validation", "rows": 10_000, "excluded": {"unlabelled": 158}}


def _build_result(name, columns, predicted, **config):
    """Build the result of predicted label ids for the columns of a set."""
    score = challenge_sets.get_challenge_set(name).score_function
    scores = score(columns, build_predictions_from_labels(predicted)) | {"labels": list(LABELS)}
    return Result(name, config, {"name": "a model"}, DATA, scores, {})


def _summarize(result):
    return challenge_sets.get_challenge_set(result.set).summarize_result(result)


def _render_table(result):
    table = challenge_sets.get_challenge_set(result.set).build_table(result)
    return " ".join(render(table, width=200).split())


@pytest.mark.parametrize(
    ("right", "reading"),
    [
        ({"colors": (60, 60), "synonyms": (30, 60), "planets": (0, 5)},
         "; lowest category with 50 pairs or more: synonyms, 50.0 %"),
        ({"colors": (60, 60), "planets": (0, 5)}, None),
        ({"colors": (60, 60), "synonyms": (60, 60)}, None),  # a tie
    ],
)  # fmt: skip
def test_breaking_nli_reading_names_unique_lowest_category(right, reading):
    categories = [name for name, (_, n) in right.items() for _ in range(n)]
    predicted = [2 if place < correct else 0 for correct, n in right.values() for place in range(n)]
    columns = {"label": [2] * len(predicted), "category": categories, "premise": range(len(predicted))}
    said = _summarize(_build_result("breaking_nli", columns, predicted))
    assert reading in said if reading else "lowest" not in said


def test_few_text_pairs_are_explained_by_frequent_reasons():
    def build_result(kinds, **config):
        columns = {"label": [2] * len(kinds), "source_id": range(len(kinds)), "kind": kinds}
        return _build_result("soswap_addamod", columns, [2] * len(kinds), **config)

    counts = {"soswap": 600, "soswap: a passive": 91, "addamod: a negation": 1, "addamod: b": 7, "addamod: c": 1_271}
    few = build_result(["soswap"] * 100, counts=counts | {"addamod: a": 1})
    text = replace(few, data=DATA | {"load_options": {"text": ["a.md"]}})
    assert _render_table(text).endswith("Few AddAmod pairs (0). Most frequent reasons: c (1,271), b (7), a (1)")
    many = build_result(["soswap", "addamod"] * 100)
    assert "Few" not in _render_table(replace(text, scores=many.scores))
    assert "Few" not in _render_table(few)


@pytest.mark.parametrize(
    ("misleading", "reading"),
    [
        (60, r"(λ = 0.7), correct on 33.3 % [21.7, 46.7] of 60 pairs"),
        (12, "too few misleading pairs: 12 of 172 pairs are in CS_0.7, 50 are needed."),  # a lower λ is not named
    ],
)
def test_cs_lambda_reading_names_lambda_of_score(misleading, reading):
    lms = [0.1] * 100 + [0.65] * 60 + [0.9] * misleading
    columns = {"label": [row % 3 for row in range(len(lms))], "lms": lms}
    assert reading in _summarize(_build_result("cs_lambda", columns, [0] * len(lms)))


def _build_recombined_result(predict, claims=30):
    """Build the result of claims with a document of one sentence and one of four."""
    exchanged = ("supported", "subject", "object", "removed")
    rows = [(c, k, each) for c in range(claims) for k in (1, 4) for each in (exchanged if k > 1 else exchanged[::3])]
    columns = {
        "source_id": [claim for claim, _, _ in rows],
        "group": [row[:2] for row in rows],
        "k": [k for _, k, _ in rows],
        "position": [claim % k for claim, k, _ in rows],
        "operation": [operation for *_, operation in rows],
        "label": [int(operation != "supported") for *_, operation in rows],
    }
    return _build_result("recombined", columns, list(map(predict, columns["operation"])), k="1,4")


def test_recombined_reading_and_table_show_operations():
    """The model predicts entailment for claims with another subject."""
    result = _build_recombined_result(lambda operation: 1 if operation in ("object", "removed") else 0)
    said = _summarize(result)
    assert said.startswith("predicts entailment for 25.0 % [")
    assert ", most often those with another subject (100.0 % [" in said
    table = _render_table(result)
    names = ["all", "k = 1", "k = 4", *(f"evidence at the {third}" for third in ("start", "middle", "end"))]
    places = [table.index(f" {name} ") for name in (*names, "subject", "object", "removed")]
    assert places == sorted(places)
    assert "180 rows, 60 documents, of 10,000 rows; excluded 158 unlabelled" in table


@pytest.mark.parametrize("predict", [lambda operation: 0, lambda operation: int(operation not in EXCHANGES)])
def test_recombined_reading_of_tied_operations_names_none(predict):
    assert "most often" not in _summarize(_build_recombined_result(predict))


@pytest.mark.parametrize(
    ("right", "sources", "reading"),
    [
        (("sentence",), 30, ", least on double (50.0 % ["),
        (("sentence",), 19, None),  # too few sources
        ((), 30, None),  # a tie
    ],
)
def test_negation_reading_names_operation_with_lowest_accuracy(right, sources, reading):
    """The model predicts entailment for all pairs of the other operations."""
    rows = [
        (source, operation, (source, operation, mirror), label)
        for source in range(sources)
        for operation in ("sentence", "double")
        for mirror in (0, 1)
        for label in (0, 1)
    ]
    columns = dict(zip(("source_id", "operation", "mirror", "label"), zip(*rows, strict=True), strict=True))
    said = _summarize(_build_result("negation", columns, [label if op in right else 0 for _, op, _, label in rows]))
    assert reading in said if reading else "least on" not in said


def test_exclusion_summary_states_annotator_accuracy():
    data = DATA | {"human": {"share": 0.8, "low": 0.7, "high": 0.9, "pairs": 3}}
    assert summarize_exclusions(data) == (
        "10,000 rows; excluded 158 unlabelled. One annotator gives the gold label of 0.800 [0.700, 0.900] of the 3 "
        "unchanged pairs"
    )


Q = 40
PLACES = np.arange(2 * (Q + 1))
ENTAILMENTS = SetPredictions(np.tile([0.5, 0.25, 0.25], (len(PLACES), 1)), LABELS, has_probabilities=True)


def _build_columns(**more):
    """Return the columns of two examples with q permutations each. The gold labels are entailment and neutral."""
    columns = {"source_id": PLACES // (Q + 1), "permutation": PLACES % (Q + 1) - 1, "label": PLACES // (Q + 1)}
    for side in ("premise", "hypothesis"):
        columns |= {f"{side}_bleu_{order}": np.full(len(PLACES), 1 / order) for order in (2, 3, 4)}
        columns[f"{side}_words"] = np.full(len(PLACES), 9)
    return columns | more


def _build_figures(mode):
    scores = score_permuted(_build_columns(), ENTAILMENTS)
    result = Result("permuted", {"mode": mode}, {"name": "m"}, DATA, scores, {})
    group = ResultGroup("g", "snli validation", (ScoredModel(ReportModel("m", {}, False), result, None),))
    figures = challenge_sets.get_challenge_set("permuted").build_figures(group)
    return {figure.title: figure for figure in figures if figure is not None}


@pytest.mark.parametrize(
    ("premise", "hypothesis", "expected"),
    [
        # original .5 and 1, permuted .5 and .7: 1.2 / 1.5 = .8, while the mean of the ratios is (1 + .7) / 2
        (0.5, np.where(PLACES % (Q + 1) == 0, 1.0, 0.7), (0.8, 2 * Q, 0.5)),
        # no overlap in the original order of the first example
        (np.where(PLACES == 0, 0.0, 0.5), np.where(PLACES == 0, 0.0, 0.5), (1.0, Q, 0)),
    ],
)
def test_minitree_ratio_uses_means_of_both_sentences(premise, hypothesis, expected):
    columns = _build_columns(premise_minitree=PLACES * 0 + premise, hypothesis_minitree=hypothesis)
    [row] = score_permuted(columns, ENTAILMENTS)["by_minitree"]
    assert (row["low"], row["n"], row["acceptance"]) == expected


def test_pairs_without_overlap_have_no_minitree_scores():
    nothing = np.full(len(PLACES), np.nan)
    columns = _build_columns(premise_minitree=nothing, hypothesis_minitree=nothing)
    assert "by_minitree" not in score_permuted(columns, ENTAILMENTS)


def test_uniform_model_has_maximum_entropy():
    [box] = _build_figures("both")["Entropy of accepted permutations"].series
    assert [point.x for point in box.points] == ["correct in order"]  # the second example is never accepted
    # all permutations of one example have .5, .25, .25: log 2 · 1.5, divided by log 3
    share = 1.5 * np.log(2) / np.log(3)
    assert list(box.points[0].estimate) == pytest.approx([share, share, share, 1])


def test_clumped_mode_has_figures_of_longer_ngrams(monkeypatch):
    monkeypatch.setattr("unbag.scripts.dataset_scripts.permuted.permuted._MIN_EXAMPLES", 1)
    assert "Acceptance by BLEU-2" in (both := _build_figures("both"))
    assert not {"Acceptance by BLEU-3", "Acceptance by BLEU-4"} & set(both)
    clumped = _build_figures("clumped_50")
    for order, place in ((2, 0.5), (3, 0.3), (4, 0.2)):
        [point] = clumped[f"Acceptance by BLEU-{order}"].series[0].points
        assert (point.x, point.estimate.value) == (place, 0.5)
