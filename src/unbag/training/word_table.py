"""The fixed embeddings that the superficial branch of HEX reads (HEX paper, section 3: "a pre-trained embedding")."""

from collections.abc import Collection
from typing import Any

import torch

from unbag.baselines.lexical.embeddings import Table
from unbag.hex.superficial import WordTable


def of_network(network: Any, special: Collection[int]) -> WordTable:
    """Copy a network's input embeddings, as they are now, without positions and before any normalisation of its own.

    Args:
        network: a `PreTrainedModel`.
        special: token ids that are no words.
    """
    vectors = network.get_input_embeddings().weight.detach().float().clone()
    is_word = torch.ones(len(vectors), dtype=torch.bool, device=vectors.device)
    is_word[sorted(special)] = False
    return WordTable(vectors, is_word)


def of_embeddings(table: Table, network: Any, tokenizer: Any) -> WordTable:
    """Look up the tokens of a network's tokenizer in other embeddings, such as word vectors.

    A token has the embedding of its text, if the tokenizer makes that one token of the text: so a whole word has one. A
    piece such as `##ing` has none, nor has a word that the table lacks: they are no words to g. Where the table cuts a
    text into tokens of its own, the embedding is their mean.

    Args:
        table: the embeddings.
        network: a `PreTrainedModel`.
        tokenizer: its tokenizer.

    Raises:
        ValueError: if the table has none of the tokens.
    """
    vocabulary = network.get_input_embeddings().num_embeddings
    ids = sorted(set(range(min(vocabulary, len(tokenizer)))) - set(tokenizer.all_special_ids))
    texts = [tokenizer.decode([number], clean_up_tokenization_spaces=False) for number in ids]
    again = tokenizer(texts, add_special_tokens=False)["input_ids"]
    words = {number: text.strip() for number, text, made in zip(ids, texts, again, strict=True) if made == [number]}
    has_one = table.counts((text,) for text in words.values()).matrix.getnnz(axis=1) > 0
    found = [number for number, known in zip(words, has_one, strict=True) if known]
    if not found:
        raise ValueError(
            f"expected embeddings of some of the tokenizer's {len(words):,} words, found none; is it the right "
            "language?"
        )
    vectors = torch.zeros(vocabulary, table.vectors.shape[1])
    vectors[found] = torch.from_numpy(table.means([(words[number],) for number in found])).float()
    is_word = torch.zeros(vocabulary, dtype=torch.bool)
    is_word[found] = True
    return WordTable(vectors, is_word)
