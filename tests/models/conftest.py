"""Trees without a parser."""

import pytest

pytest.importorskip("torch", reason="needs unbag[models]")


@pytest.fixture(autouse=True)
def _without_a_parser(monkeypatch):
    """Let S-TLSTM read right-branching trees, where a test does not say otherwise."""
    from tests.models.tiny import NoParser

    monkeypatch.setattr("unbag.models.s_tlstm.load_tree_parser", lambda pipeline: NoParser())
