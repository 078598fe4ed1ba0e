"""Word tokenizer in the format of transformers' fast tokenizers, which load without unbag.

A pair is encoded as `[BOS] premise [BOS] hypothesis`. Both sentences begin with the same token. A sentence encoder
therefore receives the same input for a sentence as premise or as hypothesis, and no sentence is empty.

A word does not depend on adjacent words, and it never crosses a token boundary of spaCy's English tokenizer, which is
used to permute sentences (`unbag.data.text.tokens`). A permuted sentence therefore has the same words as the original,
and a model that ignores word order predicts the same for both.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

PAD, UNKNOWN, START = "[PAD]", "[UNK]", "[BOS]"
SPECIAL: Final = (PAD, UNKNOWN, START)
"""Special tokens; the id of each one is its position."""

PAD_ID, UNKNOWN_ID, START_ID = range(3)

# Stems and endings of words that spaCy splits without an apostrophe, such as "cannot", "gonna" or "dont".
_ASK: Final = "who|what|when|where|why|how|there"
_CUT: Final = (
    ("can", "not"),
    ("gon", "na"),
    ("got", "ta"),
    ("y", "all"),
    ("ca|could|do|does|did|had|may|might|must|need|ought|sha|should|wo|would|ai|are|is|was|were|have|has|dare", "nt"),
    ("i", "m|ma"),
    (f"i|you|he|it|we|they|that|this|these|those|{_ASK}", "d"),
    (f"you|it|they|that|this|these|those|{_ASK}", "ll"),
    (f"i|you|we|they|these|those|could|might|must|should|would|not|{_ASK}", "ve"),
    (f"you|they|these|those|{_ASK.removeprefix('who|')}", "re"),
    (f"he|she|that|this|{_ASK}", "s"),
)
_LETTER: Final = r"[^\W\d_]"
_END: Final = r"(?![^\W_])"
_WORD: Final = "|".join(
    [
        *(rf"(?<!\w)(?:{stems})(?=(?:{endings}){_END})" for stems, endings in _CUT),
        rf"{_LETTER}+?(?=n['’]t{_END})",  # is|n't
        rf"n['’]t{_END}",
        rf"['’](?:s|re|ve|ll|d|m|em){_END}",
        rf"{_LETTER}+",
        r"\d+",
        r"\S",  # any other character is a word
    ]
)


def split_words(sentence: str) -> list[str]:
    """Split a sentence into lowercase words.

    >>> split_words("The T-shirt isn't John's.")
    ['the', 't', '-', 'shirt', 'is', "n't", 'john', "'s", '.']
    """
    return [word for word, _ in _CUTTER.pre_tokenize_str(_NORMALIZER.normalize_str(sentence))]


def build_vocabulary(sentences: Iterable[str], *, min_count: int = 1) -> list[str]:
    """List all words by descending frequency. Ties are in alphabetical order.

    >>> build_vocabulary(["a dog", "a cat"])
    ['a', 'cat', 'dog']
    """
    counts = Counter(word for sentence in sentences for word in split_words(sentence))
    return sorted((word for word, n in counts.items() if n >= min_count), key=lambda word: (-counts[word], word))


def build_word_tokenizer(words: Sequence[str]) -> PreTrainedTokenizerFast:
    """Build a tokenizer for a vocabulary. Words outside the vocabulary become `[UNK]`.

    Word ids follow those of `SPECIAL`.

    >>> build_word_tokenizer(["a", "dog"])("a dog", "a cat")["input_ids"]
    [2, 3, 4, 2, 3, 1]
    """
    numbers = {word: number for number, word in enumerate((*SPECIAL, *words))}
    backend = Tokenizer(models.WordLevel(numbers, unk_token=UNKNOWN))
    backend.normalizer = _NORMALIZER
    backend.pre_tokenizer = _CUTTER
    return build_pair_tokenizer(backend, start_token=START, end_token=None, pad_token=PAD, unknown_token=UNKNOWN)


def build_pair_tokenizer(
    backend: Tokenizer, *, start_token: str, end_token: str | None, pad_token: str, unknown_token: str
) -> PreTrainedTokenizerFast:
    """Build a tokenizer that adds special tokens at the beginning and, optionally, at the end of both sentences.

    The start token separates the sentences of a pair (`network.split_premises_and_hypotheses`). A pre-trained encoder
    may require an end token.
    """
    one = f"{start_token} $A" + (f" {end_token}" if end_token else "")
    special = [(token, backend.token_to_id(token)) for token in (start_token, end_token) if token]
    backend.post_processor = processors.TemplateProcessing(
        single=one, pair=f"{one} {one.replace('$A', '$B')}", special_tokens=special
    )
    backend.no_truncation()
    backend.no_padding()
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token=start_token,
        pad_token=pad_token,
        unk_token=unknown_token,
        **({"eos_token": end_token} if end_token else {}),
        model_input_names=["input_ids", "attention_mask"],
        clean_up_tokenization_spaces=False,
    )


_NORMALIZER: Final = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
_CUTTER: Final = pre_tokenizers.Split(Regex(_WORD), behavior="removed", invert=True)
