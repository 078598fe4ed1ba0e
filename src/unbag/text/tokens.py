"""Sentences as tokens: spaCy's blank tokenizer of the language, which needs no trained pipeline."""

from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import Any

_SPACE_BETWEEN_WORDS = {"en": " ", "zh": ""}


@dataclass(frozen=True, slots=True)
class Tokens:
    """A sentence cut into tokens.

    Attributes:
        texts: the tokens, white space left out: it is no word, and a second space in the corpus says nothing.
        words: positions in `texts` of the tokens that are not punctuation.
        length: tokens of the sentence that are not punctuation *as spaCy counts them*, which takes a run of extra white
            space for a token. Only so do the published numbers of used examples come out (Sinha et al. 2021, Table 7).
        joiner: what stands between two tokens when the sentence is put together again.
    """

    texts: tuple[str, ...]
    words: tuple[int, ...]
    length: int
    joiner: str


@lru_cache(maxsize=4)
def _tokenizer(language: str) -> Any:
    try:
        import spacy
    except ImportError as error:
        raise ImportError("cutting sentences into words needs spaCy: pip install 'unbag[parse]'") from error
    return spacy.blank(language).tokenizer


def tokenizer_identity(language: str) -> str:
    """Return what decides how a language's sentences are cut: spaCy's version, whose rules change."""
    _tokenizer(language)  # says so where spaCy is missing
    return f"spaCy {version('spacy')}, blank {language}"


@lru_cache(maxsize=1 << 14)  # a caption of SNLI is the premise of three pairs in a row
def tokenize(sentence: str, language: str = "en") -> Tokens:
    """Cut a sentence into tokens.

    Args:
        sentence: any text.
        language: `en`, or `zh` (characters, spaCy's default for Chinese).

    >>> tokenize("The dogs, too, aren't here.").texts
    ('The', 'dogs', ',', 'too', ',', 'are', "n't", 'here', '.')
    """
    if language not in _SPACE_BETWEEN_WORDS:
        raise ValueError(f"expected one of the languages {sorted(_SPACE_BETWEEN_WORDS)}, found {language!r}")
    tokens = _tokenizer(language)(sentence)
    kept = [token for token in tokens if not token.is_space]
    return Tokens(
        texts=tuple(token.text for token in kept),
        words=tuple(position for position, token in enumerate(kept) if not token.is_punct),
        length=sum(not token.is_punct for token in tokens),
        joiner=_SPACE_BETWEEN_WORDS[language],
    )
