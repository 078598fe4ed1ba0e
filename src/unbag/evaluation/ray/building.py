"""Building of challenge sets on a Ray cluster. Each task writes some of the rows atomically to one file.

<output>/<split>-00000-of-00012.parquet   rows of the first spans of the source, in order
<output>/record.json                      record of the set, written after all parts
"""

import json
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import datasets
import pyarrow as pa
import pyarrow.parquet as pq

from unbag.challenge_sets import build_stats, loading
from unbag.challenge_sets.request import SetRequest, build_set_from_rows, build_split_records, create_validated_builder
from unbag.data.columns import count_distinct
from unbag.data.sources import PairSource
from unbag.evaluation.ray.cluster import connect_to_cluster, run_and_pickle_outcome, unpickle_outcome, validate_ray
from unbag.utils.redaction import extract_first_line
from unbag.utils.safe_io import DataError
from unbag.utils.storage import StorageFolder

META: Final = b"unbag.part"
"""Schema metadata key for the hash of the inputs and the counts of the build."""


def load_parts(folder: StorageFolder, files: Sequence[str], schema: pa.Schema, path: Path) -> datasets.Dataset:
    """Copy the rows of some parts to a local Arrow file, and load it."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
        for name in files:
            try:
                table = pq.read_table(pa.BufferReader(folder.read(name)), page_checksum_verification=True)
            except (OSError, pa.ArrowException) as error:
                raise DataError(
                    f"{folder.get_location(name)}: expected a readable file, got an error "
                    f"({extract_first_line(error)}); remove the file and build the set again"
                ) from None
            writer.write_table(table.cast(schema))
    return datasets.Dataset.from_file(str(path))


def read_metadata(folder: StorageFolder, name: str) -> dict[str, Any] | None:
    """Read unbag's metadata from a Parquet file. Return None if the file is missing, corrupted or has no metadata."""
    try:
        schema = pq.read_schema(pa.BufferReader(folder.read(name)))
        meta: dict[str, Any] = json.loads(schema.metadata[META])
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
        return None
    return meta


RECORD: Final = "record.json"
_MOST_SPANS: Final = 40
"""Maximum number of spans per part: 20,000 pairs of a source, about 10 MB of rows."""
_LEAST_PARTS: Final = 32
"""Minimum number of parts of a split with enough spans. It does not depend on the cluster, so files are equal on
all clusters."""
_COUNT_KINDS: Final = ("counts", "read")
_USED: Final = "used"


class SplitFile(NamedTuple):
    """File with some of the rows of a split."""

    file: str
    key: str  # hash of the inputs of the rows
    spans: list[Any]  # ranges of source examples from which the rows are built


