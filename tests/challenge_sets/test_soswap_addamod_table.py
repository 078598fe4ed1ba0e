from dataclasses import replace

import pytest
from rich.console import Console

from unbag.challenge_sets.soswap_addamod import table as soswap_addamod
from unbag.report import terminal
from unbag.results import Result
from unbag.scoring.bootstrap import Estimate


def _part(right, n=600, entailment=None):
    entailment = 1 - right if entailment is None else entailment
    shares = {
        name: Estimate(share, share - 0.01, share + 0.01, n)
        for name, share in (("entailment", entailment), ("neutral", 0.06), ("contradiction", 0.04))
    }
    return {"n_examples": n, "shares": shares, "accuracy": Estimate(right, right - 0.01, right + 0.01, n)}


def _scores(soswap=0.04, addamod=0.06, n=600, entailment=None):
    parts = {"soswap": _part(soswap, n, entailment), "addamod": _part(addamod, n, entailment)}
    return {**_part(0.05, 2 * n), "by_subset": parts}


RESULT = Result(
    set="soswap_addamod",
    config={"kind": "both"},
    model={"name": "an-organisation/a-model-with-quite-a-long-name"},
    data={
        "name": "snli",
        "split": "validation",
        "rows": 10_000,
        "left_out": {"whose premise was met before or makes no pair": 8_000},
    },
    scores=_scores(),
    environment={},
)


def test_the_table_fits_a_terminal_and_has_a_column_a_kind():
    console = Console(width=80, highlight=False)
    with console.capture() as capture:
        terminal.show(terminal.views([RESULT]), console)
    lines = capture.get().splitlines()
    assert max(len(line) for line in lines) <= 80
    [contradiction] = [line for line in lines if "contradiction" in line]
    assert contradiction.split()[1:] == ["0.040", "[0.030,", "0.050]"] * 2
    assert "600 SOSwap, 600 AddAmod pairs, of 10,000 rows; left out 8,000 whose" in " ".join(" ".join(lines).split())


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        (_scores(), "whatever moved: 4% of SOSwap right and 6% of AddAmod right"),
        (_scores(0.9, 0.85), "it sees what moved"),
        (_scores(0.9, 0.3), "it sees some"),
        (_scores(1.0, 0.0, entailment=0.0), "100% of SOSwap right and 0% of AddAmod right, no more than one answer"),
        (_scores(0.3, 0.3, entailment=0.4), "no sign that it sees what moved"),
        (_scores(n=49), "none yet; 50 pairs of SOSwap and AddAmod are needed"),
    ],
)
def test_the_verdict_follows_from_the_accuracies(scores, words):
    assert words in soswap_addamod.verdict(replace(RESULT, scores=scores))


def test_one_kind_alone_is_shown_alone():
    alone = replace(RESULT, scores=_scores() | {"by_subset": {"soswap": _part(0.9)}})
    assert soswap_addamod.verdict(alone) == (
        "90% of SOSwap right; only both kinds together tell that from one answer for all."
    )
