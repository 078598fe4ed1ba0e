"""Tests of the cross-domain table on the real corpora: `unbag evaluate --cross-domain` with the test Hub."""

from dataclasses import replace

import pytest

from tests.factories import render
from unbag.challenge_sets.base import SKILL
from unbag.challenge_sets.request import SetRequest
from unbag.data import demo
from unbag.evaluation import evaluator
from unbag.evaluation.verdict import compute_model_verdict, describe_skill_scale
from unbag.reports import terminal


def neutral(premises, hypotheses):
    return ["neutral"] * len(premises)


@pytest.fixture(scope="module")
def cross_domain_results(tmp_path_factory):
    """Return the results of models and a baseline on the same pairs, by whether shuffled words were predicted too."""
    folder = tmp_path_factory.mktemp("crossed")
    request = SetRequest("plain", options={"data": str(demo.get_demo_file("validation"))}, max_examples=200)
    training = (str(demo.get_demo_file("train")),)
    return {
        shuffled: evaluator.evaluate_all(
            [neutral, "majority"],
            [request],
            output_dir=folder / str(shuffled),
            predictions=folder / "predictions",
            lexical_baseline=False,
            shuffled=shuffled,
            train_data=training,
        ).results
        for shuffled in (False, True)
    }


def test_models_of_table_share_reference_score(cross_domain_results):
    for shuffled, found in cross_domain_results.items():
        scores = [result.scores[SKILL] for result in found]
        assert len(scores) == 2
        assert [each["baseline"] for each in scores] == [None, None]
        assert [each["shuffled"] is not None for each in scores] == [shuffled] * 2
        said = describe_skill_scale([verdict for result in found for verdict in compute_model_verdict([result])])
        assert "(where evaluated)" not in said
        assert said.startswith("0 is the best of chance and a constant prediction;") == (not shuffled)


def test_table_reports_truncated_pairs(cross_domain_results):
    one, other = cross_domain_results[False]
    cut = replace(one, model={**one.model, "truncated_pairs": 50, "truncated_share": 0.25})
    name = cut.model["name"]
    expected = f"{cut.corpus}: 25.0 % of the pairs (50) exceed the maximum input length of {name}"
    assert expected in render(terminal.build_cross_domain_table([cut, other]), width=200)
