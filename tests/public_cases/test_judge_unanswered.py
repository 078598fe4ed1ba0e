"""Judges behind an endpoint: answers that were cut, refused or are empty are unanswered, and reported by reason."""

import pytest

import unbag
from tests.factories import BARE, write_table
from unbag.challenge_sets import results
from unbag.evaluation.gates import Gates, check_gates, parse_bound
from unbag.evaluation.verdict import compute_model_verdict, format_verdict
from unbag.reports.reproduce import list_remarks

pytest.importorskip("openai", reason="needs unbag[llm]")

LONG = "The document has to be compared with the claim word by word. " * 4
PROMPT = """---
words: {entailment: [supported], not_entailment: [unsupported]}
---
Premise: {{ premise }}
Claim: {{ hypothesis }}
"""


@pytest.fixture
def pairs(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "judge.jinja").write_text(PROMPT)
    kinds = [("red", "yes"), ("blue", "no")] * 20
    rows = [(f"Box {n} is {colour}.", f"The box {n} is red.", label) for n, (colour, label) in enumerate(kinds)]
    return write_table(tmp_path / "claims.csv", rows, ["document", "claim", "supported"])


def evaluate(server, pairs, answer, output="run"):
    """Evaluate a judge whose answer is a function of whether the claim is supported."""
    server.most_logprobs = 0
    server.answers = lambda question: answer(" is red." in question.partition("Claim:")[0])
    [result] = unbag.evaluate(
        "endpoint:tiny",
        "plain",
        data=str(pairs),
        base_url=server.base_url,
        prompt=str(pairs.parent / "judge.jinja"),
        output_dir=pairs.parent / output,
        **BARE,
    )
    return result


def word(yes):
    return "Supported." if yes else "Unsupported."


@pytest.mark.parametrize(
    "answer",
    [
        lambda yes: f"Supported claims need a match. {LONG}</think>\n\n{word(yes)}",
        lambda yes: {"content": word(yes), "reasoning_content": LONG},
        lambda yes: f"Yes, {LONG}\nAnswer: {word(yes)}",
        lambda yes: f"<|channel|>analysis<|message|>{LONG}<|end|><|channel|>final<|message|>{word(yes)}",
    ],
    ids=["closing tag only", "separate field", "long answer", "channel"],
)
def test_thinking_judge_is_read_after_its_thoughts(endpoint, pairs, answer):
    result = evaluate(endpoint, pairs, answer)
    assert result.scores["accuracy"].value == 1
    assert (result.model["n_abstained"], "unanswered" in result.model) == (0, False)


@pytest.mark.parametrize(
    ("answer", "reason", "excerpt"),
    [
        (lambda yes: word(yes) if yes else "<think>" + LONG * 1000, "cut", "<think>The document"),
        (lambda yes: word(yes) if yes else {"content": "", "reasoning": LONG}, "empty", "the reasoning is"),
        (lambda yes: word(yes) if yes else "Hard to tell.", "unreadable", "Hard to tell."),
        (lambda yes: word(yes) if yes else {"content": None, "refusal": "I will not."}, "refused", "I will not."),
        (lambda yes: word(yes) if yes else "<filtered>", "refused", "“”"),
        (lambda yes: word(yes) if yes else "I'm sorry, but I can't help.", "refused", "I'm sorry"),
    ],
    ids=["cut", "empty", "unreadable", "refusal", "filter", "apology"],
)
def test_judge_that_answers_only_supported_claims_is_wrong_on_the_others(
    endpoint, pairs, caplog, answer, reason, excerpt
):
    for _ in range(2):  # the second run reads stored answers and stored predictions
        caplog.clear()
        result = evaluate(endpoint, pairs, answer)
        assert result.scores["accuracy"].value == 0.5
        assert result.scores["verification"]["balanced_accuracy"].value == 0.5
        assert result.scores["verification"]["false_entailment"].value == 1
        assert result.model["unanswered"] == {reason: 20}
        assert result.model["label_probe"] == {"en": "0 of 12"}, "a probe pair without an answer is not correct"
        [warning] = [record.getMessage() for record in caplog.records if "count as wrong" in record.getMessage()]
        assert f"20 {reason}" in warning
        assert warning.count(excerpt) == 2, warning
        [read] = results.read_results(pairs.parent / "run" / results.FILE)
        assert read.unanswered == f"20 of 40 pairs (20 {reason})"
        assert f"20 of 40 pairs (20 {reason})" in " ".join(list_remarks(read))
        assert f"20 of 40 pairs (20 {reason})" in format_verdict(compute_model_verdict([read]))


def test_unanswered_rows_leave_gates_against_an_earlier_run_open(endpoint, pairs, monkeypatch):
    monkeypatch.setattr("unbag.evaluation.gates.MARGIN", 0.45)  # above the interval of 40 pairs, below the share of .5
    for output in ("first", "second"):
        evaluate(endpoint, pairs, lambda yes: word(yes) if yes else "Hard to tell.", output)
    runs = [pairs.parent / output / results.FILE for output in ("first", "second")]
    bounds = [parse_bound("plain:changed_labels=.1", "max"), parse_bound("plain:false_entailment=.5", "max")]
    report = check_gates(runs[1], Gates(tuple(bounds), earlier_run=runs[0]))
    [changed] = report.changed_labels
    assert (changed.changed, changed.unanswered, changed.known.value) == (20, 20, 0)
    assert {(gate.number, gate.asked): gate.outcome for gate in report.gates} == {
        ("false_entailment", "≤ 0.5"): "fails",
        ("score", "no worse"): "inconclusive",
        ("changed_labels", "≤ 0.1"): "inconclusive",
    }
    assert all("unanswered" in gate.why for gate in report.gates if gate.outcome == "inconclusive")
