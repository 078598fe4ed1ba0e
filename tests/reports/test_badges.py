"""Tests that the badge agrees with the verdict, also for a coin and an oracle."""

import json
from xml.etree import ElementTree

import pytest

from tests.factories import build_result
from unbag.challenge_sets.base import SKILL
from unbag.evaluation.verdict import compute_model_verdict
from unbag.reports import badge


def _with_lexical_model(made):
    made.scores[SKILL] |= {"baseline": 0.0, "shuffled": 0.0}
    return made


@pytest.mark.parametrize(
    ("right", "words"),
    [(1.0, "shown on 1 of 1 set"), (0.8, "shown on 1 of 1 set"), (1 / 3, "shown on 0 of 1 set")],
)
def test_badge_counts_challenge_sets_without_corpus(right, words):
    verdicts = compute_model_verdict(
        [
            _with_lexical_model(build_result(proportion_correct=right, set_name="swapped")),
            _with_lexical_model(build_result(proportion_correct=1.0)),
        ]
    )
    assert badge.format_badge_text(verdicts) == ("reads more than words", words)


def test_badge_without_baselines_claims_only_better_than_chance():
    made = build_result(set_name="swapped")
    assert badge.format_badge_text(compute_model_verdict([made])) == ("better than chance", "shown on 1 of 1 set")
    made.scores[SKILL]["baseline"] = 0.0  # predictions for shuffled words are missing
    assert badge.format_badge_text(compute_model_verdict([made])) == ("better than chance", "shown on 1 of 1 set")


def test_svg_and_json_badge_have_same_text(tmp_path):
    verdicts = compute_model_verdict([_with_lexical_model(build_result(set_name="swapped"))])
    badge.write_badge(verdicts, tmp_path / "badge.json")
    badge.write_badge(verdicts, tmp_path / "badge.svg")
    told = json.loads((tmp_path / "badge.json").read_text())
    assert told == {
        "schemaVersion": 1,
        "label": "reads more than words",
        "message": "shown on 1 of 1 set",
        "color": "blue",
    }
    root = ElementTree.fromstring((tmp_path / "badge.svg").read_text())
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == [told["label"], told["message"]]
    assert root.get("aria-label") == f"{told['label']}: {told['message']}"


def test_invalid_badge_request_is_rejected(tmp_path):
    with pytest.raises(ValueError, match=r"badge: expected a file name ending in \.svg or \.json, got .*badge\.png"):
        badge.write_badge(compute_model_verdict([build_result(set_name="swapped")]), tmp_path / "badge.png")
    with pytest.raises(ValueError, match="expected results on at least one challenge set, got none"):
        badge.format_badge_text(compute_model_verdict([build_result()]))
