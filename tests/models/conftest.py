"""Trees without a parser."""

import pytest

pytest.importorskip("torch", reason="needs unbag[models]")


@pytest.fixture(autouse=True)
def _right_branching_trees(monkeypatch):
    """Use right-branching trees for S-TLSTM by default."""
    from tests.models.tiny_models import RightBranchingParser

    monkeypatch.setattr("unbag.models.s_tlstm.load_tree_parser", lambda pipeline: RightBranchingParser())
