"""The pairs that are trained on and held out, with their sources, and how they change before a model sees them.

The changes (shuffled, permuted, hypothesis-only pairs) are pure functions of pairs, seed and epoch.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import numpy as np

from unbag.challenge_sets.perturbations.permutation import Permuter, TooFewPermutationsError
from unbag.data.columns import column, numbers
from unbag.data.corpora import CORPORA, Corpus
from unbag.data.labels import LABELS, NOT_ENTAILMENT, TWO_WAY
from unbag.data.sources import Example, Source, open_corpus, open_data, validate_corpus_names
from unbag.data.text.tokens import tokenize
from unbag.training.config import parse_weighted
from unbag.utils import rng
from unbag.utils.hashing import text_hash

_HELD_OUT_OF: Final = 20
"""One premise in so many is held out of data that has no validation split. Premises, not pairs: SNLI has three
hypotheses for each, so a held-out pair would have met its premise in training."""


@dataclass(frozen=True)
class Part:
    """The pairs of one corpus or file.

    Attributes:
        name: the corpus's, or the file's.
        examples: the pairs.
        weight: how often each comes in an epoch.
        language: one of `data.corpora.LANGUAGES`.
        record: where they come from (`origin`, `splits`, `revisions`), and how many there are and were left out.
    """

    name: str
    examples: Sequence[Example]
    weight: float
    language: str
    record: Mapping[str, Any]


@dataclass(frozen=True)
class TrainingData:
    """The parts that are trained on, and those that are held out, whose weight says nothing."""

    training: tuple[Part, ...]
    held_out: tuple[Part, ...]

    @property
    def language(self) -> str:
        """The language of the training pairs.

        Raises:
            ValueError: if there are several.
        """
        languages = sorted({part.language for part in self.training})
        if len(languages) > 1:
            raise ValueError(f"expected training pairs in one language, to cut them into words; found {languages}")
        return languages[0]

    def changed(self, change: Callable[[Part], Part], *, held_out: bool) -> "TrainingData":
        """Return the data with each training part changed, and where asked each held-out part too."""
        kept = tuple(map(change, self.held_out)) if held_out else self.held_out
        return replace(self, training=tuple(map(change, self.training)), held_out=kept)

    def record(self) -> dict[str, Any]:
        """Return where all pairs come from, as JSON holds it, with a hash of each part's rows."""
        return {
            name: [
                {"name": part.name, **part.record, "pairs": len(part.examples), "sha256": _hash(part.examples)}
                | ({"weight": part.weight} if name == "training" else {})
                for part in parts
            ]
            for name, parts in (("training", self.training), ("held_out", self.held_out))
        }


def gather(
    corpus: Sequence[str],
    *,
    validation: Sequence[str] = (),
    examples: int | None = None,
    validation_examples: int | None = None,
    language: str,
    columns: Mapping[str, str] | None = None,
    labels: Sequence[str] = (),
    not_entailment_as: str | None = None,
    seed: int,
) -> TrainingData:
    """Read corpora and files.

    Unlabelled rows are dropped and counted. A validation split is never the corpus's test data: OCNLI, whose labelled
    validation split is its test data (`unbag.data.corpora`), has a twentieth of its training premises held out instead.

    Args:
        corpus: what to train on, corpora or files, with their weights (`config.weighted`).
        validation: what to evaluate on; by default the validation splits of `corpus`.
        examples: how many training pairs to draw; by default all are taken.
        validation_examples: likewise of each part that is held out.
        language: of files.
        columns: the names that files have of our columns; by default the usual ones.
        labels: what their label ids 0, 1, 2 are called, where they have ids only.
        not_entailment_as: Label that `not_entailment` of two-label corpora and files is read as. Glockner et al. (2018,
            Table 3) train on SNLI and SciTail together with `neutral`.
        seed: decides which training pairs are drawn.

    Raises:
        ValueError: if a name is neither a corpus nor a file, there is nothing to train on or to evaluate on, or more
            pairs are to be drawn than there are; `data.readers.DataError` if data cannot be read.
    """
    how = {"language": language, "columns": columns, "labels": labels}
    validate_corpora(corpus, validation, not_entailment_as=not_entailment_as, **how)

    def read(name: str, splits: Callable[[Corpus], tuple[str, ...]]) -> Part:
        return _three_way(_read(name, splits, how), not_entailment_as)

    training, held_out = [], []
    for entry in corpus:
        name, weight = parse_weighted(entry)
        part = read(name, lambda corpus: corpus.train)
        if not validation:
            if name in CORPORA and CORPORA[name].validation:
                held_out.append(read(name, lambda corpus: corpus.validation))
            else:
                part, rest = _without(part)
                held_out.append(rest)
        training.append(replace(part, weight=weight))
    for name in validation:
        held_out.append(read(name, lambda corpus: corpus.validation))
    data = TrainingData(tuple(drawn(training, examples, seed)), tuple(held_out))
    if validation_examples is not None:
        # Not by the seed of the run: several seeds are compared on the same pairs.
        data = replace(data, held_out=tuple(some(part, validation_examples, "validation") for part in data.held_out))
    for kind, parts in (("train on", data.training), ("evaluate on", data.held_out)):
        if not any(part.examples for part in parts):
            raise ValueError(f"expected pairs to {kind} in {', '.join(part.name for part in parts)}, found none")
    return data


