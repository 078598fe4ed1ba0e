from dataclasses import replace

from rich.console import Console

from unbag import challenge_sets
from unbag.challenge_sets.results import Result
from unbag.reports import terminal
from unbag.scoring.bootstrap import Estimate
from unbag.scoring.natural_logic import MEASURES

sicck = challenge_sets.get_challenge_set("sicck")


def _build_group(value, n):
    return {name: Estimate(value, value - 0.1, value + 0.1, n) for name in MEASURES}


_NEGATED = {"neutral": {"contradiction": 7, "forward_entailment": 2, "neutral": 3}, "contradiction": {"neutral": 5}}


def _build_scores(f1=0.52, negation=0.3, n=1304):
    return {
        "n_examples": n,
        **_build_group(f1, n),
        "by_label": {label: {"gold": n} for label, n in zip("abcd", (60, 20, 10, 10), strict=True)},
        "by": {
            "modifier_type": {
                "none": _build_group(1.0, 15),
                "negation": _build_group(negation, 167) | {"confusion": _NEGATED},
                "universal": _build_group(f1, 217),
            },
            "modifier_type+part": {
                "negation+verb": _build_group(f1, 9) | {"confusion": {"neutral": {"neutral": 9}}},
                "negation+object": _build_group(f1, 4) | {"confusion": {"contradiction": {"neutral": 4}}},
            },
            "part": {"subject": _build_group(f1, 560), "verb": _build_group(f1, 220)},
        },
    }


RESULT = Result(
    set="sicck",
    config={"space": "four_way"},
    model={"name": "an-organisation/a-model-with-quite-a-long-name"},
    data={"name": "official", "split": "", "rows": 15, "excluded": {}},
    scores=_build_scores(),
    environment={},
)


def test_table_fits_terminal_and_groups_by_modifier_and_part():
    console = Console(width=80, highlight=False)
    with console.capture() as capture:
        terminal.print_views(terminal.build_result_views([RESULT]), console)
    lines = capture.get().splitlines()
    assert max(len(line) for line in lines) <= 80
    [verb] = [line for line in lines if "verb modified" in line]
    assert verb.split()[2:] == ["0.520"] * 4 + ["220"]
    text = " ".join(" ".join(lines).split())
    assert (
        "F1 0.520 [0.420, 0.620], accuracy 0.520 [0.420, 0.620], with 95 % intervals over the seeds. Seeds: 15 rows"
        in text
    )


def test_table_shows_neutral_predictions_if_present():
    console = Console(width=80, highlight=False)
    with console.capture() as capture:
        console.print(sicck.build_table(RESULT))
    lines = capture.get().splitlines()
    [heading] = [number for number, line in enumerate(lines) if "Neutral pairs and their" in line]
    told = [line.split() for line in lines[heading + 4 : heading + 7]]
    assert told[0] == ["negation", "17", "12", "75.0%", "7", "2", "0"]
    assert told[1] == ["verb", "9", "9", "0.0%", "0", "0", "0"]
    assert not told[2], "no neutral pair has a negation at its object"
    scores = {**RESULT.scores, "by": {name: {"x": _build_group(0.5, 9)} for name in ("modifier_type", "part")}}
    with console.capture() as capture:  # a model without this label
        console.print(sicck.build_table(replace(RESULT, scores=scores)))
    assert "Table 10" not in capture.get()


def test_reading_states_macro_f1_and_extreme_types():
    assert sicck.summarize_result(RESULT) == (
        "macro F1 0.520 [0.420, 0.620] on 1,304 pairs (the best constant prediction: 0.19); highest for universal "
        "quantifiers (0.52 on 217), lowest for negation (0.30 on 167)."
    )
