"""Tiny random language models with a tokenizer, and an endpoint."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fake_llm import RunningEndpoint, running_endpoint
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


@pytest.fixture(scope="session")
def _endpoint() -> Iterator[RunningEndpoint]:
    with running_endpoint() as running:
        yield running


@pytest.fixture
def endpoint(_endpoint: RunningEndpoint) -> RunningEndpoint:
    """Return an endpoint with default settings and no requests."""
    _endpoint.reset()
    return _endpoint
