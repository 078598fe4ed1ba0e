import io

from rich.console import Console

from unbag import challenge_sets
from unbag.challenge_sets.results import Result
from unbag.scoring.bootstrap import Estimate

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


def test_reading_states_accuracy_by_label_and_lowest_category():
    assert breaking_nli.summarize_result(_build_result(0.7, 0.9)) == (
        "correct on 70.0 % [65.0, 75.0] of 100 entailments, 90.0 % [85.0, 95.0] of 100 contradictions; lowest "
        "category: synonyms, 70.0 % [65.0, 75.0] of 100."
    )


def test_reading_without_unique_lowest_category_names_none():
    few = {"category": "planets", "accuracy": Estimate(0.0, 0.0, 0.0, 5)}
    two = _build_result(0.7, 0.9).scores["by_category"]
    assert "lowest" not in breaking_nli.summarize_result(_build_result(0.7, 0.9, by_category=[two[0], few]))
    assert "lowest" not in breaking_nli.summarize_result(_build_result(0.7, 0.7))
    assert "; lowest category with 50 pairs or more: synonyms, 70.0 %" in breaking_nli.summarize_result(
        _build_result(0.7, 0.9, by_category=[*two, few])
    )


def test_two_label_reading_uses_its_labels():
    assert "of 100 pairs labelled not entailment" in breaking_nli.summarize_result(
        _build_result(0.9, 0.9, names=("entailment", "not_entailment"))
    )


def test_small_category_is_not_named_as_lowest():
    assert "lowest" not in breaking_nli.summarize_result(_build_result(0.9, 0.9, n=10))


def test_table_shows_available_views():
    empty = Estimate(None, None, None, 0)
    frequency = [
        {"least": 0, "most": 0, "accuracy": Estimate(0.25, 0.2, 0.3, 40)},
        {"least": 1, "most": 4, "accuracy": empty},
        {"least": 100, "most": None, "accuracy": Estimate(1.0, 1.0, 1.0, 60)},
    ]
    similarity = [{"low": 0.9, "high": 1.0, "accuracy": Estimate(0.5, 0.4, 0.6, 80)}]
    console = Console(width=80, file=io.StringIO())
    console.print(
        breaking_nli.build_table(
            _build_result(0.7, 0.9, by_frequency=frequency, by_similarity=similarity, unanswered=3)
        )
    )
    shown = console.file.getvalue()
    for words in ("contradiction", "colors", "0.900 [0.850, 0.950]", "0 training pairs", "100+ training pairs"):
        assert words in shown
    assert "cosine 0.9 to 1" in shown
    assert "3 pairs without an answer" in shown
    assert "1-4" not in shown  # a range without examples


def test_table_shows_human_accuracy_and_kappa():
    shown = Estimate(0.94, 0.93, 0.95, 200)
    kappa = {"annotators": 3, "overall": Estimate(0.61, 0.6, 0.62, 200), "by_label": [{"label": 0, "kappa": shown}]}
    result = _build_result(0.7, 0.9, human=shown, kappa=kappa)
    for row in (*result.scores["by_label"], *result.scores["by_category"]):
        row["human"] = shown
    console = Console(width=80, file=io.StringIO())
    console.print(breaking_nli.build_table(result))
    text = console.file.getvalue()
    assert "human" in text
    assert text.count("0.940") == 6  # all, two labels, two categories, and the κ of a label
    assert "Fleiss' κ of 3 annotators: 0.610 (entailment 0.940)" in text


def test_report_includes_human_scores():
    shown = Estimate(0.94, 0.93, 0.95, 200)
    kappa = {"annotators": 3, "overall": Estimate(0.61, 0.6, 0.62, 200), "by_label": []}
    with_people = {
        name: build_estimate
        for name, _, build_estimate in breaking_nli.iter_set_metrics(
            _build_result(0.7, 0.9, human=shown, kappa=kappa).scores
        )
    }
    assert (with_people["human"].value, with_people["κ"].value) == (0.94, 0.61)
    assert "human" not in {name for name, *_ in breaking_nli.iter_set_metrics(_build_result(0.7, 0.9).scores)}
