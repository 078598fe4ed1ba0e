from dataclasses import replace

import pytest
from rich.console import Console

from unbag import challenge_sets
from unbag.challenge_sets.results import Result
from unbag.reports import terminal
from unbag.scoring.bootstrap import Estimate

SCORES = {
    "n_examples": 3697,
    "q": 100,
    "n_c": 2900,
    "n_labels": 3,
    "accuracy": Estimate(0.785, 0.771, 0.798, 3697),
    "omega_max": Estimate(0.95, 0.94, 0.96, 3697),
    "p_c": Estimate(0.9, 0.89, 0.91, 2900),
    "p_f": Estimate(None, None, None, 0),
    "confident": {"0.5": {"omega_max": Estimate(0.9, 0.89, 0.91, 3697), "p_f": Estimate(None, None, None, 0)}},
}
RESULT = Result(
    set="permuted",
    config={"mode": "both"},
    model={"name": "an-organisation/a-model-with-quite-a-long-name"},
    data={
        "name": "snli",
        "split": "validation",
        "rows": 10_000,
        "excluded": {"unlabelled": 158, "too short to permute": 6_145},
    },
    scores=SCORES,
    environment={},
)


def _render(result=RESULT):
    console = Console(width=80, highlight=False)
    with console.capture() as capture:
        terminal.print_views(terminal.build_result_views([result]), console)
    return capture.get()


def test_table_fits_terminal_and_states_exclusions():
    shown = _render()
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert "0.785 [0.771, 0.798]" in shown
    assert "excluded 158 unlabelled, 6,145 too short to permute" in " ".join(shown.split())


def test_metric_without_examples_is_shown_as_dash():
    [line] = [line for line in _render().splitlines() if line.startswith(" P^f") or line.startswith("P^f")]
    assert line.split()[-2:] == ["–", "–"]


@pytest.mark.parametrize(
    ("p_c", "words"),
    [
        (Estimate(0.9, 0.89, 0.91, 2900), "on the 2,900 pairs that are correct in order, 90.0 % [89.0, 91.0] of the"),
        (Estimate(None, None, None, 0), "no pair is correct in order"),
    ],
)
def test_reading_states_only_p_c(p_c, words):
    assert words in challenge_sets.get_challenge_set("permuted").summarize_result(
        replace(RESULT, scores=SCORES | {"p_c": p_c})
    )


def test_written_table_equals_shown_table(tmp_path):
    terminal.write_views(terminal.build_result_views([RESULT]), tmp_path / "table.txt")
    assert (tmp_path / "table.txt").read_text() == _render()


def test_views_are_separated_by_empty_line(tmp_path):
    terminal.write_views(terminal.build_result_views([RESULT, RESULT]), tmp_path / "two.txt")
    one = _render()
    assert (tmp_path / "two.txt").read_text() == one + one
    assert one.endswith("\n\n")
