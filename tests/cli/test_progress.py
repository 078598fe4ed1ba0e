"""What a terminal shows while models are evaluated, and when."""

import io
import threading

import pytest
from rich.console import Console

from unbag.challenge_sets import request
from unbag.challenge_sets.request import BUILDING, Request, build_ahead
from unbag.cli import output, progress
from unbag.evaluation.lexical_baseline import FITTING


@pytest.fixture
def terminal(monkeypatch):
    """Give what is drawn on a terminal."""
    drawn = io.StringIO()
    for module in (output, progress):
        monkeypatch.setattr(
            module, "console", lambda **_: Console(file=drawn, force_terminal=True, color_system=None, width=80)
        )
    return drawn


def test_sets_that_are_built_ahead_are_seen_to_be_and_no_thread_draws_them(terminal, monkeypatch):
    threads = threading.active_count()

    def prepare(builder):
        told.append((terminal.getvalue(), threading.active_count()))

    told = []
    monkeypatch.setattr(request, "validated_builder", lambda asked: asked)
    monkeypatch.setattr(request.loading, "prepare", prepare)
    with progress.show_progress(2, visible=True) as watched:
        build_ahead([Request("plain"), Request("swapped")], lambda *each: watched.progress_callback(BUILDING, *each))
        (first, *drawing), (second, *drawing_on) = told
        assert drawing == drawing_on == [threads]
        assert first.count("building the sets") == first.count("0/2 sets") > 0
        assert "1/2 sets" in second
        ended = terminal.getvalue()
        assert "2/2 sets" in ended
        watched.on_set("plain")
        assert "building plain" in terminal.getvalue().removeprefix(ended)


def test_what_goes_on_is_called_what_it_is_told_as(terminal):
    with progress.show_progress(1, visible=True) as watched:
        watched.on_set("plain")
        watched.progress_callback(FITTING, 1, 2)
        watched.progress_callback("plain, lexical", 1, 2)
    with output.progress(visible=True) as moved:
        moved(FITTING, 1, 2)
    for verb in ("asking", "predicting"):
        assert verb not in terminal.getvalue()
    assert terminal.getvalue().count(FITTING) >= 2
