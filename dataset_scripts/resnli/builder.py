"""ReSNLI set: a corpus rearranged so that a bag of words is least certain about the test labels."""

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
from unbag.baselines.lexical.rearrangement import (
    SPLITS,
    Rearrangement,
    SeparablePairsError,
    fit_mean_embedding_model,
    rearrange_examples,
)
from unbag.challenge_sets import build_stats, requirements
from unbag.challenge_sets.builder import ChallengeSetBuilder
from unbag.challenge_sets.config import SourceConfig
from unbag.challenge_sets.loading import UnsuitablePairsError
from unbag.challenge_sets.perturbations.permutation import DEFAULT_SEED
from unbag.challenge_sets.requirements import Requirement
from unbag.data.columns import PAIR, declare_float_field, round_to_field
from unbag.data.corpora import CORPORA, Corpus
from unbag.data.labels import LABELS, get_label_id
from unbag.data.sources import Example, PairSource, compute_source_id
from unbag.utils.safe_io import DataError

_CITATION = """@misc{resnli-2019-refining,
  title = {Refining Models' Inference Ability Independent of Simple Bag-of-Word Statistics in {N}atural {L}anguage
    {I}nference},
  note = {Anonymous EMNLP-IJCNLP submission}, year = {2019}}"""
_UNCERTAINTY = declare_float_field("uncertainty", 7)
_SCHEMA = pa.schema(
    [
        *PAIR,
        ("source_split", pa.string()),
        _UNCERTAINTY,
        ("partition", pa.int32()),
    ]
)
_SHARE = 10  # default for user-provided data: one tenth of the pairs each for test and validation
_BATCH = 5000  # rows per table

Span = tuple[int, int, int | None, int]
"""Span of rows: index of the source, first row, end (exclusive), and index of the first example among all examples."""


@dataclass
class ResnliConfig(SourceConfig):
    """Sizes of the rearranged splits, and the word embeddings that determine the order of the pairs.

    Attributes:
        embeddings: Word embeddings: a Hub model or a folder, a spaCy pipeline, or a text file of word vectors
            (`unbag.baselines.lexical.embeddings.find_embeddings`). Default: a model for English.
        test_size: Number of examples in the test split (default: the size of the corpus's test split, or one tenth).
        validation_size: Number of examples in the validation split (default: as for `test_size`).
        seed: Random seed for sampling validation examples.
    """

    FILES: ClassVar[tuple[str, ...]] = (*SourceConfig.FILES, "embeddings")

    embeddings: str = ""
    test_size: int | None = None
    validation_size: int | None = None
    seed: int = DEFAULT_SEED

    def validate(self) -> None:
        """Validate the options.

        Raises:
            UnsuitablePairsError: If the embeddings are for another language than the pairs.
        """
        super().validate()
        if self.corpus and self.source_split is not None:
            raise ValueError(
                f"source_split: expected none, since all splits of {self.corpus} are merged, got {self.source_split!r}"
            )
        if self.test_size is not None and self.test_size < 1:
            raise ValueError(f"test_size: expected at least 1, got {self.test_size}")
        if self.validation_size is not None and self.validation_size < 0:
            raise ValueError(f"validation_size: expected at least 0, got {self.validation_size}")
        if self.sentence_language != "en" and not self.embeddings:
            raise UnsuitablePairsError(
                f"embeddings: expected embeddings for the language {self.sentence_language!r}, got none (the default "
                "is for English); set embeddings, such as 'google-bert/bert-base-chinese' or a file of word vectors"
            )


class Plan(NamedTuple):
    """Assignment of n examples to splits and partitions."""

    spans: list[Span]  # ranges of rows to read
    uncertainty: NDArray[np.float64]  # rounded uncertainty of each example, shape (n,)
    rearrangement: Rearrangement


