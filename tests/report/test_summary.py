from dataclasses import replace

from rich.console import Console

from unbag.challenge_sets.base import BEYOND_WORDS
from unbag.report import terminal
from unbag.results import Result
from unbag.scoring.bootstrap import Estimate


def _result(name, share, model="org/a", data="snli", p=0.001):
    score = Estimate(share, share - 0.02, share + 0.02, 2000)
    return Result(
        set=name,
        config={},
        model={"name": model},
        data={"name": data, "split": "validation"},
        scores={BEYOND_WORDS: {"score": score, "p": p, "words": 0.2, "sources": 50, "lexical_model": {}}},
        environment={},
    )


def _shown(results):
    console = Console(width=80, highlight=False)
    with console.capture() as capture:
        terminal.show(terminal.together(results), console)
    lines = capture.get().splitlines()
    assert max(map(len, lines), default=0) <= 80
    return [line.split() for line in lines]


def test_one_model_has_intervals_n_and_a_standing():
    rows = _shown([_result("plain", 0.8), _result("breaking_nli", -0.3), _result("sicck", 0.01, p=0.6)])
    assert ["plain", "0.800", "[0.780,", "0.820]", "2,000", "better"] in rows
    assert ["breaking_nli", "-0.300", "[-0.320,", "-0.280]", "2,000", "worse"] in rows
    assert ["sicck", "0.010", "[-0.010,", "0.030]", "2,000", "no", "better"] in rows
    said = " ".join(word for row in rows for word in row)
    assert "Verdict: on no set is it seen to do better than guessing and counting words; no better on SICCK" in said


def test_what_is_better_before_the_correction_only_cannot_be_told():
    both = [_result("sicck", 0.2, p=0.04), _result("swapped", 0.2, p=0.04)]
    assert [row[-2:] for row in _shown(both) if row[:1] == ["sicck"]] == [["be", "told"]]
    assert [row for row in _shown(both[:1]) if row[:2] == ["Verdict:", "better"]]


def test_several_models_stand_beside_each_other_and_a_gap_is_a_gap():
    models = [f"org/{name}" for name in "abcdefg"]
    results = [_result("plain", 0.1 * place + 0.1, model) for place, model in enumerate(models)]
    rows = _shown([*results, _result("breaking_nli", 0.7, "org/b")])
    assert ["A", "org/a"] in rows
    assert ["plain", *(word for share in range(1, 6) for word in (f"0.{share}00", "+")), "2,000"] in rows
    assert ["plain", "0.600", "+", "0.700", "+", "2,000"] in rows
    assert ["breaking_nli", "0.700", "+", "2,000"] in rows


def test_one_set_of_two_corpora_names_them():
    rows = _shown([_result("plain", 0.8), _result("plain", 0.6, data="sick"), _result("soswap_addamod", 0.5)])
    assert ["plain", "sick", "validation", "0.600", "[0.580,", "0.620]", "2,000", "better"] in rows


def test_a_set_without_the_scale_cannot_be_told():
    said = " ".join(word for row in _shown([replace(_result("plain", 0.1), set="own", scores={})]) for word in row)
    assert "of own it cannot be told" in said
