"""A tiny random causal language model with a tokenizer."""

from importlib import import_module
from pathlib import Path
from typing import Any

from unbag.inference.llm.prompts import EXAMPLES, INSTRUCTION, WORDS

TEMPLATE = (
    "{% for turn in messages %}<{{ turn.role }}>{{ turn.content }}</{{ turn.role }}>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def save_tiny_lm(
    folder: Path,
    kind: str = "llama",
    *,
    chat: bool = False,
    merges: bool = True,
    bos: bool = False,
    positions: int = 1024,
    seed: int = 0,
    **config: object,
) -> Path:
    """Save a model and its tokenizer in a folder, and return the folder.

    With `merges`, each label word is one token, and without, each character. With `chat`, the tokenizer has a chat
    template, and with `bos`, it adds a beginning-of-sequence token.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    transformers: Any = import_module("transformers")  # has no type annotations
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=500 if merges else 258,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = [INSTRUCTION, *(f"Premise: {p}\nHypothesis: {h}\nAnswer:" for p, h, _ in EXAMPLES)]
    backend.train_from_iterator([*texts, *(f"Answer: {word}" for word in WORDS.values() for _ in range(50))], trainer)
    if bos:
        backend.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
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
        initializer_range=0.3,  # logits of magnitude 1, so that errors are visible
        **config,
    )
    torch.manual_seed(seed)
    transformers.AutoModelForCausalLM.from_config(made).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
