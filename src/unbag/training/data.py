"""Training and held-out pairs with their sources, and transformations before training.

The transformations (shuffled, permuted, hypothesis-only pairs) are pure functions of pairs, seed and epoch.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, Final

import numpy as np

from unbag.challenge_sets.perturbations.permutation import Permuter, TooFewPermutationsError
from unbag.data.columns import read_column, read_numeric_column
from unbag.data.corpora import CORPORA, Corpus
from unbag.data.labels import LABELS, NOT_ENTAILMENT, TWO_WAY
from unbag.data.sources import Example, PairSource, open_corpus, open_data, validate_corpus_names
from unbag.data.text.tokens import tokenize
from unbag.training.config import TrainConfig, parse_weighted_corpus
from unbag.utils import rng
from unbag.utils.hashing import hash_texts

_HELD_OUT_OF: Final = 20
"""One in this many documents or premises is held out if the data has no validation split. Premises, not pairs: SNLI
has three hypotheses per premise, so training would otherwise contain the premise of a held-out pair."""


@dataclass(frozen=True)
class PairDataset:
    """Dataset of training or held-out pairs from one corpus or file."""

    name: str
    examples: Sequence[Example]
    weight: float  # number of times that each pair occurs per epoch
    language: str  # one of `data.corpora.LANGUAGES`
    record: Mapping[str, Any]  # source (`origin`, `splits`, `revisions`), number of rows, excluded rows by reason


def get_single_language(languages: Iterable[str]) -> str:
    """Get the language of all training pairs. Raises a `ValueError` if there are several."""
    distinct = sorted(set(languages))
    if len(distinct) > 1:
        raise ValueError(
            f"expected training pairs in one language, for word tokenization, got {distinct}; use one language"
        )
    return distinct[0]


@dataclass(frozen=True)
class TrainingData:
    """Training and held-out pairs, one `PairDataset` per corpus or file. Weights of held-out sets have no effect."""

    training: tuple[PairDataset, ...]
    held_out: tuple[PairDataset, ...]

    @property
    def language(self) -> str:
        """Language of all training pairs. Raises a `ValueError` if there are several."""
        return get_single_language(part.language for part in self.training)

    def build_record(self) -> dict[str, Any]:
        """Build a JSON object with the source and the hash of each dataset."""
        return {
            name: [
                {"name": part.name, **part.record, "pairs": len(part.examples)}
                | {"sha256": hash_texts((e.source_id, e.premise, e.hypothesis, e.label) for e in part.examples)}
                | ({"weight": part.weight} if name == "training" else {})
                for part in parts
            ]
            for name, parts in (("training", self.training), ("held_out", self.held_out))
        }


def load_training_data(config: TrainConfig) -> TrainingData:
    """Read the training and validation pairs of a config from corpora and files.

    Unlabelled rows are dropped and counted. A validation split is never the test data of its corpus: without another
    labelled split, as in OCNLI, a twentieth of the training premises is held out instead.
    """
    validate_corpora(config)
    training, held_out = [], []
    for entry in config.corpus:
        name, weight = parse_weighted_corpus(entry)
        part = _read(name, lambda corpus: corpus.train, config)
        if not config.validation:
            if name in CORPORA and CORPORA[name].validation:
                held_out.append(_read(name, lambda corpus: corpus.validation, config))
            else:
                # The key does not depend on the run's seed: runs with several seeds are compared on the same pairs.
                keys = [rng.compute_key("held out", each.document or each.premise) for each in part.examples]
                is_out = [int(key) % _HELD_OUT_OF == 0 for key in keys]
                held_out.append(select_pairs(part, "trained on", is_out))
                part = select_pairs(part, "held out", [not out for out in is_out])
        training.append(replace(part, weight=weight))
    for name in config.validation:
        held_out.append(_read(name, lambda corpus: corpus.validation, config))
    if (n := config.max_validation_examples) is not None:
        held_out = [sample_dataset(part, n, "validation") for part in held_out]
    data = TrainingData(tuple(sample_from_datasets(training, config.max_examples, config.seed)), tuple(held_out))
    for kind, parts in (("train on", data.training), ("evaluate on", data.held_out)):
        if not any(part.examples for part in parts):
            raise ValueError(
                f"expected pairs to {kind} in {', '.join(part.name for part in parts)}, got no pairs; use other data"
            )
    return data


def validate_corpora(config: TrainConfig) -> None:
    """Validate that the corpora and files of a config can be used for training, without reading them completely.

    Looks up the columns of files and reads their first labelled pair. The `ValueError` names the first unusable file.
    """
    names = [*config.corpus_names, *config.validation]
    validate_corpus_names(names, config.encoding, has_option=True)
    for name in config.validation:
        if name in CORPORA and not CORPORA[name].validation:
            raise ValueError(f"validation: {name} has no validation split; omit it to hold out training pairs")
    for name in names:
        if name in CORPORA:
            is_two_way = CORPORA[name].is_two_way
        else:
            source = _open_file(name, config)
            source.validate_first_row()
            is_two_way = NOT_ENTAILMENT in source.labels
        if is_two_way and config.not_entailment_as is None:
            raise ValueError(
                f"{name}: expected pairs with the labels {', '.join(LABELS)}, got two labels ({', '.join(TWO_WAY)}); "
                'map not_entailment to neutral with --not-entailment-as neutral (not_entailment_as="neutral" in '
                f"Python), or omit {name}"
            )


def _open_file(name: str, config: TrainConfig) -> PairSource:
    return open_data(
        name,
        language=config.language,
        columns=config.parse_columns(),
        labels=config.labels,
        encoding=config.encoding,
        join_passages=config.join_passages,
    )


def _read(name: str, splits: Callable[[Corpus], tuple[str, ...]], config: TrainConfig) -> PairDataset:
    """Read a file, or the splits of a corpus for one purpose."""
    if name in CORPORA:
        corpus = CORPORA[name]
        sources = [open_corpus(corpus, split) for split in splits(corpus)]
    else:
        sources = [_open_file(name, config)]
    counts: Counter[str] = Counter()
    examples = [example for source in sources for example in source.iter_examples(counts=counts)]
    part_name = name if name in CORPORA else sources[0].name
    if (other := config.not_entailment_as) is not None:
        three_way = {NOT_ENTAILMENT: other}
        examples = [
            each._replace(
                label=three_way.get(each.label, each.label),
                annotators=tuple(three_way.get(vote, vote) for vote in each.annotators),
            )
            for each in examples
        ]
    record = {
        "origin": sources[0].origin,
        "splits": [source.split for source in sources if source.split],
        "revisions": sorted({source.revision for source in sources}),
        "rows": counts["rows"],
        "excluded": {reason: n for reason, n in sorted(counts.items()) if n and reason != "rows"},
    }
    return PairDataset(part_name, examples, 1.0, sources[0].language, record)


def convert_rows_to_examples(rows: Any) -> list[Example]:
    """Convert rows of a challenge set to training pairs with the same ids."""
    texts = [read_column(rows, name).to_pylist() for name in ("id", "premise", "hypothesis")]
    labels = [LABELS[label] for label in read_numeric_column(rows, "label")]
    return [Example(*values) for values in zip(*texts, labels, strict=True)]


def select_pairs(dataset: PairDataset, reason: str, is_kept: Iterable[bool]) -> PairDataset:
    """Select some pairs of a dataset. The dataset's record counts the other pairs under `reason`."""
    return filter_dataset(dataset, reason, list(compress(dataset.examples, is_kept)))


