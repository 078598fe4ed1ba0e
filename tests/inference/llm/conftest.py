"""Tiny random language models with a tokenizer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.inference.llm.tiny_lm import save_tiny_lm

MakeLM = Callable[..., Path]


@pytest.fixture(scope="session")
def make_lm(tmp_path_factory: pytest.TempPathFactory) -> MakeLM:
    """Return a function that saves a tiny random causal language model and returns its folder."""
    pytest.importorskip("torch", reason="needs unbag[models]")
    pytest.importorskip("transformers", reason="needs unbag[models]")

    def make(kind: str = "llama", **options: Any) -> Path:
        return save_tiny_lm(tmp_path_factory.mktemp(kind), kind, **options)

    return make


@pytest.fixture(scope="session")
def tiny_lm(make_lm: MakeLM) -> Path:
    """Return the folder of a tiny Llama, which tests must not change."""
    return make_lm()
