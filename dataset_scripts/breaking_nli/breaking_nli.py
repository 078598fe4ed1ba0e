"""Breaking NLI: pairs that differ in one word, the authors' own and such as are made from any corpus."""

import json
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Final

import datasets
import numpy as np
import pyarrow as pa

from unbag.baselines.lexical import embeddings
from unbag.baselines.lexical.fitting import Recipe, sources_record, training_sources
from unbag.challenge_sets import requirements
from unbag.challenge_sets.builder import Made
from unbag.challenge_sets.config import source_configs
from unbag.challenge_sets.official import OfficialConfig, OfficialSet
from unbag.challenge_sets.perturbations import corpus_counts, substitution, vocabulary_split
from unbag.challenge_sets.perturbations.corpus_counts import Bigrams, CorpusCounts, count_corpus, is_text
from unbag.challenge_sets.perturbations.substitution import (
    DEFAULT_Q,
    DEFAULT_SEED,
    SIMILARITY,
    Candidates,
    Row,
    Substituter,
    WordPair,
)
from unbag.challenge_sets.perturbations.word_lists import NEUTRAL_LISTS, WORD_LISTS
from unbag.challenge_sets.requirements import Requirement
from unbag.data.columns import round_to_field
from unbag.data.corpora import OFFICIAL
from unbag.data.downloads import PinnedFile
from unbag.data.sources import Example, Source
from unbag.utils.hashing import file_hash
from unbag.utils.safe_io import DataError

_CITATION = """@inproceedings{glockner-etal-2018-breaking,
  title = {Breaking {NLI} Systems with Sentences that Require Simple Lexical Inferences},
  author = {Glockner, Max and Shwartz, Vered and Goldberg, Yoav},
  booktitle = {Proceedings of ACL}, year = {2018}, url = {https://aclanthology.org/P18-2103}, eprint = {1805.02266},
  archivePrefix = {arXiv}}"""

# The commit is that at which an index of public repositories has the file; the bytes were those of a copy got elsewhere
# and are what the hash says, wherever they come from.
PINNED: Final = PinnedFile(
    url="https://raw.githubusercontent.com/BIU-NLP/Breaking_NLI/efbf39cbd7bfc1f6d4c5324f0530934b2926a736/"
    "breaking_nli_dataset.zip",
    sha256="b209e8d4ab15bcd8a5fc76be1c70452e4e253a92eaccb1c66c0b1b973e445371",
    name="breaking_nli_dataset.zip",
)
PAPERS_LEAST_BIGRAMS: Final = 10
"""How often Wikipedia has a bigram that a replacement makes (Glockner et al. 2018, section 3.1)."""

