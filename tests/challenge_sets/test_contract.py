"""The contract of a challenge set: for our sets, for one of another package, and for the example of CONTRIBUTING.md."""

import json
import re
import zlib
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.golden.outputs import build_word_vectors
from unbag import challenge_sets
from unbag.challenge_sets import loading, papers, results, selection
from unbag.challenge_sets.base import LAST
from unbag.challenge_sets.request import SetRequest, build_requested_set, create_validated_builder
from unbag.cli import app
from unbag.data.predictions import SetPredictions
from unbag.evaluation import report_examples
from unbag.evaluation.evaluator import evaluate_all
from unbag.integrations.harness.tasks import HarnessTask, build_scoring_source
from unbag.reports import html, terminal
from unbag.scoring.nested import iter_estimates

GOLDEN = Path(__file__).parents[1] / "golden"
PARSED = ("negation", "recombined", "soswap_addamod")
OPTIONS = {
    "breaking_nli": {"train_data": ("train.jsonl",)},
    "cs_lambda": {"train_data": ("train.jsonl",), "pipeline": "all", "folds": 2},
    "permuted": {"q": 3},
    "recombined": {"k": "1,4"},
    "resnli": {"embeddings": "words.txt"},
    "sicck": {"data": "few.jsonl"},  # it makes about a hundred rows of each pair
    "soswap_addamod": {"min_count": 1},
}
"""Options of the sets that need more than pairs."""
NAMES = [*challenge_sets.list_set_names(), "capitals", "repeated"]


