"""Breaking NLI: pairs that differ in one word, from the authors or generated from a corpus."""

import json
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Final

import datasets
import numpy as np
import pyarrow as pa

from unbag.baselines.lexical import embeddings
from unbag.baselines.lexical.fitting import LexicalTrainingOptions, build_sources_record, open_training_sources
from unbag.challenge_sets import requirements
from unbag.challenge_sets.builder import PairPart
from unbag.challenge_sets.config import build_source_configs
from unbag.challenge_sets.official import OfficialConfig, OfficialSetBuilder
from unbag.challenge_sets.perturbations import corpus_counts, names, numbers, substitution, vocabulary_split
from unbag.challenge_sets.perturbations.corpus_counts import (
    BigramCounts,
    CorpusCounts,
    count_words_and_bigrams,
    is_bigram_file,
)
from unbag.challenge_sets.perturbations.names import AnnotatedSentence
from unbag.challenge_sets.perturbations.substitution import (
    DEFAULT_Q,
    DEFAULT_SEED,
    SIMILARITY,
    CandidateSource,
    SubstitutedSentence,
    Substituter,
    SubstitutionRow,
    WordPairStatistics,
)
from unbag.challenge_sets.perturbations.word_lists import NEUTRAL_LISTS, TEXT_LISTS, WORD_LISTS
from unbag.challenge_sets.requirements import Requirement
from unbag.data.columns import round_to_field
from unbag.data.corpora import OFFICIAL
from unbag.data.downloads import PinnedFile
from unbag.data.sources import Example, PairSource
from unbag.data.text.entities import EntityRecognizer, precompute_entities
from unbag.data.text.parses import Parser
from unbag.utils.hashing import hash_file
from unbag.utils.safe_io import DataError

_CITATION = """@inproceedings{glockner-etal-2018-breaking,
  title = {Breaking {NLI} Systems with Sentences that Require Simple Lexical Inferences},
  author = {Glockner, Max and Shwartz, Vered and Goldberg, Yoav},
  booktitle = {Proceedings of ACL}, year = {2018}, url = {https://aclanthology.org/P18-2103}, eprint = {1805.02266},
  archivePrefix = {arXiv}}"""

# The commit comes from an index of public repositories. The hash was computed from a copy of another origin, so that it
# verifies the download independently of the URL.
PINNED: Final = PinnedFile(
    url="https://raw.githubusercontent.com/BIU-NLP/Breaking_NLI/efbf39cbd7bfc1f6d4c5324f0530934b2926a736/"
    "breaking_nli_dataset.zip",
    sha256="b209e8d4ab15bcd8a5fc76be1c70452e4e253a92eaccb1c66c0b1b973e445371",
    name="breaking_nli_dataset.zip",
)
PAPERS_LEAST_BIGRAMS: Final = 10
"""Minimum Wikipedia count of each bigram created by a replacement (Glockner et al. 2018, section 3.1)."""