def build_set_on_cluster(request: SetRequest, output: str | Path) -> dict[str, Any]:
    """Build a challenge set on a Ray cluster as a folder of Parquet files. Returns the set's JSON record.

    Rows, order, ids and hash equal those of `request.export_challenge_set` on any cluster. A stopped build resumes from
    the existing parts. All nodes must have access to the folder, a path or URL.
    """
    if request.max_examples is not None:
        raise ValueError(
            "--engine ray: cannot be combined with --max-examples, because Ray builds complete sets; omit one of them"
        )
    if str(output).endswith(".parquet"):
        raise ValueError(f"--engine ray: expected a folder, got --output {output}; omit .parquet")
    validate_ray()
    folder, builder = StorageFolder(output), create_validated_builder(request)
    with TemporaryDirectory(prefix="unbag-") as tmp:
        builder._output_dir = _create_build_folder(tmp)
        # Before Ray starts: builders may fork this process, and forking is unsafe once Ray has started its threads.
        splits = builder._split_generators(SimpleNamespace(is_streaming=False))
        parts = {split.name: _parts(builder, split) for split in splits}
        wanted = {part.file for each in parts.values() for part in each}
        if other := [name for name in folder.list_names() if name.endswith(".parquet") and name not in wanted]:
            raise ValueError(
                f"{folder}: expected no files of other sets, got {', '.join(other[:3])}; use another folder"
            )
        with connect_to_cluster() as ray:
            part_counts = [
                each
                for split in splits
                for each in _build_parts(ray, request, builder, split, parts[split.name], folder)
            ]
        if missing := sorted(wanted.difference(folder.list_names())):
            raise ValueError(
                f"--output: expected a folder that all nodes can access, got {folder}, which does not contain the file "
                f"{missing[0]} written by another node; use a shared folder or a URL such as s3://…"
            )
        for number, counts in enumerate(part_counts):
            for kind in _COUNT_KINDS:
                build_stats.save_range_counts(Path(builder._output_dir), f"{kind}-part", number, counts[kind])
        schema = builder.info.features.arrow_schema
        rows = {
            name: load_parts(folder, [part.file for part in each], schema, Path(tmp) / f"{name}.arrow")
            for name, each in parts.items()
        }
        _validate_unique_ids(builder, part_counts, rows)
        loading.validate_has_rows(builder, map(len, rows.values()))
        built = build_set_from_rows(request, builder, rows[builder.challenge_set.evaluation_split or splits[0].name])
        _, record = build_split_records(built, rows)
    folder.write(RECORD, (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode())
    return record


def _build_parts(
    ray: Any, request: SetRequest, builder: Any, split: Any, parts: Sequence[SplitFile], folder: StorageFolder
) -> list[dict[str, dict[str, int]]]:
    """Build the parts of a split. Returns the counts of each part, in order."""
    config = builder.config
    pinned = {"revision": config.revision} if config.revision else {}  # a branch may move during the build
    builder_spec = json.dumps((request.name, request.config, {**request.options, **pinned}), default=str)
    # Without the sources, which each process opens itself, because the files are local.
    plan, task = ray.put(split.gen_kwargs["plan"]), ray.remote(_build_part)
    outcomes = [task.remote(builder_spec, plan, folder, part, os.getcwd()) for part in parts]
    return [unpickle_outcome(ray.get(each)) for each in outcomes]


def _build_part(builder_spec: str, plan: Any, folder: StorageFolder, part: SplitFile, driver_folder: str) -> bytes:
    """Build a part in a task, unless it exists. Returns its counts as an outcome."""
    return run_and_pickle_outcome(lambda: _write_part(builder_spec, plan, folder, part), driver_folder)


def _write_part(builder_spec: str, plan: Any, folder: StorageFolder, part: SplitFile) -> dict[str, dict[str, int]]:
    """Write a part unless its file exists with the same key. Returns its counts."""
    stored = read_metadata(folder, part.file)
    if stored is not None and stored["key"] == part.key:
        stored_counts: dict[str, dict[str, int]] = stored["noted"]
        return stored_counts
    builder, sources = _open_builder(builder_spec)
    with TemporaryDirectory(prefix="unbag-") as tmp:
        builder._output_dir = _create_build_folder(tmp)
        tables = [table for _, table in builder._generate_tables(sources, part.spans, plan)]
        for source in sources:
            build_stats.validate_unique_ids(source, Path(builder._output_dir))
        counts = {kind: dict(build_stats.load_total_counts(Path(builder._output_dir), kind)) for kind in _COUNT_KINDS}
    schema = builder.info.features.arrow_schema
    table = pa.concat_tables([table.cast(schema) for table in tables]) if tables else schema.empty_table()
    counts[_USED] = {_USED: len(table.column(builder.challenge_set.example_id).unique())}
    meta = {"key": part.key, "noted": counts}
    buffer = pa.BufferOutputStream()
    with_meta = table.replace_schema_metadata({**(schema.metadata or {}), META: json.dumps(meta).encode()})
    pq.write_table(with_meta, buffer, compression="zstd", write_page_checksum=True)
    folder.write(part.file, buffer.getvalue().to_pybytes())
    return counts


@lru_cache(maxsize=4)
def _open_builder(builder_spec: str) -> tuple[Any, tuple[PairSource, ...]]:
    """Open a builder and its sources, once per process."""
    name, config, options = json.loads(builder_spec)
    builder = loading.create_builder(name, config, **options)
    return builder, tuple(builder.open_sources())


_FOLDER: Final = "rows.incomplete"  # the name that `datasets` gives to folders of unfinished builds


def _create_build_folder(tmp: str) -> str:
    folder = Path(tmp) / _FOLDER
    folder.mkdir()
    return str(folder)


def _parts(builder: Any, split: Any) -> list[SplitFile]:
    spans = split.gen_kwargs["spans"]
    size = max(1, min(_MOST_SPANS, len(spans) // _LEAST_PARTS))
    groups = [spans[start : start + size] for start in range(0, len(spans), size)]
    keys = [json.dumps([builder.dataset_name, builder.config_id, builder.hash, split.name, group]) for group in groups]
    return [
        SplitFile(f"{split.name}-{number:05}-of-{len(groups):05}.parquet", sha256(key.encode()).hexdigest(), group)
        for number, (key, group) in enumerate(zip(keys, groups, strict=True))
    ]


def _validate_unique_ids(
    builder: Any, part_counts: Sequence[Mapping[str, Mapping[str, int]]], rows: Mapping[str, Any]
) -> None:
    """Validate that no source id occurs in two parts. Duplicates within a part raise when the part is built."""
    sources = builder.open_sources()
    if not any(source.has_ids for source in sources):
        return
    used = sum(counts[_USED][_USED] for counts in part_counts)
    if used > sum(count_distinct(each, builder.challenge_set.example_id) for each in rows.values()):
        for source in sources:
            source.count_rows()  # reads all ids and raises an error that names the duplicate