@pytest.fixture(autouse=True)
def _small_corpus(tmp_path, monkeypatch, empty_caches, installed_package):
    """Provide pairs, word vectors and empty caches in the working directory."""
    lines = (GOLDEN / "train.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "train.jsonl").write_bytes(b"".join(lines))
    (tmp_path / "few.jsonl").write_bytes(b"".join(lines[:20]))
    (tmp_path / "words.txt").write_text(build_word_vectors(), encoding="utf-8")
    monkeypatch.setattr("unbag.scoring.skill.MIN_LABEL_ROWS", 1)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture
def request_of(name, request):
    options = {"data": "train.jsonl", **OPTIONS.get(name, {})}
    if name in PARSED:
        options["pipeline"] = request.getfixturevalue("pipeline")
    return SetRequest(name, options=options)


def _shorten(column):
    """Drop the sentence and the number of a column: a card may document `premise_bleu_2` … `hypothesis_bleu_4`."""
    return re.sub(r"^(premise|hypothesis)_|_\d$", "", column)


def _predict(rows, label_ids, names):
    probabilities = np.full((len(rows), len(names)), 0.1 / (len(names) - 1))
    probabilities[np.arange(len(rows)), label_ids] = 0.9
    return SetPredictions(probabilities, tuple(names), has_probabilities=True)


def _predict_from_words(premises, hypotheses):
    """Predict labels that depend on the words of both sentences, but not on their order."""
    labels = ("entailment", "neutral", "contradiction")
    bags = (
        [sorted(re.findall(r"\w+", text.lower())) for text in pair] for pair in zip(premises, hypotheses, strict=True)
    )
    return [labels[zlib.crc32(json.dumps(bag).encode()) % 3] for bag in bags]


@pytest.mark.slow
def test_rows_scores_and_columns_fulfil_contract(name, request_of, tmp_path, monkeypatch):
    described = challenge_sets.get_challenge_set(name)
    built = build_requested_set(request_of)
    rows, gold = built.rows, np.array(built.rows["label"][:])
    names = rows.features["label"].names

    # The rows do not depend on the number of processes or on streaming, and have the declared columns.
    monkeypatch.setattr("unbag.data.sources.ROWS_PER_SPAN", 100)
    again = loading.load(name, num_proc=2, cache_dir=tmp_path / "two", **request_of.options)
    assert again.to_list() == rows.to_list()
    assert list(loading.load(name, streaming=True, **request_of.options)) == rows.to_list()
    assert rows.column_names == described.get_builder_class().SCHEMA.names
    assert {*described.columns, *described.optional_columns} <= set(rows.column_names)
    documented = set(map(_shorten, re.findall(r"`(\w+)`", loading.read_card(name))))
    assert [column for column in rows.column_names if _shorten(column) not in documented] == []

    # Gold answers are perfect, and constant answers are no better than chance.
    perfect = described.get_skill_score(described.score_rows(rows, _predict(rows, gold, names)))
    assert perfect is not None
    if described.has_shuffled_control:
        assert perfect.estimate.value == pytest.approx(1)
    else:  # the gold label is wrong for permuted words
        assert perfect.estimate.value <= 1e-9
    for label in range(len(names)):
        constant = described.score_rows(rows, _predict(rows, np.full(len(rows), label), names))
        assert described.get_skill_score(constant).estimate.value <= 1e-9


def test_two_label_pairs_are_built_or_rejected_before_build(name, request_of, tmp_path):
    pairs = map(json.loads, (tmp_path / "train.jsonl").read_text().splitlines())
    names = {"neutral": "not_entailment", "contradiction": "not_entailment"}
    two_label_pairs = [pair | {"label": names.get(pair["label"], pair["label"])} for pair in pairs]
    (tmp_path / "two.jsonl").write_text("".join(f"{json.dumps(pair)}\n" for pair in two_label_pairs))
    options = request_of.options | {"data": "two.jsonl"}
    if challenge_sets.get_challenge_set(name).has_two_label_corpora:
        rows = build_requested_set(SetRequest(name, options=options)).rows
        assert rows.features["label"].names == ["entailment", "not_entailment"]
    else:
        with pytest.raises(loading.UnsuitablePairsError, match="expected three labels"):
            create_validated_builder(SetRequest(name, options=options))


@pytest.mark.slow
def test_order_blind_model_has_no_skill_and_all_views_exist(name, request_of, tmp_path):
    described = challenge_sets.get_challenge_set(name)
    [result] = evaluate_all([_predict_from_words], [request_of], output_dir=tmp_path / "run").results
    assert described.get_skill_score(result.scores).estimate.value <= 1e-9
    written = (tmp_path / "run" / results.FILE).read_text()
    results.write_results(results.read_results(tmp_path / "run" / results.FILE), tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text()) == json.loads(written)

    definitions = described.metric_definitions
    assert len({each.name for each in definitions}) == len(definitions)
    for definition in definitions:
        assert definition.roles, "a number that is shown nowhere"
        assert definition.limits == ((-1, 1) if "drop" in definition.name else (0, 1)), definition.name
        for paper, table, column, *_ in definition.published_columns:
            assert papers.get_paper_table(paper, table).read_shares(column)
    for role in ("quoted", "compared", "harness"):
        values = [estimate for _, estimate in described.list_metric_values(result.scores, role)]
        assert values, "every surface shows a number of every set"
        assert all(estimate.value <= 1 and estimate.n > 0 for estimate in values)
    paths = {path for path, _ in iter_estimates(result.scores)} | {"unseen"}  # pairs of your own have no train split
    assert {each.path for each in described.list_metrics_with_role("compared")} <= paths

    terminal.write_views(terminal.build_result_views([result]), tmp_path / "table.txt")
    assert max(map(len, (tmp_path / "table.txt").read_text().splitlines())) <= 100
    assert described.summarize_result(result).endswith(".")
    assert list(described.iter_set_metrics(result.scores))
    assert json.loads((tmp_path / "run" / report_examples.FILE).read_text())["selections"][0]["examples"]
    html.write_report([tmp_path / "run"], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert described.question in unescape(page)
    assert "<svg" in page
    exported = {"__name__": "exported"}
    exec(build_scoring_source([HarnessTask(name, "org/sets", None, "test")]), exported)
    assert set(exported["HIGHER_IS_BETTER"][name]) == {
        each.name for each in described.list_metrics_with_role("harness")
    }
    assert described.score_function.__name__ in exported


def test_external_set_is_listed_and_in_suite(installed_package):
    assert "capitals" in challenge_sets.list_set_names()
    shown = [CliRunner().invoke(app, arguments).output for arguments in (["sets"], ["sets", "capitals"])]
    assert "Pairs in capitals." in shown[0]
    assert "exclamation marks after each hypothesis" in " ".join(shown[1].split())
    suite = selection.list_suite_sets()
    has_evaluation_order = [challenge_sets.get_challenge_set(each).evaluation_order < LAST for each in suite]
    assert not has_evaluation_order[suite.index("capitals")]
    assert has_evaluation_order == sorted(has_evaluation_order, reverse=True)
    assert selection.apply_suite_sample(selection.build_suite_request("capitals")).max_examples == 5
