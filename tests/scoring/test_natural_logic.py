import numpy as np
import pytest
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

from unbag.challenge_sets.perturbations.sicck import read_sicck
from unbag.data.labels import FOUR_WAY
from unbag.scoring.natural_logic import MEASURES, apply_reverse_rule, natural_logic

F, R, C, N = FOUR_WAY

# By hand. Rows are gold labels, columns are predictions:      F  R  C  N
#                              F   2  0  0  1
#                              R   1  1  0  0
#                              C   0  0  1  1
#                              N   0  0  0  3
GOLD = [F, F, F, R, R, C, C, N, N, N]
PREDICTED = [F, F, N, F, R, C, N, N, N, N]


def _values(scores):
    return {name: scores[name].value for name in MEASURES}


def test_all_metrics_equal_hand_computed_values():
    scores = natural_logic(PREDICTED, GOLD)
    assert scores["n_examples"] == 10
    precisions, recalls = [2 / 3, 1, 1, 3 / 5], [2 / 3, 1 / 2, 1 / 2, 1]
    f1s = [2 / 3, 2 / 3, 2 / 3, 3 / 4]
    assert _values(scores) == pytest.approx(
        {"f1": sum(f1s) / 4, "precision": sum(precisions) / 4, "recall": sum(recalls) / 4, "accuracy": 7 / 10}
    )
    assert scores["by_label"][N] == pytest.approx(
        {"f1": 3 / 4, "precision": 3 / 5, "recall": 1, "gold": 3, "predicted": 5}
    )
    assert scores["accuracy"].n == 10
    assert scores["confusion"] == {F: {F: 2, N: 1}, R: {F: 1, R: 1}, C: {C: 1, N: 1}, N: {N: 3}}
    # A label without gold and predicted examples is excluded from the average.
    assert natural_logic([F, N], [F, N])["f1"].value == 1
    assert natural_logic([F, R], [F, N])["f1"].value == pytest.approx(1 / 3)


def test_metrics_equal_scikit_learn():
    rng = np.random.default_rng(0)
    for n, labels in [(3, 2), (50, 4), (400, 4), (7, 4)]:
        gold = np.array(FOUR_WAY)[rng.integers(0, labels, n)]
        predicted = np.where(rng.random(n) < 0.5, gold, np.array(FOUR_WAY)[rng.integers(0, 4, n)])
        precision, recall, f1, _ = precision_recall_fscore_support(gold, predicted, average="macro", zero_division=0)
        expected = {"f1": f1, "precision": precision, "recall": recall, "accuracy": accuracy_score(gold, predicted)}
        assert _values(natural_logic(predicted, gold, resamples=0)) == pytest.approx(expected)


@pytest.fixture(scope="module")
def sicck(shared):
    """Return the rows of SICCK, their gold labels, and their modifiers and parts."""
    rows = read_sicck(shared / "data/sicck/SICCK-Ground-Truth-apr24.csv")
    groups = {"type": [row.modifier_type for row in rows], "part": [row.part for row in rows]}
    return rows, [row.four_way for row in rows], groups


def test_scores_equal_tables_8_and_11_to_17(sicck):
    """The third system of these tables, ELMo-DAM, has the scores of a constant prediction of entailment."""
    rows, gold, groups = sicck
    scores = natural_logic(apply_reverse_rule(*[["entailment"] * len(rows)] * 2), gold, groups=groups)
    published = {
        "all": (0.0829, 0.0497, 0.2500, 0.1986),
        "universal": (0.0694, 0.0403, 0.2500, 0.1613),
        "existential": (0.1044, 0.0660, 0.2500, 0.2640),
        "negation": (0.0412, 0.0225, 0.2500, 0.0898),
        "adjective/adverb": (0.1139, 0.0687, 0.3333, 0.2060),
        "subject": (0.0796, 0.0473, 0.2500, 0.1893),
        "verb": (0.0669, 0.0386, 0.2500, 0.1545),
        "object": (0.0915, 0.0560, 0.2500, 0.2240),
    }
    found = {"all": scores} | scores["by"]["type"] | scores["by"]["part"]
    for name, figures in published.items():
        assert tuple(_values(found[name]).values()) == pytest.approx(figures, abs=6e-5), name


def test_apply_reverse_rule_combines_both_directions():
    forward = ["entailment", "entailment", "neutral", "neutral", "contradiction", "not_entailment", "not_entailment"]
    back = ["entailment", "neutral", "entailment", "neutral", "entailment", "entailment", "not_entailment"]
    assert apply_reverse_rule(forward, back).tolist() == [F, F, R, N, C, R, "not_entailment"]


