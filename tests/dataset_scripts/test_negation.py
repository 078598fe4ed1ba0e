import json
import random

import pytest

from tests.challenge_sets.perturbations.test_negation_operations import CLAIMS, NO_CLAIMS
from unbag import evaluate
from unbag.challenge_sets import loading
from unbag.challenge_sets.request import SetRequest, build_requested_set

PAIRS = [*CLAIMS, *NO_CLAIMS, CLAIMS[0]]


def _write(path, premises):
    lines = [
        json.dumps({"id": str(n), "premise": text, "hypothesis": "It rains.", "label": "neutral"})
        for n, text in premises
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def options(shared, tmp_path, monkeypatch):
    pytest.importorskip("spacy")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "datasets")
    path = _write(tmp_path / "pairs.jsonl", enumerate(PAIRS))
    return {"data": str(path), "pipeline": str(shared / "hub" / "models" / "spacy" / "en_core_web_sm")}


def test_order_of_pairs_changes_no_row(options, tmp_path, monkeypatch):
    monkeypatch.setattr("unbag.data.sources.ROWS_PER_SPAN", 3)
    rows = loading.load("negation", **options)
    assert rows.features["label"].names == ["entailment", "not_entailment"]
    rows = rows.to_list()
    assert {row["source_id"] for row in rows} == {"0", "1", "2", "3"}
    shuffled = list(enumerate(PAIRS[:-1]))
    random.Random(2).shuffle(shuffled)
    path = _write(tmp_path / "shuffled.jsonl", shuffled)
    other = loading.load("negation", **options | {"data": str(path)}).to_list()
    assert {row["id"]: row for row in other} == {row["id"]: row for row in rows}


def test_exclusions_are_counted_and_constant_scores_one_half(options):
    request = SetRequest("negation", options=options)
    built = build_requested_set(request)
    assert sum(built.data["excluded"].values()) == len(NO_CLAIMS) + 1
    assert built.config["counts"]["claims"] == len(CLAIMS)
    [result] = evaluate(
        lambda premises, hypotheses: ["neutral"] * len(premises), sets=[request], lexical_baseline=False
    )
    assert result.scores["accuracy"].value == 0.5
    assert result.scores["mirror_consistency"].value == 0


def test_text_gives_same_rows_as_premises(options, tmp_path):
    text = tmp_path / "page.md"
    text.write_text("# A page\n\n" + " ".join(CLAIMS) + "\n")
    given = {"text": [str(text)], "pipeline": options["pipeline"]}
    rows, others = (
        {(row["premise"], row["hypothesis"], row["label"]) for row in loading.load("negation", **each)}
        for each in (options, given)
    )
    assert rows == others


@pytest.mark.parametrize(
    ("given", "message"),
    [({"words": "half"}, "words: expected one of"), ({"language": "de"}, "German|expected English")],
)
def test_invalid_options_are_rejected(options, given, message):
    with pytest.raises(ValueError, match=message):
        loading.create_builder("negation", **options | given).validate_resources()
