"""Tests of the scores of published predictions: matching, labels, partial coverage."""

import json
import re
import shlex
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import unbag
from unbag import cli
from unbag.challenge_sets import results
from unbag.data.labels import LABELS
from unbag.evaluation.prediction_matching import describe_coverage
from unbag.reports.reproduce import build_reproduce_command
from unbag.utils.safe_io import DataError

N = 60
PAIRS = [(f"A man number {row} sleeps.", f"Person {row} rests!", LABELS[row % 3]) for row in range(N)]


@pytest.fixture
def data(tmp_path):
    """Write pairs to a file."""
    path = tmp_path / "pairs.jsonl"
    lines = [
        json.dumps({"id": f"pair-{row}", "premise": p, "hypothesis": h, "label": label})
        for row, (p, h, label) in enumerate(PAIRS)
    ]
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def score(data):
    """Return a function that scores predictions on the unchanged pairs."""

    def score(predictions, sets="plain", **options):
        request = unbag.SetRequest(sets, options={"data": str(data)})
        return unbag.score(predictions, request, lexical_baseline=False, progress=False, **options)

    return score


def build_columns(rows=range(N), *, texts=True, **columns):
    """Build columns of texts of the given pairs, and the given columns."""
    sides = {"premise": [PAIRS[row][0] for row in rows], "hypothesis": [PAIRS[row][1] for row in rows]}
    return (sides if texts else {}) | columns


def test_score_by_texts_in_other_case_counts_normalized_rows(score):
    wrong_first = ["neutral", *[label for *_, label in PAIRS[1:]]]
    columns = build_columns(prediction=wrong_first)
    columns["premise"][3] = columns["premise"][3].upper()
    [result] = score(columns)
    assert result.scores["accuracy"].value == pytest.approx(59 / 60)
    assert result.model["matched"]["by"] == "premise and hypothesis, 1 of them normalized"


def test_score_of_some_rows_covers_these_rows(score):
    rows = range(0, N, 2)
    [result] = score(build_columns(rows, pred=["entailment" for _ in rows]))
    assert (result.scores["accuracy"].value, result.scores["accuracy"].n) == (pytest.approx(1 / 3), 30)
    assert result.model["matched"] == {
        "by": "premise and hypothesis",
        "rows": 30,
        "of": 60,
        "unmatched": 0,
        "ambiguous": 0,
    }
    assert result.data["excluded"] == {"without prediction": 30}


def test_numbers_get_the_meaning_of_the_files_gold_labels(score):
    ids = {"entailment": 2, "neutral": 1, "contradiction": 0}
    gold = [ids[label] for *_, label in PAIRS]
    predicted = [*[(number + 1) % 3 for number in gold[:6]], *gold[6:]]
    [result] = score(build_columns(label=gold, predicted_label=predicted))
    assert result.scores["accuracy"].value == pytest.approx(54 / 60)
    assert set(result.model["label_order"].split(",")) == {"0=contradiction", "1=neutral", "2=entailment"}


@pytest.mark.parametrize("wrong_order", [None, LABELS[::-1]])
def test_numbers_without_gold_labels_are_rejected_with_accuracies(score, wrong_order):
    predicted = [LABELS.index(label) for *_, label in PAIRS]
    with pytest.raises(DataError, match=r"0=entailment,1=neutral,2=contradiction 100\.0%"):
        score(build_columns(prediction=predicted), labels=wrong_order)
    [result] = score(build_columns(prediction=predicted), labels=LABELS)
    assert result.scores["accuracy"].value == 1


def test_labels_that_contradict_gold_labels_are_rejected(score):
    numbers = [LABELS.index(label) for *_, label in PAIRS]
    with pytest.raises(DataError, match="expected 0=entailment, 2=contradiction, as in the gold labels"):
        score(build_columns(label=numbers, prediction=numbers), labels=LABELS[::-1])


def test_exchanged_names_are_scored_with_a_warning(score):
    exchanged = dict(zip(LABELS, LABELS[::-1], strict=True))
    [result] = score(build_columns(prediction=[exchanged[label] for *_, label in PAIRS]))
    [warning] = result.model["matched"]["warnings"]
    assert "contradiction=entailment,entailment=contradiction,neutral=neutral 100.0%" in warning
    assert result.scores["accuracy"].value == pytest.approx(1 / 3)


