"""Tests that the sets shipped with the demonstration equal those that the builders make of its pairs."""

import pytest

from tools.demo_corpus.built_sets import build_set
from unbag.challenge_sets.perturbations.negation_operations import OPERATIONS
from unbag.challenge_sets.perturbations.recombined import join_sentences
from unbag.challenge_sets.request import read_exported_set
from unbag.data import demo
from unbag.data.text.tagging import PIPELINE
from unbag.evaluation.demo import get_seed_file, write_demo_data
from unbag.utils.hashing import hash_file

PAIRS = {pair.source_id: pair for pair in demo.iter_demo_pairs("validation")}
every_set = pytest.mark.parametrize("name", demo.BUILT_SETS)


@pytest.fixture
def pipeline(shared, tmp_path, monkeypatch):
    """Return the spaCy pipeline, with empty caches."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    return str(shared / "hub" / "models" / "spacy" / "en_core_web_sm")


@pytest.mark.parametrize(
    ("name", "column", "values"),
    [("soswap_addamod", "kind", {"soswap", "addamod"}), ("negation", "operation", set(OPERATIONS))],
)
def test_demo_rows_use_shipped_premises(name, column, values):
    rows = read_exported_set(demo.BUILT_SETS[name]).rows
    assert {*rows[column]} == values
    assert all(PAIRS[row["source_id"]].premise == row["source_premise"] for row in rows)


def test_demo_documents_use_shipped_pairs():
    rows = read_exported_set(demo.BUILT_SETS["recombined"]).rows
    assert {*rows["operation"]} == {"supported", "subject", "object", "number", "removed"}
    assert {*rows["k"]} == {1, 4, 8}
    for row in rows:
        evidence = join_sentences([PAIRS[row["source_id"]].premise])
        assert (evidence in row["premise"]) == (row["operation"] != "removed")
        assert PAIRS[row["source_id"]].label == "entailment"


@every_set
def test_demo_record_names_pairs_but_no_local_path(name, tmp_path):
    built = read_exported_set(demo.BUILT_SETS[name])
    write_demo_data(tmp_path)
    source = get_seed_file(tmp_path) if name == "sicck" else demo.get_demo_file("validation")
    assert built.data["revision"] == hash_file(source)
    assert built.config["pipeline"] == (None if name == "sicck" else PIPELINE)
    assert "/" not in built.data["origin"]


def test_demo_swaps_equal_output_of_operator(pipeline):
    from unbag.challenge_sets.perturbations.soswap import SwappedSentence, swap_subject_and_object
    from unbag.data.text.parses import Parser

    rows = read_exported_set(demo.BUILT_SETS["soswap_addamod"]).rows
    shipped = {row["source_premise"]: row for row in rows if row["kind"] == "soswap"}
    premises = list(dict.fromkeys(pair.premise for pair in demo.iter_demo_pairs("validation")))[:120]
    made = {str(parse): swap_subject_and_object(parse) for parse in Parser(pipeline).parse(premises)}
    swaps = {premise: swap for premise, swap in made.items() if isinstance(swap, SwappedSentence)}
    drawn = shipped.keys() & set(premises)
    assert drawn
    assert drawn <= swaps.keys()
    assert all(swaps[premise].hypothesis == shipped[premise]["hypothesis"] for premise in drawn)


@pytest.mark.nightly
@every_set
def test_demo_rows_equal_output_of_builder(pipeline, name):
    shipped, built = read_exported_set(demo.BUILT_SETS[name]), build_set(name, pipeline)
    assert len(shipped.rows) > 500
    assert shipped.rows.to_list() == built.rows.to_list()
    assert {**shipped.data, "sha256": ""} == {**built.data, "sha256": ""}
    machine_keys = ("pipeline", "parser")  # these contain the path of the pipeline and the version of spaCy
    assert {name: value for name, value in shipped.config.items() if name not in machine_keys} == {
        name: value for name, value in built.config.items() if name not in machine_keys
    }
