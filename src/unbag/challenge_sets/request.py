"""Requests for challenge sets, and the built sets: rows with a record of their origin."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from unbag import challenge_sets
from unbag.challenge_sets import build_stats, human_agreement, loading
from unbag.challenge_sets.perturbations import shuffled
from unbag.challenge_sets.perturbations.permutation import DEFAULT_SEED
from unbag.challenge_sets.results import ExportedSetRecord, parse_record
from unbag.data import parquet
from unbag.data.columns import count_distinct, read_column
from unbag.data.sources import PairSource
from unbag.data.text.tokens import has_word_tokenizer
from unbag.utils import rng
from unbag.utils.files import atomic_write
from unbag.utils.hashing import hash_columns
from unbag.utils.options import PositiveInt, validate_options
from unbag.utils.redaction import extract_first_line
from unbag.utils.safe_io import DataError, parse_json, validate_file

BUILDING: Final = "building the sets"
"""Description of `prebuild_sets` in the progress display."""

_BATCH: Final = 10_000  # rows read from disk at a time
_PARQUET: Final = ".parquet"
_RECORD: Final = b"unbag"  # key in the schema metadata of a Parquet file
_IDENTIFYING: Final = ("id", "premise", "hypothesis", "label")


@dataclass(frozen=True)
class SetRequest:
    """Request to build a challenge set: its name, config, options and sample size."""

    name: str  # name of the set
    # Config of the set, e.g. `snli-test-hypothesis`, or a corpus; None if the options name data or a text.
    config: str | None = None
    # Options of the set; for data of your own also `data` or `text`, `columns`, …
    # (`unbag.challenge_sets.loading.create_builder`).
    options: Mapping[str, Any] = field(default_factory=dict)
    max_examples: PositiveInt | None = None  # maximum number of source examples to draw; None for all
    seed: int = DEFAULT_SEED  # random seed for sampling

    def __post_init__(self) -> None:
        """Validate the fields, for commands and for Python callers."""
        validate_options(SetRequest, vars(self))

    @property
    def user_data_names(self) -> list[str]:
        """Names of the files, folders or Hub datasets with the user's data; none for a published corpus."""
        data = self.options.get("data")
        return list(map(str, [data] if data else self.options.get("text") or ()))


@dataclass(frozen=True)
class BuiltSet:
    """A built challenge set: its rows and a description of the data that they were built from."""

    request: SetRequest
    rows: Any  # a `datasets.Dataset`
    language: str
    config: Mapping[str, Any]  # resolved options of the set, for the record
    data: Mapping[str, Any]  # origin of the pairs, for the record

    @property
    def name(self) -> str:
        """Name of the set."""
        return self.request.name

    @cached_property
    def skill_score_mask(self) -> NDArray[np.bool_]:
        """Mask of the rows that the skill score uses (`ChallengeSet.compute_skill_score_mask`), shape (n,)."""
        return challenge_sets.get_challenge_set(self.request.name).compute_skill_score_mask(self.rows)

    @cached_property
    def control(self) -> Any:
        """Copies of the rows that the skill score uses, with shuffled words.

        A `datasets.Dataset` of all draws, in order. None if the skill score uses no rows, if the set is not evaluated
        with shuffled words, or if no tokenizer for the language is installed.
        """
        challenge_set, n = challenge_sets.get_challenge_set(self.request.name), int(self.skill_score_mask.sum())
        if not (n and challenge_set.has_shuffled_control and has_word_tokenizer(self.language)):
            return None
        from datasets import concatenate_datasets

        rows, draws = self.rows.select(np.flatnonzero(self.skill_score_mask)), range(shuffled.compute_num_shuffles(n))
        return concatenate_datasets([shuffled.shuffle_rows(rows, self.language, draw) for draw in draws])


def create_validated_builder(request: SetRequest) -> Any:
    """Create the builder of a set and validate its options, before any rows are built."""
    builder = loading.create_builder(request.name, request.config, **request.options)
    builder.validate_resources()
    return builder


def prebuild_sets(requests: Sequence[SetRequest], progress: Callable[[int, int], None] | None = None) -> None:
    """Build sets and store them in the cache before a model is loaded.

    The build forks this process. A fork after model loading would copy the model, and may deadlock on locks that the
    model's compute threads hold. `progress` is called after every set with `(built_sets, total_sets)`.
    """
    for number, request in enumerate(requests):
        if progress is not None:
            progress(number, len(requests))
        with suppress(Exception):  # `build_requested_set` repeats a failed build later and raises its error
            loading.load_evaluation_split(create_validated_builder(request))
    if progress is not None:
        progress(len(requests), len(requests))


def build_requested_set(request: SetRequest) -> BuiltSet:
    """Load a challenge set from the cache, or build it, and draw the requested number of examples."""
    builder = create_validated_builder(request)
    return build_set_from_rows(request, builder, loading.load_evaluation_split(builder))