def test_initials_and_answers_without_a_label_are_read(score):
    initials = [label[0].upper() for *_, label in PAIRS]
    [result] = score(build_columns(prediction=["none", *initials[1:]]))
    assert (result.scores["accuracy"].value, result.model["n_abstained"]) == (pytest.approx(59 / 60), 1)


@pytest.mark.parametrize(
    ("meanings", "labels"),
    [
        ({"0": "contradiction", "1": "neutral", "2": "entailment"}, ["contradiction", "neutral", "entailment"]),
        (
            {"A b": "entailment", "C": "neutral", "?": "contradiction", "??": "none"},
            ["A b=entailment", "C=neutral", "?=contradiction", "??=none"],
        ),
    ],
)
def test_labels_and_columns_describe_predictions_beside_own_data(data, meanings, labels):
    words = {label: word for word, label in meanings.items()}
    given = build_columns(answer=[words.get("none", words["neutral"]), *[words[label] for *_, label in PAIRS[1:]]])
    report = unbag.score(
        given, data=data, columns={"prediction": "answer"}, labels=labels, lexical_baseline=False, progress=False
    )
    assert report[0].scores["accuracy"].value == pytest.approx(59 / 60), "the first of 60 answers is wrong"


def test_two_names_of_labels_are_those_of_false_and_true(score):
    flags = [label != "entailment" for *_, label in PAIRS]
    [result] = score(build_columns(prediction=[not flags[0], *flags[1:]]), labels=["entailment", "not_entailment"])
    assert result.scores["accuracy"].value == pytest.approx(59 / 60)


def test_columns_of_scores_in_other_forms_are_those_probabilities(score, tmp_path):
    values = [[0.7, 0.2, 0.1], [0.25, 0.5, 0.25], [0.0, 0.25, 0.75]]
    rows = [values[row % 3] for row in range(N)]

    def brier(table, **options):
        [result] = score(table, **options)
        assert result.scores["accuracy"].value == 1
        return result.scores["verification"]["calibration"]["brier"].value

    def by_name(form, change):
        return build_columns(
            **{
                form.format(*pair): [change(row[place]) for row in rows]
                for place, pair in enumerate((("entailment", "e"), ("neutral", "n"), ("contradiction", "c")))
            }
        )

    expected = (0.3**2 + 0.25**2 + 0) / 3  # of the probability of entailment
    log = np.vectorize(lambda value: np.log(value) if value else -np.inf)
    assert brier(by_name("p_{0}", float)) == pytest.approx(expected)
    assert brier(by_name("prob_{1}", float)) == pytest.approx(expected)
    assert brier(by_name("{0}", lambda value: 100 * value)) == pytest.approx(expected)
    assert brier(by_name("{0}_logprob", lambda value: float(log(value)))) == pytest.approx(expected)
    texts = [f"tensor([{e}, {n}, {c}], device='cuda:0')" for e, n, c in rows]
    assert brier(build_columns(probs=texts), labels=LABELS) == pytest.approx(expected)
    path = tmp_path / "nested.jsonl"
    path.write_text(
        "\n".join(
            json.dumps({"id": f"pair-{row}", "output": {"probs": dict(zip(LABELS, each, strict=True))}})
            for row, each in enumerate(rows)
        )
    )
    assert brier(path) == pytest.approx(expected)
    # A single column is the probability, or the logit, of the first of two labels.
    assert brier(build_columns(p_entailment=[row[0] for row in rows])) == pytest.approx(expected)
    logits = [float(log(row[0] / (1 - row[0]))) for row in rows]
    assert brier(build_columns(x=logits), columns={"scores": "x"}) == pytest.approx(expected)


def test_texts_with_escapes_of_html_match(score):
    columns = build_columns(prediction=[label for *_, label in PAIRS])
    columns["hypothesis"] = [text.replace("!", "&#33;") for text in columns["hypothesis"]]
    [result] = score(columns)
    assert result.model["matched"]["rows"] == N


