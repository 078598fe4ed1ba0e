"""Tests that the documentation pages show the numbers of the stored run."""

import pytest

from tools.page_numbers import PAGES, build_blocks, fill_page, read_run


@pytest.fixture(scope="module")
def blocks():
    return build_blocks(read_run())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_shows_numbers_of_stored_run(page, blocks):
    text = page.read_text(encoding="utf-8")
    assert "<!-- run: " in text
    assert fill_page(text, blocks) == text, "run python -m tools.page_numbers"


def test_worked_example_of_skill_score_is_that_of_stored_run():
    [plain] = [result for result in read_run() if result.set == "plain"]
    model, shuffled = (round(plain.scores["skill"][name], 4) for name in ("model", "shuffled"))
    text = PAGES[-1].read_text(encoding="utf-8")
    assert f"({model:.4f} − {shuffled:.4f}) / (1 − {shuffled:.4f})".replace("0.", ".") in text
    assert round((model - shuffled) / (1 - shuffled), 3) == round(plain.scores["skill"]["score"].value, 3) == 0.136
