"""Tests of the scores of published predictions: matching, labels, partial coverage."""

import json
import re
import shlex
import zipfile
from dataclasses import replace

import numpy as np
import pytest

import unbag
from tests.factories import run_unbag, write_pairs, write_table
from unbag.challenge_sets import results
from unbag.challenge_sets.request import build_requested_set
from unbag.data.labels import LABELS
from unbag.evaluation.prediction_matching import describe_coverage
from unbag.reports.reproduce import build_reproduce_command
from unbag.utils.safe_io import DataError

N = 60
PAIRS = [(f"A man number {row} sleeps.", f"Person {row} rests!", LABELS[row % 3]) for row in range(N)]
GOLD = [label for *_, label in PAIRS]
IDS = [LABELS.index(label) for label in GOLD]


@pytest.fixture
def data(tmp_path):
    """Write pairs to a file."""
    rows = [(f"pair-{row}", *pair) for row, pair in enumerate(PAIRS)]
    return write_table(tmp_path / "pairs.jsonl", rows, ["id", "premise", "hypothesis", "label"])


@pytest.fixture
def score(data):
    """Return a function that scores predictions on the unchanged pairs."""

    def score(predictions, **options):
        request = unbag.SetRequest("plain", options={"data": str(data)})
        return unbag.score(predictions, request, lexical_baseline=False, progress=False, **options)

    return score


def build_columns(rows=range(N), **columns):
    """Build columns of texts of the given pairs, and the given columns."""
    return {"premise": [PAIRS[row][0] for row in rows], "hypothesis": [PAIRS[row][1] for row in rows]} | columns


@pytest.mark.parametrize(
    ("columns", "options", "n_right"),
    [
        # numbers with the meaning of the gold labels of the file
        ({"label": [2 - each for each in IDS], "predicted_label": [0] * 6 + [2 - each for each in IDS[6:]]}, {}, 56),
        ({"prediction": IDS}, {"labels": LABELS}, 60),
        ({"prediction": ["none", *(label[0].upper() for label in GOLD[1:])]}, {}, 59),
        (
            {"prediction": [False if row == 1 else label != "entailment" for row, label in enumerate(GOLD)]},
            {"labels": ["entailment", "not_entailment"]},
            59,
        ),
        ({"prediction": GOLD, "hypothesis": [each.replace("!", "&#33;") for _, each, _ in PAIRS]}, {}, 60),
        ({"prediction": GOLD, "p_predicted": [0.9] * N}, {}, 60),
        ({name: [0.33333334 if name == label else 0.33333333 for label in GOLD] for name in LABELS}, {}, 60),
    ],
    ids=["gold ids", "ids", "initials", "flags", "html", "probability of the label", "nearly equal"],
)
def test_columns_of_predictions_are_read(score, columns, options, n_right):
    [result] = score(build_columns(**columns), **options)
    assert result.scores["accuracy"][::3] == (pytest.approx(n_right / N), N)


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (build_columns(prediction=IDS), {}, r"0=entailment,1=neutral,2=contradiction 100\.0%"),
        (
            build_columns(prediction=IDS),
            {"labels": LABELS[::-1]},
            r"0=entailment,1=neutral,2=contradiction 100\.0%",
        ),
        (
            build_columns(label=IDS, prediction=IDS),
            {"labels": LABELS[::-1]},
            "expected 0=entailment, 2=contradiction, as in the gold labels",
        ),
        (  # the first column is the largest in no row
            build_columns(logits=[[0.0, 2.0, 1.0]] * N),
            {},
            r"got '0', '1', '2' \(.*row 0\); pass their meanings with --labels 0=…",
        ),
        (
            build_columns(logits=[[0.0, 2.0, 1.0], [-np.inf] * 3, *[[1.0, 0.0, -np.inf]] * (N - 2)]),
            {"labels": LABELS},
            r"row 1: expected a finite score for at least one label, got -inf for all",
        ),
        ({"gold": [*GOLD[1:], GOLD[0]], "pred": GOLD}, {"by_order": True}, "--by-order: expected the gold labels"),
        ({"pred": GOLD}, {"by_order": True}, "--by-order: expected gold labels"),
        (
            {"premise": ["Other."], "hypothesis": ["Another."], "prediction": ["neutral"]},
            {},
            "got no row with the same id or texts",
        ),
    ],
)
def test_unclear_predictions_are_rejected(score, columns, options, message):
    with pytest.raises(DataError, match=message):
        score(columns, **options)