_MEMBER: Final = "data/dataset.jsonl"
_COLUMNS: Final = {"id": "pairID", "premise": "sentence1", "hypothesis": "sentence2", "label": "gold_label"}


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Iterate over the rows of the official zip file, with the column names of the file.

    Raises:
        DataError: If the file has unexpected contents, or a row lacks columns.
    """
    columns = {*_COLUMNS.values(), "category", "annotator_labels"}
    try:
        with zipfile.ZipFile(path) as archive, archive.open(_MEMBER) as lines:
            for number, line in enumerate(lines, start=1):
                row = json.loads(line)
                if missing := sorted(columns - set(row)):
                    raise DataError(
                        f"{path}, {_MEMBER}, line {number}: expected the columns {missing}, got {sorted(row)}"
                    )
                yield row
    except (zipfile.BadZipFile, KeyError) as error:
        raise DataError(f"{path}: expected a zip file with {_MEMBER} ({error})") from error


@dataclass
class BreakingNliConfig(OfficialConfig):
    """Options of the generated pairs and of their word statistics.

    Attributes:
        train_data: Corpora (train splits) and files of pairs that must contain the words and bigrams of a generated
            pair, also used to count `pair_frequency` (default: the corpus of the premises, or your own data). By
            default, the official config uses none and has no counts.
        embeddings: Word embeddings for the column `similarity`: a Hub model or a folder, a spaCy pipeline, or a text
            file of word vectors (`unbag.baselines.lexical.embeddings.find_embeddings`). Default: none.
        wordnet: Whether to use WordNet's antonyms, synonyms and hypernyms in addition to the word lists.
        min_similarity: Minimum cosine similarity, by `embeddings`, between a word and its WordNet antonym. Words
            without an embedding get no antonyms. The paper uses a threshold with GloVe, but does not report the value.
        neutral: Whether to also replace nouns with hyponyms (animal with dog), with the label neutral.
        prepositions: Whether to adapt prepositions of place (in the kitchen, on the balcony), as in the paper. If
            false, replacements that require another preposition are excluded.
        bigrams: Corpora (train splits), files of pairs, and texts that must contain each bigram created by a
            replacement (default: `train_data`; the paper uses Wikipedia). A text (`.txt`, `.txt.gz`) has one
            sentence per line, or two words and their count per line.
        min_bigrams: Minimum count of each created bigram (default: 10 with `bigrams`, as in the paper; 1 with a
            training corpus, which is far smaller than Wikipedia).
        q: Maximum number of replacements per premise.
        seed: Random seed for sampling replacements.
        words: Vocabulary of the replacements: `all`; `held_out` (the old and the new word are in the half of the
            vocabulary that `unbag train … --augment` does not use); or `training` (both words are in the other
            half).
    """

    FILES: ClassVar[tuple[str, ...]] = (*OfficialConfig.FILES, "train_data", "embeddings", "bigrams")
    UNRECORDED_DEFAULTS: ClassVar[frozenset[str]] = frozenset({"words"})

    train_data: Sequence[str] | None = None
    embeddings: str | None = None
    wordnet: bool = False
    min_similarity: float | None = None
    neutral: bool = False
    prepositions: bool = True
    bigrams: Sequence[str] | None = None
    min_bigrams: int | None = None
    q: int = DEFAULT_Q
    seed: int = DEFAULT_SEED
    words: str = vocabulary_split.ALL

    def validate(self) -> None:
        """Validate the options."""
        super().validate()
        vocabulary_split.validate_vocabulary_option(self.words)
        if self.is_official and self.words != vocabulary_split.ALL:
            raise ValueError(
                f"words: expected {vocabulary_split.ALL!r} with the config {OFFICIAL!r}, which has the authors' words, "
                f"got {self.words!r}"
            )
        if self.is_official and (given := [name for name in ("wordnet", "neutral", "bigrams") if getattr(self, name)]):
            raise ValueError(
                f"{', '.join(given)}: expected a corpus, got the config {OFFICIAL!r}, which replaces no words; omit "
                f"{'it' if len(given) == 1 else 'them'}, or choose a corpus"
            )
        least = self.min_similarity
        if least is not None and not (self.wordnet and self.embeddings and -1 <= least <= 1):
            raise ValueError(
                "min_similarity: expected a number from -1 to 1 together with wordnet=true and embeddings, got "
                f"{least:g} with wordnet={self.wordnet} and embeddings={self.embeddings}"
            )
        # The constructor validates the options. The empty counts are placeholders.
        Substituter(CorpusCounts(Counter(), Counter(), Counter()), self.q, self.min_bigram_count)

    @property
    def min_bigram_count(self) -> int:
        """Minimum count of each new bigram."""
        if self.min_bigrams is None:
            return PAPERS_LEAST_BIGRAMS if self.bigrams else 1
        return self.min_bigrams


class BreakingNliBuilder(OfficialSetBuilder):
    """Pairs of a premise and a hypothesis that differ in one word or phrase.

    Configs: `official`, the authors' 8,193 pairs; `<corpus>-<split>`, pairs generated from the premises of a corpus.
    `data=…` uses your own data.
    """

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = BreakingNliConfig
    FILE = PINNED
    LICENSE = "cc-by-sa-4.0"
    CREATORS: ClassVar[Mapping[PairPart, Sequence[str]]] = {
        "sentences": ("crowdsourced", "machine-generated"),
        "labels": ("crowdsourced",),  # majority of three annotators
    }
    MACHINE_MADE: ClassVar[frozenset[PairPart]] = frozenset({"sentences", "labels"})
    SCHEMA = substitution.SCHEMA
    CITATION = _CITATION
    EXCLUSION_REASON = "with a repeated premise or no word to replace"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("embeddings"):
            kwargs["embeddings"] = embeddings.pin_embedding_table_name(kwargs["embeddings"])
        super().__init__(*args, **kwargs)

    def open_sources(self, *, streaming: bool = False) -> list[PairSource]:
        """Open the official pairs, or the corpus of the premises."""
        if not self.config.is_official:
            # Not divided, since each distinct premise is used once and only a single process reads all of them.
            return [self.open_pairs(streaming=streaming).with_single_span()]
        with zipfile.ZipFile(self.find_official_file()) as archive:
            return [self.open_official_source(Path(_MEMBER).name, archive.read(_MEMBER), _COLUMNS)]

    def iter_tables(self, source: PairSource, examples: Iterator[Example]) -> Iterator[pa.Table]:
        """Iterate over the pairs, and count the rejected candidates for the record."""
        if self.config.is_official:
            yield from substitution.iter_substitution_tables(self._authors(examples), self._measure)
            return
        rejected: Counter[str] = Counter()
        more = self._text_pairs(source, rejected) if self.config.text else lambda premise: ()
        rows = substitution.generate_substitution_rows(examples, self._substituter, rejected, more)
        yield from substitution.iter_substitution_tables(rows, self._measure)
        self.save_build_counts(rejected)

    def validate_resources(self) -> None:
        """Validate the names, and that WordNet is installed if the options need it."""
        super().validate_resources()
        if self.config.wordnet:
            from unbag.baselines.wordnet.database import validate_wordnet

            validate_wordnet()

    def describe_provenance(self) -> dict[str, Any]:
        """Describe the training corpus, the bigram sources, the embeddings and the rejected candidates by reason."""
        # Everything outside the pairs that determines the rows, so that a stored result can be traced to its inputs.
        options: dict[str, Any] = {"attested_in": build_sources_record(self._training())}
        if self.config.bigrams:
            options["bigrams_of"] = [
                *build_sources_record(self._bigram_sources()),
                *({"origin": path.name, "split": "", "revision": hash_file(path)} for path in self._bigram_texts()),
            ]
        if not self.config.is_official:
            options["min_bigrams"] = self.config.min_bigram_count
        if self.config.embeddings:
            options["embeddings"] = embeddings.compute_embedding_table_identity(self.config.embeddings)
        if self.config.wordnet:
            from unbag.baselines.wordnet.database import open_wordnet

            options["wordnet_version"] = open_wordnet().identity
        if rejected := self.load_build_counts():
            options["rejected"] = rejected
        return options

    def iter_requirements(self) -> Iterator[Requirement]:
        """Iterate over the requirements: pairs, training and bigram corpora, embeddings and WordNet."""
        yield from super().iter_requirements()
        config = self.config
        yield from requirements.iter_train_split_requirements(
            config.train_data or ([config.corpus] if config.corpus else [])
        )
        yield from requirements.iter_train_split_requirements(config.bigrams or [])
        if config.embeddings:
            yield requirements.build_embeddings_requirement(config.embeddings)
        if config.wordnet:
            yield requirements.build_wordnet_requirement()

    def _authors(self, examples: Iterator[Example]) -> Iterator[SubstitutionRow]:
        # The data reader keeps the columns of a pair only, so that the category is looked up in the file.
        categories = {str(row["pairID"]): row["category"] for row in read_rows(self.find_official_file())}
        for name, premise, hypothesis, label, annotators, _ in examples:
            yield SubstitutionRow(name, name, premise, hypothesis, label, categories[name], annotators=annotators)

    def _training(self) -> list[PairSource]:
        """Open the training corpora; empty for the official pairs without the option `train_data`."""
        config = self.config
        if config.train_data or config.corpus:
            names = tuple(config.train_data or (config.corpus,))
            return open_training_sources(LexicalTrainingOptions(names, config.language))
        return [] if config.is_official else self.open_sources()

    def _bigram_texts(self) -> list[Path]:
        return [Path(name) for name in self.config.bigrams or () if is_bigram_file(name)]

    def _bigram_sources(self) -> list[PairSource]:
        names = tuple(name for name in self.config.bigrams or () if not is_bigram_file(name))
        return open_training_sources(LexicalTrainingOptions(names, self.config.language)) if names else []

    @cached_property
    def _bigrams(self) -> BigramCounts | None:
        """Bigram counts of the bigram sources; None if the training corpus is used."""
        if not self.config.bigrams:
            return None
        of_pairs = (corpus_counts.count_bigrams(source.iter_examples()) for source in self._bigram_sources())
        return corpus_counts.merge_bigram_counts(chain(of_pairs, map(corpus_counts.read_bigrams, self._bigram_texts())))

    @cached_property
    def _corpus_counts(self) -> CorpusCounts:
        vocabulary = _LISTED
        if self.config.is_official:
            [source] = self.open_sources()
            vocabulary = frozenset(
                word.lower() for row in self._authors(source.iter_examples()) for word in row.words()
            )
        single = {word for word in vocabulary if word and " " not in word}
        return count_words_and_bigrams(
            chain.from_iterable(source.iter_examples() for source in self._training()), single
        )

    @cached_property
    def _substituter(self) -> Substituter:
        config = self.config
        more: CandidateSource | None = None
        if config.wordnet:
            from unbag.baselines.wordnet.database import open_wordnet
            from unbag.challenge_sets.perturbations.wordnet_candidates import WordNetCandidates

            more = WordNetCandidates(open_wordnet())
        return Substituter(
            self._corpus_counts,
            config.q,
            config.min_bigram_count,
            config.seed,
            lists=(*(TEXT_LISTS if config.text else WORD_LISTS), *(NEUTRAL_LISTS if config.neutral else ())),
            more=more,
            bigrams=self._bigrams,
            prepositions=config.prepositions,
            similarity=self._similarity,
            min_similarity=config.min_similarity,
            words=config.words,
        )

    def _text_pairs(self, source: PairSource, rejected: Counter[str]) -> Callable[[str], list[SubstitutedSentence]]:
        """Build the function that finds the pairs of a sentence of the user's text that differ in a number or name."""
        config = self.config
        with_names = names.build_name_pairs(partial(self._annotated, source), config.seed, rejected)

        def pairs(premise: str) -> list[SubstitutedSentence]:
            exchanged = [with_names[premise]] if premise in with_names else []
            found = [*numbers.build_number_pairs(premise, config.seed), *exchanged]
            return [
                each for each in found if vocabulary_split.are_in_vocabulary_half(config.words, (each.old, each.new))
            ]

        return pairs

    def _annotated(self, source: PairSource) -> Iterator[AnnotatedSentence]:
        """Iterate over the parses and entities of a text, which are read from the cache after the first time."""
        pipeline = self.config.parser_name
        precompute_entities(pipeline, (example.premise for example in source.iter_examples()))
        # Three passes over the source, since holding the sentences of a large text would need too much memory.
        parses = Parser(pipeline).parse(example.premise for example in source.iter_examples())
        entities = EntityRecognizer(pipeline).recognize(example.premise for example in source.iter_examples())
        return zip(parses, entities, strict=True)

    def _measure(self, old: str, new: str) -> WordPairStatistics:
        frequency = self._corpus_counts.pairs.get((old, new), 0) if self._is_counted(old, new) else None
        return WordPairStatistics(frequency, self._similarity(old, new))

    def _is_counted(self, old: str, new: str) -> bool:
        """Check whether pair frequencies are available for two words. WordNet has too many words to count all pairs."""
        if self.config.is_official:
            return bool(self.config.train_data)
        return {old, new} <= _LISTED

    @cached_property
    def _similarity(self) -> Callable[[str, str], float | None]:
        if not self.config.embeddings:
            return lambda old, new: None
        table = embeddings.load_embeddings(self.config.embeddings)
        vectors: dict[str, Any] = {}

        def similarity(old: str, new: str) -> float | None:
            for word in (old, new):
                if word not in vectors:
                    # The mean of one word is its vector. The table also handles words of several subword tokens.
                    [vectors[word]] = table.compute_means([(word,)])
            norms = np.linalg.norm([vectors[old], vectors[new]], axis=1)
            if not norms.all():
                return None  # a zero vector means that the table lacks a word
            # Clipped, since rounding errors can push the cosine of parallel vectors slightly beyond 1.
            return float(round_to_field(np.clip(vectors[old] @ vectors[new] / norms.prod(), -1, 1), SIMILARITY))

        return similarity


_LISTED: Final = frozenset(word.lower() for words in WORD_LISTS for word in (*words.old, *words.new))


BreakingNliBuilder.BUILDER_CONFIGS = [
    BreakingNliConfig(name=OFFICIAL, version=BreakingNliBuilder.VERSION),
    *build_source_configs(BreakingNliConfig, BreakingNliBuilder.VERSION, language="en", has_two_label_corpora=False),
]
