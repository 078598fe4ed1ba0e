"""Fitting of lexical models to corpora, with a cache, and cross-fitting.

Cross-fitting divides the pairs into folds by the words of their premises, and fits one model per fold to all other
folds. Pairs with the same premise words, in any order, are therefore in the same fold. A new pair, for example one
generated from a training premise, is scored by the model that was fitted without the fold of its premise.
"""

import hashlib
import heapq
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag.baselines.lexical.features import Words
from unbag.baselines.lexical.model import LexicalModel, fit_lexical_model
from unbag.baselines.lexical.words import ALL, BY_CONTEXT, BY_TYPE, WordSelector
from unbag.data.corpora import CORPORA, LANGUAGES, validate_language_code
from unbag.data.labels import LABELS
from unbag.data.sources import Example, PairSource, open_corpus, open_data, validate_corpus_names
from unbag.data.text import tagging as pipelines
from unbag.data.text.tokens import SEGMENTER, is_segmenter_required
from unbag.utils import checksums, locks, optional_deps, parallel, rng
from unbag.utils.files import get_cache_folder
from unbag.utils.hashing import hash_package_code, hash_texts
from unbag.utils.options import validate_int, validate_options

DEFAULT_TRAINING: Final[Mapping[str, tuple[str, ...]]] = {
    **{language: (f"xnli_{language}",) for language in LANGUAGES},
    "en": ("snli", "mnli"),
    "zh": ("ocnli",),
}
"""Default training corpora by language. For English, they are those of the paper (Nie et al. 2019, section 5.2)."""

DEFAULT_SEED: Final = 13
FOLDS: Final = 5
_CHUNK: Final = 2_000  # examples whose words are selected at a time, and per progress update
_CODE: Final = ("baselines/lexical", "data", "utils/rng.py")
"""Code that may affect a fitted model. After a change in one of these files, cached models are not reused."""


Progress = Callable[[int, int], None]
"""Callback `progress(done, total)` with numbers of pairs. Each pair counts once per pass: there is one additional pass
if words are selected by type, and one if several processes tag the sentences in advance."""


@dataclass(frozen=True)
class LexicalTrainingOptions:
    """Training options of a lexical model."""

    # Names of base corpora (their training splits are used) and files of pairs; None for the default of the language.
    train_data: tuple[str, ...] | None = None
    # Code of the language; None for that of the training corpora, English for files.
    language: str = None  # type: ignore[assignment]  # `__post_init__` replaces None
    pipeline: str | None = None  # spaCy pipeline that selects the words (`WordSelector`); None for the default
    tags: str = BY_TYPE  # tags that select content words; `BY_CONTEXT` as in the paper
    hypothesis_only: bool = False
    max_train_pairs: int | None = None  # number of training pairs to sample; None for all pairs
    l2: float | None = None  # L2 penalty; None to select the penalty on held-out pairs
    seed: int = DEFAULT_SEED  # for sampling, held-out pairs and folds

    def __post_init__(self) -> None:
        """Validate the options."""
        if self.language is None:
            languages = sorted({CORPORA[name].language for name in self.train_data or () if name in CORPORA})
            if len(languages) > 1:
                raise ValueError(
                    f"train_data: expected corpora in one language, got {' and '.join(languages)}; pass fewer corpora"
                )
            object.__setattr__(self, "language", languages[0] if languages else "en")
        validate_options(LexicalTrainingOptions, vars(self))
        validate_language_code(self.language)
        if not self.train_data and self.language not in DEFAULT_TRAINING:
            raise ValueError(
                f"train_data: expected training pairs in the language {self.language!r}, got none (there are defaults "
                f"for {', '.join(sorted(DEFAULT_TRAINING))}); pass files or corpora in this language"
            )
        if self.tags not in (BY_TYPE, BY_CONTEXT):
            raise ValueError(f"tags: expected {BY_TYPE} or {BY_CONTEXT}, got {self.tags!r}")
        if self.max_train_pairs is not None:
            validate_int("max_train_pairs", self.max_train_pairs, minimum=1)
        if self.l2 is not None and not 0 < self.l2 < math.inf:
            raise ValueError(f"l2: expected a positive finite number, got {self.l2}")