def build_set_from_rows(request: SetRequest, builder: Any, rows: Any) -> BuiltSet:
    """Create a `BuiltSet` from rows: draw the requested number of examples, and record the origin of the pairs.

    The builder has the build counts, which are stored beside the rows.
    """
    sources = builder.open_sources()
    counts = builder.load_row_counts()
    used = count_distinct(rows, builder.challenge_set.example_id)
    excluded = builder.count_exclusions(n_used=used)
    load_options = builder.config.load_options()
    sampling = {}
    if request.max_examples is not None and request.max_examples < used:
        rows = draw_examples(rows, request.max_examples, request.seed, builder.challenge_set.example_id)
        excluded["not drawn"] = used - request.max_examples
        sampling = {"max_examples": request.max_examples, "sample_seed": request.seed}
    people = None
    if counts[build_stats.ANNOTATED]:
        examples = chain.from_iterable(source.iter_examples() for source in sources)
        people = human_agreement.compute_annotator_accuracy(rows, examples, builder.challenge_set.example_id)
    return BuiltSet(
        request=request,
        rows=rows,
        language=sources[0].language,
        config=builder.get_set_options() | builder.challenge_set.describe_provenance(builder) | sampling,
        data={
            "name": sources[0].name,
            "split": "+".join(source.split for source in sources),
            "origin": sources[0].origin,
            "revision": sources[0].revision,
            **({"load_options": load_options} if load_options else {}),
            "rows": counts["rows"],
            **_count_documents(builder, rows, sources[0]),
            "excluded": {reason: n for reason, n in excluded.items() if n},
            **({"human": people} if people else {}),
            "sha256": _hash_rows(rows),
        },
    )


def select_complete_examples(built: BuiltSet, is_predicted: NDArray[np.bool_]) -> tuple[BuiltSet, NDArray[np.bool_]]:
    """Select the examples of a set of which all rows have a prediction, given a mask of the predicted rows, shape (n,).

    Returns:
        The set with the rows of these examples, and the mask of these rows, shape (n,).
    """
    if is_predicted.all():
        return built, is_predicted
    example_id = challenge_sets.get_challenge_set(built.name).example_id
    # Ids as integers, since `np.isin` sorts its input, which is slow for millions of strings.
    examples = read_column(built.rows, example_id).dictionary_encode().indices.to_numpy(zero_copy_only=False)
    lacking = np.unique(examples[~is_predicted])
    mask = ~np.isin(examples, lacking)
    rows = built.rows.select(np.flatnonzero(mask))
    data = {name: value for name, value in built.data.items() if name != "human"}  # the agreement on the whole set
    data["excluded"] = {**data["excluded"], "without prediction": len(lacking)}
    return replace(built, rows=rows, data=data | {"sha256": _hash_rows(rows)}), mask


def _count_documents(builder: Any, rows: Any, source: PairSource) -> dict[str, int]:
    """Count the documents of user-provided pairs: those of the intervals, or those that several examples share."""
    if not builder.config.data:
        return {}
    if builder.challenge_set.example_id != "source_id":
        return {"documents": count_distinct(rows, "source_id")}
    names = set(rows.unique("source_id"))
    found = [each.document for each in source.iter_examples() if each.source_id in names]
    return {"shared_documents": len(set(found))} if len(set(found)) < len(found) else {}


def draw_examples(rows: Any, n: int, seed: int, id_column: str = "source_id") -> Any:
    """Draw n examples and select their rows, in order. The draw depends only on the seed and the ids."""

    def key(example_id: str) -> int:
        return int(rng.compute_key(seed, "examples", example_id))

    drawn = sorted(rows.unique(id_column), key=key)[:n]
    is_drawn = pc.is_in(read_column(rows, id_column), value_set=pa.array(drawn, type=pa.string()))
    return rows.select(np.flatnonzero(is_drawn.to_numpy(zero_copy_only=False)))


def export_challenge_set(request: SetRequest, path: Path) -> dict[str, Any]:
    """Write a challenge set to one or more Parquet files.

    Return the record of the set, with the keys `set`, `language`, `examples`, `rows`, `config` and `data`. It is also
    stored in the schema metadata of each file under the key `unbag`, where `read_exported_set` reads it.

    A path that ends in `.parquet` becomes one file with the split that models are evaluated on. Any other path becomes
    a folder with one file per split, which `datasets.load_dataset` reads as splits; the record then has `splits` with
    the `examples` and `rows` of each.
    """
    built = build_requested_set(request)
    if path.suffix == _PARQUET:
        return export_built_set(built, path)
    rows_of = load_splits(built)
    of_splits, record = build_split_records(built, rows_of)
    for name, rows in rows_of.items():
        _write(of_splits[name], rows, path / f"{name}{_PARQUET}")
    return record