def validate_corpora(
    corpus: Sequence[str], validation: Sequence[str], *, not_entailment_as: str | None = None, **how: Any
) -> None:
    """Refuse what cannot be trained or evaluated on, before any of it is read to its end.

    Of files the columns are looked up, and the first labelled pair is read.

    Args:
        corpus: as for `gather`.
        validation: as for `gather`.
        not_entailment_as: As for `gather`.
        how: the `language`, `columns` and `labels` of files, as for `gather`.

    Raises:
        ValueError: naming the first.
    """
    names = [*(parse_weighted(entry)[0] for entry in corpus), *validation]
    validate_corpus_names(names)
    for name in validation:
        if name in CORPORA and not CORPORA[name].validation:
            raise ValueError(f"{name} has no validation split; leave validation out to hold a part of it out")
    for name in names:
        if name in CORPORA:
            is_two_way = CORPORA[name].is_two_way
        else:
            source = open_data(name, **how)
            next(iter(source.examples()), None)
            is_two_way = NOT_ENTAILMENT in source.labels
        if is_two_way and not_entailment_as is None:
            raise ValueError(
                f"{name}: expected pairs with the labels {', '.join(LABELS)}, got two labels ({', '.join(TWO_WAY)}); "
                'read not_entailment as neutral with --not-entailment-as neutral (not_entailment_as="neutral" in '
                f"Python), or leave {name} out"
            )


def _read(name: str, splits: Callable[[Corpus], tuple[str, ...]], how: Mapping[str, Any]) -> Part:
    """Read a corpus's splits of one role, or a file."""
    if name in CORPORA:
        corpus = CORPORA[name]
        sources = [open_corpus(corpus, split) for split in splits(corpus)]
    else:
        sources = [open_data(name, **how)]
    counts: Counter[str] = Counter()
    examples = [example for source in sources for example in source.examples(counts=counts)]
    part_name = name if name in CORPORA else sources[0].name
    return Part(part_name, examples, 1.0, sources[0].language, _record(sources, counts))


def _three_way(part: Part, not_entailment_as: str | None) -> Part:
    """Replace the label `not_entailment`, also among the labels of annotators."""
    if not_entailment_as is None:
        return part

    def label(name: str) -> str:
        return not_entailment_as if name == NOT_ENTAILMENT else name

    examples = [
        each._replace(label=label(each.label), annotators=tuple(map(label, each.annotators))) for each in part.examples
    ]
    return replace(part, examples=examples)


def _record(sources: Sequence[Source], counts: Counter[str]) -> dict[str, Any]:
    left_out = {reason: n for reason, n in sorted(counts.items()) if n and reason != "rows"}
    return {
        "origin": sources[0].origin,
        "splits": [source.split for source in sources if source.split],
        "revisions": sorted({source.revision for source in sources}),
        "rows": counts["rows"],
        "left_out": left_out,
    }


def examples_of(rows: Any) -> list[Example]:
    """Return the rows of a challenge set as pairs to learn, each by its row's id."""
    texts = [column(rows, name).to_pylist() for name in ("id", "premise", "hypothesis")]
    labels = [LABELS[label] for label in numbers(rows, "label")]
    return [Example(*values) for values in zip(*texts, labels, strict=True)]


def left_out(part: Part, reason: str, kept: Sequence[Example]) -> Part:
    """Return a part with fewer pairs, and the reason on its record."""
    lost = len(part.examples) - len(kept)
    if not lost:
        return replace(part, examples=kept)
    record = {**part.record, "left_out": {**part.record["left_out"], reason: lost}}
    return replace(part, examples=kept, record=record)


def _without(part: Part) -> tuple[Part, Part]:
    """Hold a twentieth of the premises out."""
    # Not by the seed of the run: several seeds are compared on the same pairs.
    is_out = [int(rng.key("held out", example.premise)) % _HELD_OUT_OF == 0 for example in part.examples]
    kept = [example for example, out in zip(part.examples, is_out, strict=True) if not out]
    rest = [example for example, out in zip(part.examples, is_out, strict=True) if out]
    return left_out(part, "held out", kept), left_out(part, "trained on", rest)