@dataclass(frozen=True)
class TrainingFold:
    """Fold of the training pairs for cross-fitting. Identical pairs are always in the same fold."""

    index: int
    n_folds: int
    seed: int

    def contains(self, example: Example) -> bool:
        """Check whether a pair belongs to the fold."""
        return compute_fold_index(example, self.n_folds, self.seed) == self.index


def compute_fold_index(example: Example, n_folds: int, seed: int) -> int:
    """Compute the fold index of a pair from the seed and its two sentences."""
    return int(rng.compute_key(seed, "fold", example.premise, example.hypothesis)) % n_folds


def open_training_sources(options: LexicalTrainingOptions) -> list[PairSource]:
    """Open the corpora and files that the training options name."""
    names = options.train_data or DEFAULT_TRAINING[options.language]
    validate_corpus_names(names)
    sources = []
    for name in names:
        if name in CORPORA:
            sources += [open_corpus(CORPORA[name], split) for split in CORPORA[name].train]
        else:
            # The model counts words, so it does not matter how the passages of a list are joined.
            sources.append(open_data(name, language=options.language, join_passages=True, has_options=False))
    return sources


def build_sources_record(sources: Sequence[PairSource]) -> list[dict[str, str]]:
    """Build a JSON record with the origin, split and revision of each source."""
    return [{"origin": source.origin, "split": source.split, "revision": source.revision} for source in sources]