def export_built_set(built: BuiltSet, path: Path) -> dict[str, Any]:
    """Write the rows of a built set to a Parquet file. Returns the record of the set (`export_challenge_set`)."""
    return _write(_record(built, built.rows, {**built.data, "sha256": _hash_rows(built.rows)}), built.rows, path)


def build_split_records(
    built_set: BuiltSet, rows_by_split: Mapping[str, Any]
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Build the records that describe an exported set: one per split, and one for the folder with all splits."""
    challenge_set = challenge_sets.get_challenge_set(built_set.request.name)
    examples = {name: count_distinct(rows, challenge_set.example_id) for name, rows in rows_by_split.items()}
    excluded, elsewhere = dict(built_set.data["excluded"]), challenge_set.exclusion_reason
    if len(examples) > 1:
        # A set with several splits counts examples of the other splits by its exclusion reason. The folder includes
        # these.
        excluded.pop(elsewhere, None)
    of_splits = {}
    for name, rows in rows_by_split.items():
        others = {elsewhere: sum(examples.values()) - examples[name]} if len(examples) > 1 else {}
        data = {**built_set.data, "excluded": excluded | others, "sha256": _hash_rows(rows)}
        of_splits[name] = _record(built_set, rows, data)
    *_, last = of_splits.values()
    splits = {name: {key: record[key] for key in ("examples", "rows")} for name, record in of_splits.items()}
    totals = {key: sum(each[key] for each in splits.values()) for key in ("examples", "rows")}
    return of_splits, last | totals | {"data": {**built_set.data, "excluded": excluded}, "splits": splits}


def load_splits(built_set: BuiltSet) -> dict[str, Any]:
    """Load the rows of each split of a built set. For a sampled set, only the evaluated split is included."""
    builder = loading.create_builder(built_set.request.name, built_set.request.config, **built_set.request.options)
    evaluated = loading.load_evaluation_split(builder)  # from the cache
    return builder.as_dataset() if built_set.request.max_examples is None else {str(evaluated.split): built_set.rows}


def _hash_rows(rows: Any) -> str:
    return hash_columns(rows.with_format("arrow").iter(batch_size=_BATCH), _IDENTIFYING)


def _record(built: BuiltSet, rows: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "set": built.request.name,
        "language": built.language,
        "examples": data["rows"] - sum(data["excluded"].values()),
        "rows": len(rows),
        "config": dict(built.config),
        "data": dict(data),
    }


def _write(record: dict[str, Any], rows: Any, path: Path) -> dict[str, Any]:
    tables = rows.with_format("arrow").iter(batch_size=_BATCH)
    first = next(tables)
    schema = first.schema.with_metadata({**(first.schema.metadata or {}), _RECORD: json.dumps(record).encode()})
    with atomic_write(path) as tmp, pq.ParquetWriter(tmp, schema, compression="zstd") as writer:
        for table in (first, *tables):
            # How rows were shared out among processes decides the chunks, and these where pages of the file end.
            writer.write_table(table.cast(schema).combine_chunks())
    return record


def is_exported_set(path: Path) -> bool:
    """Check whether a Parquet file has the metadata that `export_challenge_set` writes."""
    if path.suffix != _PARQUET or not path.is_file():
        return False
    try:
        return _RECORD in (pq.read_schema(path).metadata or {})
    except (pa.ArrowException, OSError, UnicodeError):  # the reader of the file reports this error
        return False


def read_exported_set(path: Path) -> BuiltSet:
    """Read a challenge set from a Parquet file that `export_challenge_set` wrote.

    Raises:
        ValueError: If the file is of another origin, lacks columns of the set, or has other rows than were written.
    """
    from datasets import Dataset

    expected = f"{path}: expected a set written by `unbag build`"
    if not is_exported_set(validate_file(path)):
        raise DataError(f"{expected}, got a file without a set record; build the set again")
    try:
        parquet.validate_unpacked_size(path, "the file")
        table = pq.read_table(path, partitioning=None)
        record = parse_json(table.schema.metadata[_RECORD].decode())
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{expected}, got an error ({extract_first_line(error)}); build the set again") from None
    parse_record(record, ExportedSetRecord, expected)
    schema = challenge_sets.get_challenge_set(record["set"]).get_builder_class().SCHEMA
    if missing := [name for name in schema.names if name not in table.column_names]:
        raise DataError(f"{expected}, got a file without the columns {', '.join(missing)}; build the set again")
    if hash_columns([table], _IDENTIFYING) != record["data"]["sha256"]:
        raise DataError(f"{expected}, got different rows or another order; build the set again")
    return BuiltSet(
        request=SetRequest(record["set"], options={"data": str(path)}),
        # Only the columns of the set: a file may have further ones, of a later version or of the user.
        rows=Dataset(table.select(schema.names)),
        language=record["language"],
        config=record["config"],
        data=record["data"],
    )