def filter_dataset(dataset: PairDataset, reason: str, examples: Sequence[Example]) -> PairDataset:
    """Replace the pairs of a dataset with a subset. The dataset's record counts the excluded pairs under `reason`."""
    lost = len(dataset.examples) - len(examples)
    if not lost:
        return replace(dataset, examples=examples)
    record = {**dataset.record, "excluded": {**dataset.record["excluded"], reason: lost}}
    return replace(dataset, examples=examples, record=record)


def sample_from_datasets(datasets: Sequence[PairDataset], n: int | None, seed: int) -> list[PairDataset]:
    """Sample n pairs in total from all datasets, or keep all pairs if n is None.

    The sample depends on the seed and the ids only.
    """
    if n is None:
        return list(datasets)
    total = sum(len(part.examples) for part in datasets)
    if n > total:
        raise ValueError(
            f"--max-examples: expected at least {n:,} training pairs to sample from, got {total:,}; decrease "
            "--max-examples"
        )
    # Random keys depend on part and id, not on the position, so that other rows do not influence the draw of a pair.
    lots = sorted(
        (int(rng.compute_key(seed, "training", part.name, example.source_id)), p, e)
        for p, part in enumerate(datasets)
        for e, example in enumerate(part.examples)
    )
    is_drawn = [np.zeros(len(part.examples), bool) for part in datasets]
    for _, p, e in lots[:n]:
        is_drawn[p][e] = True
    return [select_pairs(part, "not drawn", drawn) for part, drawn in zip(datasets, is_drawn, strict=True)]


