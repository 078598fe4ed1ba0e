"""Fitting of lexical models to corpora, with a cache, and cross-fitting.

Cross-fitting divides the pairs into folds by the words of their premises, and fits one model per fold to all other
folds. Pairs with the same premise words, in any order, are therefore in the same fold. A new pair, for example one
generated from a training premise, is scored by the model that was fitted without the fold of its premise.
"""

import hashlib
import heapq
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import count
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unbag.baselines.lexical.features import Words, collect_words
from unbag.baselines.lexical.model import LexicalModel, fit_lexical_model
from unbag.baselines.lexical.words import ALL, BY_TYPE, WordSelector
from unbag.data.corpora import CORPORA, LANGUAGES, validate_language_code
from unbag.data.labels import LABELS
from unbag.data.sources import Example, PairSource, open_training_sources
from unbag.data.text import tagging as pipelines
from unbag.data.text.tokens import SEGMENTER, build_tokenizer_identity, is_segmenter_required
from unbag.utils import checksums, locks, optional_deps, parallel, rng
from unbag.utils.files import get_cache_folder
from unbag.utils.hashing import hash_package_code, hash_texts
from unbag.utils.options import PositiveFloat, PositiveInt, validate_options

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
    tags: Literal["type", "context"] = BY_TYPE  # tags that select content words; `BY_CONTEXT` as in the paper
    hypothesis_only: bool = False
    max_train_pairs: PositiveInt | None = None  # number of training pairs to sample; None for all pairs
    l2: PositiveFloat | None = None  # L2 penalty; None to select the penalty on held-out pairs
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

    def open_sources(self) -> list[PairSource]:
        """Open the training corpora and files."""
        return open_training_sources(self.train_data or DEFAULT_TRAINING[self.language], language=self.language)


def compute_fold_index(example: Example, n_folds: int, seed: int) -> int:
    """Compute the fold index of a pair from the seed and its two sentences."""
    return int(rng.compute_key(seed, "fold", example.premise, example.hypothesis)) % n_folds


def fit_or_load_lexical_model(options: LexicalTrainingOptions, *, progress: Progress | None = None) -> Path:
    """Fit a lexical model to all training pairs, or find it in the cache. Returns the folder of the model.

    `progress` is called with the number of processed pairs and the total, unless the model is cached.
    """
    return fit_or_load_lexical_models(options, 1, progress=progress)[0]


def fit_or_load_lexical_models(
    options: LexicalTrainingOptions, n_folds: int, *, progress: Progress | None = None
) -> list[Path]:
    """Fit one lexical model per fold to the pairs outside the fold, or find the models in the cache.

    A single fold means a model of all pairs. Returns the folders of the models.
    """
    if options.pipeline and options.pipeline != ALL:
        pipelines.validate_pipeline(options.pipeline)
    if is_segmenter_required(options.language):
        optional_deps.validate_dependency(SEGMENTER)
    sources = options.open_sources()
    reader = WordSelector(options.pipeline, options.language, options.tags)
    record = {
        "training": [source.record for source in sources],
        "words": reader.identity,
        "pipeline": options.pipeline,
        "tags": None if options.pipeline == ALL else options.tags,  # tags have no effect if all words are used
        "language": options.language,
        "hypothesis_only": options.hypothesis_only,
    }
    limits = {"l2": options.l2, "max_train_pairs": options.max_train_pairs, "seed": options.seed}
    whole = get_cache_folder("lexical") / _compute_key({**record, **limits})
    folders = [whole]
    if n_folds > 1:
        folders = [whole.with_name(f"{whole.name}-without-{fold}-of-{n_folds}") for fold in range(n_folds)]
    if all(map(_is_stored, folders)):
        return folders
    # A second process waits and then loads the result, because a fit can take hours.
    with locks.hold_lock(whole, "fitting a lexical model", wait=True):
        if all(map(_is_stored, folders)):
            return folders
        examples = list(_read_examples(options, sources))
        words = _select_words(examples, reader, options, progress)
        pairs = _TrainingPairs(words, [example.label for example in examples], options.seed, record)
        if n_folds == 1:
            pairs.fit(whole, options.l2)
        else:
            folds = np.array([compute_fold_index(example, n_folds, options.seed) for example in examples])
            pairs.fit_folds(folders, whole, folds, options.l2)
    return folders


