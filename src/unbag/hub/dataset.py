"""A challenge set as a data set repository: Parquet files and a card, which plain `datasets` reads."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from glob import escape
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from unbag.challenge_sets import loading
from unbag.challenge_sets.request import Request, build, splits_of, validated_builder
from unbag.challenge_sets.results import environment
from unbag.data.corpora import CORPORA
from unbag.data.readers import is_hub_id
from unbag.hub import benchmark_file
from unbag.hub.dataset_card import ConfigCard, Statistics, merge_card
from unbag.hub.licences import choose_licence
from unbag.hub.local_paths import strip_folders
from unbag.hub.push import Merge, Publication
from unbag.utils.hub_names import validate_config_name, validate_repo

_ROWS_OF_SHARD: Final = 1_000_000  # some 100 MB of permuted pairs
_ROWS_OF_GROUP: Final = 100_000  # what is in memory at a time, some 30 MB
_SAMPLE: Final = 2  # rows on the card: of many sets the first is the pair as it was
_SIZES: Final = ("bytes", "stored")  # of the rows in memory, and of their files
_RECORDED_PACKAGES: Final = ("unbag", "datasets", "numpy", "pyarrow", "scikit-learn", "spacy")


def dataset_publication(
    requests: Sequence[Request], repo: str, folder: Path, *, licence: str | None = None, benchmark: bool = True
) -> Publication:
    """Build configs of one challenge set and return them as the files of a repository.

    Args:
        requests: the configs, all of one set.
        repo: `organisation/name`.
        folder: where the Parquet files are written; they are needed until they are published.
        licence: of data of the user's own; that of a corpus is inherited.
        benchmark: whether the repository is registered as a benchmark, with a leaderboard a config.

    Raises:
        ValueError: if a name is none of the Hub's, a set cannot be built, or a licence is not known or laxer than the
            inherited one.
    """
    [name] = {request.name for request in requests}
    files: dict[str, bytes | Path | Merge] = {}
    cards: list[ConfigCard] = []
    citation = ""
    validate_repo(repo)
    named = [validate_config_name(published_name(request)) for request in requests]
    if twice := next((config for config in named if named.count(config) > 1), None):
        raise ValueError(f"expected each config once, found {twice} twice")
    for request in requests:  # all of them, before the first is built
        _prepare(request, licence)
    for request, config in zip(requests, named, strict=True):
        card, shards, citation = _build_config(request, config, folder, licence)
        cards.append(card)
        files |= shards
    files["README.md"] = partial(merge_card, repo=repo, set_name=name, configs=cards, citation=citation)
    if benchmark:
        splits = {card.name: card.record["evaluated"] for card in cards}
        files[benchmark_file.FILE] = partial(benchmark_file.merge_tasks, set_name=name, splits=splits)
    return Publication(
        repo=repo,
        kind="dataset",
        files=files,
        message=f"Publish {name}: {', '.join(card.name for card in cards)}",
        owns=tuple(f"data/{escape(card.name)}/*" for card in cards),
    )


def published_name(request: Request) -> str:
    """Return what a request's config is called in a repository: its own name, or for a user's data that of the data.

    >>> published_name(Request("permuted", "snli-test")), published_name(Request("permuted", options={"data": "a b/my.csv"}))
    ('snli-test', 'my')
    """
    if "data" not in request.options:
        return request.config or loading.config_name(request.name, None, None, {})[0]
    if request.config:
        return request.config
    data = str(request.options["data"])
    parts = [data.rpartition("/")[2] if is_hub_id(data) else Path(data).name.split(".")[0]]
    if split := request.options.get("source_split"):
        parts.append(str(split))
    return re.sub(r"[^\w.-]+", "_", "-".join(parts))


def _prepare(request: Request, licence: str | None) -> tuple[Request, Any, str, str]:
    """Return what is to be built, its builder, what it is made from, and its licence, before the work."""
    to_build = replace(request, config=None) if "data" in request.options else request  # there it is only a name
    builder = validated_builder(to_build)
    origin = str(to_build.options.get("data") or builder.config.corpus or published_name(request))
    return to_build, builder, origin, choose_licence(origin, builder.info.license or "", licence)


def _build_config(
    request: Request, config: str, folder: Path, licence: str | None
) -> tuple[ConfigCard, dict[str, Path], str]:
    """Build one config: what the card says of it, its files, and the citation of the set."""
    to_build, builder, origin, licence = _prepare(request, licence)
    built = build(to_build)
    shards: dict[str, Path] = {}
    counted: dict[str, Any] = {}
    for split, rows in splits_of(built).items():
        statistics = Statistics(rows.features["label"].names, built.language)
        paths, sizes = _write_split(rows, folder, f"data/{config}/{split}", statistics)
        counted[split] = statistics.record() | sizes
        shards |= paths
    corpus = CORPORA.get(builder.config.corpus)
    hub_ids = [corpus.hub_id] if corpus else [origin] if "data" in to_build.options and is_hub_id(origin) else []
    versions = environment()
    record = {
        "set": to_build.name,
        "config": config,
        "version": str(builder.config.version),
        "licences": [licence],
        "languages": [built.language],
        "sources": hub_ids,
        **builder.creators(),
        "evaluated": str(built.rows.split),
        "splits": {
            split: {key: value for key, value in n.items() if key not in _SIZES} for split, n in counted.items()
        },
        "options": strip_folders(dict(built.config)),
        "data": dict(built.data),
        "versions": {package: versions[package] for package in _RECORDED_PACKAGES if package in versions},
    }
    card = ConfigCard(
        name=config,
        data_files={split: f"data/{config}/{split}-*.parquet" for split in counted},
        dataset_info=_dataset_info(built.rows.features, counted),
        record=record,
        citation=corpus.citation if corpus else "",
        sample=[dict(row) for row in built.rows.select(range(min(_SAMPLE, len(built.rows))))],
        licence_link=corpus.licence_link if corpus else "",
    )
    return card, shards, type(builder).CITATION


def _write_split(rows: Any, folder: Path, stem: str, statistics: Statistics) -> tuple[dict[str, Path], dict[str, int]]:
    """Write a split as Parquet files, and return them by path in the repository, with their sizes in bytes.

    The same rows make the same bytes (with the same pyarrow), however they are cached: so that publishing them again
    changes nothing.
    """
    n_shards = max(1, -(-len(rows) // _ROWS_OF_SHARD))
    schema = rows.features.arrow_schema  # with the names of the labels, and no more metadata than that
    paths: dict[str, Path] = {}
    n_bytes = 0
    groups = _iter_groups(rows, schema)
    for number in range(n_shards):
        path = f"{stem}-{number:05d}-of-{n_shards:05d}.parquet"
        paths[path] = folder / path
        paths[path].parent.mkdir(parents=True, exist_ok=True)
        # Cut by content: in a split that has changed a little, most of what is stored stays the same.
        with pq.ParquetWriter(paths[path], schema, compression="zstd", use_content_defined_chunking=True) as writer:
            for _ in range(_ROWS_OF_SHARD // _ROWS_OF_GROUP):
                if (group := next(groups, None)) is None:
                    break
                writer.write_table(group)
                n_bytes += group.nbytes
                statistics.add(group)
    stored = sum(path.stat().st_size for path in paths.values())
    return paths, dict(zip(_SIZES, (n_bytes, stored), strict=True))


def _iter_groups(rows: Any, schema: pa.Schema) -> Iterator[pa.Table]:
    for table in rows.with_format("arrow").iter(batch_size=_ROWS_OF_GROUP):
        yield table.cast(schema).combine_chunks()


def _dataset_info(features: Any, counted: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the entry of `dataset_info` in the YAML, as `datasets` writes it."""
    from datasets import DatasetInfo, SplitDict, SplitInfo
    from datasets.info import DatasetInfosDict
    from huggingface_hub import DatasetCardData

    splits = SplitDict()
    for name, n in counted.items():
        splits.add(SplitInfo(name, num_bytes=n["bytes"], num_examples=n["rows"]))
    info = DatasetInfo(
        features=features,
        splits=splits,
        download_size=sum(n["stored"] for n in counted.values()),
        dataset_size=sum(n["bytes"] for n in counted.values()),
    )
    data = DatasetCardData()
    DatasetInfosDict({"default": info}).to_dataset_card_data(data)
    written: dict[str, Any] = data.to_dict()["dataset_info"]  # type: ignore[no-untyped-call]
    return {key: value for key, value in written.items() if key != "config_name"}
