"""Tests of the human study: sampled pairs, annotation sheets and scores."""

import json

import datasets
import numpy as np
import pandas
import pytest

from tests.factories import run_unbag, write_pairs
from unbag.data.labels import LABELS, TWO_WAY
from unbag.data.predictions import build_predictions_from_labels
from unbag.evaluation import human_study

Q = 3
N = 24


def _build_rows(labels=LABELS):
    """Return N examples of Q orders each, and a model that is right on every second original and accepts orders > 0."""
    names = [f"s{i}" for i in range(N) for _ in range(Q + 1)]
    orders = np.tile(np.arange(-1, Q), N)
    gold = np.repeat(np.arange(N) % len(labels), Q + 1)
    rows = datasets.Dataset.from_dict(
        {
            "id": [f"{name}#{order}" for name, order in zip(names, orders, strict=True)],
            "source_id": names,
            "permutation": orders,
            "premise": [f"premise of {name}, {order}" for name, order in zip(names, orders, strict=True)],
            "hypothesis": [f"hypothesis of {name}, {order}" for name, order in zip(names, orders, strict=True)],
            "label": gold,
            "premise_words": np.repeat(8 + np.arange(N) // 2, Q + 1),
            "hypothesis_words": np.full(len(gold), 8),
        }
    ).cast_column("label", datasets.ClassLabel(names=list(labels)))
    right = np.where(orders < 0, np.repeat(np.arange(N) % 2 == 0, Q + 1), orders > 0)
    return rows, build_predictions_from_labels(np.where(right, gold, (gold + 1) % len(labels)))


def test_sampled_pairs_are_accepted_and_groups_are_balanced():
    drawn = human_study.sample_permuted_pairs(*_build_rows(), n_pairs=12)
    assert len({one.id.partition("#")[0] for one in drawn}) == len(drawn) == 12
    kinds = [(one.drawn_from, one.length) for one in drawn]
    assert {kind: kinds.count(kind) for kind in kinds} == dict.fromkeys(kinds, 3)
    assert len(set(kinds)) == 4
    for one in drawn:
        source, order = one.id.split("#")
        number = int(source[1:])
        assert order in ("1", "2")
        assert one.drawn_from == ("D^c" if number % 2 == 0 else "D^f")
        # lengths are 8 to 19 words, so the median is 13.5
        assert one.length == ("longer" if number >= N / 2 else "shorter")
        assert one.label == LABELS[number % 3]
        assert (one.premise, one.hypothesis) == (f"premise of {source}, {order}", f"hypothesis of {source}, {order}")
    assert kinds != sorted(kinds), "the place of a pair tells nothing"


def test_score_two_way_key_folds_neutral_and_contradiction(tmp_path):
    rows, answers = _build_rows(labels=TWO_WAY)
    other = answers.probabilities[:, [0, 2, 1]]  # swapping the other two labels of the model has no effect
    drawn = human_study.sample_permuted_pairs(rows, answers, n_pairs=8)
    assert drawn == human_study.sample_permuted_pairs(rows, answers._replace(probabilities=other), n_pairs=8)
    assert {one.label for one in drawn} == set(TWO_WAY)
    human_study.write_annotation_sheet(drawn, tmp_path)
    for rest in ("neutral", "contradiction", "not_entailment"):
        sheet = _fill_sheet(tmp_path, lambda known, rest=rest: "entailment" if known["label"] == "entailment" else rest)
        assert human_study.score_annotation_sheet(tmp_path, sheet)["accuracy"].value == 1, rest


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        (6, "--num-pairs: expected a positive multiple of 4, got 6"),
        (40, r"10 shorter examples with an accepted permutation in the subset D\^c, got 6"),
    ],
)
def test_invalid_sample_request_is_rejected(pairs, words):
    with pytest.raises(ValueError, match=words):
        human_study.sample_permuted_pairs(*_build_rows(), n_pairs=pairs)


@pytest.fixture
def folder(tmp_path):
    human_study.write_annotation_sheet(human_study.sample_permuted_pairs(*_build_rows(), n_pairs=8), tmp_path)
    return tmp_path


def _fill_sheet(folder, label_of):
    sheet, key = (pandas.read_csv(folder / name) for name in ("sheet.csv", "key.csv"))
    sheet["label"] = [label_of(known) for known in key.to_dict("records")]
    sheet.to_csv(folder / "ann.csv", index=False)
    return folder / "ann.csv"


