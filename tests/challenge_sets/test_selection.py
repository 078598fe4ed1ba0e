"""Tests of the sets that a command builds of several corpora, and of options for single sets."""

import pytest
import typer

from unbag.cli.options import PairOptions, selected


def _requests(names, **options):
    return selected(PairOptions(**options), names, full=True, on_failure=[].append)


def test_several_corpora_are_used_in_order():
    names = ["plain", "swapped"]
    both = _requests(names, corpus=["snli", "sick"])
    assert both == [*_requests(names, corpus=["snli"]), *_requests(names, corpus=["sick"])]
    assert [request.config for request in both] == ["snli-validation", "snli-validation", "sick-test", "sick-test"]


def test_all_selects_five_corpora():
    names = ["plain", "swapped"]
    five = ["snli", "mnli", "anli", "sick", "ocnli"]
    assert _requests(names, corpus=five) == _requests(names, corpus=["all"])


def test_several_corpora_with_split_are_rejected():
    with pytest.raises(typer.BadParameter, match="--split: expected one --corpus, got 2; omit --split"):
        _requests(["plain"], corpus=["snli", "sick"], split="test")


def test_option_with_set_name_applies_to_that_set():
    names = ["permuted", "soswap_addamod"]
    permuted, soswap = _requests(names, set_option=["seed=1", "permuted.seed=2"])
    assert (permuted.options["seed"], soswap.options["seed"]) == (2, 1)
    permuted, soswap = _requests(names, set_option=["permuted.seed=2"])
    assert permuted.options["seed"] == 2
    assert "seed" not in soswap.options


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("sicck.seed=1", "option 'sicck.seed': expected one of the sets permuted, swapped, got 'sicck'"),
        ("swapped.seed=1", "no option 'seed'; swapped has none"),
    ],
)
def test_option_that_set_lacks_is_rejected(option, why):
    with pytest.raises(typer.BadParameter, match=why):
        _requests(["permuted", "swapped"], set_option=[option])


def test_option_shared_by_several_sets_is_reported_once(monkeypatch, capsys):
    monkeypatch.setattr("unbag.cli.options._warned", set())
    _requests(["permuted", "soswap_addamod", "swapped"], set_option=["seed=1"])
    said = capsys.readouterr().err
    assert "-o seed applies to permuted, soswap_addamod; -o permuted.seed=VALUE sets it for one set" in said


def test_official_pairs_replaced_by_corpus_are_reported(monkeypatch, capsys):
    monkeypatch.setattr("unbag.cli.options._warned", set())
    breaking, _ = _requests(["breaking_nli", "plain"], corpus=["snli"])
    assert breaking.config == "snli-validation"
    expected = "breaking_nli: generated from snli; omit --corpus to use the authors' original pairs"
    assert [expected] == capsys.readouterr().err.splitlines()
    _requests(["breaking_nli", "plain"])
    assert not capsys.readouterr().err
