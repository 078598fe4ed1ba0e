"""The ReSNLI set: a corpus rearranged so that words give its test labels away least."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import datasets
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unbag.baselines.lexical import embeddings
from unbag.baselines.lexical import rearrangement as averaged
from unbag.baselines.lexical.rearrangement import SPLITS, Rearrangement, rearrange
from unbag.challenge_sets import build_stats, requirements
from unbag.challenge_sets.builder import ChallengeSetBuilder
from unbag.challenge_sets.config import SourceConfig
from unbag.challenge_sets.loading import UnfitError
from unbag.challenge_sets.perturbations.permutation import DEFAULT_SEED
from unbag.challenge_sets.requirements import Requirement
from unbag.data.columns import PAIR, real, round_to_field
from unbag.data.corpora import CORPORA, Corpus
from unbag.data.labels import LABELS, label_id
from unbag.data.sources import Example, Source
from unbag.utils.safe_io import DataError

_CITATION = """@misc{resnli-2019-refining,
  title = {Refining Models' Inference Ability Independent of Simple Bag-of-Word Statistics in {N}atural {L}anguage
    {I}nference},
  note = {Anonymous EMNLP-IJCNLP submission}, year = {2019}}"""
_UNCERTAINTY = real("uncertainty", 7)
_SCHEMA = pa.schema(
    [
        *PAIR,
        ("source_split", pa.string()),
        _UNCERTAINTY,
        ("partition", pa.int32()),
    ]
)
_SHARE = 10  # of data of one's own, one pair in so many is for test, and one for validation
_BATCH = 5000  # rows a table

Span = tuple[int, int, int | None, int]
"""A source's number, a range of its rows, and the number among all examples of the first one in it."""


@dataclass
class ResnliConfig(SourceConfig):
    """What is rearranged, and by which embeddings.

    Attributes:
        embeddings: word embeddings: a model of the Hub or a folder, a spaCy pipeline, or a text file of word vectors
            (`unbag.baselines.lexical.embeddings.find`); one for English where none is named.
        test_size: examples in the test split; by default as many as the corpus's own, or a tenth.
        validation_size: likewise in the validation split.
        seed: decides which examples are drawn for validation.
    """

    FILES: ClassVar[tuple[str, ...]] = (*SourceConfig.FILES, "embeddings")

    embeddings: str = ""
    test_size: int | None = None
    validation_size: int | None = None
    seed: int = DEFAULT_SEED

    def check(self) -> None:
        """Refuse what cannot be.

        Raises:
            ValueError: if an option has no such value; `UnfitError` if the pairs are in another language than the
                embeddings.
        """
        super().check()
        if self.corpus and self.source_split is not None:
            raise ValueError(f"expected no source_split: all of {self.corpus} is merged; found {self.source_split!r}")
        if self.test_size is not None and self.test_size < 1:
            raise ValueError(f"expected a test_size of at least 1, found {self.test_size}")
        if self.validation_size is not None and self.validation_size < 0:
            raise ValueError(f"expected a validation_size of at least 0, found {self.validation_size}")
        if self.sentences_in != "en" and not self.embeddings:
            raise UnfitError(
                f"expected embeddings for the language {self.sentences_in!r}, found none (the default ones are "
                "English); name a table, e.g. embeddings='google-bert/bert-base-chinese' or a file of word vectors"
            )


class Plan(NamedTuple):
    """Where each example of some sources goes.

    Attributes:
        spans: what to read.
        uncertainty: of each example, rounded, shape (n,).
        rearrangement: of the examples.
    """

    spans: list[Span]
    uncertainty: NDArray[np.float64]
    rearrangement: Rearrangement


