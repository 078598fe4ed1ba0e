"""The SOSwap and AddAmod rows that come with the demonstration are those that the builder makes of its pairs."""

import pytest

from tools.demo_corpus.soswap_addamod import request
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


def test_demo_rows_rest_on_the_pairs_that_are_shipped_with_them():
    built = read_back(demo.SOSWAP_ADDAMOD)
    premises = {pair.source_id: pair.premise for pair in demo.iter_demo_pairs("validation")}
    assert {*built.rows["kind"]} == {"soswap", "addamod"}
    assert all(premises[row["source_id"]] == row["source_premise"] for row in built.rows)
    assert built.data["revision"] == hash_file(demo.get_demo_file("validation"))


def test_demo_record_names_no_place_of_the_machine_that_built_it():
    built = read_back(demo.SOSWAP_ADDAMOD)
    assert built.config["pipeline"] == PIPELINE
    assert "/" not in built.data["origin"]


def test_demo_swaps_of_some_premises_are_those_of_the_operator(pipeline):
    from unbag.challenge_sets.perturbations.soswap import Swap, soswap
    from unbag.data.text.parses import Parser

    shipped = {row["source_premise"]: row for row in read_back(demo.SOSWAP_ADDAMOD).rows if row["kind"] == "soswap"}
    premises = list(dict.fromkeys(pair.premise for pair in demo.iter_demo_pairs("validation")))[:120]
    made = {str(parse): soswap(parse) for parse in Parser(pipeline).parses(premises)}
    swaps = {premise: swap for premise, swap in made.items() if isinstance(swap, Swap)}
    assert swaps
    assert swaps.keys() == shipped.keys() & set(premises)
    assert all(swap.hypothesis == shipped[premise]["hypothesis"] for premise, swap in swaps.items())


@pytest.mark.nightly
def test_demo_rows_are_those_of_the_builder(pipeline):
    shipped, built = read_back(demo.SOSWAP_ADDAMOD), build(request(pipeline))
    assert len(shipped.rows) > 500
    assert shipped.rows.to_list() == built.rows.to_list()
    assert shipped.data == built.data
    elsewhere = ("pipeline", "parser")  # where the pipeline is, and with which spaCy it ran
    assert {name: value for name, value in shipped.config.items() if name not in elsewhere} == {
        name: value for name, value in built.config.items() if name not in elsewhere
    }
