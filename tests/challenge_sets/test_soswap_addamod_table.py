from dataclasses import replace

from rich.console import Console

from unbag import challenge_sets
from unbag.challenge_sets.results import Result
from unbag.reports import terminal
from unbag.scoring.bootstrap import Estimate

soswap_addamod = challenge_sets.get_challenge_set("soswap_addamod")


def _build_part(right, n=600, entailment=None):
    entailment = 1 - right if entailment is None else entailment
    shares = {
        name: Estimate(share, share - 0.01, share + 0.01, n)
        for name, share in (("entailment", entailment), ("neutral", 0.06), ("contradiction", 0.04))
    }
    return {"n_examples": n, "shares": shares, "accuracy": Estimate(right, right - 0.01, right + 0.01, n)}


def _build_scores(soswap=0.04, addamod=0.06, n=600, entailment=None):
    parts = {"soswap": _build_part(soswap, n, entailment), "addamod": _build_part(addamod, n, entailment)}
    return {**_build_part(0.05, 2 * n), "by_subset": parts}


RESULT = Result(
    set="soswap_addamod",
    config={"kind": "both"},
    model={"name": "an-organisation/a-model-with-quite-a-long-name"},
    data={
        "name": "snli",
        "split": "validation",
        "rows": 10_000,
        "excluded": {"with a repeated premise or one that makes no pair": 8_000},
    },
    scores=_build_scores(),
    environment={},
)


def test_table_fits_terminal_with_column_per_kind():
    console = Console(width=80, highlight=False)
    with console.capture() as capture:
        terminal.print_views(terminal.build_result_views([RESULT]), console)
    lines = capture.get().splitlines()
    assert max(len(line) for line in lines) <= 80
    [contradiction] = [line for line in lines if "contradiction" in line]
    assert contradiction.split()[1:] == ["0.040", "[0.030,", "0.050]"] * 2
    assert "600 SOSwap, 600 AddAmod pairs, of 10,000 rows; excluded 8,000 with" in " ".join(" ".join(lines).split())


def test_reading_states_accuracy_by_kind_and_entailment_rate():
    assert soswap_addamod.summarize_result(replace(RESULT, scores=_build_scores(0.9, 0.3))) == (
        "correct on 90.0 % [89.0, 91.0] of 600 SOSwap pairs and 30.0 % [29.0, 31.0] of 600 AddAmod pairs; "
        "entailment, never the gold label, is predicted for 95.0 % [94.0, 96.0]."
    )


def test_reading_of_one_kind_names_constant_prediction():
    alone = replace(RESULT, scores=_build_scores() | {"by_subset": {"soswap": _build_part(0.9)}})
    assert "600 SOSwap pairs (a constant prediction can reach 100 % on one kind);" in soswap_addamod.summarize_result(
        alone
    )


def _render_result(result):
    console = Console(width=200, highlight=False)
    with console.capture() as capture:
        console.print(soswap_addamod.build_table(result))
    return " ".join(capture.get().split())


def test_few_text_pairs_are_explained_by_frequent_reasons():
    counts = {"soswap": 600, "soswap: a passive": 91, "addamod: a negation": 1, "addamod: b": 7, "addamod: c": 1_271}
    data = RESULT.data | {"load_options": {"text": ["a.md"]}}
    scores = _build_scores() | {"by_subset": {"soswap": _build_part(0.9)}}
    result = replace(RESULT, config={"counts": counts | {"addamod: a": 1}}, data=data, scores=scores)
    assert _render_result(result).endswith("Few AddAmod pairs (0). Most frequent reasons: c (1,271), b (7), a (1)")
    assert "Few" not in _render_result(replace(result, scores=_build_scores()))
    assert "Few" not in _render_result(replace(result, data=RESULT.data))