class _TrainingPairs(NamedTuple):
    """Words and labels of training pairs, and the fields that the models fitted to them record."""

    words: Sequence[tuple[Words, Words]]
    labels: Sequence[str]
    seed: int
    record: Mapping[str, Any]

    def fit(self, folder: Path, l2: float | None) -> None:
        """Fit a model to the pairs, and store it."""
        model = fit_lexical_model(self.words, self.labels, l2=l2, seed=self.seed)
        model.record.update(self.record)
        model.save(folder)

    def fit_folds(self, folders: Sequence[Path], whole: Path, folds: NDArray[np.int64], l2: float | None) -> None:
        """Fit the models of the folds that are not stored. `folds` has the fold of each pair, shape (n,).

        All use the penalty of the model of all pairs, so that they differ only in their training pairs. This model is
        stored in the folder `whole`, so that a restarted fit does not select the penalty again.
        """
        if l2 is None:
            if not _is_stored(whole):
                self.fit(whole, None)
            l2 = float(LexicalModel.load(whole).record["l2"])
        for fold, folder in enumerate(folders):
            if not _is_stored(folder):
                rows = np.flatnonzero(folds != fold).tolist()
                words, labels = [self.words[row] for row in rows], [self.labels[row] for row in rows]
                record = {**self.record, "without_fold": f"{fold} of {len(folders)}"}
                _TrainingPairs(words, labels, self.seed, record).fit(folder, l2)


def _is_stored(folder: Path) -> bool:
    """Check whether a complete model is stored. A corrupted model is removed."""
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
    n = len(examples)
    total = (1 + reader.is_by_type + needs_several_processes) * n
    passes = count()

    def report(done: int) -> None:
        if progress is not None:
            progress(done, total)

    def chunks() -> Iterator[Sequence[Example]]:
        before = next(passes) * n
        for start in range(0, n, _CHUNK):
            yield examples[start : start + _CHUNK]
            report(before + min(start + _CHUNK, n))

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


def _compute_key(record: Mapping[str, Any]) -> str:
    """Compute the folder name of a model, a hash of all inputs that affect the model."""
    content = {**record, "code": hash_package_code(*_CODE)}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


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
    ) -> None:
        """Fit all models that are not in the cache. `seed` determines the folds of the premises."""
        self._hypothesis_only, self._seed = hypothesis_only, seed
        self._words = lru_cache(maxsize=None)(partial(collect_words, language=language))
        key = _compute_key(
            {
                "pairs": hash_texts((example.premise, example.hypothesis, example.label) for example in examples),
                "words": build_tokenizer_identity(language),
                **{"hypothesis_only": hypothesis_only, "folds": folds, "seed": seed},
            }
        )
        self.identity = f"cross-fitted {'hypothesis' if hypothesis_only else 'lexical'} {key}"
        folder = get_cache_folder("lexical") / f"cross-fitted-{key}"
        self._folders = [folder / f"without-{fold}" for fold in range(folds)]
        self._fit(examples, folder / "penalty")

    def compute_log_probabilities(self, examples: Sequence[Example]) -> NDArray[np.float32]:
        """Predict log-probabilities of `data.labels.LABELS`, shape (n, 3). They are at least log(`FLOOR`)."""
        folds = self._folds_of(examples)
        probabilities = np.empty((len(examples), len(LABELS)), dtype=np.float32)
        for fold, folder in enumerate(self._folders):  # one model in memory: that of SNLI takes hundreds of MB
            rows = np.flatnonzero(folds == fold)
            if len(rows):
                model = LexicalModel.load(folder)
                probabilities[rows] = model.probabilities([self._pair(examples[row]) for row in rows.tolist()])
        logarithms: NDArray[np.float32] = np.log(np.maximum(probabilities, np.float32(FLOOR)))
        return logarithms

    def _fit(self, examples: Sequence[Example], penalty: Path) -> None:
        missing = [fold for fold, folder in enumerate(self._folders) if not _is_stored(folder)]
        if not missing:
            return
        folds = self._folds_of(examples)
        labels = [example.label for example in examples]
        for fold in missing:
            if lacking := set(LABELS) - {label for label, at in zip(labels, folds, strict=True) if at != fold}:
                raise ValueError(
                    f"cross-fitting: expected training pairs of every label outside fold {fold}, got none labelled "
                    f"{', '.join(sorted(lacking))} in {len(examples):,} pairs; train on more pairs, or use another bias"
                )
        pairs = _TrainingPairs([self._pair(example) for example in examples], labels, self._seed, {})
        pairs.fit_folds(self._folders, penalty, folds, None)

    def _pair(self, example: Example) -> tuple[Words, Words]:
        return () if self._hypothesis_only else self._words(example.premise), self._words(example.hypothesis)

    def _folds_of(self, examples: Sequence[Example]) -> NDArray[np.int64]:
        premises, n_folds = {example.premise for example in examples}, len(self._folders)
        fold = {text: int(rng.compute_key(self._seed, "fold", *self._words(text))) % n_folds for text in premises}
        return np.array([fold[example.premise] for example in examples], dtype=np.int64)