def test_paired_rows_are_scored_by_reverse_rule():
    """Rows as published in SICCK, in any order. The four labels exclude the last pair."""
    forward = ["neutral", "entailment", "neutral", "contradiction", "entailment"]
    back = ["entailment", "neutral", "neutral", "entailment", "entailment"]
    gold, part = [R, F, C, C, None], ["subject", "verb", "verb", "verb", "verb"]
    expected = natural_logic(
        apply_reverse_rule(forward, back)[:4], gold[:4], groups={"part": part[:4]}, source_id=list("abcd")
    )
    assert expected["accuracy"].value == 0.75
    columns = {"predictions": [*forward, *back], "references": [*gold, *[None] * 5], "source_id": [*"abcdeabcde"]}
    columns |= {"pair": [*range(5)] * 2, "reverse": [False] * 5 + [True] * 5}
    for step in (1, -1):
        found = natural_logic(
            **{name: column[::step] for name, column in columns.items()}, groups={"part": (part * 2)[::step]}
        )
        assert found["accuracy"] == expected["accuracy"]
        assert found["by_label"] == expected["by_label"]
        assert found["by"]["part"]["verb"]["confusion"] == expected["by"]["part"]["verb"]["confusion"]


def test_groups_are_scored_separately():
    column = ["x", "y"] * 5
    scores = natural_logic(PREDICTED, GOLD, groups={"part": column})
    assert list(scores["by"]["part"]) == ["x", "y"]
    for name, start in (("x", 0), ("y", 1)):
        alone = natural_logic(PREDICTED[start::2], GOLD[start::2])
        assert scores["by"]["part"][name] == {measure: alone[measure] for measure in (*MEASURES, "confusion")}


def test_crossed_groups_combine_values():
    kinds, parts = ["no"] * 4 + ["all"] * 6, ["subject", "verb"] * 5
    groups = {"type": kinds, "part": parts}
    crossed = natural_logic(PREDICTED, GOLD, groups=groups, crossed=[["type", "part"]])["by"]["type+part"]
    by_hand = [f"{kind}+{part}" for kind, part in zip(kinds, parts, strict=True)]
    assert crossed == natural_logic(PREDICTED, GOLD, groups={"joined": by_hand})["by"]["joined"]
    assert crossed["no+verb"]["confusion"] == {F: {F: 1}, R: {F: 1}}
    assert crossed["all+verb"]["confusion"] == {C: {C: 1}, N: {N: 2}}
    with pytest.raises(ValueError, match=r"column names from groups \(type, part\), got \['position'\]"):
        natural_logic(PREDICTED, GOLD, groups=groups, crossed=[["type", "position"]])


def test_counts_equal_table_10_and_section_5(sicck):
    """Table 10 depends only on gold labels. 34 of 49 neutral pairs predicted wrongly are the 69.4 % of section 5.2."""
    rows, gold, groups = sicck
    asked = [n for n, row in enumerate(rows) if (row.modifier_type, row.part, row.four_way) == ("universal", "verb", N)]
    predicted = [C if n in asked[:34] else label for n, label in enumerate(gold)]
    by = natural_logic(predicted, gold, groups=groups, crossed=[("type", "part")], resamples=0)["by"]
    negated = {part: by["type+part"][f"negation+{part}"]["confusion"] for part in ("subject", "verb", "object")}
    counts = {
        part: (sum(sum(answers.values()) for answers in table.values()), table[N][N]) for part, table in negated.items()
    }
    assert counts == {"subject": (86, 65), "verb": (41, 31), "object": (40, 22)}
    assert by["type"]["negation"]["confusion"][N] == {N: 118}
    answers = by["type+part"]["universal+verb"]["confusion"][N]
    assert answers == {C: 34, N: 15}
    assert round(100 * answers[C] / 49, 1) == 69.4
    kinds = {
        kind: by["type+part"][f"{kind}+verb"]["accuracy"].n for kind in ("universal", "adjective/adverb", "negation")
    }
    assert kinds == {"universal": 89, "adjective/adverb": 90, "negation": 41}


def test_intervals_equal_resampled_examples():
    rng = np.random.default_rng(5)
    gold, predicted = np.array(GOLD * 20), np.array(PREDICTED * 20)
    found = natural_logic(predicted, gold, resamples=2000)
    drawn = [rng.integers(0, len(gold), len(gold)) for _ in range(2000)]
    f1s = [natural_logic(predicted[d], gold[d], resamples=0)["f1"].value for d in drawn]
    assert [found["f1"].low, found["f1"].high] == pytest.approx(np.percentile(f1s, [2.5, 97.5]), abs=0.01)
