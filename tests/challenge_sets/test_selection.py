"""Tests of the sets that a command builds of several corpora, and of options for single sets."""

import pytest
import typer

from unbag.cli.options import PairOptions, build_selected_requests
from unbag.utils.options import OptionError


def _build_requests(names, **options):
    return build_selected_requests(PairOptions(**options), names, full=True, on_failure=[].append)


def test_several_corpora_are_used_in_order():
    names = ["plain", "swapped"]
    both = _build_requests(names, corpus=["snli", "sick"])
    assert both == [*_build_requests(names, corpus=["snli"]), *_build_requests(names, corpus=["sick"])]
    assert [request.config for request in both] == ["snli-validation", "snli-validation", "sick-test", "sick-test"]


def test_all_selects_five_corpora():
    names = ["plain", "swapped"]
    five = ["snli", "mnli", "anli", "sick", "ocnli"]
    assert _build_requests(names, corpus=five) == _build_requests(names, corpus=["all"])


def test_several_corpora_with_split_are_rejected():
    with pytest.raises(typer.BadParameter, match="--split: expected one --corpus, got 2; remove --split"):
        _build_requests(["plain"], corpus=["snli", "sick"], split="test")


def test_option_with_set_name_applies_to_that_set():
    names = ["permuted", "soswap_addamod"]
    permuted, soswap = _build_requests(names, set_option=["seed=1", "permuted.seed=2"])
    assert (permuted.options["seed"], soswap.options["seed"]) == (2, 1)
    permuted, soswap = _build_requests(names, set_option=["permuted.seed=2"])
    assert permuted.options["seed"] == 2
    assert "seed" not in soswap.options


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("sicck.seed=1", "option 'sicck.seed': expected one of the sets permuted, swapped before the dot, got 'sicck'"),
        ("swapped.seed=1", "no option 'seed'; swapped has none"),
    ],
)
def test_option_that_set_lacks_is_rejected(option, why):
    with pytest.raises(OptionError, match=why):
        _build_requests(["permuted", "swapped"], set_option=[option])


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
        ({"official_file": "folder", "corpus": ["snli"]}, "--corpus snli"),
        ({"set_option": ["breaking_nli.file=folder"], "corpus": ["snli"]}, "--corpus snli"),
        ({"official_file": "folder", "data": "pairs.csv"}, "--data"),
        ({"official_file": "folder", "text": ["notes.txt"]}, "--text"),
    ],
)
def test_authors_file_beside_other_pairs_is_rejected_before_building(tmp_path, monkeypatch, options, source):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("A dog runs.\n")
    with pytest.raises(OptionError) as caught:
        _build_requests(["plain", "breaking_nli"], **options)
    assert str(caught.value) == (
        f"--official-file (-o breaking_nli.file): cannot be combined with {source}, which generates breaking_nli from "
        "other pairs instead of the official file; omit one of them"
    )
