"""Tests of the tables, readings, figures and selected examples of the challenge sets, on a few synthetic rows."""

from dataclasses import replace

import datasets
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.factories import render
from unbag import challenge_sets
from unbag.challenge_sets.perturbations.recombined import EXCHANGES
from unbag.challenge_sets.results import Result
from unbag.challenge_sets.views.examples import CANDIDATES, OriginalPrediction, PredictedPairs, mark_phrases
from unbag.challenge_sets.views.figures import ReportModel, ResultGroup, ScoredModel
from unbag.challenge_sets.views.tables import summarize_exclusions
from unbag.data.labels import LABELS, TWO_WAY
from unbag.data.predictions import SetPredictions, build_predictions_from_labels
from unbag.evaluation import report_examples
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


def _build_predictions(*labels, probability=0.8):
    rows = []
    for each in labels:
        name, share = each if isinstance(each, tuple) else (each, probability)
        rows.append([share if label == name else (1 - share) / 2 for label in LABELS])
    return SetPredictions(np.array(rows, dtype=np.float32), LABELS, True)


def _build_pairs(n=3, **columns):
    base = {
        "id": [f"r{i}" for i in range(n)],
        "premise": [f"Premise number {i}." for i in range(n)],
        "hypothesis": [f"Hypothesis number {i}." for i in range(n)],
        "label": [LABELS.index("neutral")] * n,
    }
    return datasets.Dataset.from_dict(base | columns)


def _select(name, rows, answers):
    return list(challenge_sets.get_challenge_set(name).select_examples(PredictedPairs(rows, answers)))


def _select_short(name, rows, answers):
    return list(challenge_sets.get_challenge_set(name).select_short_examples(PredictedPairs(rows, answers)))


def _list_kinds(shown):
    return [(each.kind, each.id) for each in shown]


def _list_marked_words(*lines):
    return [line.text[start:end] for line in lines for start, end, _ in line.marks]


def test_plain_lists_most_confident_mistakes_of_each_label():
    rows = _build_pairs(5, label=[1, 1, 0, 1, 1])
    answers = _build_predictions(("entailment", 0.6), ("contradiction", 0.9), "neutral", "neutral", ("entailment", 0.7))
    shown = _select("plain", rows, answers)
    assert _list_kinds(shown) == [
        ("false entailment, neutral", "r4"),
        ("false entailment, neutral", "r0"),
        ("most confident wrong, entailment", "r2"),
        ("most confident wrong, neutral", "r1"),
    ]
    last = shown[3]
    assert (last.gold, last.answer, last.probability, last.outcome) == ("neutral", "contradiction", 0.9, "wrong")


def _mark_unanswered(answers, *places):
    return answers._replace(unanswered=np.isin(np.arange(len(answers.probabilities)), places))


def test_abstained_example_shows_no_answer():
    [shown] = _select("plain", _build_pairs(1), _mark_unanswered(_build_predictions("contradiction"), 0))
    assert (shown.gold, shown.answer, shown.probability, shown.outcome) == ("neutral", "none", None, "wrong")
    both = _build_pairs(2, source_id=["a", "a"], swapped=[False, True])
    [shown] = _select("swapped", both, _mark_unanswered(_build_predictions("neutral", "neutral"), 0, 1))
    assert (shown.answer, shown.before) == ("none", OriginalPrediction("as given", "none", None))
    modified = dict.fromkeys(("modifier", "part", "position", "relation"), ["none"] * 2)
    rows = _build_pairs(2, pair=["p", "p"], reverse=[False, True], four_way=["reverse_entailment", None], **modified)
    [shown] = _select("sicck", rows, _mark_unanswered(_build_predictions("neutral", "entailment"), 0))
    assert (shown.kind, shown.gold, shown.answer) == ("most confident wrong", "reverse_entailment", "none")


def test_permuted_shows_acceptance_and_one_permutation():
    orders = ["one two three four", "two one four three", "four three one two", "one two three four", "b a", "c a"]
    sides = {"premise": orders, "hypothesis": ["x y"] * 6}
    rows = _build_pairs(6, **sides, source_id=list("aaabbb"), permutation=[-1, 0, 1, -1, 0, 1])
    answers = _build_predictions(
        "neutral", ("neutral", 0.6), ("neutral", 0.9), "entailment", ("neutral", 0.7), "entailment"
    )
    most_accepted, flipped = _select("permuted", rows, answers)
    assert _list_kinds([most_accepted, flipped]) == [("most accepted", "r2"), ("flipped", "r4")]
    assert [line.name for line in most_accepted.lines] == ["premise", "hypothesis", "premise permuted"]
    assert _list_marked_words(most_accepted.lines[2]) == ["one two"]
    assert most_accepted.note == "2 of 2 permutations accepted"
    assert flipped.note == "1 of 2 permutations accepted"
    # Permuted words have no right answer, and a prediction matters only if the original pair is right.
    assert [(each.outcome, each.fails) for each in (most_accepted, flipped)] == [
        ("accepted", True),
        ("accepted", False),
    ]
    assert most_accepted.before == OriginalPrediction("in order", "neutral", 0.8)
    assert flipped.before == OriginalPrediction("in order", "entailment", 0.8)
    refused = _build_predictions("neutral", "entailment", "contradiction", "neutral", "neutral", "neutral")
    *_, last = _select("permuted", rows, refused)
    assert (last.kind, last.outcome, last.fails) == ("most refused", "refused", False)