def test_sheet_does_not_reveal_labels(folder):
    text = (folder / "sheet.csv").read_text()
    assert text.startswith("number,premise,hypothesis,label\n")
    assert not [word for word in (*LABELS, "#", "D^") if word in text]


def test_scores_equal_hand_computed_values(folder):
    # right on all of D^c, "neutral" on all of D^f
    sheet = _fill_sheet(folder, lambda known: known["label"] if known["drawn_from"] == "D^c" else "Neutral")
    key = pandas.read_csv(folder / "key.csv")
    share = key["label"][key["drawn_from"] == "D^f"].tolist().count("neutral") / 4
    scores = human_study.score_annotation_sheet(folder, sheet)
    assert scores["answered"] == 8
    assert (scores["d_c"].value, scores["d_c"].n) == (1.0, 4)
    assert (scores["d_f"].value, scores["d_f"].n) == (share, 4)
    assert scores["accuracy"].value == (1 + share) / 2


def test_score_ignores_pairs_without_label(folder):
    scores = human_study.score_annotation_sheet(
        folder, _fill_sheet(folder, lambda known: known["label"] if known["drawn_from"] == "D^c" else "")
    )
    assert scores["answered"] == 4
    assert scores["accuracy"].value == scores["macro_f1"].value == 1
    assert scores["d_f"].value is None
    with pytest.raises(ValueError, match="expected labels in the column 'label', got none"):
        human_study.score_annotation_sheet(folder, folder / "sheet.csv")


def test_command_shows_annotators_next_to_published_experts(folder):
    sheet = _fill_sheet(folder, lambda known: known["label"])
    shown = run_unbag("human-study", "score", folder, sheet, COLUMNS="80")
    assert shown.exit_code == 0, shown.output
    assert max(map(len, shown.output.splitlines())) <= 80
    assert "1.000 [0.398, 1.000]" in shown.output
    assert "0.581" in shown.output
    as_json = json.loads(run_unbag("human-study", "score", folder, sheet, "--json").stdout)
    assert as_json["ann"]["accuracy"]["value"] == 1


def test_command_samples_accepted_pairs(tmp_path, monkeypatch):
    pairs = []
    for number in range(40):
        more = " ".join(["very"] * (number // 4))
        premise = f"The {more} big dog number {number} over there sees a cat on the road."
        pairs.append((premise, f"The animal number {number} over there sees something just now.", LABELS[number % 2]))
    write_pairs(tmp_path / "pairs.csv", pairs)
    # predicts entailment for any order, except for the original order of pairs with a 0 or 2 in their number
    (tmp_path / "odd.py").write_text(
        "def predict(premises, hypotheses):\n"
        "    return ['neutral' if p.startswith('The') and {*'02'} & {*p} else 'entailment' for p in premises]\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    options = "--data pairs.csv -o q=4 --num-pairs 8 --output-dir asked".split()
    done = run_unbag("human-study", "sample", "odd:predict", *options)
    assert done.exit_code == 0, (done.output, done.exception)
    assert "8 pairs to label" in done.output
    key = pandas.read_csv("asked/key.csv")
    assert set(key["label"]) == {"entailment"}
    assert key["drawn_from"].tolist().count("D^f") == 4


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("sheet.csv", "number,label\n9,neutral\n", "sheet.csv: expected each 'number' of .*key.csv once, got '9'"),
        ("sheet.csv", "number,answer\n1,neutral\n", "got no 'label'"),
        ("sheet.csv", "number,label\n1,not_entailment\n", "line 2: expected 'label' to be one of entailment, neutral"),
        ("sheet.csv", "number,label\n1,neutral\n2,perhaps\n", "line 3: expected a label such as .*, got 'perhaps'"),
        ("key.csv", "number,label,drawn_from\n1,,D^c\n", "key.csv, line 2: expected"),
        ("key.csv", "number,label,drawn_from\n1,neutral,D^c\n1,neutral,D^f\n", "key.csv, line 3: expected"),
    ],
)
def test_changed_sheet_or_key_is_rejected(folder, name, text, message):
    (folder / name).write_text(text)
    with pytest.raises(ValueError, match=message):
        human_study.score_annotation_sheet(folder, folder / "sheet.csv")
