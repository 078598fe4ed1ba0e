"""The negation set that comes with the demonstration is the one that the builder makes of its pairs."""

import pytest

from tools.demo_corpus.negation import request
from unbag.challenge_sets.negation import OPERATIONS
from unbag.challenge_sets.request import build, read_back
from unbag.data import demo
from unbag.data.text.tagging import PIPELINE
from unbag.utils.hashing import hash_file


@pytest.fixture
def pipeline(shared, tmp_path, monkeypatch):
    """Give the spaCy pipeline, with empty caches."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    return str(shared / "hub" / "models" / "spacy" / "en_core_web_sm")


def test_demo_rows_rest_on_the_premises_that_are_shipped_with_them():
    built = read_back(demo.NEGATION)
    premises = {pair.source_id: pair.premise for pair in demo.iter_demo_pairs("validation")}
    assert {*built.rows["operation"]} == set(OPERATIONS)
    assert all(premises[row["source_id"]] == row["source_premise"] for row in built.rows)
    assert built.data["revision"] == hash_file(demo.get_demo_file("validation"))


def test_demo_record_names_no_place_of_the_machine_that_built_it():
    built = read_back(demo.NEGATION)
    assert built.config["pipeline"] == PIPELINE
    assert "/" not in built.data["origin"]


@pytest.mark.nightly
def test_demo_rows_are_those_of_the_builder(pipeline):
    shipped, built = read_back(demo.NEGATION), build(request(pipeline))
    assert len(shipped.rows) > 500
    assert shipped.rows.to_list() == built.rows.to_list()
    assert shipped.data == built.data
    elsewhere = ("pipeline", "parser")  # where the pipeline is, and with which spaCy it ran
    assert {name: value for name, value in shipped.config.items() if name not in elsewhere} == {
        name: value for name, value in built.config.items() if name not in elsewhere
    }