class Resnli(ChallengeSetBuilder):
    """All labelled pairs of a corpus in new train, validation and test splits.

    Configs: `<corpus>`, all of its splits merged; `data=…` takes data of your own, of the Hub also several splits
    (`source_split="train+test"`). Options: `embeddings`, `test_size`, `validation_size`, `seed`.
    """

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = ResnliConfig
    SCHEMA = _SCHEMA
    CITATION = _CITATION
    UNFIT = "in the other splits"
    EVALUATED = "test"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("embeddings"):
            # What a name stands for may change. The cache knows a commit by its name, and a file by its content.
            kwargs["embeddings"] = embeddings.fixed_name(kwargs["embeddings"])
        super().__init__(*args, **kwargs)

    def sources(self, *, streaming: bool = False) -> list[Source]:
        """Open the splits that are merged: training data first, test data last."""
        if not self.config.corpus:
            parts = (self.config.source_split or "").split("+")
            return [self.open_pairs(streaming=streaming, split=part or None) for part in parts]
        base = CORPORA[self.config.corpus]
        splits = (*base.train, *base.validation, *base.test)
        return [self.open_pairs(streaming=streaming, split=split) for split in splits]

    def requirements(self) -> Iterator[Requirement]:
        """Yield all splits and the embeddings."""
        yield from super().requirements()
        yield requirements.embeddings(self.config.embeddings or embeddings.DEFAULT)

    def provenance(self) -> dict[str, Any]:
        """Return which embeddings, exactly."""
        return {"embeddings": embeddings.identity_of(self.config.embeddings or embeddings.DEFAULT)}

    def plan(self, sources: list[Source]) -> Plan:
        """Read all pairs once, fit the model of their words, and say where each goes.

        Raises:
            DataError: if two pairs have the same id.
            UnfitError: if no pair has one of the three labels.
            ValueError: if there are too few pairs for the splits or the embeddings.
        """
        table = embeddings.load(self.config.embeddings or embeddings.DEFAULT, language=sources[0].language)
        spans: list[Span] = []
        labels: list[int] = []
        ids: dict[str, None] = {}  # in order
        read: Counter[str] = Counter()

        def pairs() -> Iterator[tuple[str, str]]:
            for number, source in enumerate(sources):
                for start, stop in source.spans:
                    spans.append((number, start, stop, len(labels)))
                    for example in source.examples(start, stop, counts=read):
                        if example.source_id in ids:
                            raise DataError(
                                f"{source.name}, split {source.split}: the id {example.source_id!r} was met before; "
                                "ids must be unique over all splits. Number the rows instead (--columns id=)"
                            )
                        ids[example.source_id] = None
                        labels.append(label_id(example.label))
                        read[build_stats.ANNOTATED] += bool(example.annotators)
                        yield example.premise, example.hypothesis

        counts = table.counts(pairs()).matrix
        if self._is_prepared:
            build_stats.keep_read(Path(self._output_dir), 0, {**read, build_stats.LABELLED: len(labels)})
        _require_each_label(labels, sources[0].name)
        gold = np.array(labels, dtype=np.int64)
        uncertainty = round_to_field(averaged.fit(counts, table.vectors, gold).uncertainty(counts, gold), _UNCERTAINTY)
        firsts = [next(span[3] for span in spans if span[0] == number) for number in range(len(sources))]
        k_te, k_dv = self._sizes(
            dict(zip([source.split for source in sources], np.diff([*firsts, len(gold)]), strict=True))
        )
        return Plan(spans, uncertainty, rearrange(uncertainty, list(ids), k_te, k_dv, seed=self.config.seed))

    def _sizes(self, labelled: dict[str, int]) -> tuple[int, int]:
        """Return the examples for test and for validation, from those of each split."""
        config = self.config
        k_te = k_dv = max(1, sum(labelled.values()) // _SHARE)
        if config.corpus:
            base = CORPORA[config.corpus]
            k_te, k_dv = (sum(labelled[split] for split in splits) for splits in (base.test, base.validation))
        k_te, k_dv = (
            default if size is None else size
            for default, size in ((k_te, config.test_size), (k_dv, config.validation_size))
        )
        return int(k_te), int(k_dv)

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        sources = self.sources(streaming=dl_manager.is_streaming)
        plan = self.plan(sources)
        present = set(plan.rearrangement.split.tolist())
        # Of these only the spans are a list, which `datasets` shares out among processes.
        return [
            datasets.SplitGenerator(name, {"split": code, "sources": tuple(sources), **plan._asdict()})
            for code, name in enumerate(SPLITS)
            if code in present
        ]

    def _generate_tables(  # type: ignore[override]  # `datasets` calls it with what `_split_generators` gives
        self,
        split: int,
        sources: tuple[Source, ...],
        spans: list[Span],
        uncertainty: NDArray[np.float64],
        rearrangement: Rearrangement,
    ) -> Iterator[tuple[tuple[int, int, int], pa.Table]]:
        ours = (
            (example, sources[number].split, float(uncertainty[i]), int(rearrangement.partition[i]))
            for number, start, stop, first in spans
            for i, example in enumerate(sources[number].examples(start, stop), start=first)
            if rearrangement.split[i] == split
        )
        number, start, *_ = spans[0]
        part = 0
        while rows := list(islice(ours, _BATCH)):
            yield (number, start, part), _table(rows)
            part += 1


def _require_each_label(labels: list[int], where: str) -> None:
    """Validate that each of the three labels occurs, since the model of words is fitted to all of them."""
    counts = Counter(labels)
    found = ", ".join(f"{counts[label_id(name)]:,} {name}" for name in LABELS)
    if labels and len(counts) < len(LABELS):
        raise UnfitError(
            f"{where}: expected pairs of all three labels, since resnli sorts pairs by how well their words predict "
            f"each of them; found {found}. Add pairs of the missing label, or evaluate on other sets"
        )


def _table(rows: list[tuple[Example, str, float, int]]) -> pa.Table:
    examples, source_splits, uncertainty, partition = zip(*rows, strict=True)
    ids = [example.source_id for example in examples]
    columns = {
        "id": ids,
        "source_id": ids,
        "premise": [example.premise for example in examples],
        "hypothesis": [example.hypothesis for example in examples],
        "label": [label_id(example.label) for example in examples],
        "source_split": source_splits,
        "uncertainty": uncertainty,
        "partition": partition,
    }
    return pa.table(columns, schema=_SCHEMA)


def _config(corpus: Corpus) -> ResnliConfig:
    return ResnliConfig(name=corpus.name, version=Resnli.VERSION, corpus=corpus.name)


_LANGUAGES = ("en", "zh")  # of which embeddings were ever tried

Resnli.BUILDER_CONFIGS = [
    _config(corpus) for corpus in CORPORA.values() if corpus.language in _LANGUAGES and not corpus.is_two_way
]
