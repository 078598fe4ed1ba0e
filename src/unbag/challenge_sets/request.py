"""A challenge set as it was asked for: its rows, and the record of where they come from."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
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
from unbag.challenge_sets.results import whole as whole_record
from unbag.data import parquet
from unbag.data.columns import column, distinct
from unbag.data.sources import LEFT_OUT
from unbag.data.text.tokens import has_words
from unbag.utils import rng
from unbag.utils.files import atomic_write
from unbag.utils.hashing import content_hash
from unbag.utils.options import check_int, require
from unbag.utils.redaction import first_line
from unbag.utils.safe_io import DataError, parsed_json, validate_file

BUILDING: Final = "building the sets"
"""What goes on while they are built ahead."""

_BATCH: Final = 10_000  # rows read from disk at a time
_PARQUET: Final = ".parquet"
_RECORD: Final = b"unbag"  # in the metadata of a file's schema
_IDENTIFYING: Final = ("id", "premise", "hypothesis", "label")


@dataclass(frozen=True)
class Request:
    """A challenge set to evaluate on.

    Attributes:
        name: the set.
        config: one of its configs, e.g. `snli-test-hypothesis`, or a corpus; None where the options name data.
        options: the set's options, and `data`, `columns`, … for data of your own
            (`unbag.challenge_sets.loading.builder`).
        examples: how many of its examples to draw; None for all.
        seed: decides which are drawn.
    """

    name: str
    config: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    examples: int | None = None
    seed: int = DEFAULT_SEED

    def __post_init__(self) -> None:
        """Refuse what cannot be asked for, whether a command or Python asks.

        Raises:
            ValueError: if a field has no such value.
        """
        require(Request, vars(self))
        if self.examples is not None:
            check_int("the number of examples", self.examples, least=1)


@dataclass(frozen=True)
class BuiltSet:
    """A challenge set's rows and where they come from.

    Attributes:
        request: what was asked for.
        rows: a `datasets.Dataset`.
        language: of its sentences.
        config: the set's options as they were resolved, for the record.
        data: where the pairs come from, for the record.
    """

    request: Request
    rows: Any
    language: str
    config: Mapping[str, Any]
    data: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the set."""
        return self.request.name

    @cached_property
    def decisive(self) -> NDArray[np.bool_]:
        """Which rows the score beyond words rests on (`ChallengeSet.decisive_rows`), shape (n,)."""
        return challenge_sets.get(self.request.name).decisive_rows(self.rows)

    @cached_property
    def control(self) -> Any:
        """The decisive rows with shuffled words, draw after draw (`perturbations.shuffled`): a `datasets.Dataset`.

        None where there is none, where the set is in no order already, and of a language whose sentences are not cut
        into words here.
        """
        described, n = challenge_sets.get(self.request.name), int(self.decisive.sum())
        if not (n and described.has_shuffled_control and has_words(self.language)):
            return None
        from datasets import concatenate_datasets

        rows, draws = self.rows.select(np.flatnonzero(self.decisive)), range(shuffled.draws_for(n))
        return concatenate_datasets([shuffled.shuffled_rows(rows, self.language, draw) for draw in draws])


def check(request: Request) -> Any:
    """Return the builder of a set, and refuse what cannot be built, before any of its pairs is read.

    Raises:
        ValueError: if there is no such set, config or option, or a file or pipeline that is named is none.
    """
    builder = loading.builder(request.name, request.config, **request.options)
    builder.validate_names()
    return builder


def build_ahead(requests: Sequence[Request], progress: Callable[[int, int], None] | None = None) -> None:
    """Have sets built, for `build` to find in the cache, before a model is loaded.

    Several processes are forked from this one, which would copy the model, and may hang where its threads compute.

    Args:
        requests: the sets; of one that cannot be built, `build` says so.
        progress: called with how many of how many are built.
    """
    for number, request in enumerate(requests):
        if progress is not None:
            progress(number, len(requests))
        with suppress(Exception):
            loading.prepare(check(request))
    if progress is not None:
        progress(len(requests), len(requests))


def build(request: Request) -> BuiltSet:
    """Build a challenge set, or take it from the cache, and draw the examples asked for.

    Raises:
        ValueError: if there is no such set, config or option, the pairs cannot be read, or none of them can be used.
    """
    builder = check(request)
    return described(request, builder, loading.prepare(builder))


def described(request: Request, builder: Any, rows: Any) -> BuiltSet:
    """Return a set that was built, with the record of where its rows come from, and draw the examples asked for.

    Args:
        request: the set.
        builder: its builder, beside whose rows is what it noted while it made them.
        rows: of the split that models are evaluated on.
    """
    sources = builder.sources()
    counts = builder.read_counts()
    votes = human_agreement.votes(sources) if counts[build_stats.ANNOTATED] else {}
    used = distinct(rows, "source_id")
    otherwise = builder.exclusion_counts()
    unfit = counts[build_stats.LABELLED] - used - sum(otherwise.values())
    left_out = {reason: counts[reason] for reason in LEFT_OUT}
    left_out |= {builder.UNFIT: unfit, **otherwise}
    read_as = builder.config.read_as()
    drawn = {}
    if request.examples is not None and request.examples < used:
        rows = draw_examples(rows, request.examples, request.seed)
        left_out["not drawn"] = used - request.examples
        drawn = {"examples": request.examples, "examples_seed": request.seed}
    people = human_agreement.people(rows, votes)
    return BuiltSet(
        request=request,
        rows=rows,
        language=sources[0].language,
        config=builder.config.own_options() | builder.provenance() | drawn,
        data={
            "name": sources[0].name,
            "split": "+".join(source.split for source in sources),
            "origin": sources[0].origin,
            "revision": sources[0].revision,
            **({"read_as": read_as} if read_as else {}),
            "rows": counts["rows"],
            "left_out": {reason: n for reason, n in left_out.items() if n},
            **({"people": people} if people else {}),
            "sha256": content_hash(rows.with_format("arrow").iter(batch_size=_BATCH), _IDENTIFYING),
        },
    )