def test_scores_that_contradict_the_labels_are_not_used(score):
    gold = [label for *_, label in PAIRS]
    columns = build_columns(prediction=gold, entailment=[0.8] * N, neutral=[0.1] * N, contradiction=[0.1] * N)
    [result] = score(columns)
    assert result.scores["accuracy"].value == 1
    assert "scores are not used" in result.model["matched"]["warnings"][0]


def test_logits_in_lists_become_probabilities(score):
    gold = [LABELS.index(label) for *_, label in PAIRS]
    logits = np.eye(3)[gold] * 5 - 1
    [result] = score(build_columns(label=gold, predicted_scores=logits.tolist(), predicted_label=gold))
    assert result.scores["accuracy"].value == 1
    expected = np.exp(4) / (np.exp(4) + 2 * np.exp(-1))
    brier = result.scores["verification"]["calibration"]["brier"].value
    assert brier == pytest.approx(((1 - expected) ** 2 + 2 * ((1 - expected) / 2) ** 2) / 3, rel=1e-5)


def test_columns_of_scores_without_names_are_rejected_with_a_row(score):
    with pytest.raises(DataError, match=r"got '0', '1', '2' \(.*row 0\); pass their meanings with --labels 0=…"):
        score(build_columns(logits=[[0.0, 2.0, 1.0]] * N))  # the first column is the largest in no row


def test_row_of_infinite_scores_is_rejected(score):
    scores = [[0.0, 2.0, 1.0], [-np.inf] * 3, *[[1.0, 0.0, -np.inf]] * (N - 2)]
    with pytest.raises(DataError, match=r"row 1: expected a finite score for at least one label, got -inf for all"):
        score(build_columns(logits=scores), labels=LABELS)


def test_label_of_equal_scores_is_the_stated_one(score):
    labels = [label for *_, label in PAIRS]
    scores = {
        name: [0.5 if name in (label, LABELS[label == LABELS[0]]) else 0.0 for label in labels] for name in LABELS
    }
    [result] = score(build_columns(prediction=labels, **scores))
    assert result.scores["accuracy"].value == 1
    assert result.scores["verification"]["auroc"].value == 0.5  # scores are not changed by the labels


@pytest.mark.parametrize(("entailed", "others"), [((120.0, 0.0), (100.0, 0.0)), ((0.0, -300.0), (0.0, -290.0))])
def test_large_logits_keep_their_order(score, entailed, others):
    logits = [list(entailed if label == "entailment" else others) for *_, label in PAIRS]
    [result] = score(build_columns(logits=logits), labels=["entailment", "not_entailment"], threshold="break-even")
    assert result.model["ranking"]["auc"] == 1
    assert result.model["ranking"]["n_predicted_entailed"] == N / 3


def test_threshold_on_gold_labels_of_contradiction_applies_to_contradiction(tmp_path):
    path = tmp_path / "pairs.jsonl"
    labels = ["contradiction" if row % 3 == 0 else "not_contradiction" for row in range(N)]
    rows = [{"premise": p, "hypothesis": h, "label": label} for (p, h, _), label in zip(PAIRS, labels, strict=True)]
    path.write_text("\n".join(map(json.dumps, rows)))
    contradicted = [0.4 if label == "contradiction" else 0.2 for label in labels]
    scores = {"entailment": [0.5] * N, "neutral": [0.5 - each for each in contradicted], "contradiction": contradicted}
    [result] = unbag.score(build_columns(**scores), data=path, threshold=0.3, lexical_baseline=False, progress=False)
    assert result.scores["accuracy"].value == 1
    assert result.model["ranking"]["auc"] == 1


def test_table_with_a_column_per_model_gives_a_result_per_model(score):
    gold = [label for *_, label in PAIRS]
    report = score(build_columns(gold=gold, good=gold, constant=["neutral"] * N, some=[*gold[:30], *[None] * 30]))
    assert [(each.model["name"], each.scores["accuracy"].value, each.scores["accuracy"].n) for each in report] == [
        ("good", 1, 60),
        ("constant", pytest.approx(1 / 3), 60),
        ("some", 1, 30),
    ]


