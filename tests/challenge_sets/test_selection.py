"""Tests of the sets that a command builds of several corpora, of options for single sets, and of the names of sets."""

import pytest
import typer

from unbag import challenge_sets
from unbag.cli.options import PairOptions, build_selected_requests
from unbag.utils.options import OptionError


def _build_requests(names, **options):
    return build_selected_requests(PairOptions(**options), names, full=True, on_failure=[].append)


def test_several_or_all_corpora_are_used_in_order():
    both = _build_requests(["plain", "swapped"], corpus=["snli", "sick"])
    assert [(request.name, request.config) for request in both] == [
        *(("plain", "snli-validation"), ("swapped", "snli-validation")),
        *(("plain", "sick-test"), ("swapped", "sick-test")),
    ]
    five = ["snli", "mnli", "anli", "sick", "ocnli"]
    assert _build_requests(["plain"], corpus=five) == _build_requests(["plain"], corpus=["all"])


def test_several_corpora_with_split_are_rejected():
    with pytest.raises(typer.BadParameter, match="--split: expected one --corpus, got 2; remove --split"):
        _build_requests(["plain"], corpus=["snli", "sick"], split="test")


def test_option_with_set_name_applies_to_that_set():
    for others, of_soswap in ((["seed=1"], 1), ([], None)):
        both = _build_requests(["permuted", "soswap_addamod"], set_option=[*others, "permuted.seed=2"])
        assert [request.options.get("seed") for request in both] == [2, of_soswap]


def test_option_of_set_that_is_not_selected_is_rejected():
    why = "option 'sicck.seed': expected one of the sets permuted, swapped before the dot, got 'sicck'"
    with pytest.raises(OptionError, match=why):
        _build_requests(["permuted", "swapped"], set_option=["sicck.seed=1"])


def test_official_pairs_replaced_by_corpus_are_reported(capsys):
    breaking, _ = _build_requests(["breaking_nli", "plain"], corpus=["snli"])
    assert breaking.config == "snli-validation"
    expected = "breaking_nli: generated from snli; remove --corpus to use the authors' original pairs"
    assert [expected] == capsys.readouterr().err.splitlines()
    _build_requests(["breaking_nli", "plain"])
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "source"),
    [
        ({"set_option": ["breaking_nli.file=folder"], "corpus": ["snli"]}, "--corpus snli"),
        ({"official_file": "folder", "data": "pairs.csv"}, "--data"),
    ],
)
def test_authors_file_beside_other_pairs_is_rejected_before_building(options, source):
    with pytest.raises(OptionError) as caught:
        _build_requests(["plain", "breaking_nli"], **options)
    assert str(caught.value) == (
        f"--official-file (-o breaking_nli.file): cannot be combined with {source}, which generates breaking_nli from "
        "other pairs instead of the official file; omit one of them"
    )


def test_unknown_set_error_lists_sets():
    with pytest.raises(ValueError, match=r"expected one of the challenge sets .*permuted.*, got 'none such'"):
        challenge_sets.get_challenge_set("none such")
    assert challenge_sets.find_challenge_set("none such") is None


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("permutd", "permuted"), ("Breaking NLI", "breaking_nli"), ("addamod", "soswap_addamod")],
)
def test_misspelled_set_name_gets_suggestion(typed, meant):
    with pytest.raises(ValueError, match=f"got '{typed}', did you mean '{meant}'[?]"):
        challenge_sets.get_challenge_set(typed)
