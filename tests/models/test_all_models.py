"""Tests of all models: words, padding, batches, gradients, learning, files, HEX, size, and dependence on word order."""

import json
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from huggingface_hub import create_repo, upload_folder
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from tests.fake_hub.accounts import ALICE
from tests.fake_hub.client_process import runs_in
from tests.models.conftest import LABELS, PAIRS, TEXT_VARIANTS, RightBranchingParser, encode, tiny_model, tiny_tokenizer
from tests.training import tiny_networks
from tests.training.conftest import pairs_path  # noqa: F401  (fixture)
from tests.training.tiny_networks import build_trainer, compute_batch_loss
from unbag.data.text.tokens import tokenize
from unbag.hub import vendoring
from unbag.models import ARCHITECTURES
from unbag.models.network import RELATIONS
from unbag.models.word_tokenizer import build_vocabulary, split_words
from unbag.training.hex import HexTrainer
from unbag.training.initialization import count_parameters
from unbag.training.recipes import HexConfig, find_recipe
from unbag.training.run import run

BAGS = ("dan", "rse-bow", "dam", "esim-bow", "dr-bilstm-bow")
DOCUMENTED = (Path(__file__).parents[2] / "docs" / "reference" / "models.md").read_text(encoding="utf-8")
every_model = pytest.mark.parametrize("name", ARCHITECTURES)
every_network = pytest.mark.parametrize(
    ("name", "options"), [*((name, {}) for name in ARCHITECTURES), *TEXT_VARIANTS.items()]
)


@pytest.mark.parametrize(
    "sentence",
    [
        "A man isn't here; he can't be.",
        "The dog's owners' T-shirts cost $5.50 (or 10km at 5pm).",
        "I cannot, dont, gonna or wont; it's Mr. O'Neil's \"thing\"...",
        "They're we've I'm you'd she'll 'em.",
        "Im gotta ask whats that, youre late and hes not.",
        "Ça va, naïve café — “quoted” words/slashes and under_scores?!",
    ],
)
def test_words_do_not_cross_token_boundaries(sentence):
    """Therefore the words of a sentence are the words of its tokens in any order."""
    tokens = tokenize(sentence).texts
    assert Counter(split_words(sentence)) == Counter(word for token in tokens for word in split_words(token))
    assert Counter(split_words(" ".join(tokens[::-1]))) == Counter(split_words(sentence))


def test_vocabulary_excludes_rare_words():
    assert build_vocabulary(["b a a", "A c b"], min_count=2) == ["a", "b"]


def assert_close_logits(found, expected):
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


@every_network
@torch.no_grad()
def test_logits_do_not_depend_on_padding_or_batch(name, options):
    network = tiny_model(name, **options)
    together = network(**encode()).logits
    assert together.std(dim=0).min() > 1e-4, "all pairs alike, so this test would show nothing"
    padded = {key: torch.nn.functional.pad(values, (0, 5)) for key, values in encode().items()}
    assert_close_logits(torch.cat([network(**encode([pair])).logits for pair in PAIRS]), together)
    assert_close_logits(network(**encode(PAIRS[::-1])).logits.flip(0), together)
    assert_close_logits(network(**padded).logits, together)
    assert network(**encode([("", "a dog"), ("a dog", ""), ("", "")])).logits.isfinite().all()


@every_network
@pytest.mark.parametrize("is_mixed", [False, True])
def test_every_parameter_gets_gradient(name, options, is_mixed):
    network = tiny_model(name, **options).train()
    torch.manual_seed(1)
    with torch.autocast("cpu", torch.bfloat16, enabled=is_mixed):
        loss = network(**encode(), labels=LABELS).loss
    loss.backward()
    gradients = {key: parameter.grad for key, parameter in network.named_parameters()}
    assert gradients
    assert {key for key, gradient in gradients.items() if gradient is None or not gradient.any()} == set()
    assert all(gradient.isfinite().all() for gradient in gradients.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "recipe", "options"),
    [
        ("kim", "hex", {}),
        ("diin", "finetune", {"word_order": "shuffled"}),
        ("s-tlstm", "max_entropy", {}),
        *(pytest.param(name, "finetune", {}, marks=pytest.mark.nightly) for name in ("dan", "g-tlstm")),
    ],
)
def test_recipe_trains_model(name, recipe, options, pairs_path, tmp_path):  # noqa: F811
    model, data = tmp_path / "model", (str(pairs_path),)
    tiny_model(name, id2label=dict(enumerate(("contradiction", "entailment", "neutral")))).save_pretrained(model)
    tiny_tokenizer().save_pretrained(model)
    options = options | {"batch_size": 12, "max_steps": 3, "learning_rate": 1e-2, "max_validation_examples": 6}
    options |= {"model": str(model), "corpus": data, "validation": data}
    run(find_recipe(recipe)(output_dir=tmp_path / "out", **options))
    before, after = (load_file(tmp_path / each / "model.safetensors") for each in ("model", "out"))
    assert before.keys() == after.keys()
    assert all(value.isfinite().all() for value in after.values() if value.is_floating_point())
    assert any(not torch.equal(value, after[key]) for key, value in before.items())


