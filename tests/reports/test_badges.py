"""The badge says what the verdict says, for a coin and an oracle too."""

import json
from xml.etree import ElementTree

import pytest

from tests.factories import result
from unbag.challenge_sets.base import SKILL
from unbag.evaluation.verdict import compute_model_verdict
from unbag.reports import badge


def _lexical(made):
    made.scores[SKILL] |= {"baseline": 0.0, "shuffled": 0.0}
    return made


@pytest.mark.parametrize(
    ("right", "words"),
    [(1.0, "shown on 1 of 1 set"), (0.8, "shown on 1 of 1 set"), (1 / 3, "shown on 0 of 1 set")],
)
def test_it_counts_the_challenge_sets_and_not_the_corpus_itself(right, words):
    verdicts = compute_model_verdict([_lexical(result(right=right, set_name="swapped")), _lexical(result(right=1.0))])
    assert badge.words(verdicts) == ("reads more than words", words)


def test_words_without_baselines_or_control_only_claim_better_than_chance():
    made = result(set_name="swapped")
    assert badge.words(compute_model_verdict([made])) == ("better than chance", "shown on 1 of 1 set")
    made.scores[SKILL]["baseline"] = 0.0  # its answers to shuffled words are not known
    assert badge.words(compute_model_verdict([made])) == ("better than chance", "shown on 1 of 1 set")


def test_both_forms_say_the_same(tmp_path):
    verdicts = compute_model_verdict([_lexical(result(set_name="swapped"))])
    badge.write(verdicts, tmp_path / "badge.json")
    badge.write(verdicts, tmp_path / "badge.svg")
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


def test_what_cannot_be_a_badge_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"expected a badge as \.svg or \.json, got .*badge\.png"):
        badge.write(compute_model_verdict([result(set_name="swapped")]), tmp_path / "badge.png")
    with pytest.raises(ValueError, match="expected the results of a challenge set for a badge, got none"):
        badge.words(compute_model_verdict([result()]))