def test_candidates_are_shortest_rows_for_every_model():
    rows = _build_pairs(120, premise=["word " * (1 + number % 7) for number in range(120)])
    shown = [_select_short("plain", rows, _build_predictions(*[label] * 120)) for label in ("neutral", "entailment")]
    by_length = sorted(range(len(rows)), key=lambda row: len(rows[row]["premise"] + rows[row]["hypothesis"]))
    assert [[each.id for each in some] for some in shown] == [[f"r{i}" for i in by_length[:CANDIDATES]]] * 2
    assert [{each.outcome for each in some} for some in shown] == [{"right"}, {"wrong"}]


def _build_operation_rows(**columns):
    """Return four rows of two sources, labelled as entailed or not."""
    return _build_pairs(4, label=[1, 0, 1, 1], source_id=["a", "a", "a", "b"], **columns)


ENTAILED = SetPredictions(np.tile([0.8, 0.2], (4, 1)), TWO_WAY, has_probabilities=True)


def test_recombined_shows_mistakes_by_operation_with_marked_words():
    rows = _build_operation_rows(
        operation=["removed", "supported", "subject", "subject"],
        replacement=[None, None, "premise", "hypothesis"],
        k=[4] * 4,
        position=[0, 1, 2, 3],
    )
    shown = _select("recombined", rows, ENTAILED)
    expected = [("subject, surest wrong", "r2"), ("subject, surest wrong", "r3"), ("removed, surest wrong", "r0")]
    assert _list_kinds(shown) == expected
    assert (shown[0].gold, shown[0].answer, shown[0].outcome) == ("not_entailment", "entailment", "wrong")
    assert [_list_marked_words(*each.lines) for each in shown] == [["Premise"], ["Hypothesis"], []]
    assert shown[0].note == "4 sentences, evidence in number 3"
    candidates = _select_short("recombined", rows, ENTAILED)
    assert _list_kinds(candidates) == [("another subject", "r2"), ("another subject", "r3")]


def test_negation_shows_mistakes_by_operation_with_marked_negations():
    premises = ["The man is not asleep.", "He sleeps.", "It is not true that he is not asleep.", "She does not sleep."]
    rows = _build_operation_rows(operation=["sentence", "sentence", "double", "sentence"], premise=premises)
    shown = _select("negation", rows, ENTAILED)
    expected = [("sentence, surest wrong", "r0"), ("sentence, surest wrong", "r3"), ("double, surest wrong", "r2")]
    assert _list_kinds(shown) == expected
    assert _list_marked_words(*shown[2].lines) == ["not", "not"]
    assert {each.gold for each in _select_short("negation", rows, ENTAILED)} == {"not_entailment"}


def test_candidates_are_perturbed_rows():
    def list_ids(name, rows):
        return [each.id for each in _select_short(name, rows, _build_predictions(*["neutral"] * len(rows)))]

    features = {"misleading": [[]] * 3} | {f"lexical_{label}": [0.3] * 3 for label in LABELS}
    assert list_ids("cs_lambda", _build_pairs(3, lms=[0.2, 0.7, 0.9], **features)) == ["r1", "r2"]
    rearranged = _build_pairs(4, partition=[0, 3, 3, 2], uncertainty=[0.1, 0.9, 0.8, 0.7])
    for splits, wanted in ((["test", "test", "train", "test"], ["r1", "r3"]), ([""] * 4, ["r1", "r2", "r3"])):
        assert list_ids("resnli", rearranged.add_column("source_split", splits)) == wanted
    assert list_ids("swapped", _build_pairs(2, source_id=["a", "a"], swapped=[False, True])) == ["r1"]


@pytest.mark.parametrize("has_probabilities", [True, False])
def test_selections_round_trip(tmp_path, has_probabilities):
    rows = _build_pairs(3)
    answers = _build_predictions("entailment", "neutral", "contradiction")._replace(has_probabilities=has_probabilities)
    result = Result("plain", {}, {"name": "a-model"}, {"sha256": "0" * 64}, {}, {})
    chosen = report_examples.select_examples(result, rows, answers)
    assert chosen.examples
    assert chosen.candidates
    assert all((each.probability is not None) == has_probabilities for each in chosen.examples)
    report_examples.write_selections([chosen], tmp_path / "examples.json")
    assert report_examples.read_selections(tmp_path / "examples.json") == [chosen]


@pytest.mark.parametrize(
    ("text", "phrases", "marked"),
    [
        ("Dogs chase a dog; the dogged DOG sleeps.", ["dog"], ["dog", "DOG"]),
        (
            "Two men play an electric  guitar in a guitar shop.",
            ["guitar", "electric guitar"],
            ["electric  guitar", "guitar"],  # the longest phrase is one mark
        ),
        ("He doesn't run.", ["n't"], ["n't"]),  # a part of a word, if no whole word matches
        ("两只狗在跑", ["狗"], ["狗"]),
    ],
)
def test_whole_words_or_else_parts_are_marked(text, phrases, marked):
    assert [text[start:end] for start, end, _ in mark_phrases(text, phrases, "misleads")] == marked


@given(st.text(max_size=60), st.lists(st.text(max_size=8), max_size=4))
def test_marks_are_ordered_and_disjoint(text, phrases):
    ends = [0]
    for start, end, _ in mark_phrases(text, phrases, "moved"):
        assert ends[-1] <= start < end <= len(text)
        ends.append(end)