def fit_or_load_lexical_model(
    options: LexicalTrainingOptions,
    fold: TrainingFold | None = None,
    *,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> Path:
    """Fit a lexical model to the pairs outside a fold, or find it in the cache. Returns the folder of the model.

    `progress` is called with the number of processed pairs and the total, unless the model is cached.
    """
    if options.pipeline and options.pipeline != ALL:
        pipelines.validate_pipeline(options.pipeline)
    if is_segmenter_required(options.language):
        optional_deps.validate_dependency(SEGMENTER)
    sources = open_training_sources(options)
    reader = WordSelector(options.pipeline, options.language, options.tags)
    folder = (cache or get_cache_folder("lexical")) / _key(options, sources, reader.identity, fold)
    if _is_stored(folder):
        return folder
    # A second process waits and then loads the result, because a fit can take hours.
    with locks.hold_lock(folder, "fitting a lexical model", wait=True):
        if _is_stored(folder):
            return folder
        l2 = options.l2
        # All folds use the penalty of the model of all pairs, so that they differ only in their training pairs.
        if fold is not None and l2 is None:
            l2 = load_lexical_model(fit_or_load_lexical_model(options, cache=cache)).record["l2"]
        examples = [
            example for example in _read_examples(options, sources) if fold is None or not fold.contains(example)
        ]
        pairs = _select_words(examples, reader, options, progress)
        model = fit_lexical_model(pairs, [example.label for example in examples], l2=l2, seed=options.seed)
        model.record.update(
            training=build_sources_record(sources),
            words=reader.identity,
            pipeline=options.pipeline,
            tags=_tags(options),
            language=options.language,
            hypothesis_only=options.hypothesis_only,
        )
        if fold is not None:
            model.record["without_fold"] = f"{fold.index} of {fold.n_folds}"
        model.save(folder)
    return folder


def _is_stored(folder: Path) -> bool:
    """Check whether a complete model is stored. A corrupted model is moved to another folder."""
    if not checksums.has_checksums(folder):
        return False
    if damage := checksums.find_corruption(folder):
        checksums.remove_damaged(folder, damage)
    return not damage


@lru_cache(maxsize=8)  # five folds of one recipe, and three other models
def load_lexical_model(folder: Path) -> LexicalModel:
    """Load a fitted lexical model. Repeated calls return the same object."""
    return LexicalModel.load(folder)


def _read_examples(options: LexicalTrainingOptions, sources: Sequence[PairSource]) -> Iterable[Example]:
    """Read all training pairs, or a random sample that depends on the seed and their ids."""
    examples = (example for source in sources for example in source.iter_examples())
    n = options.max_train_pairs
    if n is None:
        return examples
    # The sample consists of the pairs with the smallest random keys, so it does not depend on the order of the pairs.
    keyed = (
        (int(rng.compute_key(options.seed, "training", example.source_id)), position, example)
        for position, example in enumerate(examples)
    )
    sample = heapq.nsmallest(n, keyed)  # positions are unique, so examples are not compared
    if len(sample) < n:
        raise ValueError(f"max_train_pairs: expected at most {len(sample):,} pairs, got {n:,}")
    return (example for _, _, example in sorted(sample, key=itemgetter(1)))


def _select_words(
    examples: Sequence[Example], reader: WordSelector, options: LexicalTrainingOptions, progress: Progress | None
) -> list[tuple[Words, Words]]:
    """Select the words of the training pairs."""
    pairs: list[tuple[Words, Words]] = []
    shared: dict[Words, Words] = {}
    needs_several_processes = parallel.get_num_proc() > 1
    total = (1 + reader.is_by_type + needs_several_processes) * len(examples)
    done = 0

    def report(n: int) -> None:
        nonlocal done
        done += n
        if progress is not None:
            progress(done, total)

    def chunks() -> Iterator[list[Example]]:
        for start in range(0, len(examples), _CHUNK):
            yield [*examples[start : start + _CHUNK]]
            report(min(_CHUNK, len(examples) - start))

    report(0)
    if needs_several_processes:
        reader.precompute_tags(text for chunk in chunks() for text in _texts(chunk))
    if reader.is_by_type:
        for chunk in chunks():
            reader.count_tags(_texts(chunk))
    for chunk in chunks():
        # Millions of pairs repeat few words. Interned texts and shared tuples need a fraction of the memory.
        words = {
            text: shared.setdefault(content, tuple(map(sys.intern, content)))
            for text, content in reader.select_words(_texts(chunk)).items()
        }
        for example in chunk:
            premise = () if options.hypothesis_only else words[example.premise]
            pairs.append((premise, words[example.hypothesis]))
    return pairs


def _texts(examples: Sequence[Example]) -> list[str]:
    return [text for example in examples for text in (example.premise, example.hypothesis)]


def _tags(recipe: LexicalTrainingOptions) -> str | None:
    """Normalize the option `tags` to None if all words are used, because tags then have no effect."""
    return None if recipe.pipeline == ALL else recipe.tags


def _key(recipe: LexicalTrainingOptions, sources: Sequence[PairSource], words: str, fold: TrainingFold | None) -> str:
    """Compute the folder name of a model, a hash of all inputs that affect the model."""
    record: dict[str, Any] = {
        "recipe": asdict(recipe) | {"train_data": None, "tags": _tags(recipe)},
        "sources": [(source.origin, source.split, source.revision) for source in sources],
        "words": words,
        "fold": asdict(fold) if fold else None,
        "code": hash_package_code(*_CODE),
    }
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:16]


FLOOR: Final = 1e-6
"""Lower bound of the probabilities, which bounds their logarithms for training with a biased model."""


