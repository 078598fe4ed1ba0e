"""Challenge sets built on a Ray cluster: each part by a task, as one file that is whole or not there.

<out>/<split>-00000-of-00012.parquet   the rows of the first spans of the source, in order
<out>/record.json                      what `unbag build` tells of the set, once all parts are there
"""

import json
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from unbag.challenge_sets import build_stats, loading
from unbag.challenge_sets.request import Request, records, to_built_set, validated_builder
from unbag.data.columns import count_distinct
from unbag.data.sources import Source
from unbag.evaluation.ray.cluster import caught, cluster, unpack_outcome, validate_ray
from unbag.evaluation.ray.rows_in_parts import META, RowsInParts, meta_of
from unbag.utils.storage import Folder

RECORD: Final = "record.json"
_MOST_SPANS: Final = 40
"""Of a part: 20,000 pairs of a source, some ten MB of rows."""
_LEAST_PARTS: Final = 32
"""Of what has as many spans, for a cluster to share. How many there are does not depend on the cluster."""
_OF_SOURCES: Final = ("source", "sources")
"""What of a builder's `_generate_tables` each process opens for itself, for what is behind it is on its disk."""
_NOTES: Final = ("counts", "read")
_USED: Final = "used"


class Part(NamedTuple):
    """Some of the rows of a split.

    Attributes:
        file: its name.
        key: a hash of what decides its rows.
        spans: what of the sources it is made of.
    """

    file: str
    key: str
    spans: list[Any]


def build(request: Request, output: str | Path) -> dict[str, Any]:
    """Build a challenge set into a folder of Parquet files, and return its record, as `request.export` does.

    The rows, their order, their ids and their hash are those of `request.export`, whatever the cluster. A build that
    was stopped goes on: the parts that are there are not made again.

    Args:
        request: the set, all examples of it.
        output: a folder that all nodes see, by its path or address.

    Raises:
        ValueError: as `request.build`; if examples are to be drawn, or something else is in the folder.
        ImportError: without the extra `ray`.
    """
    if request.max_examples is not None:
        raise ValueError("the engine ray builds whole sets; leave out --max-examples, or --engine ray")
    if str(output).endswith(".parquet"):
        raise ValueError(f"the engine ray writes a folder of files, found --output-dir {output}; leave out .parquet")
    validate_ray()
    folder, builder = Folder(output), validated_builder(request)
    with TemporaryDirectory(prefix="unbag-") as tmp:
        builder._output_dir = _prepared(tmp)
        # Before Ray is there: what is made ready may be made by forks of this process, which its threads would hinder.
        splits = builder._split_generators(SimpleNamespace(is_streaming=False))
        parts = {split.name: _parts(builder, split) for split in splits}
        wanted = {part.file for each in parts.values() for part in each}
        _require_own(folder, wanted)
        with cluster() as ray:
            said = [each for split in splits for each in _make(ray, request, builder, split, parts[split.name], folder)]
        _require_seen(folder, wanted)
        for number, notes in enumerate(said):
            for kind in _NOTES:
                build_stats.save_counts(Path(builder._output_dir), f"{kind}-part", number, notes[kind])
        rows = {name: RowsInParts(folder, [part.file for part in each]) for name, each in parts.items()}
        _require_unique(builder, said, rows)
        loading.validate_row_range(builder, map(len, rows.values()))
        built = to_built_set(request, builder, rows[builder.EVALUATED or splits[0].name])
        _, record = records(built, rows)
    folder.write(RECORD, (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode())
    return record


def _make(
    ray: Any, request: Request, builder: Any, split: Any, parts: Sequence[Part], folder: Folder
) -> list[Mapping[str, Mapping[str, int]]]:
    """Make the parts of a split, and return what was noted of each, in their order."""
    config = builder.config
    pinned = {"revision": config.revision} if config.revision else {}  # a branch may move while this goes on
    plan = {name: value for name, value in split.gen_kwargs.items() if name not in (*_OF_SOURCES, "spans")}
    asked = json.dumps((request.name, request.config, {**request.options, **pinned}), default=str)
    shared = ray.put((asked, plan, folder, os.getcwd()))
    items = [{"number": number, "part": json.dumps(part)} for number, part in enumerate(parts)]
    tasks = ray.data.from_items(items, override_num_blocks=len(items)).map(_made, fn_args=(_Shared(shared),))
    found = dict(unpack_outcome(row["outcome"]) for row in tasks.iter_rows())
    return [found[number] for number in range(len(parts))]


class _Shared(NamedTuple):
    """What all tasks read, by a reference that Ray is not to resolve for each of them."""

    reference: Any


def _made(row: Mapping[str, Any], shared: _Shared) -> dict[str, bytes]:
    """Make a part, in a task, unless it is there; the outcome is its number and what was noted of it."""
    import ray

    number, part = int(row["number"]), Part(*json.loads(row["part"]))
    asked, plan, folder, here = ray.get(shared.reference)
    return {"outcome": caught(lambda: (number, _notes(asked, plan, folder, part)), here)}


def _notes(asked: str, plan: Mapping[str, Any], folder: Folder, part: Part) -> dict[str, dict[str, int]]:
    there = meta_of(folder, part.file)
    if there is not None and there["key"] == part.key:
        found: dict[str, dict[str, int]] = there["noted"]
        return found
    builder, sources = _opened(asked)
    merged = "sources" in signature(builder._generate_tables).parameters
    opened: dict[str, Any] = {"sources": sources} if merged else {"source": sources[0]}
    with TemporaryDirectory(prefix="unbag-") as tmp:
        builder._output_dir = _prepared(tmp)
        tables = [table for _, table in builder._generate_tables(**plan, **opened, spans=part.spans)]
        for source in sources:
            build_stats.validate_unique_ids(source, Path(builder._output_dir))
        notes = {kind: dict(build_stats.load_counts(Path(builder._output_dir), kind)) for kind in _NOTES}
    schema = builder.info.features.arrow_schema
    table = pa.concat_tables([table.cast(schema) for table in tables]) if tables else schema.empty_table()
    notes[_USED] = {_USED: len(table.column("source_id").unique())}
    meta = {"key": part.key, "noted": notes}
    buffer = pa.BufferOutputStream()
    with_meta = table.replace_schema_metadata({**(schema.metadata or {}), META: json.dumps(meta).encode()})
    pq.write_table(with_meta, buffer, compression="zstd", write_page_checksum=True)
    folder.write(part.file, buffer.getvalue().to_pybytes())
    return notes


@lru_cache(maxsize=4)
def _opened(asked: str) -> tuple[Any, tuple[Source, ...]]:
    """Return a builder and its sources, opened once a process."""
    name, config, options = json.loads(asked)
    builder = loading.builder(name, config, **options)
    sources = tuple(builder.sources())
    for source in sources:
        _ = source.spans  # where the rows of a text file begin, or each part would read all lines before its own
    return builder, sources


_FOLDER: Final = "rows.incomplete"  # as `datasets` calls one in which a set is being prepared


def _prepared(tmp: str) -> str:
    folder = Path(tmp) / _FOLDER
    folder.mkdir()
    return str(folder)


def _parts(builder: Any, split: Any) -> list[Part]:
    spans = split.gen_kwargs["spans"]
    size = max(1, min(_MOST_SPANS, len(spans) // _LEAST_PARTS))
    groups = [spans[start : start + size] for start in range(0, len(spans), size)]
    keys = [json.dumps([builder.dataset_name, builder.config_id, builder.hash, split.name, group]) for group in groups]
    return [
        Part(f"{split.name}-{number:05}-of-{len(groups):05}.parquet", sha256(key.encode()).hexdigest(), group)
        for number, (key, group) in enumerate(zip(keys, groups, strict=True))
    ]


def _require_own(folder: Folder, wanted: set[str]) -> None:
    """Refuse a folder with files that whoever loads it would take for rows of this set."""
    if other := [name for name in folder.names() if name.endswith(".parquet") and name not in wanted]:
        raise ValueError(f"{folder}: expected no other set's rows, found {', '.join(other[:3])}; name another folder")


def _require_seen(folder: Folder, wanted: set[str]) -> None:
    """Refuse a folder that is another one on another node."""
    if unseen := sorted(wanted.difference(folder.names())):
        raise ValueError(
            f"{folder}: this process does not see {unseen[0]}, which a node of the cluster wrote; name a folder that "
            "all nodes see, or an address such as s3://… (--output-dir)"
        )


def _require_unique(builder: Any, said: Sequence[Mapping[str, Mapping[str, int]]], rows: Mapping[str, Any]) -> None:
    """Refuse a source of which an id comes in two parts; one that comes twice in a part is refused there."""
    sources = builder.sources()
    if not any(source.has_ids for source in sources):
        return
    used = sum(notes[_USED][_USED] for notes in said)
    if used > sum(count_distinct(each, "source_id") for each in rows.values()):
        for source in sources:
            source.count()  # looks at the ids themselves
