"""Tokenization with spaCy's blank tokenizers, and words with their positions. Neither needs a trained pipeline.

Chinese is segmented by rjieba, the Rust version of jieba. `tokenize_words` does not use spaCy's tokens, because spaCy
splits "don't" into two tokens. Code that replaces a word must restore the rest of the sentence exactly.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

from unbag.data.corpora import validate_language_code

_JOINERS = {"zh": ""}
_MULTI_LANGUAGE: Final = "xx"
"""spaCy's tokenizer for languages without one of their own, which splits at spaces and punctuation."""
_OTHER_SEGMENTER: Final = ("ko",)  # with spaces between words; spaCy's tokenizer requires a segmenter of morphemes
_NO_SEGMENTER: Final = {"th": "Thai", "ja": "Japanese", "lo": "Lao", "km": "Khmer", "my": "Burmese", "bo": "Tibetan"}
"""Languages written without spaces, for which unbag has no segmenter."""
SEGMENTER: Final = "rjieba"
"""Package that segments Chinese."""


@dataclass(frozen=True, slots=True)
class TokenizedSentence:
    """Sentence with its tokens and the positions of its words."""

    sentence: str
    texts: tuple[str, ...]  # tokens without whitespace, since extra whitespace in a corpus has no meaning
    words: tuple[int, ...]  # positions in `texts` of the tokens that are not punctuation
    # Number of spaCy tokens that are not punctuation, where extra whitespace counts as a token. Only this count
    # reproduces the published numbers of examples (Sinha et al. 2021, Table 7).
    length: int
    joiner: str  # separator for joining tokens to a sentence


@lru_cache(maxsize=4)
def _tokenizer(language: str, characters: bool) -> Any:
    import spacy

    # Vietnamese has spaces between syllables. Joining syllables to words would require another package (pyvi).
    config = {"nlp": {"tokenizer": {"use_pyvi": False}}} if language == "vi" else {}
    tokenizer: Any = spacy.blank(_find_spacy_language(language), config=config).tokenizer
    if is_segmenter_required(language, characters=characters):
        # As with `segmenter="jieba"` in spaCy's config, which would import the package jieba.
        tokenizer.segmenter, tokenizer.jieba_seg = "jieba", _segmenter()
    return tokenizer


def _find_spacy_language(language: str) -> str:
    """Find the code of spaCy's tokenizer for a language."""
    from spacy.util import get_lang_class

    try:
        get_lang_class(language)
    except ImportError:
        return _MULTI_LANGUAGE
    return _MULTI_LANGUAGE if language in _OTHER_SEGMENTER else language


def _segmenter() -> Any:
    """Create a segmenter with the interface of the jieba package, which spaCy expects."""
    try:
        # rjieba has jieba's algorithm and dictionary in Rust. Unlike jieba, it is maintained, and loads no cache file
        # from the folder for temporary files. The two segment 19,166 of 19,173 sentences of OCNLI equally; in the
        # others, a Latin word with a hyphen ("B-52") is one word instead of three.
        import rjieba
    except ImportError as error:
        raise ImportError("segmenting Chinese requires rjieba: pip install 'unbag[zh]'") from error
    return SimpleNamespace(cut=lambda text, cut_all: rjieba.cut(text))


def validate_language(language: str) -> None:
    """Validate that unbag can split sentences of a language into words."""
    validate_language_code(language)
    if language in _NO_SEGMENTER:
        raise ValueError(
            f"--language: expected Chinese or a language with spaces between words, got "
            f"{_NO_SEGMENTER[language]}; use the sets plain and swapped, which do not require word segmentation"
        )


def has_word_tokenizer(language: str) -> bool:
    """Check whether the installed packages can split sentences of a language into words."""
    try:
        validate_language(language)
    except ValueError:
        return False
    return not is_segmenter_required(language) or find_spec(SEGMENTER) is not None


def is_segmenter_required(language: str, *, characters: bool = False) -> bool:
    """Check whether tokenization requires a word segmenter, as for Chinese text that is split into words."""
    return language == "zh" and not characters


def build_tokenizer_identity(language: str, *, characters: bool = False) -> str:
    """Build the identity string of a language's tokenizer: the versions of spaCy and of the segmenter."""
    _tokenizer(language, characters)  # raises if a package is missing
    segmenter = f", rjieba {version(SEGMENTER)}" if is_segmenter_required(language, characters=characters) else ""
    return f"spaCy {version('spacy')}, blank {language}{segmenter}"


@lru_cache(maxsize=1 << 14)  # in SNLI, three consecutive pairs share a premise
def tokenize(sentence: str, language: str = "en", *, characters: bool = False) -> TokenizedSentence:
    """Split a sentence into tokens, by the language code. `characters` splits Chinese into characters instead of words.

    Raises an `ImportError` if Chinese words are requested and rjieba is not installed.

    >>> tokenize("The dogs, too, aren't here.").texts
    ('The', 'dogs', ',', 'too', ',', 'are', "n't", 'here', '.')
    >>> tokenize("他在看书。", "zh").texts, tokenize("他在看书。", "zh", characters=True).texts
    (('他', '在', '看书', '。'), ('他', '在', '看', '书', '。'))
    """
    validate_language(language)
    texts: list[str] = []
    words: list[int] = []
    spaces = 0
    for token in _tokenizer(language, characters)(sentence):  # one pass, since each pass creates new token objects
        if token.is_space:
            spaces += 1
            continue
        if not token.is_punct:
            words.append(len(texts))
        texts.append(token.text)
    # The length in the paper counts whitespace tokens as words (`not token.is_punct`).
    length = len(words) + spaces
    return TokenizedSentence(sentence, tuple(texts), tuple(words), length, _JOINERS.get(language, " "))


_TOKEN: Final = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")


class WordSpan(NamedTuple):
    """Word, number or punctuation mark with its position: `sentence[start:end]`."""

    text: str
    start: int
    end: int

    @property
    def is_mark(self) -> bool:
        """Whether this is a punctuation mark, not a word or a number."""
        return not self.text[0].isalnum()


def tokenize_words(sentence: str) -> list[WordSpan]:
    """Split a sentence into words and punctuation marks.

    >>> [word.text for word in tokenize_words("The dog's toy isn't sun-lit.")]
    ['The', "dog's", 'toy', "isn't", 'sun', '-', 'lit', '.']
    """
    return [WordSpan(match.group(), match.start(), match.end()) for match in _TOKEN.finditer(sentence)]