def test_score_by_texts_in_other_case_counts_normalized_rows(score):
    columns = build_columns(prediction=GOLD)
    columns["premise"][3] = columns["premise"][3].upper()
    [result] = score(columns)
    assert result.scores["accuracy"].value == 1
    assert result.model["matched"]["by"] == "premise and hypothesis, 1 of them normalized"


def test_score_of_some_rows_covers_these_rows(score):
    rows = range(0, N, 2)
    [result] = score(build_columns(rows, pred=["entailment" for _ in rows]))
    assert result.scores["accuracy"][::3] == (pytest.approx(1 / 3), 30)
    counts = {"rows": 30, "of": 60, "unmatched": 0, "ambiguous": 0}
    assert result.model["matched"] == {"by": "premise and hypothesis", **counts}
    assert result.data["excluded"] == {"without prediction": 30}


def test_exchanged_names_are_scored_with_a_warning(score):
    exchanged = dict(zip(LABELS, LABELS[::-1], strict=True))
    [result] = score(build_columns(prediction=[exchanged[label] for label in GOLD]))
    [warning] = result.model["matched"]["warnings"]
    assert "contradiction=entailment,entailment=contradiction,neutral=neutral 100.0%" in warning
    assert result.scores["accuracy"].value == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("name", "options", "column", "original"),
    [("permuted", {"q": 2, "min_words": 3}, "permutation", -1), ("swapped", {}, "swapped", False)],
)
def test_only_original_rows_show_the_order_of_labels(data, empty_caches, caplog, name, options, column, original):
    request = unbag.SetRequest(name, options={"data": str(data), **options})
    rows = build_requested_set(request).rows
    turned = ("neutral", "contradiction", "entailment")
    predicted = [turned[row["label"]] if row[column] == original else "neutral" for row in rows]
    columns = {"id": rows["id"][:], "prediction": predicted}
    [result] = unbag.score(columns, request, lexical_baseline=False, progress=False)
    assert result.model["label_probe"] == {"rows": f"0 of {N}"}
    [warning] = result.model["matched"]["warnings"]
    assert "contradiction=neutral,entailment=contradiction,neutral=entailment 100.0%" in warning
    assert warning in caplog.text


def test_columns_of_scores_in_other_forms_are_those_probabilities(score, tmp_path):
    values = [[0.7, 0.2, 0.1], [0.25, 0.5, 0.25], [0.0, 0.25, 0.75]]
    rows = [values[row % 3] for row in range(N)]

    def brier(table, **options):
        [result] = score(table, **options)
        assert result.scores["accuracy"].value == 1
        return result.scores["verification"]["calibration"]["brier"].value

    def by_name(form, change):
        names = (("entailment", "e"), ("neutral", "n"), ("contradiction", "c"))
        return build_columns(
            **{form.format(*pair): [change(row[place]) for row in rows] for place, pair in enumerate(names)}
        )

    expected = (0.3**2 + 0.25**2 + 0) / 3  # of the probability of entailment
    log = np.vectorize(lambda value: np.log(value) if value else -np.inf)
    assert brier(by_name("p_{0}", float)) == pytest.approx(expected)
    assert brier(by_name("prob_{1}", float)) == pytest.approx(expected)
    assert brier(by_name("{0}", lambda value: 100 * value)) == pytest.approx(expected)
    assert brier(by_name("{0}_logprob", lambda value: float(log(value)))) == pytest.approx(expected)
    texts = [f"tensor([{e}, {n}, {c}], device='cuda:0')" for e, n, c in rows]
    assert brier(build_columns(probs=texts), labels=LABELS) == pytest.approx(expected)
    logits = build_columns(label=IDS, predicted_label=IDS, predicted_scores=(log(rows) + 1).tolist())
    assert brier(logits) == pytest.approx(expected)
    nested = [
        {"id": f"pair-{row}", "output": {"probs": dict(zip(LABELS, each, strict=True))}}
        for row, each in enumerate(rows)
    ]
    path = write_table(tmp_path / "nested.jsonl", nested)
    assert brier(path) == pytest.approx(expected)
    # A single column is the probability, or the logit, of the first of two labels.
    assert brier(build_columns(p_entailment=[row[0] for row in rows])) == pytest.approx(expected)
    logits = [float(log(row[0] / (1 - row[0]))) for row in rows]
    assert brier(build_columns(x=logits), columns={"scores": "x"}) == pytest.approx(expected)


