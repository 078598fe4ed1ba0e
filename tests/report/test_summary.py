from dataclasses import replace

from rich.console import Console

from unbag.report import terminal
from unbag.results import Result
from unbag.scoring.bootstrap import Estimate


def _result(name, share, model="org/a", data="snli"):
    return Result(
        set=name,
        config={},
        model={"name": model},
        data={"name": data, "split": "validation"},
        scores={"accuracy": Estimate(share, share - 0.02, share + 0.02, 2000), "by_label": [], "by_subset": {}},
        environment={},
    )


def _shown(results):
    console = Console(width=80, highlight=False)
    with console.capture() as capture:
        terminal.show(terminal.together(results), console)
    lines = capture.get().splitlines()
    assert max(map(len, lines), default=0) <= 80
    return [line.split() for line in lines]


def test_one_model_has_intervals_and_n():
    rows = _shown([_result("plain", 0.8), _result("breaking_nli", 0.7)])
    assert ["plain", "accuracy", "0.800", "[0.780,", "0.820]", "2,000"] in rows
    assert ["breaking_nli", "accuracy", "0.700", "[0.680,", "0.720]", "2,000"] in rows


def test_several_models_stand_beside_each_other_and_a_gap_is_a_gap():
    models = [f"org/{name}" for name in "abcdefg"]
    results = [_result("plain", 0.1 * place + 0.1, model) for place, model in enumerate(models)]
    rows = _shown([*results, _result("breaking_nli", 0.7, "org/b")])
    assert ["A", "org/a"] in rows
    assert ["plain", "accuracy", "0.100", "0.200", "0.300", "0.400", "0.500", "2,000"] in rows
    assert ["plain", "accuracy", "0.600", "0.700", "2,000"] in rows
    assert ["breaking_nli", "accuracy", "0.700", "2,000"] in rows


def test_one_set_of_two_corpora_names_them():
    rows = _shown([_result("plain", 0.8), _result("plain", 0.6, data="sick"), _result("soswap_addamod", 0.5)])
    assert ["plain", "sick", "validation", "accuracy", "0.600", "[0.580,", "0.620]", "2,000"] in rows
    assert rows[-1] == [] or "soswap_addamod" in rows[-1][0]


def test_one_set_alone_and_a_set_without_headline_need_no_summary():
    assert _shown([_result("plain", 0.8)]) == []
    assert not [
        row for row in _shown([_result("plain", 0.8), replace(_result("plain", 0.1), set="own")]) if "own" in row
    ]
