"""Fit lexical models to corpora, store them in the user's cache, and cross-fit them.

In cross-fitting, the pairs are put into folds by the words of their premises, and a model is fitted to all folds but
one, for each of them. So the pairs of one premise are in one fold, as are equal pairs, and pairs whose words stand
in another order. A pair that was not among them, say one made of a training premise, is scored by the model without
its premise's fold.
"""

import hashlib
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from unbag.baselines.lexical.bag import Words
from unbag.baselines.lexical.model import LexicalModel, fit_lexical_model
from unbag.baselines.lexical.words import ALL, BY_CONTEXT, BY_TYPE, TypeWords, WordReader, word_reader
from unbag.data.corpora import CORPORA, LANGUAGES
from unbag.data.labels import LABELS
from unbag.data.sources import Example, Source, open_corpus, open_data, validate_corpus_names
from unbag.data.text import tagging as pipelines
from unbag.data.text.tokens import SEGMENTER, is_segmented
from unbag.utils import checksums, locks, optional_deps, parallel, rng
from unbag.utils.files import cache_folder
from unbag.utils.hashing import text_hash
from unbag.utils.options import check_int, validate_options

DEFAULT_TRAINING: Final[Mapping[str, tuple[str, ...]]] = {
    **{language: (f"xnli_{language}",) for language in LANGUAGES},
    "en": ("snli", "mnli"),
    "zh": ("ocnli",),
}
"""What models are fitted to, by language; for English the paper's (Nie et al. 2019, section 5.2)."""

DEFAULT_SEED: Final = 13
FOLDS: Final = 5
_CHUNK: Final = 2_000  # examples whose sentences are in memory at a time, and which progress moves by
# What decides a fitted model besides its data: a change in one of these files fits it anew.
_CODE: Final = (
    *(f"baselines/lexical/{name}.py" for name in "bag contributions features fitting model optimizer".split()),
    *(f"baselines/lexical/{name}.py" for name in ("regression", "words")),
    *(f"data/{name}.py" for name in ("labels", "readers", "sources", "text/tagging", "text/tokens")),
    "utils/rng.py",
)


Progress = Callable[[int, int], None]
"""Takes how many pairs are read, and how many there are to read: each once more where words count by their type, and
once more where several processes tag them first."""


@dataclass(frozen=True)
class Recipe:
    """How a lexical model is made.

    Attributes:
        training: base corpora, whose train splits are taken, and files of pairs; None for the language's default.
        language: one of `data.corpora.LANGUAGES`; by default that of the corpora it is fitted to, English of files.
        pipeline: which words count (`unbag.baselines.lexical.words.word_reader`); None for the language's own.
        tags: by which tag a word counts: the one it has most often in the training pairs (`BY_TYPE`), or the one it has
            in its sentence (`BY_CONTEXT`), as in the paper. Says nothing where all words count.
        hypothesis_only: whether the words of the premise are left out.
        pairs: how many training pairs to draw; None for all.
        l2: the penalty; None to choose it on held-out pairs.
        seed: decides what is drawn, held out, and in which fold a pair is.
    """

    training: tuple[str, ...] | None = None
    language: str = None  # type: ignore[assignment]  # a recipe that is made has one
    pipeline: str | None = None
    tags: str = BY_TYPE
    hypothesis_only: bool = False
    pairs: int | None = None
    l2: float | None = None
    seed: int = DEFAULT_SEED

    def __post_init__(self) -> None:
        """Refuse what no model can be made of.

        Raises:
            ValueError: if a field has no such value.
        """
        if self.language is None:
            object.__setattr__(self, "language", _language_of(self.training or ()))
        validate_options(Recipe, vars(self))
        if self.language not in DEFAULT_TRAINING:
            raise ValueError(f"expected a language of {', '.join(DEFAULT_TRAINING)}, found {self.language!r}")
        if self.tags not in (BY_TYPE, BY_CONTEXT):
            raise ValueError(f"expected tags by {BY_TYPE} or {BY_CONTEXT}, found {self.tags!r}")
        if self.pairs is not None:
            check_int("the number of training pairs", self.pairs, least=1)
        if self.l2 is not None and not 0 < self.l2 < math.inf:
            raise ValueError(f"expected a penalty (l2) above 0, found {self.l2}")


