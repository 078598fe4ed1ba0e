"""Tiny random classifiers of many architectures, and a tokenizer for all of them."""

import tempfile
from types import SimpleNamespace

import torch
import transformers

from tests.inference import fixtures
from tests.inference.fixtures import ORDER

WORDS = [*fixtures.WORDS, "."]
PAIRS = [
    *fixtures.PAIRS,
    ("a young dog reads", "no dog reads"),
    ("the man and the woman are old", "the woman is not young"),
    ("a red cat eats the dog", "the dog eats"),
    ("a boy with a dog runs", "a boy runs with a cat"),
]
LABELS = torch.tensor([1, 1, 2, 2, 0, 0, 0, 1, 2, 2])

_NARROW = {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 64}
_SHAPES = {
    "distilbert": {"dim": 32, "n_heads": 4, "n_layers": 2, "hidden_dim": 64},
    "bart": {
        "d_model": 32,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64,
        "init_std": 0.3,
    },
    "gpt2": {"n_embd": 32, "n_head": 4, "n_layer": 2, "n_positions": 64},
    "electra": {**_NARROW, "embedding_size": 16},  # embeddings narrower than the hidden size
    "deberta-v2": {
        **_NARROW,
        "relative_attention": True,
        "pos_att_type": ["p2c", "c2p"],
        "position_biased_input": False,
    },
    "llama": {**_NARROW, "num_key_value_heads": 2},
    "xlnet": {"d_model": 32, "n_head": 4, "n_layer": 2, "d_inner": 64},
    "t5": {"d_model": 32, "d_kv": 8, "num_heads": 4, "num_layers": 2, "d_ff": 64, "initializer_factor": 1.0},
}
LAST_LAYERS = {
    "bert": "classifier",
    "roberta": "classifier.out_proj",
    "distilbert": "classifier",
    "bart": "classification_head.out_proj",
    "deberta-v2": "classifier",
    "electra": "classifier.out_proj",
    "gpt2": "score",
    "llama": "score",
    "xlnet": "logits_proj",
    "t5": "classification_head.out_proj",
}


def tiny_network(kind="bert", *, dropout=0.0, bias=0.3, seed=0, order=ORDER, **options):
    """Return a random classifier with logits of magnitude 1. `options` are further fields of its config.

    Biases have the standard deviation `bias`, since zero biases would hide errors in their use.
    """
    fields = {
        **_SHAPES.get(kind, _NARROW),
        **({} if kind == "xlnet" else {"max_position_embeddings": 64}),  # XLNet rejects a maximum length
        "vocab_size": 4 + len(WORDS),
        "bos_token_id": 0,
        "pad_token_id": 1,
        "eos_token_id": 2,
        "decoder_start_token_id": 2,
        "initializer_range": 0.3,  # logits of magnitude 1, so that errors are visible
        "id2label": dict(enumerate(order)),
        "label2id": {label: output for output, label in enumerate(order)},
    }
    config = transformers.AutoConfig.for_model(kind, **fields | options)
    for name in list(vars(config)):
        if dropout is not None and "drop" in name and isinstance(getattr(config, name), float):
            setattr(config, name, dropout)
    torch.manual_seed(seed)
    network = transformers.AutoModelForSequenceClassification.from_config(config)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(std=bias)
    return network


def tiny_tokenizer():
    """Return a tokenizer of `WORDS`, with BART's ids for special tokens."""
    vocabulary = {word: number for number, word in enumerate(["[CLS]", "[PAD]", "[SEP]", "[UNK]", *WORDS])}
    return fixtures.tiny_tokenizer(vocabulary, model_input_names=["input_ids", "attention_mask"])


def encode(pairs=PAIRS, tokenizer=None):
    """Return pairs as padded tensors."""
    premises, hypotheses = zip(*pairs, strict=True)
    return dict((tokenizer or tiny_tokenizer())(list(premises), list(hypotheses), padding=True, return_tensors="pt"))


class ConstantNetwork(torch.nn.Module):
    """Network with constant logits."""

    def __init__(self, logits):
        super().__init__()
        self.logits = torch.nn.Parameter(torch.tensor(logits, dtype=torch.float64))

    def forward(self, input_ids):
        return self


NOTHING = {"input_ids": torch.zeros(1)}


def build_trainer(trainer_class, network, config=None, *, tokenizer=None):
    """Return the trainer of a recipe without a run."""
    args = transformers.TrainingArguments(
        output_dir=tempfile.gettempdir() + "/unbag-trainer",
        report_to="none",
        use_cpu=True,
        remove_unused_columns=False,
        disable_tqdm=True,
    )
    return trainer_class(network, config, tokenizer=tokenizer or tiny_tokenizer(), args=args)


def compute_batch_loss(trainer, labels, **inputs):
    """Return the loss of a batch, the outputs of the network, and the recorded terms of the loss."""
    loss, outputs = trainer.compute_loss(trainer.model, {"labels": labels, **inputs}, return_outputs=True)
    parts, trainer._sums, trainer._passes = trainer._sums, {}, 0
    return SimpleNamespace(loss=loss, outputs=outputs, logits=outputs.logits, parts=parts)