def test_models_of_several_tables_are_compared_on_common_rows(score):
    gold = [label for *_, label in PAIRS]
    half = range(0, N, 2)
    report = score(
        [build_columns(first=gold, other=["neutral"] * N), build_columns(half, second=[gold[r] for r in half])]
    )
    found = {
        (each.first, each.second): (each.values, each.difference.n, each.test)
        for each in report.comparison.differences
        if each.quantity == "accuracy"
    }
    third = pytest.approx(1 / 3)
    assert found == {
        ("A", "B"): ((1.0, third), 60, "mcnemar"),
        ("A", "C"): ((1.0, 1.0), 30, "mcnemar"),
        ("B", "C"): ((third, 1.0), 30, "mcnemar"),
    }
    accuracies = [each for each in report.comparison.differences if each.quantity == "accuracy"]
    assert [report.comparison.find_better(each) for each in accuracies] == ["A", None, "C"]


def test_models_are_compared_only_on_the_same_sample_of_a_set(data):
    gold = [label for *_, label in PAIRS]
    sets = [unbag.SetRequest("plain", options={"data": str(data)}, max_examples=n) for n in (None, 30)]
    tables = [build_columns(prediction=gold), build_columns(prediction=["neutral"] * N)]
    report = unbag.score(tables, sets, lexical_baseline=False, progress=False)
    accuracies = [each for each in report.comparison.differences if each.quantity == "accuracy"]
    assert [(each.first, each.second, each.difference.n) for each in accuracies] == [("A", "B", 60), ("A", "B", 30)]


def test_repeated_texts_with_different_predictions_match_no_row(score):
    gold = [label for *_, label in PAIRS]
    columns = build_columns([*range(N), 0, 1], prediction=[*gold, "neutral", gold[1]])
    [result] = score(columns)
    assert (result.scores["accuracy"].n, result.model["matched"]["ambiguous"]) == (59, 1)


def test_by_order_requires_equal_gold_labels(score):
    gold = [label for *_, label in PAIRS]
    [result] = score({"gold": gold, "pred": gold}, by_order=True)
    assert (result.scores["accuracy"].n, result.model["matched"]["by"]) == (N, "row number")
    with pytest.raises(DataError, match="--by-order: expected the gold labels"):
        score({"gold": [*gold[1:], gold[0]], "pred": gold}, by_order=True)
    with pytest.raises(DataError, match="--by-order: expected gold labels"):
        score({"pred": gold}, by_order=True)


def build_lm_eval_sample(row, chosen):
    """Build a logged sample of a task with the choices True, Neither and False."""
    premise, hypothesis, label = PAIRS[row]
    choices = (" True", " Neither", " False")
    logs = [["-1.5" if place == chosen else "-2.5", "False"] for place in range(3)]
    return {
        "doc_id": row,
        "doc": {"premise": premise, "hypothesis": hypothesis, "label": LABELS.index(label)},
        "target": str(LABELS.index(label)),
        "arguments": {f"gen_args_{place}": {"arg_0": "…", "arg_1": choice} for place, choice in enumerate(choices)},
        "resps": [[each] for each in logs],
        "filtered_resps": logs,
        "filter": "none",
        "acc": 1.0,
    }


def test_lm_eval_log_gives_accuracy_of_choices(score, tmp_path):
    path = tmp_path / "samples_task.jsonl"
    chosen = [row % 3 if row >= 6 else 0 for row in range(N)]  # four of the first six are wrong
    path.write_text("\n".join(json.dumps(build_lm_eval_sample(row, chosen[row])) for row in range(N)))
    [result] = score(path)
    assert result.scores["accuracy"].value == pytest.approx(56 / 60)
    assert result.model["label_order"] == "False=contradiction,Neither=neutral,True=entailment"


def test_lm_eval_log_of_generated_answers_counts_missing_labels_as_wrong(score, tmp_path):
    path = tmp_path / "samples_task.jsonl"
    lines = []
    for row, (premise, hypothesis, label) in enumerate(PAIRS):
        answer = f" The answer is: {label}." if row else "I cannot say anything about it"
        doc = {"premise": premise, "hypothesis": hypothesis}
        lines.append({"doc_id": row, "doc": doc, "target": label, "arguments": [["…", {}]], "resps": [[answer]]})
    path.write_text("\n".join(map(json.dumps, lines)))
    [result] = score(path)
    assert result.scores["accuracy"].value == pytest.approx(59 / 60)
    assert result.model["n_abstained"] == 1