@every_network
def test_model_loads_from_folder_with_lexical_tables(name, options, tmp_path):
    network = tiny_model(name, train_embeddings=False, **options)
    network.save_pretrained(tmp_path)
    loaded, info = AutoModelForSequenceClassification.from_pretrained(tmp_path, output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    assert type(loaded) is ARCHITECTURES[name].network
    assert not loaded.get_input_embeddings().weight.requires_grad, "what is not trained stays untrained"
    torch.testing.assert_close(loaded.eval()(**encode()).logits, network(**encode()).logits, atol=1e-6, rtol=1e-5)
    assert {key: value.shape for key, value in network.state_dict().items()} == {
        key: value.shape for key, value in loaded.state_dict().items()
    }
    assert AutoConfig.from_pretrained(tmp_path).to_dict() == loaded.config.to_dict()


@pytest.mark.parametrize("name", [name for name, kind in ARCHITECTURES.items() if kind.published])
def test_number_of_parameters_equals_paper(name):
    """The tolerance is 5 %. Numbers that the papers count differently are adjusted."""
    published = ARCHITECTURES[name].published
    other = {
        "infersent": 8_650_755,  # the published count excludes the classifier above the encoder
        "kim": 360_006,  # the weighted sums of both sentences, which the authors' training script omits
    }.get(name, 0)
    assert count_parameters(ARCHITECTURES[name]) - other == pytest.approx(published, rel=0.05)


def count_linear_parameters(*sizes):
    """Return the number of parameters of consecutive linear layers."""
    return sum(inputs * outputs + outputs for inputs, outputs in pairwise(sizes))


def count_bilstm_parameters(inputs, hidden):
    """Return the number of parameters of a BiLSTM: four gates in two directions, with both biases of torch."""
    return 2 * 4 * hidden * (inputs + hidden + 2)


@pytest.mark.parametrize(("layers", "published"), [(1, 28_352_003), (2, 28_992_803)])
def test_rse_parameters_equal_those_of_code(layers, published):
    """The default of the code has 28.35 M parameters with biases, without embeddings and the unused second layer.

    With the unused layer, it has 28.99 M, rounded to 29 M on the leaderboard.
    """
    readers = count_bilstm_parameters(300, 600) + 2 * count_bilstm_parameters(300 + 2 * 600, 600)
    assert readers + count_linear_parameters(8 * 600, *[800] * layers, 3) == published
    assert count_parameters(ARCHITECTURES["rse"], classifier_layers=layers) == published


def test_rse_bow_has_as_many_classifier_parameters_as_rse():
    """A fully connected ReLU layer replaces each BiLSTM (Nie et al. 2019, section 3.2)."""
    readers = count_linear_parameters(300, 2 * 600) + 2 * count_linear_parameters(300 + 2 * 600, 2 * 600)
    assert count_parameters(ARCHITECTURES["rse-bow"]) == readers + count_linear_parameters(8 * 600, 800, 3)


@pytest.mark.parametrize("compose_relations", [True, False])
@pytest.mark.parametrize("pool_relations", [True, False])
def test_kim_parameters_are_those_of_esim_and_relations(compose_relations, pool_relations):
    """With 300 units: 5 inputs for the projection and each gate, and 5 weights and a bias for pooling of two sides.

    Without pooling, as in the authors' training script, there are 4.34 M, rounded to 4.3 M on the leaderboard.
    """
    size = 300
    of_projection = RELATIONS * size
    of_composition = compose_relations * 2 * 4 * size * RELATIONS
    of_pooling = pool_relations * (count_linear_parameters(RELATIONS, 1) + 2 * 2 * size * size)
    found = count_parameters(ARCHITECTURES["kim"], compose_relations=compose_relations, pool_relations=pool_relations)
    assert found == count_parameters(ARCHITECTURES["esim"]) + of_projection + of_composition + of_pooling
    if not pool_relations:
        assert found == pytest.approx(4_300_000, rel=0.011)


@every_model
def test_documentation_table_has_same_parameter_counts(name):
    kind = ARCHITECTURES[name]
    [row] = [line for line in DOCUMENTED.split("\n## ")[0].splitlines() if line.startswith(f"| {name} |")]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1] == f"[{kind.paper}]({kind.url})"
    assert cells[2] == kind.input_description
    assert cells[3] == f"{count_parameters(kind) / 1e6:.2f} M"
    published = f"{kind.published / 1e6:g} M{'' if kind.is_verified else ' *'}" if kind.published else ""
    assert cells[4] == published


