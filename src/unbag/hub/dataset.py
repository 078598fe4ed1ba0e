"""Challenge sets as dataset repositories: Parquet files and a card, readable with `datasets` without unbag."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from glob import escape
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from unbag.challenge_sets import loading
from unbag.challenge_sets.request import SetRequest, build_requested_set, create_validated_builder, load_splits
from unbag.challenge_sets.results import collect_environment
from unbag.data.corpora import CORPORA
from unbag.data.readers import is_hub_id
from unbag.hub import benchmarks
from unbag.hub.cards import replace_paths_with_file_names
from unbag.hub.dataset_card import ConfigCard, merge_card, summarize_tables
from unbag.hub.licenses import choose_license
from unbag.hub.push import HubUpload, MergeFunction
from unbag.utils.hub import validate_config_name, validate_repo

_ROWS_PER_SHARD: Final = 1_000_000  # about 100 MB of permuted pairs
_ROWS_PER_GROUP: Final = 100_000  # rows in memory at a time, about 30 MB
_SAMPLE_ROWS: Final = 2  # rows on the card; in many sets the first row is the unchanged pair
_SIZES: Final = ("bytes", "stored")  # keys of the sizes of the rows in memory and in files
_RECORDED_PACKAGES: Final = ("unbag", "datasets", "numpy", "pyarrow", "spacy")


def build_dataset_upload(
    requests: Sequence[SetRequest],
    repo: str,
    folder: Path,
    *,
    license: str | None = None,
    benchmark: bool = True,
    metrics_org: str | None = None,
    on_failure: Callable[[SetRequest, Exception], None] | None = None,
) -> HubUpload:
    """Build the files of a dataset repository from one or more configs of a challenge set.

    The requests are configs of the same set. The Parquet files in `folder` must be kept until they are published.
    `license` is that of user-provided data; the license of a corpus is inherited. With `benchmark`, the repository is
    registered as a benchmark with one leaderboard per config. For `metrics_org`, see `dataset_card.merge_card`. Configs
    that cannot be built are passed to `on_failure` and omitted. If no config remains, there are no files.
    """
    [name] = {request.name for request in requests}
    files: dict[str, bytes | Path | MergeFunction] = {}
    cards: list[ConfigCard] = []
    citation = ""
    validate_repo(repo)
    names = [validate_config_name(choose_config_name(request)) for request in requests]
    if on_failure is None:  # Building takes long, so all requests are validated before the first build.
        for request in requests:
            _prepare(request, license)
    for request, config in zip(requests, names, strict=True):
        try:
            card, shards, citation = _build_config(request, config, folder, license)
        except Exception as error:
            if on_failure is None:
                raise
            on_failure(request, error)
            continue
        cards.append(card)
        files |= shards
    if cards:
        files["README.md"] = partial(
            merge_card, repo=repo, set_name=name, configs=cards, citation=citation, metrics_org=metrics_org
        )
    if benchmark and cards:
        splits = {card.name: card.record["evaluated"] for card in cards}
        files[benchmarks.FILE] = partial(benchmarks.merge_tasks, set_name=name, split_by_config=splits)
    return HubUpload(
        repo=repo,
        kind="dataset",
        files=files,
        message=f"Publish {name}: {', '.join(card.name for card in cards)}",
        owned_patterns=tuple(f"data/{escape(card.name)}/*" for card in cards),
    )


def choose_config_name(request: SetRequest) -> str:
    """Choose the config name of a requested challenge set. For user-provided data, it is based on the data's name.

    >>> choose_config_name(SetRequest("permuted", "snli-test"))
    'snli-test'
    >>> choose_config_name(SetRequest("permuted", options={"data": "a b/my.csv"}))
    'my'
    >>> choose_config_name(SetRequest("recombined", options={"text": ["a.md", "b.md"]}))
    'a-and-1-more'
    """
    if request.config:
        return request.config
    if not request.user_data_names:
        return loading.resolve_config(request.name, None, None, {})[0]
    first, *others = request.user_data_names
    parts = [first.rpartition("/")[2] if is_hub_id(first) else Path(first).name.split(".")[0]]
    if others:
        parts.append(f"and-{len(others)}-more")
    if split := request.options.get("source_split"):
        parts.append(str(split))
    return re.sub(r"[^\w.-]+", "_", "-".join(parts))


def _prepare(request: SetRequest, license: str | None) -> tuple[SetRequest, Any, str, str]:
    """Validate a request before the build. Returns the final request, the builder, the source and the license."""
    # The config of user-provided data is only a name in the repository; the builder has no such config.
    own = request.user_data_names
    to_build = replace(request, config=None) if own else request
    builder = create_validated_builder(to_build)
    origin = own[0] if len(own) == 1 else str(builder.config.corpus or choose_config_name(request))
    return to_build, builder, origin, choose_license(origin, builder.info.license or "", license)


def _build_config(
    request: SetRequest, config: str, folder: Path, license: str | None
) -> tuple[ConfigCard, dict[str, Path], str]:
    """Build a config. Returns the card section, the files by path, and the citation of the set."""
    to_build, builder, origin, license = _prepare(request, license)
    built = build_requested_set(to_build)
    shards: dict[str, Path] = {}
    split_records: dict[str, Any] = {}
    for split, rows in load_splits(built).items():
        paths, split_records[split] = _write_split(rows, folder, f"data/{config}/{split}", built.language)
        shards |= paths
    corpus = CORPORA.get(builder.config.corpus)
    hub_ids = [corpus.hub_id] if corpus else [origin] if to_build.user_data_names and is_hub_id(origin) else []
    versions = collect_environment()
    record = {
        "set": to_build.name,
        "config": config,
        "version": str(builder.config.version),
        "licences": [license],
        "languages": [built.language],
        "sources": hub_ids,
        **builder.list_creators(),
        "evaluated": str(built.rows.split),
        "splits": {
            split: {key: value for key, value in n.items() if key not in _SIZES} for split, n in split_records.items()
        },
        "options": replace_paths_with_file_names(dict(built.config)),
        "data": dict(built.data),
        "versions": {package: versions[package] for package in _RECORDED_PACKAGES if package in versions},
    }
    card = ConfigCard(
        name=config,
        data_files={split: f"data/{config}/{split}-*.parquet" for split in split_records},
        dataset_info=_dataset_info(built.rows.features, split_records),
        record=record,
        citation=corpus.citation if corpus else "",
        sample=[dict(row) for row in built.rows.select(range(min(_SAMPLE_ROWS, len(built.rows))))],
        license_link=corpus.license_link if corpus else "",
    )
    return card, shards, str(builder.challenge_set.citation)


def _write_split(rows: Any, folder: Path, stem: str, language: str) -> tuple[dict[str, Path], dict[str, Any]]:
    """Write a split as Parquet files. Returns the files by path in the repository, and their sizes and statistics."""
    n_shards = max(1, -(-len(rows) // _ROWS_PER_SHARD))
    # With the same version of pyarrow, equal rows produce equal bytes, regardless of the cache layout. Publishing the
    # same rows again therefore creates no commit.
    schema = rows.features.arrow_schema  # its metadata contain only the label names, so that the bytes are reproducible
    paths = {path: folder / path for n in range(n_shards) for path in [f"{stem}-{n:05d}-of-{n_shards:05d}.parquet"]}
    n_bytes = 0
    # The cache may split a batch into chunks anywhere. One chunk per group makes the row groups reproducible.
    batches = rows.with_format("arrow").iter(batch_size=_ROWS_PER_GROUP)
    groups = (table.cast(schema).combine_chunks() for table in batches)

    def write() -> Iterator[pa.Table]:
        nonlocal n_bytes
        for path in paths.values():
            path.parent.mkdir(parents=True, exist_ok=True)
            # With content-defined chunks, the Hub's storage reuses most chunks after a small change of the rows.
            with pq.ParquetWriter(path, schema, compression="zstd", use_content_defined_chunking=True) as writer:
                for group in islice(groups, _ROWS_PER_SHARD // _ROWS_PER_GROUP):
                    writer.write_table(group)
                    n_bytes += group.nbytes
                    yield group

    record = summarize_tables(write(), rows.features["label"].names, language)
    stored = sum(path.stat().st_size for path in paths.values())
    return paths, record | dict(zip(_SIZES, (n_bytes, stored), strict=True))


def _dataset_info(features: Any, split_records: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Build the `dataset_info` entry of the front matter in the form that `datasets` writes."""
    from datasets import DatasetInfo, SplitDict, SplitInfo
    from datasets.info import DatasetInfosDict
    from huggingface_hub import DatasetCardData

    splits = SplitDict()
    for name, n in split_records.items():
        splits.add(SplitInfo(name, num_bytes=n["bytes"], num_examples=n["rows"]))
    info = DatasetInfo(
        features=features,
        splits=splits,
        download_size=sum(n["stored"] for n in split_records.values()),
        dataset_size=sum(n["bytes"] for n in split_records.values()),
    )
    data = DatasetCardData()
    DatasetInfosDict({"default": info}).to_dataset_card_data(data)
    written: dict[str, Any] = data.to_dict()["dataset_info"]  # type: ignore[no-untyped-call]
    return {key: value for key, value in written.items() if key != "config_name"}
