"""Tiny random language models with a tokenizer of their own, and an endpoint."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.llm_server import RunningEndpoint, running_endpoint
from unbag.llm.prompts import EXAMPLES, INSTRUCTION, WORDS

MakeLM = Callable[..., Path]

TEMPLATE = (
    "{% for turn in messages %}<{{ turn.role }}>{{ turn.content }}</{{ turn.role }}>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.fixture(scope="session")
def make_lm(tmp_path_factory: pytest.TempPathFactory) -> MakeLM:
    """Return a function that saves a tiny random causal language model and returns its folder."""
    torch = pytest.importorskip("torch", reason="needs unbag[models]")
    transformers = pytest.importorskip("transformers", reason="needs unbag[models]")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    def make(
        kind: str = "llama",
        *,
        chat: bool = False,
        merges: bool = True,
        bos: bool = False,
        positions: int = 1024,
        seed: int = 0,
        **config: object,
    ) -> Path:
        backend = Tokenizer(models.BPE())
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        backend.decoder = decoders.ByteLevel()
        # With merges each label's word is one token; without them, it is one a character.
        trainer = trainers.BpeTrainer(
            vocab_size=500 if merges else 258,
            special_tokens=["<s>", "</s>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        texts = [INSTRUCTION, *(f"Premise: {p}\nHypothesis: {h}\nAnswer:" for p, h, _ in EXAMPLES)]
        backend.train_from_iterator(
            [*texts, *(f"Answer: {word}" for word in WORDS.values() for _ in range(50))], trainer
        )
        if bos:
            from tokenizers.processors import TemplateProcessing

            backend.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
        tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>")
        if chat:
            tokenizer.chat_template = TEMPLATE
        shape = {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 64}
        if kind == "gpt2":
            shape = {"n_embd": 32, "n_head": 4, "n_layer": 2}
        made = transformers.AutoConfig.for_model(
            kind,
            **shape,
            vocab_size=len(tokenizer),
            max_position_embeddings=positions,
            bos_token_id=0,
            eos_token_id=1,
            initializer_range=0.3,  # logits of the order of 1, so that a mistake shows
            **config,
        )
        torch.manual_seed(seed)
        folder = tmp_path_factory.mktemp(kind)
        transformers.AutoModelForCausalLM.from_config(made).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def tiny_lm(make_lm: MakeLM) -> Path:
    """Return the folder of a tiny Llama; not to be changed."""
    return make_lm()


@pytest.fixture(scope="session")
def _endpoint() -> Iterator[RunningEndpoint]:
    with running_endpoint() as running:
        yield running


@pytest.fixture
def endpoint(_endpoint: RunningEndpoint) -> RunningEndpoint:
    """Give an endpoint that does all that it can and has seen nothing."""
    _endpoint.reset()
    return _endpoint