def sample_dataset(dataset: PairDataset, n: int, seed: int | str) -> PairDataset:
    """Sample n pairs from a dataset. If the dataset has fewer than n pairs, keep all of them."""
    lots = sorted(range(len(dataset.examples)), key=lambda e: int(rng.compute_key(seed, dataset.examples[e].source_id)))
    return filter_dataset(dataset, "not drawn", [dataset.examples[e] for e in sorted(lots[:n])])


def permute_words(dataset: PairDataset, *, seed: int) -> PairDataset:
    """Permute the words of each pair at random. The permutation is the same in every epoch.

    Sinha et al. 2021, Appendix F: the operator of section 4 on each training example, q = 1. A sentence of one word has
    no other order; its pair is excluded and counted.
    """
    permuter = Permuter(q=1, seed=seed)
    examples = []
    for example in dataset.examples:
        sides = [tokenize(text, dataset.language) for text in (example.premise, example.hypothesis)]
        try:
            premise, hypothesis = permuter.permute_once(example.source_id, sides[0], sides[1], 0)
        except TooFewPermutationsError:
            continue
        examples.append(example._replace(premise=premise, hypothesis=hypothesis))
    return filter_dataset(dataset, "too short to permute", examples)


def shuffle_words(example: Example, epoch: int, *, language: str, seed: int) -> Example:
    """Shuffle the words of both sentences for one epoch (Nie et al. 2019, section 3.2).

    All tokens are shuffled, with punctuation marks, into any order; in a permuted pair (`permute_words`) no word keeps
    its place.
    """
    shuffled = {}
    for side in ("premise", "hypothesis"):
        tokens = tokenize(getattr(example, side), language)
        # Each side of each pair has its own key, so that premise and hypothesis are shuffled independently.
        key = rng.compute_key(seed, "shuffled", epoch, example.source_id, side)
        order = np.argsort(rng.generate_random_numbers(key, np.arange(len(tokens.texts))), kind="stable")
        shuffled[side] = tokens.joiner.join(tokens.texts[i] for i in order.tolist())
    return example._replace(premise=shuffled["premise"], hypothesis=shuffled["hypothesis"])


class PermutedPairs:
    """Builder of n permuted copies of each pair. Each example id and epoch draws other permutations from the seed.

    A pair without n different permutations, such as one with a sentence of one word, gives none and counts with an
    entropy of 0. So the mean is over all pairs of the batch, and every permuted pair has the same weight in any batch.
    """

    def __init__(self, permutations: int, *, seed: int, language: str) -> None:
        self._permuter = Permuter(q=permutations, seed=seed)
        self._language = language

    def __call__(self, example: Example, epoch: int) -> list[tuple[str, str]]:
        """Build n permutations of an example. In both sentences, every word changes its position."""
        sentences = (tokenize(text, self._language) for text in (example.premise, example.hypothesis))
        try:
            # The epoch is part of the key, so that each epoch has other permutations.
            return self._permuter.permute_texts(f"{example.source_id} in epoch {epoch}", *sentences)
        except TooFewPermutationsError:
            return []


def mix_datasets(datasets: Sequence[PairDataset], *, seed: int, epoch: int) -> list[Example]:
    """Build the list of pairs for one epoch. Pairs are repeated according to the weight of their corpus or file.

    With a weight of 2.3, each pair occurs twice, and a random 0.3 of the pairs, redrawn per epoch, a third time. The
    number of pairs is the same in every epoch. A copy has its own id, so that random numbers drawn by id differ.
    """
    examples: list[Example] = []
    for part in datasets:
        times, share = divmod(part.weight, 1.0)
        for copy in range(int(times)):
            examples += part.examples if copy == 0 else _copies(part.examples, copy)
        if extra := round(share * len(part.examples)):
            key = rng.compute_key(seed, "mixed", epoch, part.name)
            # A stable sort: equal random numbers must not be ordered by NumPy's choice of algorithm.
            lots = np.argsort(rng.generate_random_numbers(key, np.arange(len(part.examples))), kind="stable")[:extra]
            chosen = [part.examples[i] for i in sorted(lots.tolist())]
            examples += chosen if times == 0 else _copies(chosen, int(times))
    return examples


def _copies(examples: Sequence[Example], copy: int) -> list[Example]:
    return [example._replace(source_id=f"{example.source_id}#{copy}") for example in examples]