def draw_examples(rows: Any, n: int, seed: int) -> Any:
    """Keep the rows of n source examples, chosen by the seed and the source ids alone, in their order."""

    def key(source_id: str) -> int:
        return int(rng.key(seed, "examples", source_id))

    drawn = sorted(rows.unique("source_id"), key=key)[:n]
    is_drawn = pc.is_in(column(rows, "source_id"), value_set=pa.array(drawn, type=pa.string()))
    return rows.select(np.flatnonzero(is_drawn.to_numpy(zero_copy_only=False)))


def export(request: Request, path: Path) -> dict[str, Any]:
    """Write a challenge set as Parquet, and return its record: `set`, `language`, `examples`, `rows`, `config`, `data`.

    The record is also in the schema metadata of each file, under `unbag`: `read_back` knows the set by it.

    Args:
        request: the set.
        path: a name that ends in `.parquet` is a file, of the split that models are evaluated on. Any other is a
            folder with a file for each split, which `datasets.load_dataset` reads as splits; the record then has
            `splits`, the `examples` and `rows` of each.

    Raises:
        ValueError: as `build`.
    """
    built = build(request)
    if path.suffix == _PARQUET:
        return _write(_record(built, built.rows, built.data), built.rows, path)
    rows_of = splits_of(built)
    of_splits, record = records(built, rows_of)
    for name, rows in rows_of.items():
        _write(of_splits[name], rows, path / f"{name}{_PARQUET}")
    return record


def records(built: BuiltSet, rows_of: Mapping[str, Any]) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return the record of each split's rows, and that of a folder of them all.

    Args:
        built: the set.
        rows_of: the rows of each of its splits.
    """
    counts = ("examples", "rows")
    if len(rows_of) == 1:
        [(name, rows)] = rows_of.items()
        record = _record(built, rows, built.data)
        return {name: record}, record | {"splits": {name: {key: record[key] for key in counts}}}
    # What is in another split was left out of one, and not of the folder.
    elsewhere = challenge_sets.get(built.request.name).builder_class().UNFIT
    left_out = {reason: n for reason, n in built.data["left_out"].items() if reason != elsewhere}
    examples = {name: distinct(rows, "source_id") for name, rows in rows_of.items()}
    of_splits = {
        name: _record(
            built,
            rows,
            {
                **built.data,
                "left_out": left_out | {elsewhere: sum(examples.values()) - examples[name]},
                "sha256": content_hash(rows.with_format("arrow").iter(batch_size=_BATCH), _IDENTIFYING),
            },
        )
        for name, rows in rows_of.items()
    }
    *_, last = of_splits.values()
    totals = {key: sum(record[key] for record in of_splits.values()) for key in counts}
    of_each = {name: {key: record[key] for key in counts} for name, record in of_splits.items()}
    return of_splits, last | totals | {"data": {**built.data, "left_out": left_out}, "splits": of_each}


def splits_of(built: BuiltSet) -> dict[str, Any]:
    """Return the rows of each split of a set that was built; of one whose examples were drawn, the evaluated one's."""
    builder = loading.builder(built.request.name, built.request.config, **built.request.options)
    evaluated = loading.prepare(builder)  # from the cache
    return builder.as_dataset() if built.request.examples is None else {str(evaluated.split): built.rows}


def _record(built: BuiltSet, rows: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "set": built.request.name,
        "language": built.language,
        "examples": data["rows"] - sum(data["left_out"].values()),
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


def is_exported(path: Path) -> bool:
    """Tell whether a file is one that `export` wrote, or was made of one and kept its metadata."""
    if path.suffix != _PARQUET or not path.is_file():
        return False
    try:
        return _RECORD in (pq.read_schema(path).metadata or {})
    except (pa.ArrowException, OSError, UnicodeError):  # whoever reads it says so
        return False


def read_back(path: Path) -> BuiltSet:
    """Return the set in a file that `export` wrote: the rows as they are there, with the record of where they are from.

    Raises:
        DataError: if the file is none, lacks columns of the set, or has other rows than were written.
    """
    if not is_exported(validate_file(path)):
        raise DataError(f"{path}: expected a Parquet file that `unbag build` wrote, found no record of a set in it")
    try:
        parquet.validate_row_group_size(path, "the file", path.stat().st_size)
        table = pq.read_table(path, partitioning=None)
        record = parsed_json(table.schema.metadata[_RECORD].decode())
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({first_line(error)}); build it again") from None
    with whole_record(path):
        return _as_built(path, table, record)


def _as_built(path: Path, table: Any, record: Mapping[str, Any]) -> BuiltSet:
    from datasets import Dataset

    if "language" not in record:
        raise DataError(f"{path}: was written by an earlier version of unbag; build the set again")
    schema = challenge_sets.get(record["set"]).builder_class().SCHEMA
    if missing := [name for name in schema.names if name not in table.column_names]:
        raise DataError(
            f"{path}: the columns {', '.join(missing)} of the set {record['set']} are missing; name the file that "
            "`unbag build` wrote (--set FILE)"
        )
    if content_hash([table], _IDENTIFYING) != record["data"]["sha256"]:
        raise DataError(f"{path}: has other rows than `unbag build` wrote, or in another order; build it again")
    return BuiltSet(
        request=Request(record["set"], options={"data": str(path)}),
        rows=Dataset(table.select(schema.names)),
        language=record["language"],
        config=record["config"],
        data=record["data"],
    )
