"""A tokenizer of words, as a file that transformers reads with no code of ours.

A pair is `[BOS] premise [BOS] hypothesis`: both sides begin alike, so that a sentence encoder sees the same sentence on
either side, and no side is ever empty.

What a word is does not depend on its neighbours, and no word reaches over a boundary of spaCy's English tokenizer, by
which sentences are permuted (`unbag.data.text.tokens`): so a permuted sentence has the words of the original, and a
model that is blind to order answers both alike.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

PAD, UNKNOWN, START = "[PAD]", "[UNK]", "[BOS]"
SPECIAL: Final = (PAD, UNKNOWN, START)
"""The tokens that are no words; their ids are their positions."""

PAD_ID, UNKNOWN_ID, START_ID = range(3)

# What spaCy cuts without a mark, "cannot", "gonna" or "dont": the beginnings, and the endings that are cut off them.
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
        r"\S",  # any other mark by itself
    ]
)


def words_of(sentence: str) -> list[str]:
    """Return the words of a sentence, in lower case.

    >>> words_of("The T-shirt isn't John's.")
    ['the', 't', '-', 'shirt', 'is', "n't", 'john', "'s", '.']
    """
    return [word for word, _ in _CUTTER.pre_tokenize_str(_NORMALIZER.normalize_str(sentence))]


def vocabulary_of(sentences: Iterable[str], *, least: int = 1) -> list[str]:
    """Return the words that occur at least so often, the most frequent first, equally frequent ones by the alphabet."""
    counts = Counter(word for sentence in sentences for word in words_of(sentence))
    return sorted((word for word, n in counts.items() if n >= least), key=lambda word: (-counts[word], word))


def word_tokenizer(words: Sequence[str]) -> PreTrainedTokenizerFast:
    """Return a tokenizer of these words, whose ids begin after those of `SPECIAL`; any other word is `[UNK]`."""
    numbers = {word: number for number, word in enumerate((*SPECIAL, *words))}
    backend = Tokenizer(models.WordLevel(numbers, unk_token=UNKNOWN))
    backend.normalizer = _NORMALIZER
    backend.pre_tokenizer = _CUTTER
    return pairs_from(backend, start=START, end=None, pad=PAD, unknown=UNKNOWN)


def pairs_from(backend: Tokenizer, *, start: str, end: str | None, pad: str, unknown: str) -> PreTrainedTokenizerFast:
    """Return a tokenizer that begins both sides of a pair with the token `start`, and ends them with `end` if given.

    Args:
        backend: what cuts a sentence into tokens.
        start: the token by which a network finds the sides (`sides.both_sides`).
        end: a token that a pre-trained encoder wants at the end of a sentence.
        pad: the token that fills up.
        unknown: the token for what is not in the vocabulary.
    """
    one = f"{start} $A" + (f" {end}" if end else "")
    special = [(token, backend.token_to_id(token)) for token in (start, end) if token]
    backend.post_processor = processors.TemplateProcessing(
        single=one, pair=f"{one} {one.replace('$A', '$B')}", special_tokens=special
    )
    backend.no_truncation()
    backend.no_padding()
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token=start,
        pad_token=pad,
        unk_token=unknown,
        **({"eos_token": end} if end else {}),
        model_input_names=["input_ids", "attention_mask"],
        clean_up_tokenization_spaces=False,
    )


_NORMALIZER: Final = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
_CUTTER: Final = pre_tokenizers.Split(Regex(_WORD), behavior="removed", invert=True)