class ResnliBuilder(ChallengeSetBuilder):
    """All labelled pairs of a corpus in rearranged train, validation and test splits.

    Configs: `<corpus>` merges all of its splits. `data=…` uses your own data; a Hub dataset may name several splits
    (`source_split="train+test"`). Options: `embeddings`, `test_size`, `validation_size`, `seed`.
    """

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = ResnliConfig
    SCHEMA = _SCHEMA
    CITATION = _CITATION
    EXCLUSION_REASON = "in the other splits"
    EVALUATION_SPLIT = "test"
    EXAMPLE_ID = "id"  # pairs of one document share a source

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("embeddings"):
            # The target of a name may change, so the cache key contains the commit of a repository or a file hash.
            kwargs["embeddings"] = embeddings.pin_embedding_table_name(kwargs["embeddings"])
        super().__init__(*args, **kwargs)

    def open_sources(self, *, streaming: bool = False) -> list[PairSource]:
        """Open the splits to merge: training data first, test data last."""
        if not self.config.corpus:
            parts = (self.config.source_split or "").split("+")
            return [self.open_pairs(streaming=streaming, split=part or None) for part in parts]
        base = CORPORA[self.config.corpus]
        splits = (*base.train, *base.validation, *base.test)
        return [self.open_pairs(streaming=streaming, split=split) for split in splits]

    def iter_requirements(self) -> Iterator[Requirement]:
        """Iterate over the requirements: all splits and the embeddings."""
        yield from super().iter_requirements()
        yield requirements.build_embeddings_requirement(self.config.embeddings or embeddings.DEFAULT)

    def describe_provenance(self) -> dict[str, Any]:
        """Describe the embeddings by name and revision or hash."""
        return {"embeddings": embeddings.compute_embedding_table_identity(self.config.embeddings or embeddings.DEFAULT)}

    def plan(self, sources: list[PairSource]) -> Plan:
        """Read all pairs once, fit the lexical model, and assign each pair to a split and a partition.

        Raises:
            UnsuitablePairsError: If one of the three labels does not occur, or there are too few pairs for the
                embeddings.
            ValueError: If two pairs have the same id, or there are too few pairs for the splits.
        """
        table = embeddings.load_embeddings(self.config.embeddings or embeddings.DEFAULT, language=sources[0].language)
        spans: list[Span] = []
        labels: list[int] = []
        ids: dict[str, None] = {}  # an ordered set
        read: Counter[str] = Counter()

        def pairs() -> Iterator[tuple[str, str]]:
            for number, source in enumerate(sources):
                for start, stop in source.spans:
                    spans.append((number, start, stop, len(labels)))
                    for example in source.iter_examples(start, stop, counts=read):
                        if example.source_id in ids:
                            raise DataError(
                                f"{source.name}, split {source.split}: expected unique ids over all splits, got "
                                f"{example.source_id!r} twice; number the rows instead (--columns id=)"
                            )
                        ids[example.source_id] = None
                        labels.append(get_label_id(example.label))
                        read[build_stats.ANNOTATED] += bool(example.annotators)
                        yield example.premise, example.hypothesis

        counts = table.count_tokens(pairs()).matrix
        if self._is_prepared:
            build_stats.save_row_counts(Path(self._output_dir), 0, {**read, build_stats.LABELLED: len(labels)})
        _require_each_label(labels, sources[0].name)
        gold = np.array(labels, dtype=np.int64)
        try:
            fitted = fit_mean_embedding_model(counts, table.vectors, gold)
        except SeparablePairsError as error:
            raise UnsuitablePairsError(str(error)) from None
        uncertainty = round_to_field(
            fitted.compute_uncertainty(counts, gold),
            _UNCERTAINTY,
        )
        firsts = [next(span[3] for span in spans if span[0] == number) for number in range(len(sources))]
        k_te, k_dv = self._sizes(
            dict(zip([source.split for source in sources], np.diff([*firsts, len(gold)]), strict=True))
        )
        return Plan(spans, uncertainty, rearrange_examples(uncertainty, list(ids), k_te, k_dv, seed=self.config.seed))

    def _sizes(self, labelled: dict[str, int]) -> tuple[int, int]:
        """Compute the sizes of the test and validation splits from the labelled examples of each source split."""
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
        sources = self.open_sources(streaming=dl_manager.is_streaming)
        plan = self.plan(sources)
        present = set(plan.rearrangement.split.tolist())
        # `datasets` distributes list arguments over its processes, so only the spans are a list.
        return [
            datasets.SplitGenerator(name, {"split": code, "sources": tuple(sources), **plan._asdict()})
            for code, name in enumerate(SPLITS)
            if code in present
        ]

    def _generate_tables(  # type: ignore[override]  # `datasets` passes the arguments from `_split_generators`
        self,
        split: int,
        sources: tuple[PairSource, ...],
        spans: list[Span],
        uncertainty: NDArray[np.float64],
        rearrangement: Rearrangement,
    ) -> Iterator[tuple[tuple[int, int, int], pa.Table]]:
        split_rows = (
            (example, sources[number].split, float(uncertainty[i]), int(rearrangement.partition[i]))
            for number, start, stop, first in spans
            for i, example in enumerate(sources[number].iter_examples(start, stop), start=first)
            if rearrangement.split[i] == split
        )
        number, start, *_ = spans[0]
        part = 0
        while rows := list(islice(split_rows, _BATCH)):
            yield (number, start, part), _table(rows)
            part += 1


def _require_each_label(labels: list[int], where: str) -> None:
    """Validate that each of the three labels occurs, since the lexical model is fitted to all of them."""
    counts = Counter(labels)
    label_counts = ", ".join(f"{counts[get_label_id(name)]:,} {name}" for name in LABELS)
    if labels and len(counts) < len(LABELS):
        raise UnsuitablePairsError(
            f"{where}: expected pairs with all three labels, since resnli sorts pairs by how well their words predict "
            f"each label, got {label_counts}; add pairs of the missing label, or choose other sets"
        )


def _table(rows: list[tuple[Example, str, float, int]]) -> pa.Table:
    examples, source_splits, uncertainty, partition = zip(*rows, strict=True)
    ids = [example.source_id for example in examples]
    columns = {
        "id": ids,
        "source_id": list(map(compute_source_id, examples)),
        "premise": [example.premise for example in examples],
        "hypothesis": [example.hypothesis for example in examples],
        "label": [get_label_id(example.label) for example in examples],
        "source_split": source_splits,
        "uncertainty": uncertainty,
        "partition": partition,
    }
    return pa.table(columns, schema=_SCHEMA)


def _config(corpus: Corpus) -> ResnliConfig:
    return ResnliConfig(name=corpus.name, version=ResnliBuilder.VERSION, corpus=corpus.name)


_LANGUAGES = ("en", "zh")  # languages with tested embeddings

ResnliBuilder.BUILDER_CONFIGS = [
    _config(corpus) for corpus in CORPORA.values() if corpus.language in _LANGUAGES and not corpus.is_two_way
]
