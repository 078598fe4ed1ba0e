"""Tests of the Space for single pairs, whose bundled functions must agree with the library."""

import asyncio
import importlib
import os
import re
import sys
from itertools import product

import numpy as np
import pytest

from tests.hub.conftest import running_app
from unbag.baselines.lexical.features import collect_words, rank_misleading_features
from unbag.baselines.lexical.model import LexicalModel, fit_lexical_model
from unbag.challenge_sets.perturbations.permutation import Permuter
from unbag.data.labels import LABELS
from unbag.data.text.tokens import tokenize
from unbag.hub import pair_page
from unbag.hub.pair_page import LexicalScorer, build_pair_variants, summarize_predictions
from unbag.hub.spaces import GRADIO, build_pair_space

WORDS = ("dog", "cat", "man", "woman", "sleeps", "runs")
RECORD = {
    "language": "en",
    "tags": "type",
    "pipeline": "a",
    "training": [{"origin": "/home/me/pairs.csv"}],
    "pairs": 60,
}


@pytest.fixture(scope="module")
def lexical_model(tmp_path_factory):
    """Fit a lexical model to pseudo-random pairs, and return its folder."""
    rng = np.random.default_rng(1)
    pairs = [tuple(tuple(sorted(set(rng.choice(WORDS, 3)))) for _ in range(2)) for _ in range(60)]
    folder = tmp_path_factory.mktemp("lexical")
    model = fit_lexical_model(pairs, rng.choice(LABELS, 60).tolist(), l2=1.0)
    LexicalModel(model.vocabulary, model.regression, model.record | RECORD).save(folder)
    return folder


@pytest.fixture(scope="module")
def space(lexical_model, tmp_path_factory):
    """Write the files of the Space to a folder."""
    folder = tmp_path_factory.mktemp("space")
    for path, content in build_pair_space("org/try-a-pair", "org/model", lexical_model).files.items():
        (folder / path).write_bytes(content if isinstance(content, bytes) else content.read_bytes())
    return folder


@pytest.fixture(scope="module")
def bundled_functions(space):
    """Load the module of bundled functions without unbag."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(space)
        yield importlib.import_module("unbag_words")
    del sys.modules["unbag_words"]


def test_space_names_no_unbag_module_or_local_file(space):
    for path in space.iterdir():
        content = path.read_bytes()
        assert b"/home/me" not in content
        assert not path.name.endswith(".py") or b"\nfrom unbag." not in content
    assert "fitted to 60 pairs of pairs.csv" in (space / "README.md").read_text()
    required = {line.split(">")[0] for line in (space / "requirements.txt").read_text().splitlines()}
    assert required == {f"gradio[mcp]=={GRADIO}", "numpy", "safetensors", "scipy", "spacy", "torch", "transformers"}


@pytest.mark.nightly
def test_running_space_is_mcp_server_with_predict_tool(space, tmp_path):
    pytest.importorskip("mcp", reason="needs mcp")
    hidden = re.compile(r"(HF|HUGGING|GRADIO)_.*|.*_PROXY", re.IGNORECASE)
    environment = {name: value for name, value in os.environ.items() if not hidden.fullmatch(name)}
    with running_app(space, environment | {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}) as address:
        tool, result = asyncio.run(_ask(f"{address}/gradio_api/mcp/", PAIR | {"name": "no model"}))
    assert tool.name.endswith("predict")
    assert tool.description.startswith("Predict entailment, neutral or contradiction for an English pair")
    properties = tool.inputSchema["properties"]
    assert set(properties) == {"premise", "hypothesis", "gold", "name"}
    assert all("description" in each for each in properties.values())
    assert properties["gold"]["enum"] == ["unknown", *LABELS]
    assert result.isError
    assert "no model" in result.content[0].text


PAIR = {"premise": "A dog sleeps.", "hypothesis": "A cat runs.", "gold": "unknown"}


async def _ask(address, arguments):
    """Call the only tool of an MCP server. Return its description and the result."""
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    async with streamablehttp_client(address) as (read, write, _), ClientSession(read, write) as session:
        await session.initialize()
        [tool] = (await session.list_tools()).tools
        return tool, await session.call_tool(tool.name, arguments)


def test_lexical_scorer_agrees_with_library(space, bundled_functions, lexical_model):
    pairs = [("The dog sleeps.", "A cat runs."), ("A man runs.", "A man sleeps, too."), ("Nothing known.", "At all.")]
    words = [tuple(collect_words(side, "en") for side in pair) for pair in pairs]
    there, model = LexicalScorer(bundled_functions, space), LexicalModel.load(lexical_model)
    np.testing.assert_allclose(there.probabilities(pairs), model.probabilities(words), atol=1e-6)
    for (pair, each), (number, label) in product(zip(pairs, words, strict=True), enumerate(LABELS)):
        about = model.vocabulary, model.regression.weights, model.vocabulary.matrix([each])
        [expected] = rank_misleading_features(*about, model.probabilities([each]), np.array([number]), pair_page.TOP)
        assert list(map(tuple, there.find_misleading_features(pair, label))) == list(map(tuple, expected))


def test_build_variants_agrees_with_permuted_set(bundled_functions):
    premise, hypothesis = "Two dogs chase a red ball in the park.", "Some animals play with a toy today."
    made = build_pair_variants(bundled_functions, premise, hypothesis)
    assert [pair for _, pair in made[:2]] == [(premise, hypothesis), (hypothesis, premise)]
    expected = Permuter(pair_page.PERMUTATIONS).permute_texts("the pair", tokenize(premise), tokenize(hypothesis))
    assert [pair for _, pair in made[2:5]] == expected
    assert {pair[0] for _, pair in made[5:]} == {premise}
    assert len(build_pair_variants(bundled_functions, "Yes.", "No.")) == 2, "no other order"


def test_summarize_counts_unchanged_predictions():
    one, two, three = np.eye(3)
    variants = ["as given", "premise and hypothesis exchanged", *["words of both sentences in another order"] * 2]
    model, lexical = np.array([one, three, one, three]), np.array([two, three, two, two])
    said = summarize_predictions(variants, model, lexical, LABELS)
    assert "predicts entailment" in said
    assert "in 1 of 2 cases. The lexical model, which ignores word order, keeps it in 2 of 2." in said
    assert "too short" in summarize_predictions(variants[:2], model[:2], lexical[:2], LABELS)


def test_load_classifier_with_invalid_hub_id_raises(bundled_functions):
    with pytest.raises(ValueError, match=r"\.\./\.\./etc"):
        pair_page.load_classifier("../../etc", bundled_functions)


@pytest.mark.parametrize("other", [{"language": "zh"}, {"tags": "context"}])
def test_pair_space_with_unsupported_lexical_model_raises(lexical_model, tmp_path, other):
    model = LexicalModel.load(lexical_model)
    LexicalModel(model.vocabulary, model.regression, model.record | other).save(tmp_path)
    with pytest.raises(ValueError, match="expected an English lexical model fitted with tags="):
        build_pair_space("org/try-a-pair", "org/model", tmp_path)