def test_scores_that_contradict_the_labels_are_not_used(score):
    columns = build_columns(prediction=GOLD, entailment=[0.8] * N, neutral=[0.1] * N, contradiction=[0.1] * N)
    [result] = score(columns)
    assert result.scores["accuracy"].value == 1
    assert "scores are not used" in result.model["matched"]["warnings"][0]


def test_label_of_equal_scores_is_the_stated_one(score):
    scores = {name: [0.5 if name in (label, LABELS[label == LABELS[0]]) else 0.0 for label in GOLD] for name in LABELS}
    [result] = score(build_columns(prediction=GOLD, **scores))
    assert result.scores["accuracy"].value == 1
    assert result.scores["verification"]["auroc"].value == 0.5  # scores are not changed by the labels


def test_large_logits_keep_their_order(score):
    logits = [[0.0, -300.0 if label == "entailment" else -290.0] for label in GOLD]
    [result] = score(build_columns(logits=logits), labels=["entailment", "not_entailment"], threshold="break-even")
    assert result.model["ranking"]["auc"] == 1
    assert result.model["ranking"]["n_predicted_entailed"] == N / 3


def test_threshold_on_gold_labels_of_contradiction_applies_to_contradiction(tmp_path):
    labels = ["contradiction" if row % 3 == 0 else "not_contradiction" for row in range(N)]
    pairs = [(p, h, label) for (p, h, _), label in zip(PAIRS, labels, strict=True)]
    path = write_pairs(tmp_path / "pairs.csv", pairs)
    contradicted = [0.4 if label == "contradiction" else 0.2 for label in labels]
    scores = {"entailment": [0.5] * N, "neutral": [0.5 - each for each in contradicted], "contradiction": contradicted}
    [result] = unbag.score(build_columns(**scores), data=path, threshold=0.3, lexical_baseline=False, progress=False)
    assert result.scores["accuracy"].value == 1
    assert result.model["ranking"]["auc"] == 1


def test_table_with_a_column_per_model_gives_a_result_per_model(score):
    report = score(build_columns(gold=GOLD, good=GOLD, constant=["neutral"] * N, some=[*GOLD[:30], *[None] * 30]))
    assert [(each.model["name"], each.scores["accuracy"].value, each.scores["accuracy"].n) for each in report] == [
        ("good", 1, 60),
        ("constant", pytest.approx(1 / 3), 60),
        ("some", 1, 30),
    ]


