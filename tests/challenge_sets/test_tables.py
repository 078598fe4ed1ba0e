"""Tests of the tables and figures of the challenge sets."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.factories import render
from unbag import challenge_sets
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.figures import ReportModel, ResultGroup, ScoredModel
from unbag.data.labels import LABELS
from unbag.data.predictions import SetPredictions
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.compositionality_sensitivity import compositionality_sensitivity
from unbag.scoring.natural_logic import MEASURES
from unbag.scoring.permutation_acceptance import score_permuted

breaking_nli = challenge_sets.get_challenge_set("breaking_nli")


def _build_result(entailment, contradiction, n=100, names=("entailment", "neutral", "contradiction"), **more):
    def build_estimate(value):
        return Estimate(value, value - 0.05, value + 0.05, n)

    last = len(names) - 1
    scores = {
        "n_examples": 2 * n,
        "accuracy": build_estimate((entailment + contradiction) / 2),
        "majority": 0.5,
        "by_label": [
            {"label": 0, "accuracy": build_estimate(entailment)},
            {"label": last, "accuracy": build_estimate(contradiction)},
        ],
        "by_category": [
            {"category": "colors", "accuracy": build_estimate(contradiction)},
            {"category": "synonyms", "accuracy": build_estimate(entailment)},
        ],
        "labels": list(names),
        "unanswered": 0,
        **more,
    }
    data = {"name": "official", "split": "", "rows": 2 * n, "excluded": {}}
    return Result("breaking_nli", {}, {"name": "a model"}, data, scores, {})


def test_reading_without_unique_lowest_category_names_none():
    few = {"category": "planets", "accuracy": Estimate(0.0, 0.0, 0.0, 5)}
    two = _build_result(0.7, 0.9).scores["by_category"]
    assert "lowest" not in breaking_nli.summarize_result(_build_result(0.7, 0.9, by_category=[two[0], few]))
    assert "lowest" not in breaking_nli.summarize_result(_build_result(0.7, 0.7))
    assert "; lowest category with 50 pairs or more: synonyms, 70.0 %" in breaking_nli.summarize_result(
        _build_result(0.7, 0.9, by_category=[*two, few])
    )


def test_table_shows_human_accuracy_and_kappa():
    shown = Estimate(0.94, 0.93, 0.95, 200)
    kappa = {"annotators": 3, "overall": Estimate(0.61, 0.6, 0.62, 200), "by_label": [{"label": 0, "kappa": shown}]}
    result = _build_result(0.7, 0.9, human=shown, kappa=kappa)
    for row in (*result.scores["by_label"], *result.scores["by_category"]):
        row["human"] = shown
    text = render(breaking_nli.build_table(result))
    assert "human" in text
    assert text.count("0.940") == 6  # all, two labels, two categories, and the κ of a label
    assert "Fleiss' κ of 3 annotators: 0.610 (entailment 0.940)" in text


sicck = challenge_sets.get_challenge_set("sicck")


def _build_group(value, n):
    return {name: Estimate(value, value - 0.1, value + 0.1, n) for name in MEASURES}


_NEGATED = {"neutral": {"contradiction": 7, "forward_entailment": 2, "neutral": 3}, "contradiction": {"neutral": 5}}


def _build_scores(f1=0.52, negation=0.3, n=1304):
    return {
        "n_examples": n,
        **_build_group(f1, n),
        "by_label": {label: {"gold": n} for label, n in zip("abcd", (60, 20, 10, 10), strict=True)},
        "by": {
            "modifier_type": {
                "none": _build_group(1.0, 15),
                "negation": _build_group(negation, 167) | {"confusion": _NEGATED},
                "universal": _build_group(f1, 217),
            },
            "modifier_type+part": {
                "negation+verb": _build_group(f1, 9) | {"confusion": {"neutral": {"neutral": 9}}},
                "negation+object": _build_group(f1, 4) | {"confusion": {"contradiction": {"neutral": 4}}},
            },
            "part": {"subject": _build_group(f1, 560), "verb": _build_group(f1, 220)},
        },
    }


RESULT = Result(
    set="sicck",
    config={"space": "four_way"},
    model={"name": "an-organisation/a-model-with-quite-a-long-name"},
    data={"name": "official", "split": "", "rows": 15, "excluded": {}},
    scores=_build_scores(),
    environment={},
)


def test_table_shows_neutral_predictions_if_present():
    lines = render(sicck.build_table(RESULT)).splitlines()
    [heading] = [number for number, line in enumerate(lines) if "Neutral pairs and their" in line]
    told = [line.split() for line in lines[heading + 4 : heading + 7]]
    assert told[0] == ["negation", "17", "12", "75.0%", "7", "2", "0"]
    assert told[1] == ["verb", "9", "9", "0.0%", "0", "0", "0"]
    assert not told[2], "no neutral pair has a negation at its object"
    scores = {**RESULT.scores, "by": {name: {"x": _build_group(0.5, 9)} for name in ("modifier_type", "part")}}
    assert "Table 10" not in render(sicck.build_table(replace(RESULT, scores=scores))), "a model without this label"


soswap_addamod = challenge_sets.get_challenge_set("soswap_addamod")


def _build_part(right, n=600):
    shares = {
        name: Estimate(share, share - 0.01, share + 0.01, n)
        for name, share in (("entailment", 1 - right), ("neutral", 0.06), ("contradiction", 0.04))
    }
    return {"n_examples": n, "shares": shares, "accuracy": Estimate(right, right - 0.01, right + 0.01, n)}


def _build_soswap_scores(soswap=0.04, addamod=0.06):
    parts = {"soswap": _build_part(soswap), "addamod": _build_part(addamod)}
    return {**_build_part(0.05, n=1200), "by_subset": parts}


SOSWAP_RESULT = Result(
    set="soswap_addamod",
    config={"kind": "both"},
    model={"name": "an-organisation/a-model-with-quite-a-long-name"},
    data={
        "name": "snli",
        "split": "validation",
        "rows": 10_000,
        "excluded": {"with a repeated premise or one that makes no pair": 8_000},
    },
    scores=_build_soswap_scores(),
    environment={},
)


def test_reading_states_accuracy_by_kind_and_entailment_rate():
    assert soswap_addamod.summarize_result(replace(SOSWAP_RESULT, scores=_build_soswap_scores(0.9, 0.3))) == (
        "correct on 90.0 % [89.0, 91.0] of 600 SOSwap pairs and 30.0 % [29.0, 31.0] of 600 AddAmod pairs; "
        "entailment, never the gold label, is predicted for 95.0 % [94.0, 96.0]."
    )


def _render_result(result):
    return " ".join(render(soswap_addamod.build_table(result), width=200).split())


def test_few_text_pairs_are_explained_by_frequent_reasons():
    counts = {"soswap": 600, "soswap: a passive": 91, "addamod: a negation": 1, "addamod: b": 7, "addamod: c": 1_271}
    data = SOSWAP_RESULT.data | {"load_options": {"text": ["a.md"]}}
    scores = _build_soswap_scores() | {"by_subset": {"soswap": _build_part(0.9)}}
    result = replace(SOSWAP_RESULT, config={"counts": counts | {"addamod: a": 1}}, data=data, scores=scores)
    assert _render_result(result).endswith("Few AddAmod pairs (0). Most frequent reasons: c (1,271), b (7), a (1)")
    assert "Few" not in _render_result(replace(result, scores=_build_soswap_scores()))
    assert "Few" not in _render_result(replace(result, data=SOSWAP_RESULT.data))


cs_lambda = challenge_sets.get_challenge_set("cs_lambda")


def _summarize(lms):
    gold = [row % 3 for row in range(len(lms))]
    scores = compositionality_sensitivity([0] * len(lms), gold, lms, resamples=0)
    return cs_lambda.summarize_result(SimpleNamespace(scores={**scores, "labels": list(LABELS)}))


def test_reading_names_lambda_of_score():
    lms = np.array([0.1] * 100 + [0.65] * 60 + [0.9] * 60)
    n = int(cs_lambda.counts_for_skill({"lms": lms}).sum())
    assert "(λ = 0.7), correct on" in (text := _summarize(lms))
    assert f"of {n} pairs" in text


def test_reading_of_few_misleading_pairs_names_no_lower_lambda():
    said = _summarize(np.array([0.1] * 100 + [0.65] * 60 + [0.9] * 12))
    assert said == "too few misleading pairs: 12 of 172 pairs are in CS_0.7, 50 are needed."


permuted = challenge_sets.get_challenge_set("permuted")

Q = 40


def _build_columns(**more):
    """Return the columns of two examples with q permutations each. The gold labels are entailment and neutral."""
    n = 2 * (Q + 1)
    base = {
        "source_id": ["a"] * (Q + 1) + ["b"] * (Q + 1),
        "permutation": np.tile(np.arange(-1, Q), 2),
        "label": np.repeat([0, 1], Q + 1),
    }
    sides = ("premise", "hypothesis")
    bleu = {f"{side}_bleu_{order}": np.full(n, 1 / order) for side in sides for order in (2, 3, 4)}
    return base | bleu | {f"{side}_words": np.full(n, 9) for side in sides} | more


def _build_predictions(probability):
    """Return predictions of entailment with the same probability for all rows."""
    rest = (1 - probability) / 2
    return SetPredictions(np.tile([probability, rest, rest], (2 * (Q + 1), 1)), LABELS, True)


def _build_permuted_group(scores, mode):
    data = {"name": "snli", "split": "validation"}
    result = Result("permuted", {"mode": mode}, {"name": "m"}, data, scores, {})
    return ResultGroup("g", "snli validation", (ScoredModel(ReportModel("m", {}, False), result, None),))


def _list_titles(mode, columns):
    scores = score_permuted(columns, _build_predictions(0.5))
    return {
        figure.title: figure
        for figure in permuted.build_figures(_build_permuted_group(scores, mode))
        if figure is not None
    }


def test_minitree_ratio_uses_means_of_both_sentences():
    # original .5 and 1, permuted .5 and .7: 1.2 / 1.5 = .8, while the mean of the ratios is (1 + .7) / 2
    premise, hypothesis = np.full(2 * (Q + 1), 0.5), np.where(np.tile(np.arange(Q + 1), 2) == 0, 1.0, 0.7)
    columns = _build_columns(premise_minitree=premise, hypothesis_minitree=hypothesis)
    [row] = score_permuted(columns, _build_predictions(0.5))["by_minitree"]
    assert (row["low"], row["n"], row["acceptance"]) == (0.8, 2 * Q, 0.5)


def test_pair_without_original_overlap_has_no_minitree_ratio():
    overlap = np.where(np.arange(2 * (Q + 1)) == 0, 0.0, 0.5)  # the original order of the first example
    columns = _build_columns(premise_minitree=overlap, hypothesis_minitree=overlap)
    [row] = score_permuted(columns, _build_predictions(0.5))["by_minitree"]
    assert (row["low"], row["n"]) == (1.0, Q)
    nothing = np.full(2 * (Q + 1), np.nan)
    assert "by_minitree" not in score_permuted(
        _build_columns(premise_minitree=nothing, hypothesis_minitree=nothing), _build_predictions(0.5)
    )


def test_uniform_model_has_maximum_entropy():
    [box] = _list_titles("both", _build_columns())["Entropy of accepted permutations"].series
    assert [point.x for point in box.points] == ["correct in order"]  # the second example is never accepted
    # all permutations of one example have .5, .25, .25: log 2 · 1.5, divided by log 3
    share = 1.5 * np.log(2) / np.log(3)
    assert list(box.points[0].estimate) == pytest.approx([share, share, share, 1])


def test_clumped_mode_has_figures_of_longer_ngrams(monkeypatch):
    monkeypatch.setattr("unbag.scripts.dataset_scripts.permuted.permuted._MIN_EXAMPLES", 1)
    assert "Acceptance by BLEU-2" in (both := _list_titles("both", _build_columns()))
    assert not {"Acceptance by BLEU-3", "Acceptance by BLEU-4"} & set(both)
    clumped = _list_titles("clumped_50", _build_columns())
    for order, place in ((2, 0.5), (3, 0.3), (4, 0.2)):
        [point] = clumped[f"Acceptance by BLEU-{order}"].series[0].points
        assert (point.x, point.estimate.value) == (place, 0.5)
