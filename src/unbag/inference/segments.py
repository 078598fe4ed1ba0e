"""Segment ids (`token_type_ids`), by which a network distinguishes the premise from the hypothesis.

Since transformers 5, the tokenizers of ALBERT, XLNet, RemBERT, RoFormer and others return segment ids only on request.
Without them, these networks read both sentences as one. The module imports no other unbag module, because the pair
Space contains it.
"""

import inspect
from typing import Any, Final

SEGMENT_IDS: Final = "token_type_ids"
_WITHOUT_VOCABULARY: Final = frozenset({"xlnet", "funnel"})
"""These compare the segments of two tokens, so that there may be any number of ids."""


def has_segment_ids(network: Any) -> bool:
    """Check whether a network distinguishes at least two segments."""
    config = network.config.get_text_config()
    count = getattr(config, "type_vocab_size", 0)
    return SEGMENT_IDS in inspect.signature(network.forward).parameters and (
        config.model_type in _WITHOUT_VOCABULARY or (isinstance(count, int) and count > 1)
    )


def find_position_padding(network: Any) -> int | None:
    """Find the padding row of a network's position table, which only the RoBERTa family has. Return None without one.

    These networks count positions from the row after it, and are trained without segments.
    """
    for name, module in network.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return int(module.padding_idx)
    return None


def supply_segment_ids(network: Any, tokenizer: Any) -> bool:
    """Make a tokenizer return the segment ids that its network reads. Returns whether the tokenizer has changed.

    The ids are those of the tokenizer's own template, such as `[CLS] A [SEP]` 0 and `B [SEP]` 1, or 2 for the `<cls>`
    of XLNet. A saved tokenizer keeps the change, so that it returns the ids outside unbag as well.
    """
    if not has_segment_ids(network):
        return False
    is_declared = SEGMENT_IDS in tokenizer.model_input_names
    is_supplied = not is_declared
    if not distinguishes_segments(tokenizer):
        if find_position_padding(network) is not None:
            return False
        if getattr(tokenizer, "token_type_ids_pattern", None) == "all_zeros":  # CANINE; version 4 returned 0 and 1
            tokenizer.token_type_ids_pattern = "bert_style"
            is_supplied = True
        elif not is_declared:
            raise ValueError(
                f"expected segment ids ({SEGMENT_IDS}) for a network with several segments, got a tokenizer that "
                "defines none; if the model was trained with them, define type ids in the post_processor of "
                f"tokenizer.json; add {SEGMENT_IDS} to model_input_names in tokenizer_config.json to read both "
                "sentences as segment 0"
            )
    if not is_declared:
        tokenizer.model_input_names = [*tokenizer.model_input_names, SEGMENT_IDS]
        tokenizer.init_kwargs["model_input_names"] = tokenizer.model_input_names  # saved in tokenizer_config.json
    highest = max(tokenizer("a", "b")[SEGMENT_IDS])
    count = getattr(network.config.get_text_config(), "type_vocab_size", highest + 1)
    if highest >= count:
        raise ValueError(
            f"expected segment ids below {count}, the number of segments of the network, got {highest} from the "
            "tokenizer; use the tokenizer of this model"
        )
    return is_supplied


def distinguishes_segments(tokenizer: Any) -> bool:
    """Check whether a tokenizer gives premise and hypothesis different segment ids."""
    ids = tokenizer("a", "b", **{f"return_{SEGMENT_IDS}": True}).get(SEGMENT_IDS) or [0]
    return len(set(ids)) > 1