_MEMBER: Final = "data/dataset.jsonl"
_COLUMNS: Final = {"id": "pairID", "premise": "sentence1", "hypothesis": "sentence2", "label": "gold_label"}


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of the official zip file, as it names them.

    Raises:
        DataError: if it is another file, or a row has other columns.
    """
    columns = {*_COLUMNS.values(), "category", "annotator_labels"}
    try:
        with zipfile.ZipFile(path) as archive, archive.open(_MEMBER) as lines:
            for number, line in enumerate(lines, start=1):
                row = json.loads(line)
                if missing := sorted(columns - set(row)):
                    raise DataError(f"{path}, {_MEMBER}, line {number}: missing {missing}, found {sorted(row)}")
                yield row
    except (zipfile.BadZipFile, KeyError) as error:
        raise DataError(f"{path}: expected a zip file with {_MEMBER} ({error})") from error


@dataclass
class BreakingNliConfig(OfficialConfig):
    """Which pairs are made, and what is known of their words.

    Attributes:
        training: corpora, whose train splits are taken, and files of pairs: what the words and bigrams of a generated
            pair must occur in, and where `pair_frequency` is counted. By default the corpus the pairs are made from, or
            your own data; the official config then counts nothing.
        embeddings: word embeddings for the column `similarity`: a model of the Hub or a folder, a spaCy pipeline, or a
            text file of word vectors (`unbag.baselines.lexical.embeddings.find`); none by default.
        wordnet: whether WordNet's antonyms, synonyms and hypernyms come in beside the word lists.
        least_similarity: the least cosine, by `embeddings`, of a word and an antonym that WordNet has for it; a word
            that the table lacks has none. The paper has such a threshold, by GloVe, and does not say which.
        neutral: whether nouns are replaced by such as are below them too (dog for animal), whose label is neutral.
        prepositions: whether a preposition of place is adapted (in the kitchen, on the balcony), as in the paper; else
            what would need another one is not made.
        bigrams: corpora, whose train splits are taken, files of pairs, and texts (`.txt`, `.txt.gz`: a sentence a line,
            or a table of two words and their count a line), which must have each bigram that a replacement makes. By
            default the training corpus; the paper's are Wikipedia's.
        least_bigrams: how often they must have it: by default 10 times where `bigrams` are named, as in the paper, and
            once in a training corpus, which is far smaller than Wikipedia.
        q: replacements of each premise at most.
        seed: decides what is replaced and by what.
        words: `all`; or `held_out`, pairs whose old and new word are both of the half of the vocabulary that
            `unbag train … --augment` makes no pair with; or `training`, those of the half that it does.
    """

    FILES: ClassVar[tuple[str, ...]] = (*OfficialConfig.FILES, "training", "embeddings", "bigrams")

    training: Sequence[str] | None = None
    embeddings: str | None = None
    wordnet: bool = False
    least_similarity: float | None = None
    neutral: bool = False
    prepositions: bool = True
    bigrams: Sequence[str] | None = None
    least_bigrams: int | None = None
    q: int = DEFAULT_Q
    seed: int = DEFAULT_SEED
    words: str = vocabulary_split.ALL

    def own_options(self) -> dict[str, Any]:
        """Return the options that decide the rows: not the words, where they are all."""
        return {
            name: value
            for name, value in super().own_options().items()
            if (name, value) != ("words", vocabulary_split.ALL)
        }

    def check(self) -> None:
        """Refuse what cannot be.

        Raises:
            ValueError: if an option has no such value.
        """
        super().check()
        vocabulary_split.check(self.words)
        if self.is_official and self.words != vocabulary_split.ALL:
            raise ValueError(f"the config {OFFICIAL!r} has the authors' words, found words={self.words!r}")
        if self.is_official and (taken := [name for name in ("wordnet", "neutral", "bigrams") if getattr(self, name)]):
            raise ValueError(f"the config {OFFICIAL!r} replaces nothing, so it takes no {' or '.join(taken)}")
        least = self.least_similarity
        if least is not None and not (self.wordnet and self.embeddings and -1 <= least <= 1):
            raise ValueError(
                "expected least_similarity from -1 to 1 beside wordnet=true and embeddings, of whose antonyms and by "
                f"which it is, found {least:g} with wordnet={self.wordnet} and embeddings={self.embeddings}"
            )
        Substituter(CorpusCounts(Counter(), Counter(), Counter()), self.q, self.bigrams_at_least)  # refuses what cannot

    @property
    def bigrams_at_least(self) -> int:
        """How often each bigram must be attested."""
        if self.least_bigrams is None:
            return PAPERS_LEAST_BIGRAMS if self.bigrams else 1
        return self.least_bigrams


class BreakingNli(OfficialSet):
    """Premises, each with a hypothesis that differs in one word or phrase.

    Configs: `official`, the authors' 8,193 pairs; `<corpus>-<split>`, pairs made from the premises of a corpus;
    `data=…` takes data of your own.
    """

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = BreakingNliConfig
    FILE = PINNED
    LICENCE = "cc-by-sa-4.0"
    CREATORS: ClassVar[Mapping[Made, Sequence[str]]] = {
        "sentences": ("crowdsourced", "machine-generated"),
        "labels": ("crowdsourced",),  # the majority of three
    }
    MACHINE_MADE: ClassVar[frozenset[Made]] = frozenset({"sentences", "labels"})
    SCHEMA = substitution.SCHEMA
    CITATION = _CITATION
    UNFIT = "with a premise met before or no word to replace"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("embeddings"):
            kwargs["embeddings"] = embeddings.fixed_name(kwargs["embeddings"])
        super().__init__(*args, **kwargs)

    def sources(self, *, streaming: bool = False) -> list[Source]:
        """Open the official pairs, or the corpus whose premises are taken."""
        if not self.config.is_official:
            # In one piece: a premise that several examples have is taken once, wherever they are.
            return [self.open_pairs(streaming=streaming).with_one_span()]
        with zipfile.ZipFile(self.official_file()) as archive:
            return [self.official_source(Path(_MEMBER).name, archive.read(_MEMBER), _COLUMNS)]

    def tables(self, source: Source, examples: Iterator[Example]) -> Iterator[pa.Table]:
        """Yield the pairs; count, for the record, the candidates that were not used."""
        if self.config.is_official:
            yield from substitution.tables(self._authors(examples), self._measure)
            return
        rejected: Counter[str] = Counter()
        rows = substitution.generated(examples, self._substituter, rejected)
        yield from substitution.tables(rows, self._measure)
        self.keep_counts(rejected)

    def validate_names(self) -> None:
        """Refuse to begin without WordNet, too, where that is asked for."""
        super().validate_names()
        if self.config.wordnet:
            from unbag.baselines.wordnet.database import validate_installed

            validate_installed()

    def provenance(self) -> dict[str, Any]:
        """Return what the training corpus was, which tables, and why candidates were not used, by reason."""
        options: dict[str, Any] = {"attested_in": sources_record(self._training())}
        if self.config.bigrams:
            options["bigrams_of"] = [
                *sources_record(self._bigram_sources()),
                *({"origin": path.name, "split": "", "revision": file_hash(path)} for path in self._bigram_texts()),
            ]
        if not self.config.is_official:
            options["least_bigrams"] = self.config.bigrams_at_least
        if self.config.embeddings:
            options["embeddings"] = embeddings.identity_of(self.config.embeddings)
        if self.config.wordnet:
            from unbag.baselines.wordnet.database import open_wordnet

            options["wordnet_version"] = open_wordnet().identity
        if rejected := self.kept_counts():
            options["rejected"] = rejected
        return options

    def requirements(self) -> Iterator[Requirement]:
        """Yield the pairs, what their words must be attested in, and what is known of the words."""
        yield from super().requirements()
        config = self.config
        yield from requirements.of_corpora(config.training or ([config.corpus] if config.corpus else []))
        yield from requirements.of_corpora(config.bigrams or [])
        if config.embeddings:
            yield requirements.embeddings(config.embeddings)
        if config.wordnet:
            yield requirements.wordnet()

    def _authors(self, examples: Iterator[Example]) -> Iterator[Row]:
        categories = {str(row["pairID"]): row["category"] for row in read_rows(self.official_file())}
        for name, premise, hypothesis, label, annotators in examples:
            yield Row(name, name, premise, hypothesis, label, categories[name], annotators=annotators)

    def _training(self) -> list[Source]:
        """Open the training corpus; nothing for the official pairs where none is named."""
        config = self.config
        if config.training or config.corpus:
            names = tuple(config.training or (config.corpus,))
            return training_sources(Recipe(names, config.language))
        return [] if config.is_official else self.sources()

    def _bigram_texts(self) -> list[Path]:
        return [Path(name) for name in self.config.bigrams or () if is_text(name)]

    def _bigram_sources(self) -> list[Source]:
        names = tuple(name for name in self.config.bigrams or () if not is_text(name))
        return training_sources(Recipe(names, self.config.language)) if names else []

    @cached_property
    def _bigrams(self) -> Bigrams | None:
        """What must have the bigrams; None for the training corpus."""
        if not self.config.bigrams:
            return None
        of_pairs = (corpus_counts.of_examples(source.examples()) for source in self._bigram_sources())
        return corpus_counts.together(chain(of_pairs, map(corpus_counts.of_file, self._bigram_texts())))

    @cached_property
    def _corpus_counts(self) -> CorpusCounts:
        vocabulary = _LISTED
        if self.config.is_official:
            [source] = self.sources()
            vocabulary = frozenset(word.lower() for row in self._authors(source.examples()) for word in row.words())
        single = {word for word in vocabulary if word and " " not in word}
        return count_corpus(chain.from_iterable(source.examples() for source in self._training()), single)

    @cached_property
    def _substituter(self) -> Substituter:
        config = self.config
        more: Candidates | None = None
        if config.wordnet:
            from unbag.baselines.wordnet.database import open_wordnet
            from unbag.challenge_sets.perturbations.wordnet_candidates import WordNetCandidates

            more = WordNetCandidates(open_wordnet())
        return Substituter(
            self._corpus_counts,
            config.q,
            config.bigrams_at_least,
            config.seed,
            lists=(*WORD_LISTS, *(NEUTRAL_LISTS if config.neutral else ())),
            more=more,
            bigrams=self._bigrams,
            prepositions=config.prepositions,
            similarity=self._similarity,
            least_similarity=config.least_similarity,
            words=config.words,
        )

    def _measure(self, old: str, new: str) -> WordPair:
        frequency = self._corpus_counts.pairs.get((old, new), 0) if self._counts(old, new) else None
        return WordPair(frequency, self._similarity(old, new))

    def _counts(self, old: str, new: str) -> bool:
        """Tell whether contradictions with two words were counted: WordNet's words are too many."""
        if self.config.is_official:
            return bool(self.config.training)
        return {old, new} <= _LISTED

    @cached_property
    def _similarity(self) -> Callable[[str, str], float | None]:
        if not self.config.embeddings:
            return lambda old, new: None
        table = embeddings.load(self.config.embeddings)
        known: dict[str, Any] = {}

        def similarity(old: str, new: str) -> float | None:
            for word in (old, new):
                if word not in known:
                    [known[word]] = table.means([(word,)])
            norms = np.linalg.norm([known[old], known[new]], axis=1)
            if not norms.all():
                return None  # a word that the table lacks
            return float(round_to_field(np.clip(known[old] @ known[new] / norms.prod(), -1, 1), SIMILARITY))

        return similarity


_LISTED: Final = frozenset(word.lower() for words in WORD_LISTS for word in (*words.old, *words.new))


BreakingNli.BUILDER_CONFIGS = [
    BreakingNliConfig(name=OFFICIAL, version=BreakingNli.VERSION),
    *source_configs(BreakingNliConfig, BreakingNli.VERSION, language="en", two_way=False),
]