def _language_of(training: Sequence[str]) -> str:
    languages = sorted({CORPORA[name].language for name in training if name in CORPORA})
    if len(languages) > 1:
        raise ValueError(
            f"expected training pairs in one language, found {' and '.join(languages)}; name fewer corpora"
        )
    return languages[0] if languages else "en"


@dataclass(frozen=True)
class Fold:
    """One of several parts of the training pairs, by what they say: equal pairs are in the same part."""

    number: int
    of: int
    seed: int

    def holds(self, example: Example) -> bool:
        """Tell whether a pair is in this part."""
        return fold_of(example, self.of, self.seed) == self.number


def fold_of(example: Example, folds: int, seed: int) -> int:
    """Return the part that a pair is in, 0 … folds - 1: decided by the seed and its two sentences alone."""
    return int(rng.key(seed, "fold", example.premise, example.hypothesis)) % folds


def training_sources(recipe: Recipe) -> list[Source]:
    """Open what a model is fitted to.

    Raises:
        ValueError: if a name is neither a base corpus nor a file.
        rows.DataError: if one cannot be read.
    """
    names = recipe.training or DEFAULT_TRAINING[recipe.language]
    validate_corpus_names(names)
    sources = []
    for name in names:
        if name in CORPORA:
            sources += [open_corpus(CORPORA[name], split) for split in CORPORA[name].train]
        else:
            sources.append(open_data(name, language=recipe.language, has_options=False))
    return sources


def sources_record(sources: Sequence[Source]) -> list[dict[str, str]]:
    """Return which data each of some sources is, exactly, for the record of what was made with them."""
    return [{"origin": source.origin, "split": source.split, "revision": source.revision} for source in sources]


def fitted(
    recipe: Recipe, fold: Fold | None = None, *, cache: Path | None = None, progress: Progress | None = None
) -> Path:
    """Return the folder of the model made by a recipe, fitting it where it is not in the cache.

    Args:
        recipe: how it is made.
        fold: a part of the training pairs to leave out, with the penalty chosen on all of them.
        cache: the folder for fitted models; by default `unbag/lexical` in the user's cache folder.
        progress: called with how many of how many pairs are read, where the model is not in the cache.

    Raises:
        ValueError: see `training_sources`; also if there are too few pairs.
    """
    if recipe.pipeline and recipe.pipeline != ALL:
        pipelines.require(recipe.pipeline)
    if is_segmented(recipe.language):
        optional_deps.validate_dependency(SEGMENTER)
    sources = training_sources(recipe)
    reader = word_reader(recipe.pipeline, recipe.language, recipe.tags)
    folder = (cache or cache_folder("lexical")) / _key(recipe, sources, reader.identity, fold)
    if _is_there(folder):
        return folder
    # Two that fit the same model at once would do hours of work twice.
    with locks.exclusive_lock(folder, "fitting a lexical model", wait=True):
        if not _is_there(folder):
            _fit(recipe, sources, reader, fold, folder, cache=cache, progress=progress)
    return folder


def _is_there(folder: Path) -> bool:
    """Tell whether a model is there as it was written; one that is damaged is set aside."""
    if not checksums.is_sealed(folder):
        return False
    if damage := checksums.find_damage(folder):
        checksums.set_aside(folder, damage)
        return False
    return True


def _fit(
    recipe: Recipe,
    sources: Sequence[Source],
    reader: WordReader,
    fold: Fold | None,
    folder: Path,
    *,
    cache: Path | None,
    progress: Progress | None,
) -> None:
    l2 = recipe.l2
    if fold is not None and l2 is None:
        l2 = load(fitted(recipe, cache=cache)).record["l2"]
    pairs, labels = _gathered(recipe, sources, reader, fold, progress)
    model = fit_lexical_model(pairs, labels, l2=l2, seed=recipe.seed)
    model.record["training"] = sources_record(sources)
    model.record["words"] = reader.identity
    model.record["pipeline"] = recipe.pipeline
    model.record["tags"] = _tags(recipe)
    model.record["language"] = recipe.language
    model.record["hypothesis_only"] = recipe.hypothesis_only
    if fold is not None:
        model.record["without_fold"] = f"{fold.number} of {fold.of}"
    model.save(folder)


@lru_cache(maxsize=8)  # the folds of one recipe, and some
def load(folder: Path) -> LexicalModel:
    """Read a fitted model, once."""
    return LexicalModel.load(folder)