def test_lm_eval_log_of_letters_and_filters_uses_the_filter_that_finds_labels(score, tmp_path):
    path = tmp_path / "samples_task.jsonl"
    lines = []
    for row, (premise, hypothesis, label) in enumerate(PAIRS):
        letter = "ABC"[LABELS.index(label)]
        sample = {"doc_id": row, "doc": {"premise": premise, "hypothesis": hypothesis}, "target": letter}
        answer = f"Let us see. The answer is {letter if row else 'C'}."
        for name, filtered in (("strict-match", "[invalid]"), ("none", answer)):
            lines.append({**sample, "resps": [[answer]], "filtered_resps": [filtered], "filter": name})
    path.write_text("\n".join(map(json.dumps, lines)))
    [result] = score(path)
    assert result.scores["accuracy"].value == pytest.approx(59 / 60), "the first answer is wrong"
    assert result.model["label_order"] == "A=entailment,B=neutral,C=contradiction"


def build_inspect_samples(**fields):
    """Build the samples of a log of Inspect, whose first answer is the letter C, and the others are right."""
    samples = []
    for row, (premise, hypothesis, label) in enumerate(PAIRS):
        letter = "ABC"[LABELS.index(label)]
        question = f"Does it follow?\n\nPremise: {premise}\nHypothesis: {hypothesis}\n"
        answers = {name: build(letter if row else "C") for name, build in fields.items()}
        samples.append({"id": row, "input": question, "target": letter, **answers})
    return samples


def write_inspect_log(path, samples):
    """Write a log as JSON, or as an archive if its name ends with `.eval`."""
    if path.suffix == ".eval":
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("header.json", "{}")
            for sample in samples:
                file.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
    else:
        path.write_text(json.dumps({"version": 2, "eval": {"model": "org/model"}, "samples": samples}))
    return path


@pytest.mark.parametrize("choices", [["Yes", "Maybe", "No"], None])
def test_inspect_log_without_scores_is_read_from_the_answers(score, tmp_path, choices):
    samples = build_inspect_samples(
        choices=lambda _: choices, output=lambda letter: {"completion": f"Hm.\n\nANSWER: {letter}"}
    )
    [result] = score(write_inspect_log(tmp_path / "log.json", samples))
    assert result.scores["accuracy"].value == pytest.approx(59 / 60), "the first answer is wrong"


def test_answer_is_read_in_an_inspect_log_with_a_sample_without_a_target(score, tmp_path):
    samples = build_inspect_samples(output=lambda letter: {"completion": f"{letter}, since they rest."})
    samples[0]["target"] = ""
    labels = [f"{letter}={label}" for letter, label in zip("ABC", LABELS, strict=True)]
    [result] = score(write_inspect_log(tmp_path / "log.json", samples), labels=labels)
    assert result.scores["accuracy"].value == pytest.approx(59 / 60)


@pytest.mark.parametrize("name", ["log.json", "log.eval"])
def test_inspect_log_gives_accuracy(score, tmp_path, name):
    samples = build_inspect_samples(
        choices=lambda _: ["Yes", "Maybe", "No"],
        scores=lambda letter: {"choice": {"value": "C", "answer": letter}},
        output=lambda _: {"choices": [{"message": {"role": "assistant", "content": "ANSWER"}}]},
    )
    [result] = score(write_inspect_log(tmp_path / name, samples))
    assert result.scores["accuracy"].value == pytest.approx(59 / 60)


def test_coverage_warning_depends_on_the_label():
    gold = np.arange(3000) % 3
    uniform = np.random.default_rng(0).random(3000)
    assert not describe_coverage(uniform < 0.5, gold, LABELS)
    assert describe_coverage(uniform < 0.5 + 0.1 * (gold == 2), gold, LABELS).startswith("coverage depends on the gold")
    assert not describe_coverage(np.ones(3000, dtype=bool), gold, LABELS)


