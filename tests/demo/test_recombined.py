"""The recombined set that comes with the demonstration is the one that the builder makes of its pairs."""

import pytest

from tools.demo_corpus.recombined import request
from unbag.challenge_sets.perturbations.recombined import join_sentences
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


def test_demo_documents_rest_on_the_pairs_that_are_shipped_with_them():
    built = read_back(demo.RECOMBINED)
    pairs = {pair.source_id: pair for pair in demo.iter_demo_pairs("validation")}
    assert {*built.rows["operation"]} == {"supported", "subject", "object", "number", "removed"}
    assert {*built.rows["k"]} == {1, 4, 16}
    for row in built.rows:
        evidence = join_sentences([pairs[row["source_id"]].premise])
        assert (evidence in row["premise"]) == (row["operation"] != "removed")
        assert pairs[row["source_id"]].label == "entailment"
    assert built.data["revision"] == hash_file(demo.get_demo_file("validation"))


def test_demo_record_names_no_place_of_the_machine_that_built_it():
    built = read_back(demo.RECOMBINED)
    assert built.config["pipeline"] == PIPELINE
    assert "/" not in built.data["origin"]


@pytest.mark.nightly
def test_demo_documents_are_those_of_the_builder(pipeline):
    shipped, built = read_back(demo.RECOMBINED), build(request(pipeline))
    assert len(shipped.rows) > 500
    assert shipped.rows.to_list() == built.rows.to_list()
    assert shipped.data == built.data
    elsewhere = ("pipeline", "parser")  # where the pipeline is, and with which spaCy it ran
    assert {name: value for name, value in shipped.config.items() if name not in elsewhere} == {
        name: value for name, value in built.config.items() if name not in elsewhere
    }
