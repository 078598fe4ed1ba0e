"""Tests of all models: padding, batches, gradients, learning, files, HEX, and dependence on word order."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForSequenceClassification

from tests.models.tiny_models import LABELS, PAIRS, TEXT_VARIANTS, encode, encode_sides, tiny_model, tiny_tokenizer
from tests.training.conftest import pairs_path  # noqa: F401  (fixture)
from tests.training.tiny_networks import build_trainer, compute_batch_loss
from unbag.data import demo
from unbag.models import ARCHITECTURES
from unbag.models.network import SentenceEncoder
from unbag.training.initialization import count_parameters
from unbag.training.recipes import find_recipe
from unbag.training.run import run

BAGS = ("dan", "rse-bow", "dam", "esim-bow", "dr-bilstm-bow")
ENCODERS = ("dan", "hypothesis-only", "infersent", "bilstm-last", "convnet", "rse", "rse-bow", "g-tlstm")
DOCUMENTED = (Path(__file__).parents[2] / "docs" / "reference" / "models.md").read_text(encoding="utf-8")
every_model = pytest.mark.parametrize("name", ARCHITECTURES)
every_network = pytest.mark.parametrize(
    ("name", "options"), [*((name, {}) for name in ARCHITECTURES), *TEXT_VARIANTS.items()]
)


@every_network
def test_logits_do_not_depend_on_padding_or_batch(name, options):
    network = tiny_model(name, **options)
    with torch.no_grad():
        together = network(**encode()).logits
        alone = torch.cat([network(**encode([pair])).logits for pair in PAIRS])
        turned = network(**encode(PAIRS[::-1])).logits.flip(0)
        padded = {
            "input_ids": torch.nn.functional.pad(encode()["input_ids"], (0, 5)),
            "attention_mask": torch.nn.functional.pad(encode()["attention_mask"], (0, 5)),
        }
        more = network(**padded).logits
    assert together.std(dim=0).min() > 1e-4, "all pairs alike, so this test would show nothing"
    for other in (alone, turned, more):
        torch.testing.assert_close(other, together, atol=1e-5, rtol=1e-4)


@every_model
def test_empty_sentences_give_finite_logits(name):
    network = tiny_model(name)
    assert network(**encode([("", "a dog"), ("a dog", ""), ("", "")])).logits.isfinite().all()


@every_network
def test_every_parameter_gets_gradient(name, options):
    network = tiny_model(name, **options).train()
    torch.manual_seed(1)
    network(**encode(), labels=LABELS).loss.backward()
    gradients = {key: parameter.grad for key, parameter in network.named_parameters()}
    assert gradients
    assert {key for key, gradient in gradients.items() if gradient is None or not gradient.any()} == set()
    assert all(gradient.isfinite().all() for gradient in gradients.values())


SHAPES = ("dan", "convnet", "kim", "diin", "s-tlstm", "g-tlstm")
"""One of each kind: a bag, convolutions, recurrences with relations, features of words, two kinds of trees."""


@pytest.mark.parametrize(
    "name",
    [name if name in ("dan", "kim", "g-tlstm") else pytest.param(name, marks=pytest.mark.nightly) for name in SHAPES],
)
def test_model_memorizes_sixty_four_pairs(name):
    """The pairs have random words and random labels."""
    generator = torch.Generator().manual_seed(3)
    ids = torch.randint(3, 27, (64, 7), generator=generator)
    ids[:, 0] = ids[:, 3] = 2
    labels = torch.randint(0, 3, (64,), generator=generator)
    # With few hidden ReLU units, all may be inactive: a classifier of 7 units often learns only half of the pairs.
    network = tiny_model(name, hidden_size=24, embedding_size=16, classifier_size=24, length=8).train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-2, weight_decay=0.0)
    torch.manual_seed(0)
    right = 0.0
    for step in range(400):
        optimizer.zero_grad()
        network(ids, torch.ones_like(ids), labels=labels).loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        if step % 10 == 9 and right < 1:
            with torch.no_grad():
                right = (network.eval()(ids).logits.argmax(dim=1) == labels).float().mean().item()
            network.train()
        if right == 1:
            break
    assert right == 1


def train_model(name, recipe, pairs, folder, **options):
    """Train a tiny model. Return the weights before and after."""
    network = tiny_model(name, id2label=dict(enumerate(("contradiction", "entailment", "neutral"))))
    network.save_pretrained(folder / "model")
    tiny_tokenizer().save_pretrained(folder / "model")
    data = (str(pairs),)
    options |= {"batch_size": 12, "max_steps": 3, "learning_rate": 1e-2, "max_validation_examples": 6}
    options |= {"model": str(folder / "model"), "corpus": data, "validation": data}
    run(find_recipe(recipe)(output_dir=folder / "out", **options))
    return [load_file(folder / each / "model.safetensors") for each in ("model", "out")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "recipe", "options"),
    [
        ("dan", "max_entropy", {}),
        ("kim", "hex", {}),
        ("diin", "finetune", {"word_order": "shuffled"}),
        ("s-tlstm", "max_entropy", {}),
        ("g-tlstm", "hex", {}),
    ],
)
def test_recipe_trains_model(name, recipe, options, pairs_path, tmp_path):  # noqa: F811
    before, after = train_model(name, recipe, pairs_path, tmp_path, **options)
    assert before.keys() == after.keys()
    assert all(value.isfinite().all() for value in after.values() if value.is_floating_point())
    assert any(not torch.equal(value, after[key]) for key, value in before.items())


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["s-tlstm", "diin"])
def test_augmented_pairs_train_model(name, pipeline, tmp_path, monkeypatch):
    from unbag.data.text.parses import Parser

    monkeypatch.setattr("unbag.training.augmented.Parser", lambda: Parser(pipeline, cache=tmp_path / "cache"))
    options = {"max_examples": 200, "augment": ("soswap", "addamod"), "augment_pairs": 6}
    before, after = train_model(name, "finetune", demo.get_demo_file("train"), tmp_path, **options)
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


def reverse_words(pairs):
    """Reverse the words of both sentences."""
    return [tuple(" ".join(side.split()[::-1]) for side in pair) for pair in pairs]


@pytest.mark.parametrize(("name", "options"), [*((name, {}) for name in BAGS), ("rse-bow", TEXT_VARIANTS["rse-bow"])])
def test_bag_of_words_model_ignores_word_order(name, options):
    network = tiny_model(name, **options)
    torch.testing.assert_close(
        network(**encode(reverse_words(PAIRS))).logits, network(**encode()).logits, atol=1e-5, rtol=1e-4
    )


@pytest.mark.parametrize("name", sorted(set(ARCHITECTURES) - set(BAGS)))
def test_other_models_depend_on_word_order(name):
    network = tiny_model(name)
    apart = network(**encode(reverse_words(PAIRS))).logits - network(**encode()).logits
    assert apart.abs().max() > 1e-4


@every_model
def test_sentence_encoder_reads_sentences_separately(name):
    network = tiny_model(name)
    assert isinstance(network, SentenceEncoder) == (name in ENCODERS)
    if not isinstance(network, SentenceEncoder):
        return
    one, other = [("a dog runs", "the man eats")], [("a dog runs", "no old woman sees the cat in red .")]
    torch.testing.assert_close(
        network.encode(encode_sides(network, one)[0]),
        network.encode(encode_sides(network, other)[0]),
        atol=1e-6,
        rtol=1e-5,
    )
    same = [("a dog runs", "a dog runs")]
    premise, hypothesis = encode_sides(network, same)
    torch.testing.assert_close(network.encode(premise), network.encode(hypothesis))


def test_hypothesis_only_model_ignores_premise():
    network = tiny_model("hypothesis-only")
    others = [(premise, hypothesis) for (premise, _), (_, hypothesis) in zip(PAIRS[::-1], PAIRS, strict=True)]
    torch.testing.assert_close(network(**encode(others)).logits, network(**encode()).logits, atol=1e-6, rtol=1e-5)


@every_model
def test_hex_finds_last_layer_and_words(name):
    from unbag.training.hex import HexTrainer
    from unbag.training.recipes import HexConfig

    network = tiny_model(name)
    network.config.id2label = dict(enumerate("abc"))
    config = HexConfig(model="m", output_dir="o", warm_start=0)
    trainer = build_trainer(HexTrainer, network.train(), config, tokenizer=tiny_tokenizer())
    loss = compute_batch_loss(trainer, LABELS, **encode()).loss
    loss.backward()
    assert loss.isfinite()
    assert all(parameter.grad is not None for parameter in network.parameters())
    assert trainer.branch.table.is_word.sum() == len(tiny_tokenizer()) - 3


@pytest.mark.parametrize("name", SHAPES)
def test_bfloat16_changes_probabilities_slightly(name):
    network = tiny_model(name)
    expected = network(**encode()).logits.softmax(dim=-1)
    found = network.to(torch.bfloat16)(**encode()).logits.float().softmax(dim=-1)
    assert (found - expected).abs().mean() < 0.1


@every_model
def test_mixed_precision_training_gives_all_gradients(name):
    network = tiny_model(name).train()
    with torch.autocast("cpu", torch.bfloat16):
        loss = network(**encode(), labels=LABELS).loss
    loss.backward()
    assert loss.isfinite()
    assert all(each.grad is not None and each.grad.isfinite().all() for each in network.parameters())
