"""Tests of the progress display of an evaluation."""

import io
import threading

import pytest
from rich.console import Console

from unbag.challenge_sets import request
from unbag.challenge_sets.request import BUILDING, SetRequest, prebuild_sets
from unbag.cli import output, progress
from unbag.evaluation.lexical_baseline import FITTING


@pytest.fixture
def terminal(monkeypatch):
    """Capture what a terminal shows."""
    drawn = io.StringIO()
    for module in (output, progress):
        monkeypatch.setattr(
            module,
            "create_cli_console",
            lambda **_: Console(file=drawn, force_terminal=True, color_system=None, width=80),
        )
    return drawn


def test_progress_is_drawn_without_thread(terminal, monkeypatch):
    threads = threading.active_count()

    def prepare(builder):
        told.append((terminal.getvalue(), threading.active_count()))

    told = []
    monkeypatch.setattr(request, "create_validated_builder", lambda asked: asked)
    monkeypatch.setattr(request.loading, "load_evaluation_split", prepare)
    with progress.show_progress(2, is_visible=True) as watched:
        prebuild_sets([SetRequest("plain"), SetRequest("swapped")], lambda *each: watched.on_progress(BUILDING, *each))
        (first, *drawing), (second, *drawing_on) = told
        assert drawing == drawing_on == [threads]
        assert first.count("building the sets") == first.count("0/2 sets") > 0
        assert "1/2 sets" in second
        ended = terminal.getvalue()
        assert "2/2 sets" in ended
        watched.on_set("plain")
        assert "building plain" in terminal.getvalue().removeprefix(ended)
        watched.on_progress(FITTING, 1, 2)
    with progress.show_progress(0, is_visible=True) as moved:
        moved.on_progress(FITTING, 1, 2)
    assert terminal.getvalue().count(FITTING) >= 2
