"""Card of a dataset repository: description of the set, and statistics and build record of each config.

Configs are published one at a time. The card stores all data of previously published configs: each config has a block
with its build record, and entries in the front matter that `load_dataset` reads. The texts are in `templates`.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from unbag import challenge_sets
from unbag.challenge_sets import loading
from unbag.data.labels import LABELS
from unbag.hub.cards import (
    collect_arxiv_tags,
    describe_package,
    find_card_blocks,
    join_card,
    render_card,
    set_card_block,
    split_card,
    strip_relative_links,
)
from unbag.hub.licenses import is_less_restrictive

SIDES: Final = ("premise", "hypothesis")
_UNSPACED: Final = ("zh",)  # languages written without spaces between words


def summarize_tables(tables: Iterable[pa.Table], names: Sequence[str], language: str) -> dict[str, Any]:
    """Compute `rows`, `examples` (sources), `labels`, `unique_pairs`, and minimum, mean and maximum `lengths`.

    Lengths are in words between spaces, or in characters for languages without spaces. Pairs are compared by 64-bit
    hashes, in 8 bytes of memory per row. For ten million pairs, collisions have a probability below 1 in 300,000.
    """
    unit = "characters" if language in _UNSPACED else "words"
    labels: Counter[str] = Counter()
    sources: set[str] = set()
    hashes = [np.empty(0, dtype=np.uint64)]
    lengths: dict[str, Counter[int]] = {side: Counter() for side in SIDES}
    for table in tables:
        labels.update(names[label] for label in table.column("label").to_pylist())
        sources.update(pc.unique(table.column("source_id")).to_pylist())
        pairs = zip(*(table.column(side).to_pylist() for side in SIDES), strict=True)
        # The length marks the border, so that ("ab", "c") and ("a", "bc") differ. Texts from the web may contain lone
        # surrogates, which plain UTF-8 rejects.
        texts = (
            f"{len(premise)}:{premise}{hypothesis}".encode("utf-8", "surrogatepass") for premise, hypothesis in pairs
        )
        hashes.append(np.fromiter(map(xxhash.xxh3_64_intdigest, texts), dtype=np.uint64, count=len(table)))
        for side, counts in lengths.items():
            column = table.column(side)
            if unit == "characters":
                sizes = pc.utf8_length(column)
            else:
                sizes = pc.list_value_length(pc.utf8_split_whitespace(pc.utf8_trim_whitespace(column)))
            counts.update(sizes.to_pylist())
    n = sum(map(len, hashes))
    return {
        "rows": n,
        "examples": len(sources),
        "labels": {label: labels[label] for label in names},
        "unique_pairs": len(np.unique(np.concatenate(hashes))),
        "lengths": {"unit": unit}
        | {
            side: [
                min(counts, default=0),
                round(sum(length * each for length, each in counts.items()) / n, 1) if n else 0.0,
                max(counts, default=0),
            ]
            for side, counts in lengths.items()
        },
    }


@dataclass(frozen=True)
class ConfigCard:
    """Section of a dataset card that describes one config."""

    name: str
    data_files: Mapping[str, str]  # file pattern of each split, by split name
    dataset_info: Mapping[str, Any]  # entry of `dataset_info` in the front matter: features, splits, sizes
    record: Mapping[str, Any]
    """Build record as JSON: `licences`, `languages`, `sources`, the creators of `labels` and `sentences`, `splits` (see
    `summarize_tables`) and all other data that determine the rows."""
    citation: str  # BibTeX of the source corpus
    sample: Sequence[Mapping[str, Any]] = ()  # first rows of the config
    license_link: str = ""  # URL of the terms if the license is `other`


_SET: Final = "the set"
_CITATION: Final = "citation"
_CONFIG: Final = "config "
_RECORD: Final = re.compile(r"Build record</summary>\s+```json\n(.*?)\n```", re.DOTALL)
# size categories of the Hub, by their upper limit
_SIZES: Final = {
    1_000: "n<1K",
    10_000: "1K<n<10K",
    100_000: "10K<n<100K",
    1_000_000: "100K<n<1M",
    10_000_000: "1M<n<10M",
    100_000_000: "10M<n<100M",
    float("inf"): "100M<n<1B",
}
_LISTED: Final = {
    "licences": "license",
    "languages": "language",
    "sources": "source_datasets",
    "labels": "annotations_creators",
    "sentences": "language_creators",
}
"""Front matter entries that merge lists in the records of all configs, by the key of the list."""
_MAX_SHOWN: Final = 300  # characters of a text in the sample rows
_THREE_LABELS: Final = ", ".join(f"{number} {label}" for number, label in enumerate(LABELS))
_REFERENCES: Final = '    references=columns["label"],\n'


def merge_card(
    existing_card: bytes | None,
    repo: str,
    set_name: str,
    configs: Sequence[ConfigCard],
    citation: str,
    metrics_org: str | None = None,
) -> bytes:
    """Merge the given configs into the card of a repository.

    The first published config remains the default config. Front matter entries and text outside the blocks that other
    people wrote are not changed.

    `citation` is the BibTeX of the set's paper. `metrics_org` is the organization of the metric in the example
    (default: that of the existing card, else of `repo`).
    """
    metadata, text = split_card(existing_card)
    before = parse_build_records(text)
    # The card of an earlier publication names the organization of the metric.
    named = re.search(r'evaluate\.load\("([\w.-]+)/', text)
    metrics_org = metrics_org or (named[1] if named else repo.partition("/")[0])
    text = set_card_block(text, _SET, "")  # Reserves the position; the text depends on the default config.
    text = set_card_block(
        text, _CITATION, f"## Citation\n\n```bibtex\n{citation}\n```\n\nCite the corpus of the config as well."
    )
    for config in configs:
        text = set_card_block(text, _CONFIG + config.name, _build_config_text(config), before=_CITATION)
    after = parse_build_records(text)
    metadata = _merge_metadata(metadata, repo, set_name, configs, before, after)
    metadata["tags"] = _union(metadata["tags"], collect_arxiv_tags([text]))
    text = set_card_block(text, _SET, _build_set_text(repo, set_name, metadata, metrics_org))
    return join_card(metadata, text)


def _build_config_text(config: ConfigCard) -> str:
    """Build the Markdown block of a config in the dataset card."""
    dump = partial(json.dumps, indent=1, ensure_ascii=False)
    splits = config.record["splits"]
    unit = next((split["lengths"]["unit"] for split in splits.values()), "words")
    labels = _union([], (label for split in splits.values() for label in split["labels"]))
    heads = ["split", "rows", "unique pairs", "source examples", *labels, *(f"{side}, {unit}" for side in SIDES)]
    rows = []
    for name, split in splits.items():
        numbers = [split["rows"], split["unique_pairs"], split["examples"]]
        numbers += [split["labels"].get(label, 0) for label in labels]
        lengths = [f"{mean:.1f} ({least} to {most})" for least, mean, most in map(split["lengths"].get, SIDES)]
        rows.append([name, *(f"{number:,}" for number in numbers), *lengths])
    return render_card(
        "dataset_config.md",
        config=config,
        heads=heads,
        rows=rows,
        labels=[f"{number} = {label}" for number, label in enumerate(_get_label_names(config.dataset_info))],
        sample=[dump({key: _shorten(value) for key, value in row.items()}) for row in config.sample],
        record=dump(config.record),
    )


def _get_label_names(dataset_info: Mapping[str, Any]) -> list[str]:
    """Get the names of the label ids 0, 1, … from an entry of `dataset_info`; empty without a label feature."""
    for feature in dataset_info["features"]:
        if feature["name"] == "label":
            names: Mapping[str, str] = feature["dtype"]["class_label"]["names"]
            return [names[number] for number in sorted(names, key=int)]
    return []


def _shorten(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _MAX_SHOWN:
        return f"{value[:_MAX_SHOWN]}…"
    return value[:3] if isinstance(value, list) else value


def _merge_metadata(
    old: Mapping[str, Any],
    repo: str,
    set_name: str,
    configs: Sequence[ConfigCard],
    before: Mapping[str, Any],
    after: Mapping[str, Any],
) -> dict[str, Any]:
    """Update the front matter. Replaces the entries maintained by unbag, and keeps all other entries."""
    infos = _index_by_name(old.get("dataset_info"))
    entries = _index_by_name(old.get("configs"))
    for config in configs:
        infos[config.name] = {"config_name": config.name, **config.dataset_info}
        files = [{"split": split, "path": path} for split, path in config.data_files.items()]
        default = {"default": True} if entries.get(config.name, {}).get("default") else {}
        entries[config.name] = {"config_name": config.name, "data_files": files, **default}
    if not any(entry.get("default") for entry in entries.values()):
        entries[configs[0].name]["default"] = True
    lists = {}
    for name, key in _LISTED.items():
        # Values that come only from replaced records are removed, and values that people added stay.
        earlier, current = (_union([], (v for each in r.values() for v in each.get(name, []))) for r in (before, after))
        lists[key] = _union([value for value in _as_list(old.get(key)) if value not in earlier], current)
    own = {license for record in after.values() for license in record.get("licences", [])}
    others = [license for license in lists["license"] if license not in own]
    for name, record in after.items():
        for license in record.get("licences", []):
            if laxer := [other for other in others if is_less_restrictive(other, license)]:
                raise ValueError(
                    f"published card: expected a license at least as restrictive as {license}, the license of the "
                    f"config {name}, got {laxer[0]}; correct the card first, or use another repository with --repo-id"
                )
    rows = sum(split["num_examples"] for info in infos.values() for split in info.get("splits", []))
    ours: dict[str, Any] = {
        "pretty_name": old.get("pretty_name", f"{set_name}, an NLI challenge set"),
        "license": lists["license"][0] if len(lists["license"]) == 1 else lists["license"],
        "language": lists["language"],
        "multilinguality": ["monolingual" if len(lists["language"]) == 1 else "multilingual"],
        "annotations_creators": lists["annotations_creators"],
        "language_creators": lists["language_creators"],
        "task_categories": _union(old.get("task_categories"), ["text-classification"]),
        "task_ids": _union(old.get("task_ids"), ["natural-language-inference"]),
        "tags": _union(old.get("tags"), ["unbag", "nli", "challenge-set"]),
        "source_datasets": lists["source_datasets"],
        "size_categories": [next(name for limit, name in _SIZES.items() if rows < limit)],
        "configs": list(entries.values()),
        "dataset_info": list(infos.values()),
    }
    if "other" in lists["license"]:
        links = {config.license_link for config in configs if "other" in config.record["licences"]} - {""}
        link = links.pop() if len(links) == 1 else f"https://huggingface.co/datasets/{repo}#configs"
        ours["license_name"] = old.get("license_name", "see-each-config")
        ours["license_link"] = old.get("license_link", link)
    return {key: value for key, value in (dict(old) | ours).items() if value != []}


def _build_set_text(repo: str, set_name: str, metadata: Mapping[str, Any], metrics_org: str) -> str:
    """Build the Markdown of the set: its card with an example for the default config, and the text of the template."""
    entry = next(entry for entry in metadata["configs"] if entry.get("default"))
    config, splits = entry["config_name"], [files["split"] for files in entry["data_files"]]
    names = _get_label_names(_index_by_name(metadata["dataset_info"])[config])
    challenge_set = challenge_sets.get_challenge_set(set_name)
    card = strip_relative_links(loading.read_card(set_name)).strip()
    card = re.sub(r"(spaces/|load\(\")ORG/", rf"\g<1>{metrics_org}/", card)
    if names and tuple(names) != LABELS and _THREE_LABELS in card:
        card = card.replace(_THREE_LABELS, ", ".join(f"{number} {label}" for number, label in enumerate(names)))
        card = card.replace(_REFERENCES, f'{_REFERENCES}    names=rows.features["label"].names,\n')
    split = challenge_set.evaluation_split if challenge_set.evaluation_split in splits else splits[0]
    load = re.compile(rf'load_dataset\("ORG/{set_name}", "[^"]*", split="[^"]*"\)')
    creators = (*metadata.get("annotations_creators", ()), *metadata.get("language_creators", ()))
    return render_card(
        "dataset_card.md",
        own=load.sub(f'load_dataset("{repo}", "{config}", split="{split}")', card),
        repo=repo,
        config=config,
        set_name=set_name,
        about=describe_package(),
        question=challenge_set.question,
        is_crowdsourced="crowdsourced" in creators,
        is_mixed=not isinstance(metadata["license"], str),
    )


def parse_build_records(text: str) -> dict[str, Any]:
    """Parse the build records in a card's text, by config. Raises `ValueError` if a record is not valid JSON."""
    records = {}
    for name, block in find_card_blocks(text).items():
        if name.startswith(_CONFIG) and (record := _RECORD.search(block)):
            records[name.removeprefix(_CONFIG)] = json.loads(record[1])
    return records


def _index_by_name(entries: Any) -> dict[str, dict[str, Any]]:
    """Index front matter entries by config name. A single entry may be a mapping without a name."""
    return {entry.get("config_name", "default"): dict(entry) for entry in _as_list(entries)}


def _union(old: Any, more: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*_as_list(old), *more]))


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []
