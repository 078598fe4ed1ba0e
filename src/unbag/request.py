"""A challenge set as it was asked for: its rows, and the record of where they come from."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from unbag import challenge_sets, counter_rng, sets
from unbag.columns import column
from unbag.files import atomic_write
from unbag.fingerprint import content_hash
from unbag.perturb.permutation import DEFAULT_SEED

_BATCH: Final = 10_000  # rows read from disk at a time
_PARQUET: Final = ".parquet"
_IDENTIFYING: Final = ("id", "premise", "hypothesis", "label")


@dataclass(frozen=True)
class Request:
    """A challenge set to evaluate on.

    Attributes:
        name: the set.
        config: one of its configs, e.g. `snli-test-hypothesis`, or a corpus; None where the options name data.
        options: the set's options, and `data`, `columns`, … for data of your own (`unbag.sets.builder`).
        examples: how many of its examples to draw; None for all.
        seed: decides which are drawn.
    """

    name: str
    config: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    examples: int | None = None
    seed: int = DEFAULT_SEED


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


def build(request: Request) -> BuiltSet:
    """Build a challenge set, or take it from the cache, and draw the examples asked for.

    Raises:
        ValueError: if there is no such set, config or option, the pairs cannot be read, or none of them can be used.
    """
    builder = sets.builder(request.name, request.config, **request.options)
    sources = builder.sources()
    counts: Counter[str] = sum((source.count() for source in sources), Counter())
    rows = sets.prepare(builder)
    used = len(rows.unique("source_id"))
    otherwise = builder.unfit_otherwise()
    unfit = counts["labelled"] - used - sum(otherwise.values())
    left_out = {"unlabelled": counts["unlabelled"], "empty": counts["empty"], builder.UNFIT: unfit, **otherwise}
    read_as = builder.config.read_as()
    drawn = {}
    if request.examples is not None and request.examples < used:
        rows = draw_examples(rows, request.examples, request.seed)
        left_out["not drawn"] = used - request.examples
        drawn = {"examples": request.examples, "examples_seed": request.seed}
    return BuiltSet(
        request=request,
        rows=rows,
        language=sources[0].language,
        config=builder.config.own_options() | builder.made_with() | drawn,
        data={
            "name": sources[0].name,
            "split": "+".join(source.split for source in sources),
            "origin": sources[0].origin,
            "revision": sources[0].revision,
            **({"read_as": read_as} if read_as else {}),
            "rows": counts["rows"],
            "left_out": {reason: n for reason, n in left_out.items() if n},
            "sha256": content_hash(rows.with_format("arrow").iter(batch_size=_BATCH), _IDENTIFYING),
        },
    )


def draw_examples(rows: Any, n: int, seed: int) -> Any:
    """Keep the rows of n source examples, chosen by the seed and the source ids alone, in their order."""

    def key(source_id: str) -> int:
        return int(counter_rng.key(seed, "examples", source_id))

    drawn = sorted(rows.unique("source_id"), key=key)[:n]
    is_drawn = pc.is_in(column(rows, "source_id"), value_set=pa.array(drawn, type=pa.string()))
    return rows.select(np.flatnonzero(is_drawn.to_numpy(zero_copy_only=False)))


def export(request: Request, path: Path) -> dict[str, Any]:
    """Write a challenge set as Parquet, and return its record: `examples`, `rows`, `config` and `data`.

    The record is also in the schema metadata of each file, under `unbag`.

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
        return _write(built, built.rows, built.data, path)
    rows_of = splits_of(built)
    if len(rows_of) == 1:
        [(name, rows)] = rows_of.items()
        record = _write(built, rows, built.data, path / f"{name}{_PARQUET}")
        return record | {"splits": {name: {key: record[key] for key in ("examples", "rows")}}}
    # What is in another split was left out of one, and not of the folder.
    elsewhere = challenge_sets.get(request.name).builder_class().UNFIT
    left_out = {reason: n for reason, n in built.data["left_out"].items() if reason != elsewhere}
    examples = {name: len(rows.unique("source_id")) for name, rows in rows_of.items()}
    counted: dict[str, dict[str, int]] = {}
    for name, rows in rows_of.items():
        data = {
            **built.data,
            "left_out": left_out | {elsewhere: sum(examples.values()) - examples[name]},
            "sha256": content_hash(rows.with_format("arrow").iter(batch_size=_BATCH), _IDENTIFYING),
        }
        record = _write(built, rows, data, path / f"{name}{_PARQUET}")
        counted[name] = {key: record[key] for key in ("examples", "rows")}
    totals = {key: sum(each[key] for each in counted.values()) for key in ("examples", "rows")}
    return record | totals | {"data": {**built.data, "left_out": left_out}, "splits": counted}


def splits_of(built: BuiltSet) -> dict[str, Any]:
    """Return the rows of each split of a set that was built; of one whose examples were drawn, the evaluated one's."""
    builder = sets.builder(built.request.name, built.request.config, **built.request.options)
    evaluated = sets.prepare(builder)  # from the cache
    return builder.as_dataset() if built.request.examples is None else {str(evaluated.split): built.rows}


def _write(built: BuiltSet, rows: Any, data: Mapping[str, Any], path: Path) -> dict[str, Any]:
    record = {
        "set": built.request.name,
        "examples": len(rows.unique("source_id")),
        "rows": len(rows),
        "config": dict(built.config),
        "data": dict(data),
    }
    tables = rows.with_format("arrow").iter(batch_size=_BATCH)
    first = next(tables)
    schema = first.schema.with_metadata({**(first.schema.metadata or {}), b"unbag": json.dumps(record).encode()})
    with atomic_write(path) as tmp, pq.ParquetWriter(tmp, schema, compression="zstd") as writer:
        for table in (first, *tables):
            writer.write_table(table.cast(schema))
    return record
