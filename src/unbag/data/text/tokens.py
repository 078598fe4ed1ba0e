"""Tokens of sentences by spaCy's blank tokenizer of the language, and words with positions.

Neither needs a trained pipeline.

Chinese is written without spaces. Its words are cut by jieba, one of the two segmenters that spaCy supports; the other,
pkuseg, does not come with its models. `words` does not use spaCy's tokens: those cut "don't" in two, and a sentence in
which a word is replaced has to be put together again as it was.
"""

import re
import warnings
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

from unbag.data.corpora import LANGUAGES

_JOINERS = {"zh": ""}
_NO_RULES = {"sw": "xx"}
"""Languages that spaCy has no tokenizer of, by one that cuts at spaces and punctuation as of any alphabet."""
_NO_SEGMENTER = ("th",)
SEGMENTER: Final = "jieba"
"""The package that cuts Chinese."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """A sentence cut into tokens.

    Attributes:
        sentence: as it was given.
        texts: the tokens, white space left out: it is no word, and a second space in the corpus says nothing.
        words: positions in `texts` of the tokens that are not punctuation.
        length: tokens of the sentence that are not punctuation *as spaCy counts them*, which takes a run of extra white
            space for a token. Only so do the published numbers of used examples come out (Sinha et al. 2021, Table 7).
        joiner: what stands between two tokens when the sentence is put together again.
    """

    sentence: str
    texts: tuple[str, ...]
    words: tuple[int, ...]
    length: int
    joiner: str


@lru_cache(maxsize=4)
def _tokenizer(language: str, characters: bool) -> Any:
    import spacy

    # Vietnamese has spaces between syllables; joining these to words takes a package of its own, which is left out.
    config = {"nlp": {"tokenizer": {"use_pyvi": False}}} if language == "vi" else {}
    tokenizer: Any = spacy.blank(_NO_RULES.get(language, language), config=config).tokenizer
    if is_segmented(language, characters=characters):
        # What `segmenter="jieba"` in spaCy's config comes to, with a dictionary that is surely jieba's own.
        tokenizer.segmenter, tokenizer.jieba_seg = "jieba", _jieba()
    return tokenizer


def _jieba() -> Any:
    """Return a segmenter with the dictionary that jieba comes with.

    jieba's own way to it is a file in the folder for temporary files, which it takes whoever wrote it, in whichever
    version; and words that other code adds to jieba's shared segmenter would change ours.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in its patterns, and of pkg_resources
            import jieba
    except ImportError as error:
        raise ImportError("cutting Chinese into words needs jieba: pip install 'unbag[zh]'") from error
    segmenter = jieba.Tokenizer()
    segmenter.FREQ, segmenter.total = segmenter.gen_pfdict(segmenter.get_dict_file())
    segmenter.initialized = True
    return segmenter


def validate_language(language: str) -> None:
    """Refuse a language whose sentences cannot be cut into words here.

    Raises:
        ValueError: if it is none of `data.corpora.LANGUAGES`, or takes a segmenter that unbag does not have.
    """
    if language in _NO_SEGMENTER:
        raise ValueError(
            f"{LANGUAGES[language]} is written without spaces, and unbag has no segmenter for it; the sets plain and "
            "swapped need no words"
        )
    if language not in LANGUAGES:
        raise ValueError(f"expected one of the languages {', '.join(LANGUAGES)}, found {language!r}")


def has_words(language: str) -> bool:
    """Check whether sentences of a language can be cut into words here, with the packages that are installed."""
    try:
        validate_language(language)
    except ValueError:
        return False
    return not is_segmented(language) or find_spec(SEGMENTER) is not None


def is_segmented(language: str, *, characters: bool = False) -> bool:
    """Tell whether it takes a segmenter to cut a language's sentences."""
    return language == "zh" and not characters


def tokenizer_identity(language: str, *, characters: bool = False) -> str:
    """Return what decides how a language's sentences are cut: spaCy's version, whose rules change, and a segmenter's.

    Raises:
        ImportError: for Chinese words without jieba.
    """
    _tokenizer(language, characters)  # says so where one of them is missing
    segmenter = f", jieba {version('jieba')}" if is_segmented(language, characters=characters) else ""
    return f"spaCy {version('spacy')}, blank {language}{segmenter}"


@lru_cache(maxsize=1 << 14)  # a caption of SNLI is the premise of three pairs in a row
def tokenize(sentence: str, language: str = "en", *, characters: bool = False) -> Tokens:
    """Cut a sentence into tokens.

    Args:
        sentence: any text.
        language: one of `data.corpora.LANGUAGES` that has words here (`require_words`).
        characters: cut Chinese into characters, not into words; nothing to English.

    Raises:
        ImportError: for Chinese words without jieba.

    >>> tokenize("The dogs, too, aren't here.").texts
    ('The', 'dogs', ',', 'too', ',', 'are', "n't", 'here', '.')
    >>> tokenize("他在看书。", "zh").texts, tokenize("他在看书。", "zh", characters=True).texts
    (('他', '在', '看书', '。'), ('他', '在', '看', '书', '。'))
    """
    validate_language(language)
    texts: list[str] = []
    words: list[int] = []
    spaces = 0
    for token in _tokenizer(language, characters)(sentence):  # one pass: each makes the tokens' objects anew
        if token.is_space:
            spaces += 1
            continue
        if not token.is_punct:
            words.append(len(texts))
        texts.append(token.text)
    # The paper's length counts white space between tokens as words (`not token.is_punct`).
    length = len(words) + spaces
    return Tokens(sentence, tuple(texts), tuple(words), length, _JOINERS.get(language, " "))


_TOKEN: Final = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")


class Word(NamedTuple):
    """A word, a number or a mark, and where it is: `sentence[start:end]`."""

    text: str
    start: int
    end: int

    @property
    def is_mark(self) -> bool:
        """Whether it is punctuation."""
        return not self.text[0].isalnum()


def words(sentence: str) -> list[Word]:
    """Return the words and marks of a sentence.

    >>> [word.text for word in words("The dog's toy isn't sun-lit.")]
    ['The', "dog's", 'toy', "isn't", 'sun', '-', 'lit', '.']
    """
    return [Word(match.group(), match.start(), match.end()) for match in _TOKEN.finditer(sentence)]