def _gathered(
    recipe: Recipe, sources: Sequence[Source], reader: WordReader, fold: Fold | None, progress: Progress | None
) -> tuple[list[tuple[Words, Words]], list[str]]:
    """Return the words and labels of the training pairs."""
    pairs: list[tuple[Words, Words]] = []
    labels: list[str] = []
    shared: dict[Words, Words] = {}  # a premise of three pairs is kept once
    passes = 1 + isinstance(reader, TypeWords) + (parallel.num_proc() > 1)
    done, total = 0, 0
    if progress is not None:
        drawn = recipe.pairs if fold is None else None
        total = passes * (drawn or sum(len(chunk) for chunk in _chunks(recipe, sources, fold)))
        progress(0, total)

    def chunks() -> Iterator[list[Example]]:
        nonlocal done
        for chunk in _chunks(recipe, sources, fold):
            yield chunk
            done += len(chunk)
            if progress is not None:
                progress(done, total)

    if parallel.num_proc() > 1:
        reader.tag_ahead(text for chunk in chunks() for text in _texts(chunk))
    if isinstance(reader, TypeWords):
        for chunk in chunks():
            reader.count(_texts(chunk))
    for chunk in chunks():
        texts = _texts(chunk)
        words = {text: _interned(content, shared) for text, content in reader.read(texts).items()}
        for example in chunk:
            premise = () if recipe.hypothesis_only else words[example.premise]
            pairs.append((premise, words[example.hypothesis]))
            labels.append(example.label)
    return pairs, labels


def _chunks(recipe: Recipe, sources: Sequence[Source], fold: Fold | None) -> Iterator[list[Example]]:
    """Yield the training pairs, some thousands at a time, without those of a fold."""
    kept = (example for example in _drawn(recipe, sources) if fold is None or not fold.holds(example))
    while chunk := list(islice(kept, _CHUNK)):
        yield chunk


def _texts(examples: Sequence[Example]) -> list[str]:
    return [text for example in examples for text in (example.premise, example.hypothesis)]


def _tags(recipe: Recipe) -> str | None:
    """Return by which tag a word counts; None where all words do."""
    return None if recipe.pipeline == ALL else recipe.tags


def _interned(words: Words, shared: dict[Words, Words]) -> Words:
    return shared.setdefault(words, tuple(map(sys.intern, words)))


def _drawn(recipe: Recipe, sources: Sequence[Source]) -> Iterator[Example]:
    """Yield the training pairs, or those drawn by the seed and their ids."""
    if recipe.pairs is None:
        for source in sources:
            yield from source.examples()
        return
    lots = np.array([_lot(recipe, example) for source in sources for example in source.examples()], dtype=np.uint64)
    if recipe.pairs > len(lots):
        raise ValueError(f"expected at least {recipe.pairs:,} training pairs to draw from, found {len(lots):,}")
    last = np.partition(lots, recipe.pairs - 1)[recipe.pairs - 1]
    for source in sources:
        yield from (example for example in source.examples() if _lot(recipe, example) <= last)


def _lot(recipe: Recipe, example: Example) -> np.uint64:
    return rng.key(recipe.seed, "training", example.source_id)


def _key(recipe: Recipe, sources: Sequence[Source], words: str, fold: Fold | None) -> str:
    """Return the name of the folder for a model: a hash of all that decides it."""
    record: dict[str, Any] = {
        "recipe": asdict(recipe) | {"training": None, "tags": _tags(recipe)},
        "sources": [(source.origin, source.split, source.revision) for source in sources],
        "words": words,
        "fold": asdict(fold) if fold else None,
        "code": code_hash(),
    }
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:16]


def code_hash() -> str:
    """Return a hash of the code that decides a fitted model."""
    package = Path(__file__).parents[2]
    code = hashlib.sha256()
    for name in _CODE:
        code.update((package / name).read_bytes())
    return code.hexdigest()


FLOOR: Final = 1e-6
"""The least probability that is told, so that its logarithm is a number a network can learn beside."""