def test_score_command_compares_files_and_lists_other_sets(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gold = [label for *_, label in PAIRS]
    for name, predicted in (("right.csv", gold), ("constant.csv", ["neutral"] * N)):
        lines = [f"pair-{row},{label}" for row, label in enumerate(predicted)]
        (tmp_path / name).write_text("\n".join(["id,pred", *lines]))
    words = ["score", "right.csv", "constant.csv", "--data", data.name, "--no-lexical-baseline", "--output-dir", "out"]
    done = CliRunner().invoke(cli.app, words)
    assert done.exit_code == 0, done.output
    assert "A  right.csv\nB  constant.csv" in done.output
    assert re.search(r"^B +60 .*0\.333", done.output, re.MULTILINE)
    assert "can also be scored with --set cs_lambda,resnli" in done.output
    assert "swapped: need predictions for their own rows" in " ".join(done.output.split())
    compared = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert {each["better"] for each in compared["differences"] if each["quantity"] == "accuracy"} == {"A"}


def test_score_command_rejects_sets_that_need_other_rows(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("\n".join(["id,pred", *(f"pair-{row},neutral" for row in range(N))]))
    done = CliRunner().invoke(cli.app, ["score", "a.csv", "--data", data.name, "--set", "plain,swapped"])
    assert done.exit_code == 1
    assert "predict the rows that `unbag build swapped` writes" in " ".join(done.output.split())
    [folder] = (tmp_path / "runs" / "a.csv").iterdir()
    assert (folder / "results.json").is_file(), done.output


def test_command_reproduces_predictions_of_own_pairs(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"pair-{row},{label[0].upper()}x" for row, (*_, label) in enumerate(PAIRS)]
    (tmp_path / "a.csv").write_text("\n".join(["id,answer", *rows, ""]))
    data.write_text(data.read_text().replace('"premise"', '"text"'))
    names = [*(f"{label[0].upper()}x={label}" for label in LABELS), "??=none"]
    options = {"columns": {"premise": "text", "prediction": "answer"}, "labels": names, "lexical_baseline": False}
    [result] = unbag.score("a.csv", data=data.name, progress=False, **options)
    words = shlex.split(build_reproduce_command(result).command)
    assert words[:2] == ["unbag", "score"]
    done = CliRunner().invoke(cli.app, [*words[1:], "--output-dir", "again"])
    assert done.exit_code == 0, done.output
    [again] = results.read_results(tmp_path / "again" / results.FILE)
    assert again.scores["accuracy"].value == result.scores["accuracy"].value == 1
    other = {**result.model, "read_options": {"columns": {"label": "answer"}}}
    assert "available only in Python" in build_reproduce_command(replace(result, model=other)).remark


@pytest.mark.nightly
def test_published_files_have_the_accuracy_of_their_sources(shared):
    folder = shared / "data" / "published_predictions"
    files = sorted(folder.glob("as_found/*.csv"))
    if not files:
        pytest.skip("needs published predictions")
    table = re.findall(
        r"^\| `unified/(\S+)` \|[^|]*\|[^|]*\|[^|]*\| ([\d.]+)", (folder / "SOURCES.md").read_text(), re.M
    )
    stated = dict(table)
    for file in files:
        request = unbag.SetRequest("plain", options={"data": str(file)})  # the pairs of the file as the corpus
        [result] = unbag.score(str(file), request, lexical_baseline=False, progress=False)
        assert round(100 * result.scores["accuracy"].value, 2) == float(stated[file.name]), file.name
        assert result.model["matched"]["rows"] == result.model["matched"]["of"]


def test_nearly_equal_probabilities_give_the_largest_label(score):
    scores = {name: [0.33333334 if name == label else 0.33333333 for *_, label in PAIRS] for name in LABELS}
    [result] = score(build_columns(**scores))
    assert result.scores["accuracy"].value == 1


def test_rows_of_other_pairs_are_rejected(score):
    with pytest.raises(DataError, match="got no row with the same id or texts"):
        score({"premise": ["Other."], "hypothesis": ["Another."], "prediction": ["neutral"]})


def test_probability_of_the_predicted_label_is_accepted(score):
    gold = [label for *_, label in PAIRS]
    [result] = score(build_columns(prediction=gold, p_predicted=[0.9] * N))
    assert result.scores["accuracy"].value == 1
