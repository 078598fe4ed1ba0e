"""Contradiction detectors on gold labels that name only contradictions: the mirror image of a verifier."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, roc_auc_score

import unbag
from tests.factories import BARE, write_table
from tests.public_cases.test_gates import check
from unbag.challenge_sets.results import read_results
from unbag.data.labels import CONTRADICTION_OR_NOT, LABELS, parse_label_map
from unbag.inference.function import CallablePredictor
from unbag.reports import html

ROWS = 400
ORDERS = {"detector": CONTRADICTION_OR_NOT, "three-labels": LABELS}


def build_scores():
    """Build scores of contradiction that separate most contradictions, and the gold labels."""
    rng = np.random.default_rng(0)
    gold = rng.random(ROWS) < 0.4
    return np.clip(rng.normal(np.where(gold, 0.8, 0.2), 0.2), 0.01, 0.99), gold


def evaluate(tmp_path, order):
    """Evaluate a model that reads its score in the hypothesis, on gold labels of contradiction and the rest."""
    scores, gold = (column.tolist() for column in build_scores())
    notes = {"old": [f"Note {n}." for n in range(ROWS)], "new": [f"Score {score!r}." for score in scores]}
    data = write_table(tmp_path / "notes.csv", notes | {"conflict": [str(label).lower() for label in gold]})

    def predict(_, hypotheses):
        found = [float(each.split()[1][:-1]) if each.startswith("Score") else 0.5 for each in hypotheses]
        return [[each, 1 - each] if len(order) == 2 else [(1 - each) / 2, (1 - each) / 2, each] for each in found]

    model = CallablePredictor(predict, identity={"name": "detector"}, label_map=parse_label_map(",".join(order)))
    columns = {"premise": "old", "hypothesis": "new", "label": "conflict"}
    labels = CONTRADICTION_OR_NOT[::-1]
    options = {"columns": columns, "labels": labels, "output_dir": tmp_path / "run", "trust_labels": True, **BARE}
    unbag.evaluate(model, "plain", data=str(data), **options)
    [result] = read_results(tmp_path / "run" / "results.json")
    return result


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_detector_scores_equal_those_of_scikit_learn(tmp_path, order):
    result = evaluate(tmp_path, order)
    scores, gold = build_scores()
    # The labels of three that are no contradiction are merged, so that it is predicted above one half.
    called = scores > 0.5
    found = result.scores["detection"]
    assert result.scores["labels"] == list(CONTRADICTION_OR_NOT)
    assert (found["n_positive"], found["n_negative"]) == (gold.sum(), (~gold).sum())
    assert found["auroc"].value == pytest.approx(roc_auc_score(gold, scores))
    assert found["balanced_accuracy"].value == pytest.approx(balanced_accuracy_score(gold, called))
    assert found["recall"].value == pytest.approx(called[gold].mean())
    assert found["false_positive"].value == pytest.approx(called[~gold].mean())
    assert found["calibration"]["brier"].value == pytest.approx(brier_score_loss(gold, scores), abs=1e-6)
    safe = {row["target"]: row for row in found["safe_thresholds"]}
    assert safe[0.01]["threshold"] is None, "too few pairs"
    for target in (0.05, 0.1):
        row = safe[target]
        assert row["bound"] <= target
        assert row["recall"].value == pytest.approx((scores >= float(row["threshold"]))[gold].mean())


def test_gate_on_false_contradictions_is_decided(tmp_path):
    rate = evaluate(tmp_path, CONTRADICTION_OR_NOT).scores["detection"]["false_positive"]

    for bound, code, outcome in ((rate.low - 0.001, 1, "fails"), (rate.high + 0.001, 0, "passes")):
        found = check(tmp_path / "run", "--max", f"plain:false_contradiction={bound}")
        assert found == (code, {"false_contradiction": (outcome, rate.value)})
    html.write_report([tmp_path / "run"], tmp_path / "report.html")
    report = (tmp_path / "report.html").read_text()
    assert "As a contradiction detector" in report
    assert "False contradictions by threshold" in report


def test_detector_gold_is_refused_where_it_has_no_meaning(tmp_path):
    data = tmp_path / "notes.csv"
    data.write_text("premise,hypothesis,label\nA.,B.,contradiction\nA.,C.,not_contradiction\n")

    def predict(premises, _):
        return ["entailment"] * len(premises)

    with pytest.raises(ValueError, match="expected three labels, to identify entailments, got two labels"):
        unbag.evaluate(predict, "permuted", data=str(data), output_dir=tmp_path / "permuted")
    verifier = CallablePredictor(
        predict, identity={"name": "verifier"}, label_map=parse_label_map("entailment,not_entailment")
    )
    with pytest.raises(ValueError, match="got not_contradiction, which may be either"):
        unbag.evaluate(verifier, "plain", data=str(data), output_dir=tmp_path / "plain")
    data.write_text("premise,hypothesis,label\nA.,B.,entailment\nA.,C.,not_entailment\n")
    detector = CallablePredictor(
        predict, identity={"name": "detector"}, label_map=parse_label_map("contradiction,not_contradiction")
    )
    with pytest.raises(ValueError, match="got not_entailment, which may be either"):
        unbag.evaluate(detector, "plain", data=str(data), output_dir=tmp_path / "mirrored")
    data.write_text("premise,hypothesis,label\nA.,B.,not_entailment\nA.,C.,not_contradiction\n")
    with pytest.raises(ValueError, match="expected one of entailment, not_entailment, as in the other rows"):
        unbag.evaluate(predict, "plain", data=str(data), output_dir=tmp_path / "mixed")