def drawn(parts: Sequence[Part], n: int | None, seed: int) -> list[Part]:
    """Draw n pairs of all parts together, by the seed and their ids; None for all."""
    if n is None:
        return list(parts)
    total = sum(len(part.examples) for part in parts)
    if n > total:
        raise ValueError(f"expected at least {n:,} training pairs to draw from, found {total:,}")
    lots = sorted(
        (int(rng.key(seed, "training", part.name, example.source_id)), p, e)
        for p, part in enumerate(parts)
        for e, example in enumerate(part.examples)
    )
    chosen: list[list[int]] = [[] for _ in parts]
    for _, p, e in lots[:n]:
        chosen[p].append(e)
    return [
        left_out(part, "not drawn", [part.examples[e] for e in sorted(kept)])
        for part, kept in zip(parts, chosen, strict=True)
    ]


def some(part: Part, n: int, seed: int | str) -> Part:
    """Draw n pairs of one part, or all if there are fewer."""
    lots = sorted(range(len(part.examples)), key=lambda e: int(rng.key(seed, part.examples[e].source_id)))
    return left_out(part, "not drawn", [part.examples[e] for e in sorted(lots[:n])])


def _hash(examples: Sequence[Example]) -> str:
    return text_hash((example.source_id, example.premise, example.hypothesis, example.label) for example in examples)


TOO_SHORT: Final = "too short to permute"


def hypothesis_only(part: Part) -> Part:
    """Leave the premises out (Poliak et al. 2018, Gururangan et al. 2018): the tokenizer is given an empty one."""
    return replace(part, examples=[example._replace(premise="") for example in part.examples])


def permuted(part: Part, *, seed: int) -> Part:
    """Replace each pair by one permuted pair, always the same.

    Sinha et al. 2021, Appendix F: the operator of section 4 on each training example, q = 1. A sentence of one word
    has no other order; its pair is left out and counted.
    """
    permuter = Permuter(q=1, seed=seed)
    examples = []
    for example in part.examples:
        sides = [tokenize(text, part.language) for text in (example.premise, example.hypothesis)]
        try:
            premise, hypothesis = permuter.one(example.source_id, sides[0], sides[1], 0)
        except TooFewPermutationsError:
            continue
        examples.append(example._replace(premise=premise, hypothesis=hypothesis))
    return left_out(part, TOO_SHORT, examples)


class Shuffled:
    """The words of both sentences in random order, another each epoch (Nie et al. 2019, section 3.2).

    Tokens are shuffled, punctuation marks among them: any order, where a permuted pair (`permuted`) has no word in its
    place. Premise and hypothesis are shuffled independently.
    """

    def __init__(self, language: str, seed: int) -> None:
        self._language, self._seed = language, seed

    def __call__(self, example: Example, epoch: int) -> Example:
        """Return the pair as epoch `epoch` has it."""
        premise, hypothesis = (
            self._shuffled(text, rng.key(self._seed, "shuffled", epoch, example.source_id, side))
            for text, side in ((example.premise, "premise"), (example.hypothesis, "hypothesis"))
        )
        return example._replace(premise=premise, hypothesis=hypothesis)

    def _shuffled(self, sentence: str, key: np.uint64) -> str:
        tokens = tokenize(sentence, self._language)
        order = np.argsort(rng.numbers(key, np.arange(len(tokens.texts))), kind="stable")
        return tokens.joiner.join(tokens.texts[i] for i in order.tolist())


def mixed(parts: Sequence[Part], *, seed: int, epoch: int) -> list[Example]:
    """Return the pairs of one epoch: each as often as its part's weight says.

    Of a weight of 2.3 each pair comes twice, and of the rest, rounded, those come once more that this epoch draws. The
    number of pairs is the same in every epoch. A copy has an id of its own, so that what is drawn by id differs.
    """
    examples: list[Example] = []
    for part in parts:
        times, share = divmod(part.weight, 1.0)
        for copy in range(int(times)):
            examples += part.examples if copy == 0 else _copies(part.examples, copy)
        if extra := round(share * len(part.examples)):
            key = rng.key(seed, "mixed", epoch, part.name)
            lots = np.argsort(rng.numbers(key, np.arange(len(part.examples))), kind="stable")[:extra]
            chosen = [part.examples[i] for i in sorted(lots.tolist())]
            examples += chosen if times == 0 else _copies(chosen, int(times))
    return examples


def _copies(examples: Sequence[Example], copy: int) -> list[Example]:
    return [example._replace(source_id=f"{example.source_id}#{copy}") for example in examples]


def per_epoch(parts: Sequence[Part]) -> int:
    """Return how many pairs `mixed` has of some parts."""
    return sum(int(part.weight) * len(part.examples) + round(part.weight % 1.0 * len(part.examples)) for part in parts)


class Added(Protocol):
    """What an epoch has beside the corpora's pairs."""

    def __call__(self, epoch: int) -> list[Example]:
        """Return the pairs of one epoch."""
        ...
