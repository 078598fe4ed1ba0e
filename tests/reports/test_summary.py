from dataclasses import replace

from tests.factories import build_result, render
from unbag.challenge_sets.base import SKILL
from unbag.challenge_sets.results import Result
from unbag.reports import terminal
from unbag.reports.reproduce import list_remarks
from unbag.scoring.bootstrap import Estimate


def _build_result(name, accuracy, model="org/a", data="snli", width=0.02, sources=2000, rows=2000):
    score = Estimate(accuracy, accuracy - width, accuracy + width, rows)
    parts = {
        "model": 0.4,
        "baseline": 0.2,
        "shuffled": 0.3,
        "n_sources": sources,
        "reference": "shuffled",
        "lexical_model": {},
    }
    return Result(
        set=name,
        config={},
        model={"name": model},
        data={"name": data, "split": "validation"},
        scores={SKILL: {"score": score, "p": 0.001, **parts}},
        environment={},
    )


def _render(results):
    lines = render(*terminal.build_summary_views(results)).splitlines()
    assert max(map(len, lines), default=0) <= 80
    return [line.split() for line in lines]


def _join(results):
    """Render the summary as one line."""
    return " ".join(word for row in _render(results) for word in row)


def test_single_model_shows_baselines_interval_and_verdict():
    rows = _render([_build_result("plain", 0.8), _build_result("breaking_nli", -0.3), _build_result("sicck", 0.01)])
    parts = ["0.400", "0.300", "0.200"]
    assert ["Corpus", *parts, "0.800", "[0.780,", "0.820]", "better"] in rows
    assert ["Breaking", "NLI", *parts, "-0.300", "[-0.323,", "-0.277]", "worse"] in rows
    assert ["SICCK", *parts, "0.010", "[-0.013,", "0.033]", "no", "better"] in rows
    said = " ".join(word for row in rows for word in row)
    assert "Verdict: Better than the baseline on 0 of 2 challenge sets. No better: SICCK. Worse: Breaking NLI." in said
    assert "The 95 % intervals hold jointly for all challenge sets." in said


def test_verdict_states_truncated_pairs_per_set():
    cut = _build_result("permuted", 0.2)
    cut = replace(cut, model={**cut.model, "truncated_pairs": 3, "truncated_share": 0.0312})
    whole, corpus = _build_result("swapped", 0.3), _build_result("plain", 0.5)
    corpus = replace(corpus, model={**corpus.model, "truncated_pairs": 24, "truncated_share": 1.0})
    assert _join([cut, whole, corpus]).endswith("Truncated pairs: Permuted (3.1 %), Corpus (100 %).")
    assert "Truncated" not in _join([whole])
    [line] = list_remarks(replace(cut, model={**cut.model, "max_length": "512"}))
    assert line == "3.1 % of the pairs (3) exceed the maximum input length of org/a (512 tokens) and were truncated."
    assert list_remarks(whole) == []
    corpus = build_result("org/b")
    corpus.model.update(truncated_pairs=50, truncated_share=0.25)
    crossed = render(terminal.build_cross_domain_table([build_result("org/a"), corpus]), width=200)
    assert "ours.jsonl: 25.0 % of the pairs (50) exceed the maximum input length of org/b" in crossed


def test_shown_interval_is_that_of_verdict():
    """Alone, .2 ± .18 is better. Among seven sets, the simultaneous interval includes 0."""
    sets = ["sicck", "swapped", "permuted", "cs_lambda", "resnli", "breaking_nli", "soswap_addamod"]
    alone, together = (_render([_build_result(name, 0.2, width=0.18) for name in some]) for some in (sets[:1], sets))
    assert any(row[:2] == ["Verdict:", "Better"] for row in alone)
    [row] = [row for row in together if row[:1] == ["SICCK"]]
    assert row[4:] == ["0.200", "[-0.047,", "0.447]", "inconclusive"]  # wider by a factor of 2.690 / 1.960
    said = " ".join(word for row in together for word in row)
    assert "SICCK (detects 0.37 or more)" in said  # (2.690 + 1.282) / 1.960 · 0.18 = 0.365


def test_all_of_many_sets_can_be_better():
    """p-values from 1,000 resamples would allow at most 25."""
    results = [_build_result("plain", 0.3, data="first"), *(_build_result(f"own_{n}", 0.3) for n in range(60))]
    assert "on 60 of 60 challenge sets" in _join(results)


def test_several_models_have_columns_with_gaps():
    models = [f"org/{name}" for name in "abcdefg"]
    results = [_build_result("plain", 0.1 * place + 0.1, model) for place, model in enumerate(models)]
    rows = _render([*results, _build_result("breaking_nli", 0.7, "org/b")])
    assert ["A", "org/a"] in rows
    assert ["Corpus", *(word for accuracy in range(1, 6) for word in (f"0.{accuracy}00", "+")), "2,000"] in rows
    assert ["Corpus", "0.600", "+", "0.700", "+", "2,000"] in rows
    assert ["Breaking", "NLI", "0.700", "+", "2,000"] in rows


def test_same_set_on_two_corpora_names_corpora():
    rows = _render([_build_result("plain", 0.8), _build_result("plain", 0.6, data="sick"), _build_result("sicck", 0.5)])
    numbers = ["0.400", "0.300", "0.200", "0.600", "[0.580,", "0.620]", "better"]
    assert any(row[:2] == ["Corpus", "sick"] and row[-7:] == numbers for row in rows)


def _remove_skill(result, *baselines):
    parts = dict.fromkeys(baselines) | {"reference": "chance"}
    return replace(result, scores={SKILL: result.scores[SKILL] | parts})


def test_scale_names_only_evaluated_baselines():
    said = _join([_remove_skill(_build_result("sicck", 0.4), "baseline", "shuffled")])
    assert "0 is the best of chance and a constant prediction; 1 is a perfect model." in said
    said = _join([_remove_skill(_build_result("sicck", 0.4), "baseline"), _build_result("swapped", 0.4)])
    assert "the lexical baseline (where evaluated) and the model's own predictions for shuffled words; 1 is" in said
    assert "SICCK 0.400 0.300 0.400 [" in said, "without a lexical baseline its column is empty"


def test_set_without_score_shows_no_row_count():
    bare = [replace(_build_result("cs_lambda", 0.1, model), scores={}) for model in ("a", "b")]
    assert ["CS_λ", "–", "?", "–", "?", "–"] in _render(bare)
    said = _join(bare[:1])
    assert "Inconclusive: CS_λ (too few rows)." in said
    assert "No skill score: fewer than two labels have 50 rows or more." in said
    assert ", 0 rows" not in said


def test_several_models_with_predictions_of_different_rows_show_range_of_rows():
    counts = {"org/a": 800, "org/b": 9815, "org/c": 9800}
    scored = [_build_result("plain", 0.8, model, rows=n) for model, n in counts.items()]
    rows = _render([*scored, *(_build_result("swapped", 0.7, model) for model in counts)])
    assert ["Corpus", *["0.800", "+"] * 3, "800", "to", "9,815"] in rows
    assert ["Swapped", *["0.700", "+"] * 3, "2,000"] in rows
