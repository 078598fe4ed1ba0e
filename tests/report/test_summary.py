from dataclasses import replace

from rich.console import Console

from unbag.challenge_sets.base import BEYOND_WORDS
from unbag.report import terminal
from unbag.results import Result
from unbag.scoring.bootstrap import Estimate


def _result(name, share, model="org/a", data="snli", p=0.001, floor="words"):
    score = Estimate(share, share - 0.02, share + 0.02, 2000)
    return Result(
        set=name,
        config={},
        model={"name": model},
        data={"name": data, "split": "validation"},
        scores={
            BEYOND_WORDS: {"score": score, "p": p, "words": 0.2, "sources": 50, "floor": floor, "lexical_model": {}}
        },
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
    rows = _shown([_result("plain", 0.8), _result("breaking_nli", -0.3, floor="guess"), _result("sicck", 0.01, p=0.6)])
    assert ["plain", "0.800", "[0.780,", "0.820]", "2,000", "better", "than", "words"] in rows
    assert ["breaking_nli", "-0.300", "[-0.320,", "-0.280]", "2,000", "worse", "than", "one", "answer"] in rows
    assert ["sicck", "0.010", "[-0.010,", "0.030]", "2,000", "no", "better", "than", "words"] in rows
    said = " ".join(word for row in rows for word in row)
    assert "Verdict: on no set is it seen to do better than guessing and counting words; no better on SICCK" in said
    assert "; worse than the better of one answer for all and counting words on Breaking NLI." in said


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
    assert ["plain", "sick", "validation", "0.600", "[0.580,", "0.620]", "2,000", "better", "than", "words"] in rows


def test_a_set_without_the_scale_cannot_be_told():
    said = " ".join(word for row in _shown([replace(_result("plain", 0.1), set="own", scores={})]) for word in row)
    assert "of own it cannot be told" in said


def _without_a_lexical_model(result):
    return replace(
        result,
        scores={BEYOND_WORDS: result.scores[BEYOND_WORDS] | {"words": None, "floor": "guess", "lexical_model": None}},
    )


def test_who_beats_a_guess_alone_is_not_said_to_beat_who_counts_words():
    alone = _without_a_lexical_model(_result("sicck", 0.4))
    said = " ".join(word for row in _shown([alone]) for word in row)
    assert "Verdict: better than guessing on its one challenge set." in said
    assert "0 is the better of a guess and one answer for all; 1 a perfect reader." in said
    worse = _without_a_lexical_model(_result("swapped", -0.4, floor="guess"))
    said = " ".join(word for row in _shown([alone, worse]) for word in row)
    assert "; worse than one answer for all on Swapped." in said  # as a coin of three labels is, where two are gold
    said = " ".join(word for row in _shown([alone, _result("swapped", 0.4)]) for word in row)
    assert "better than guessing (and counting words, where a lexical model was asked) on 2 of 2" in said
    assert "sicck 0.400 [0.380, 0.420] 2,000 better than a guess" in said
    assert "swapped 0.400 [0.380, 0.420] 2,000 better than words" in said