class CrossFitted:
    """A bag of all words, fitted to pairs in folds.

    All words count, not content words alone: they tell more (on 22,588 pairs of SNLI 60 % of the labels, not 57 %),
    need no tagger, and are the same in any order. The models are kept in the user's cache, each as soon as it is
    fitted.

    Attributes:
        identity: all that decides what it says, as text.
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
        """Fit the models, those that are not in the cache. The penalty is chosen once, on all pairs.

        Args:
            examples: the pairs to be scored, with their labels.
            language: of the sentences, as `data.text.tokens` knows them.
            hypothesis_only: whether the words of the premise are left out.
            folds: how many.
            seed: decides in which fold a premise is.
            cache: the folder for fitted models; by default `unbag/lexical` in the user's cache folder.

        Raises:
            ValueError: if some fold leaves no pair of some label to fit a model to, or there are too few pairs.
        """
        self._reader = word_reader(ALL, language)
        self._hypothesis_only, self._folds, self._seed = hypothesis_only, folds, seed
        self._words: dict[str, Words] = {}
        record = {
            "pairs": text_hash((example.premise, example.hypothesis, example.label) for example in examples),
            "words": self._reader.identity,
            **{"hypothesis_only": hypothesis_only, "folds": folds, "seed": seed},
            "code": code_hash(),
        }
        key = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:16]
        self.identity = f"cross-fitted {'hypothesis' if hypothesis_only else 'lexical'} {key}"
        self._folder = (cache or cache_folder("lexical")) / f"cross-fitted-{key}"
        self._fit(examples)

    def log_probabilities(self, examples: Sequence[Example]) -> NDArray[np.float32]:
        """Return the logarithms of the probabilities of `data.labels.LABELS`, each at least `FLOOR`, shape (n, 3)."""
        self._read(examples)
        folds = self._folds_of(examples)
        found = np.empty((len(examples), len(LABELS)), dtype=np.float32)
        for fold in range(self._folds):  # one model in memory at a time: of all of SNLI it takes hundreds of MB
            rows = np.flatnonzero(folds == fold)
            if len(rows):
                model = LexicalModel.load(self._path(fold))
                found[rows] = model.probabilities([self._pair(examples[row]) for row in rows.tolist()])
        logarithms: NDArray[np.float32] = np.log(np.maximum(found, np.float32(FLOOR)))
        return logarithms

    def _fit(self, examples: Sequence[Example]) -> None:
        missing = [fold for fold in range(self._folds) if not self._is_there(self._path(fold))]
        if not missing:
            return
        self._read(examples)
        folds = self._folds_of(examples)
        pairs = [self._pair(example) for example in examples]
        labels = [example.label for example in examples]
        for fold in missing:
            if lacking := set(LABELS) - {label for label, at in zip(labels, folds, strict=True) if at != fold}:
                raise ValueError(
                    f"expected pairs of every label with premises enough to fit a bag of words without each fifth of "
                    f"them, found none of {', '.join(sorted(lacking))} in {len(set(folds.tolist()))} folds of "
                    f"{len(examples):,} pairs; take more pairs, or name another bias"
                )
        l2 = self._penalty(pairs, labels)
        for fold in missing:
            rows = np.flatnonzero(folds != fold).tolist()
            fit_lexical_model([pairs[row] for row in rows], [labels[row] for row in rows], l2=l2).save(self._path(fold))

    def _penalty(self, pairs: Sequence[tuple[Words, Words]], labels: Sequence[str]) -> float:
        folder = self._folder / "penalty"  # kept as the model of all pairs, so that a killed fit goes on
        if not self._is_there(folder):
            fit_lexical_model(pairs, labels, seed=self._seed).save(folder)
        return float(LexicalModel.load(folder).record["l2"])

    def _is_there(self, folder: Path) -> bool:
        if not checksums.is_sealed(folder):
            return False
        if damage := checksums.find_damage(folder):
            checksums.set_aside(folder, damage)
        return not damage

    def _path(self, fold: int) -> Path:
        return self._folder / f"without-{fold}"

    def _read(self, examples: Iterable[Example]) -> None:
        texts = {text for example in examples for text in (example.premise, example.hypothesis)}
        self._words |= self._reader.read(texts - self._words.keys())

    def _pair(self, example: Example) -> tuple[Words, Words]:
        return () if self._hypothesis_only else self._words[example.premise], self._words[example.hypothesis]

    def _folds_of(self, examples: Sequence[Example]) -> NDArray[np.int64]:
        premises = {example.premise for example in examples}
        fold = {text: int(rng.key(self._seed, "fold", *self._words[text])) % self._folds for text in premises}
        return np.array([fold[example.premise] for example in examples], dtype=np.int64)