class CrossFittedModel:
    """Cross-fitted bag-of-words model: each pair is predicted by a model that was fitted without this pair.

    All words are used, not only content words. Their accuracy is higher (60 % instead of 57 % on 22,588 pairs of SNLI),
    they require no tagger, and they do not depend on word order. Each model is stored in the cache as soon as it is
    fitted. The attribute `identity` identifies all inputs that affect the predictions.
    """

    def __init__(
        self,
        examples: Sequence[Example],
        *,
        language: str = "en",
        hypothesis_only: bool = False,
        folds: int = FOLDS,
        seed: int = DEFAULT_SEED,
        cache: Path | None = None,
    ) -> None:
        """Fit all models that are not in the cache. The penalty is selected once, on all pairs.

        Args:
            seed: Random seed for the folds of the premises.
        """
        self._reader = WordSelector(ALL, language)
        self._hypothesis_only, self._folds, self._seed = hypothesis_only, folds, seed
        self._words: dict[str, Words] = {}
        record = {
            "pairs": hash_texts((example.premise, example.hypothesis, example.label) for example in examples),
            "words": self._reader.identity,
            **{"hypothesis_only": hypothesis_only, "folds": folds, "seed": seed},
            "code": hash_package_code(*_CODE),
        }
        key = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:16]
        self.identity = f"cross-fitted {'hypothesis' if hypothesis_only else 'lexical'} {key}"
        self._folder = (cache or get_cache_folder("lexical")) / f"cross-fitted-{key}"
        self._fit(examples)

    def compute_log_probabilities(self, examples: Sequence[Example]) -> NDArray[np.float32]:
        """Predict log-probabilities of `data.labels.LABELS`, shape (n, 3). They are at least log(`FLOOR`)."""
        self._read(examples)
        folds = self._folds_of(examples)
        probabilities = np.empty((len(examples), len(LABELS)), dtype=np.float32)
        for fold in range(self._folds):  # one model in memory at a time, because a model of SNLI takes hundreds of MB
            rows = np.flatnonzero(folds == fold)
            if len(rows):
                model = LexicalModel.load(self._path(fold))
                probabilities[rows] = model.probabilities([self._pair(examples[row]) for row in rows.tolist()])
        logarithms: NDArray[np.float32] = np.log(np.maximum(probabilities, np.float32(FLOOR)))
        return logarithms

    def _fit(self, examples: Sequence[Example]) -> None:
        missing = [fold for fold in range(self._folds) if not _is_stored(self._path(fold))]
        if not missing:
            return
        self._read(examples)
        folds = self._folds_of(examples)
        pairs = [self._pair(example) for example in examples]
        labels = [example.label for example in examples]
        for fold in missing:
            if lacking := set(LABELS) - {label for label, at in zip(labels, folds, strict=True) if at != fold}:
                raise ValueError(
                    f"cross-fitting: expected training pairs of every label outside fold {fold}, got none labelled "
                    f"{', '.join(sorted(lacking))} in {len(examples):,} pairs; train on more pairs, or use another bias"
                )
        # Stored as a model of all pairs, so that a restarted fit does not select the penalty again.
        penalty = self._folder / "penalty"
        if not _is_stored(penalty):
            fit_lexical_model(pairs, labels, seed=self._seed).save(penalty)
        l2 = float(LexicalModel.load(penalty).record["l2"])
        for fold in missing:
            rows = np.flatnonzero(folds != fold).tolist()
            fit_lexical_model([pairs[row] for row in rows], [labels[row] for row in rows], l2=l2).save(self._path(fold))

    def _path(self, fold: int) -> Path:
        return self._folder / f"without-{fold}"

    def _read(self, examples: Sequence[Example]) -> None:
        self._words |= self._reader.select_words(set(_texts(examples)) - self._words.keys())

    def _pair(self, example: Example) -> tuple[Words, Words]:
        return () if self._hypothesis_only else self._words[example.premise], self._words[example.hypothesis]

    def _folds_of(self, examples: Sequence[Example]) -> NDArray[np.int64]:
        premises = {example.premise for example in examples}
        fold = {text: int(rng.compute_key(self._seed, "fold", *self._words[text])) % self._folds for text in premises}
        return np.array([fold[example.premise] for example in examples], dtype=np.int64)