def test_models_of_several_tables_are_compared_on_common_rows(score):
    half = range(0, N, 2)
    report = score(
        [build_columns(first=GOLD, other=["neutral"] * N), build_columns(half, second=[GOLD[r] for r in half])]
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
    sets = [unbag.SetRequest("plain", options={"data": str(data)}, max_examples=n) for n in (None, 30)]
    tables = [build_columns(prediction=GOLD), build_columns(prediction=["neutral"] * N)]
    report = unbag.score(tables, sets, lexical_baseline=False, progress=False)
    accuracies = [each for each in report.comparison.differences if each.quantity == "accuracy"]
    assert [(each.first, each.second, each.difference.n) for each in accuracies] == [("A", "B", 60), ("A", "B", 30)]


def test_repeated_texts_with_different_predictions_match_no_row(score):
    columns = build_columns([*range(N), 0, 1], prediction=[*GOLD, "neutral", GOLD[1]])
    [result] = score(columns)
    assert (result.scores["accuracy"].n, result.model["matched"]["ambiguous"]) == (59, 1)


def test_by_order_matches_rows_by_number(score):
    [result] = score({"gold": GOLD, "pred": GOLD}, by_order=True)
    assert (result.scores["accuracy"].n, result.model["matched"]["by"]) == (N, "row number")


@pytest.fixture
def score_log(score, tmp_path):
    """Return a function that scores logged samples of lm-evaluation-harness, given as (row, fields)."""

    def score_log(samples):
        lines = [
            {"doc_id": row, "doc": {"premise": PAIRS[row][0], "hypothesis": PAIRS[row][1]}, **fields}
            for row, fields in samples
        ]
        path = write_table(tmp_path / "samples_task.jsonl", lines)
        [result] = score(path)
        assert result.scores["accuracy"].value == pytest.approx(59 / 60), "the first answer is wrong"
        return result.model

    return score_log


def test_lm_eval_log_gives_accuracy_of_choices(score_log):
    choices = (" True", " Neither", " False")
    arguments = {f"gen_args_{place}": {"arg_0": "…", "arg_1": choice} for place, choice in enumerate(choices)}
    samples = []
    for row in range(N):
        logs = [["-1.5" if place == (row % 3 if row else 1) else "-2.5", "False"] for place in range(3)]
        answers = {"resps": [[each] for each in logs], "filtered_resps": logs, "filter": "none", "acc": 1.0}
        samples.append((row, {"target": str(row % 3), "arguments": arguments, **answers}))
    assert score_log(samples)["label_order"] == "False=contradiction,Neither=neutral,True=entailment"


def test_lm_eval_log_of_generated_answers_counts_missing_labels_as_wrong(score_log):
    answers = ["I cannot say anything about it", *(f" The answer is: {label}." for label in GOLD[1:])]
    samples = [
        (row, {"target": GOLD[row], "arguments": [["…", {}]], "resps": [[answer]]})
        for row, answer in enumerate(answers)
    ]
    assert score_log(samples)["n_abstained"] == 1


def test_lm_eval_log_of_letters_and_filters_uses_the_filter_that_finds_labels(score_log):
    samples = []
    for row, label in enumerate(IDS):
        answer = f"Let us see. The answer is {'ABC'[label] if row else 'C'}."
        for name, filtered in (("strict-match", "[invalid]"), ("none", answer)):
            filters = {"filtered_resps": [filtered], "filter": name}
            samples.append((row, {"target": "ABC"[label], "resps": [[answer]], **filters}))
    assert score_log(samples)["label_order"] == "A=entailment,B=neutral,C=contradiction"


CHOICES = {"choices": ["Yes", "Maybe", "No"]}


@pytest.mark.parametrize(
    ("name", "fields", "has_targets"),
    [
        ("log.json", {**CHOICES, "output": {"completion": "Hm.\n\nANSWER: LETTER"}}, True),
        ("log.json", {"output": {"completion": "Hm.\n\nANSWER: LETTER"}}, True),
        ("log.json", {"output": {"completion": "LETTER, since they rest."}}, False),
        ("log.json", {**CHOICES, "scores": {"choice": {"value": "C", "answer": "LETTER"}}}, True),
        ("log.eval", {**CHOICES, "scores": {"choice": {"value": "C", "answer": "LETTER"}}}, True),
    ],
)
def test_inspect_log_gives_accuracy(score, tmp_path, name, fields, has_targets):
    samples = []
    for row, (premise, hypothesis, label) in enumerate(PAIRS):
        letter = "ABC"[LABELS.index(label)]
        question = f"Does it follow?\n\nPremise: {premise}\nHypothesis: {hypothesis}\n"
        answers = json.loads(json.dumps(fields).replace("LETTER", letter if row else "C"))
        target = letter if row or has_targets else ""
        samples.append({"id": row, "input": question, "target": target, **answers})
    if name == "log.json":
        log = {"version": 2, "eval": {"model": "org/model"}, "samples": samples}
        (tmp_path / name).write_text(json.dumps(log))
    else:
        with zipfile.ZipFile(tmp_path / name, "w") as file:
            file.writestr("header.json", "{}")
            for sample in samples:
                file.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
    labels = () if has_targets else ("A=entailment", "B=neutral", "C=contradiction")
    [result] = score(tmp_path / name, labels=labels)
    assert result.scores["accuracy"].value == pytest.approx(59 / 60), "the first answer is wrong"


def test_coverage_warning_depends_on_the_label():
    gold = np.arange(3000) % 3
    uniform = np.random.default_rng(0).random(3000)
    assert not describe_coverage(uniform < 0.5, gold, LABELS)
    assert describe_coverage(uniform < 0.5 + 0.1 * (gold == 2), gold, LABELS).startswith("coverage depends on the gold")
    assert not describe_coverage(np.ones(3000, dtype=bool), gold, LABELS)


def test_score_command_compares_files_and_lists_other_sets(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, predicted in (("right.csv", GOLD), ("constant.csv", ["neutral"] * N)):
        write_table(tmp_path / name, [(f"pair-{row}", label) for row, label in enumerate(predicted)], ["id", "pred"])
    words = ["score", "right.csv", "constant.csv", "--data", data.name, "--no-lexical-baseline", "--output-dir", "out"]
    done = run_unbag(*words)
    assert done.exit_code == 0, done.output
    assert "A  right.csv\nB  constant.csv" in done.output
    assert re.search(r"^B +60 .*0\.333", done.output, re.MULTILINE)
    assert "can also be scored with --set cs_lambda,resnli" in done.output
    assert "swapped: need predictions for their own rows" in " ".join(done.output.split())
    compared = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert {each["better"] for each in compared["differences"] if each["quantity"] == "accuracy"} == {"A"}


def test_score_command_rejects_invalid_options_and_sets_that_need_other_rows(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "a.csv", [(f"pair-{row}", "neutral") for row in range(N)], ["id", "pred"])
    done = run_unbag("score", "a.csv", "--data", data.name, "--set", "plain,swapped", "--language", "English")
    assert done.exit_code == 2
    assert "expected a language code such as" in done.output
    assert not (tmp_path / "runs").exists()
    done = run_unbag("score", "a.csv", "--data", data.name, "--set", "plain,swapped")
    assert done.exit_code == 1
    assert "predict the rows that `unbag build swapped` writes" in " ".join(done.output.split())
    [folder] = (tmp_path / "runs" / "a.csv").iterdir()
    assert (folder / "results.json").is_file(), done.output


def test_command_reproduces_predictions_of_own_pairs(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"pair-{row},{label[0].upper()} x" for row, label in enumerate(GOLD)]
    (tmp_path / "a.csv").write_text("\n".join(["id,answer", "pair-0,??", *rows[1:], ""]))
    data.write_text(data.read_text().replace('"premise"', '"text"'))
    names = [*(f"{label[0].upper()} x={label}" for label in LABELS), "??=none"]
    options = {"columns": {"premise": "text", "prediction": "answer"}, "labels": names, "lexical_baseline": False}
    [result] = unbag.score("a.csv", data=data.name, progress=False, **options)
    words = shlex.split(build_reproduce_command(result).command)
    assert words[:2] == ["unbag", "score"]
    done = run_unbag(*words[1:], "--output-dir", "again")
    assert done.exit_code == 0, done.output
    [again] = results.read_results(tmp_path / "again" / results.FILE)
    assert again.scores["accuracy"].value == result.scores["accuracy"].value == pytest.approx(59 / 60)
    other = {**result.model, "read_options": {"columns": {"label": "answer"}}}
    assert "available only in Python" in build_reproduce_command(replace(result, model=other)).remark


@pytest.mark.nightly
def test_published_files_have_the_accuracy_of_their_sources(shared):
    folder = shared / "data" / "published_predictions"
    sources = (folder / "SOURCES.md").read_text()
    stated = dict(re.findall(r"^\| `unified/(\S+)` \|[^|]*\|[^|]*\|[^|]*\| ([\d.]+)", sources, re.MULTILINE))
    files = sorted(folder.glob("as_found/*.csv"))
    assert files
    for file in files:
        request = unbag.SetRequest("plain", options={"data": str(file)})  # the pairs of the file as the corpus
        [result] = unbag.score(str(file), request, lexical_baseline=False, progress=False)
        assert round(100 * result.scores["accuracy"].value, 2) == float(stated[file.name]), file.name
        assert result.model["matched"]["rows"] == result.model["matched"]["of"]
