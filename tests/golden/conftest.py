"""The outputs that the golden test compares, created once."""

import io
from contextlib import redirect_stderr

import pytest

from tests.fake_llm import running_endpoint
from tests.golden.outputs import create_outputs
from tests.inference.llm.tiny_lm import save_tiny_lm


@pytest.fixture(scope="session")
def outputs(request, tmp_path_factory, make_model, _lower_size_limits):
    """Return the texts by name. Texts that need ../shared or WordNet are included only if these are available."""
    for package in ("openai", "vl_convert", "scipy"):
        pytest.importorskip(package)
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # with models this small, threads mostly wait for each other
    optional = {name: _get_fixture_or_none(request, name) for name in ("shared", "wordnet")}
    folder = tmp_path_factory.mktemp("golden")
    causal = save_tiny_lm(tmp_path_factory.mktemp("tiny_lm"))
    try:
        with running_endpoint() as endpoint, redirect_stderr(io.StringIO()):  # progress bars would hide the differences
            return create_outputs(
                folder,
                bert=make_model(),
                causal=causal,
                endpoint=endpoint.base_url,
                shared=optional["shared"],
                lexicon=optional["wordnet"],
            )
    finally:
        torch.set_num_threads(threads)


def _get_fixture_or_none(request, fixture):
    try:
        return request.getfixturevalue(fixture)
    except pytest.skip.Exception:
        return None