@every_network
def test_only_bag_of_words_model_ignores_word_order(name, options):
    network = tiny_model(name, **options)
    turned = [tuple(" ".join(side.split()[::-1]) for side in pair) for pair in PAIRS]
    apart = network(**encode(turned)).logits - network(**encode()).logits
    assert (apart.abs().max() < 1e-4) == (name in BAGS)


@every_model
def test_hex_finds_last_layer_and_words(name):
    network = tiny_model(name)
    network.config.id2label = dict(enumerate("abc"))
    config = HexConfig(model="m", output_dir="o", warm_start=0)
    trainer = build_trainer(HexTrainer, network.train(), config, tokenizer=tiny_tokenizer())
    loss = compute_batch_loss(trainer, LABELS, **encode()).loss
    loss.backward()
    assert loss.isfinite()
    assert all(parameter.grad is not None for parameter in network.parameters())
    assert trainer.branch.table.is_word.sum() == len(tiny_tokenizer()) - 3


@every_model
def test_bfloat16_changes_probabilities_slightly(name):
    network = tiny_model(name)
    expected = network(**encode()).logits.softmax(dim=-1)
    found = network.to(torch.bfloat16)(**encode()).logits.float().softmax(dim=-1)
    assert (found - expected).abs().mean() < 0.1


WITHOUT_US = """
import json, sys, torch
sys.modules["unbag"] = None  # whoever imports it fails
from transformers import AutoModelForSequenceClassification, AutoTokenizer

class RightBranchingParser:
    def parse_trees(self, sentences):
        lengths = map(len, sentences)
        return [[(n - 2 - k, n - 1 if k == 0 else n + k - 1) for k in range(n - 1)] for n in lengths]

sources, pairs, out = json.loads(sys.argv[1])
logits = {}
for name, repository in sources.items():
    tokenizer = AutoTokenizer.from_pretrained(repository, trust_remote_code=False)
    try:
        AutoModelForSequenceClassification.from_pretrained(repository, trust_remote_code=False)
        raise SystemExit("loaded without its code?")
    except ValueError as error:
        assert "custom code" in str(error), error
    network = AutoModelForSequenceClassification.from_pretrained(repository, trust_remote_code=True)
    module = sys.modules[type(network).__module__]
    assert module.__name__.startswith("transformers_modules."), module
    module.load_tree_parser = lambda pipeline: RightBranchingParser()
    premises, hypotheses = map(list, zip(*pairs))
    encoded = tokenizer(premises, hypotheses, padding=True, return_tensors="pt")
    logits[name] = network(**encoded).logits.detach()
torch.save(logits, out)
"""


@pytest.mark.nightly
@pytest.mark.slow
@runs_in("hub_client")
def test_pushed_models_load_from_hub(hub, tmp_path):
    """The logits are the same for a model from the Hub, with unbag, and in a fresh process without unbag."""
    expected = {}
    for name in ARCHITECTURES:
        network, folder, repository = tiny_model(name), tmp_path / name, f"alice/tiny-{name}"
        network.save_pretrained(folder)
        tiny_tokenizer().save_pretrained(folder)
        config, code = vendoring.add_model_code(json.loads((folder / "config.json").read_text()))
        (folder / "config.json").write_text(json.dumps(config))
        (folder / vendoring.MODEL_CODE_FILE).write_text(code)
        create_repo(repository, private=False)
        upload_folder(repo_id=repository, folder_path=folder)
        with pytest.MonkeyPatch.context() as patch, torch.no_grad():
            patch.setattr("unbag.models.s_tlstm.load_tree_parser", lambda pipeline: RightBranchingParser())
            expected[name] = network(**encode()).logits
            loaded = AutoModelForSequenceClassification.from_pretrained(repository)
            encoded = tiny_networks.encode(PAIRS, AutoTokenizer.from_pretrained(repository))
            torch.testing.assert_close(loaded(**encoded).logits, expected[name], atol=1e-6, rtol=1e-5, msg=name)
    sources = {name: str(tmp_path / name) for name in ARCHITECTURES} | {"esim": "alice/tiny-esim"}
    arguments = json.dumps([sources, PAIRS, str(tmp_path / "found.pt")])
    environment = hub.env(tmp_path / "home", token=ALICE)  # with a separate cache
    subprocess.run([sys.executable, "-c", WITHOUT_US, arguments], env=environment, check=True)
    found = torch.load(tmp_path / "found.pt", weights_only=True)
    assert set(found) == set(ARCHITECTURES)
    for name, logits in found.items():
        torch.testing.assert_close(logits, expected[name], atol=1e-6, rtol=1e-5, msg=name)
