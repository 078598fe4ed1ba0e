"""Card of a dataset repository: description of the set, and statistics and build record of each config.

Configs are published one at a time. The card stores all data of previously published configs: each config has a block
with its build record, and entries in the front matter that `load_dataset` reads. The statistics of a split are computed
while its rows are written.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray

from unbag import challenge_sets
from unbag.challenge_sets import loading
from unbag.data.labels import LABELS
from unbag.hub.cards import (
    collect_arxiv_tags,
    describe_package,
    find_card_blocks,
    join_card,
    set_card_block,
    split_card,
    strip_relative_links,
)
from unbag.hub.licenses import is_less_restrictive

SIDES: Final = ("premise", "hypothesis")
_UNSPACED: Final = ("zh",)  # languages written without spaces between words


class SplitStatistics:
    """Statistics of a split that are updated one table at a time. They use 8 bytes of memory per row.

    Args:
        names: Label names, indexed by label id.
        language: Language of the sentences. Lengths are in words between spaces, or in characters for languages
            without spaces.
    """

    def __init__(self, names: Sequence[str], language: str) -> None:
        self._names = names
        self._unit = "characters" if language in _UNSPACED else "words"
        self._labels: Counter[str] = Counter()
        self._sources: set[str] = set()
        self._pairs: list[NDArray[np.uint64]] = []
        self._lengths: dict[str, Counter[int]] = {side: Counter() for side in SIDES}

    def update(self, table: pa.Table) -> None:
        """Update the statistics with the rows of a table."""
        for value, n in _count_values(table.column("label")):
            self._labels[self._names[value]] += n
        self._sources.update(pc.unique(table.column("source_id")).to_pylist())
        sides = [table.column(side) for side in SIDES]
        pairs = zip(*(side.to_pylist() for side in sides), strict=True)
        hashes = (_hash_text(f"{len(premise)}:{premise}{hypothesis}") for premise, hypothesis in pairs)
        self._pairs.append(np.fromiter(hashes, dtype=np.uint64, count=len(table)))
        for side, column in zip(SIDES, sides, strict=True):
            for length, n in _count_values(self._length(column)):
                self._lengths[side][length] += n

    def compute_record(self) -> dict[str, Any]:
        """Compute the statistics record: `rows`, `examples` (sources), `labels`, `unique_pairs` and `lengths`.

        The lengths of a sentence column are its minimum, mean and maximum.

        Pairs are compared by 64-bit hashes. For ten million pairs, collisions have a probability below 1 in 300,000.
        """
        pairs = np.concatenate([np.empty(0, dtype=np.uint64), *self._pairs])
        return {
            "rows": len(pairs),
            "examples": len(self._sources),
            "labels": {label: self._labels[label] for label in self._names},
            "unique_pairs": len(np.unique(pairs)),
            "lengths": {"unit": self._unit} | {side: _summary(counts) for side, counts in self._lengths.items()},
        }

    def _length(self, texts: Any) -> Any:
        if self._unit == "characters":
            return pc.utf8_length(texts)
        return pc.list_value_length(pc.utf8_split_whitespace(pc.utf8_trim_whitespace(texts)))


def _hash_text(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))


def _count_values(column: Any) -> list[tuple[int, int]]:
    return [(entry["values"], entry["counts"]) for entry in pc.value_counts(column).to_pylist()]


def _summary(counts: Counter[int]) -> list[float]:
    """Compute the minimum, the mean (to one decimal) and the maximum of lengths; zeros without rows.

    >>> _summary(Counter({3: 2, 10: 1}))
    [3, 5.3, 10]
    """
    n = sum(counts.values())
    mean = round(sum(length * each for length, each in counts.items()) / n, 1) if n else 0.0
    return [min(counts, default=0), mean, max(counts, default=0)]


_MAX_SHOWN: Final = 300  # characters of a text in the sample rows


@dataclass(frozen=True)
class ConfigCard:
    """Section of a dataset card that describes one config.

    Attributes:
        name: Name of the config.
        data_files: File pattern of each split, by split name.
        dataset_info: Entry of `dataset_info` in the front matter: features, splits, sizes.
        record: Build record as JSON: `licenses`, `languages`, `sources`, the creators of `labels` and `sentences`,
            `splits` (see `SplitStatistics`) and all other data that determine the rows.
        citation: BibTeX of the source corpus.
        sample: First rows of the config.
        license_link: URL of the terms if the license is `other`.
    """

    name: str
    data_files: Mapping[str, str]
    dataset_info: Mapping[str, Any]
    record: Mapping[str, Any]
    citation: str
    sample: Sequence[Mapping[str, Any]] = ()
    license_link: str = ""


def build_config_text(config: ConfigCard) -> str:
    """Build the Markdown block of a config in the dataset card."""
    record = config.record
    license = f"License: `{', '.join(record['licences'])}`"
    if config.license_link:
        license += f" ([terms]({config.license_link}))"
    if record["sources"]:
        license += (
            f", inherited from {', '.join(f'[{s}](https://huggingface.co/datasets/{s})' for s in record['sources'])}"
        )
    cited = f"\n\n```bibtex\n{config.citation}\n```" if config.citation else ""
    return f"""### {config.name}

{_statistics_table(record["splits"])}

{license}.{cited}
{_sample(config.sample, get_label_names(config.dataset_info))}
<details><summary>Build record</summary>

```json
{json.dumps(record, indent=1, ensure_ascii=False)}
```

</details>"""


def _statistics_table(splits: Mapping[str, Mapping[str, Any]]) -> str:
    """Build the table of statistics, one row per split."""
    units = {split["lengths"]["unit"] for split in splits.values() if "lengths" in split}
    unit = units.pop() if units else "words"
    labels = _union([], (label for split in splits.values() for label in split["labels"]))
    heads = ["split", "rows", "unique pairs", "source examples", *labels]
    heads += [f"{side}, {unit}" for side in SIDES]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for name, split in splits.items():
        numbers = [split["rows"], split.get("unique_pairs"), split["examples"]]
        numbers += [split["labels"].get(label, 0) for label in labels]
        lengths = [split["lengths"][side] if "lengths" in split else None for side in SIDES]
        cells = ["–" if number is None else f"{number:,}" for number in numbers]
        cells += [f"{each[1]:.1f} ({each[0]} to {each[2]})" if each else "–" for each in lengths]
        lines.append([name, *cells])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{table}\n\nLengths: mean (minimum to maximum)."


def get_label_names(dataset_info: Mapping[str, Any]) -> list[str]:
    """Get the names of the label ids 0, 1, … from an entry of `dataset_info`; empty without a label feature."""
    for feature in dataset_info["features"]:
        if feature["name"] == "label":
            names: Mapping[str, str] = feature["dtype"]["class_label"]["names"]
            return [names[number] for number in sorted(names, key=int)]
    return []


def _sample(rows: Sequence[Mapping[str, Any]], label_names: Sequence[str]) -> str:
    """Build the Markdown of the sample rows as JSON with shortened values; empty without rows."""
    if not rows:
        return ""
    names = ", ".join(f"{number} = {label}" for number, label in enumerate(label_names))
    shown = "\n".join(
        json.dumps({k: _shorten(v) for k, v in row.items()}, indent=1, ensure_ascii=False) for row in rows
    )
    return f"\nFirst rows (`label`: {names}):\n\n```json\n{shown}\n```\n"


def _shorten(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _MAX_SHOWN:
        return f"{value[:_MAX_SHOWN]}…"
    return value[:3] if isinstance(value, list) else value


_SET: Final = "the set"
_CITATION: Final = "citation"
_CONFIG: Final = "config "
_RECORD: Final = re.compile(r"Build record</summary>\s+```json\n(.*?)\n```", re.DOTALL)
_SIZES: Final = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_LARGE_SIZES: Final = ((10_000_000, "1M<n<10M"), (100_000_000, "10M<n<100M"))
_LISTED: Final = {
    "licences": "license",
    "languages": "language",
    "sources": "source_datasets",
    "labels": "annotations_creators",
    "sentences": "language_creators",
}
"""Front matter entries that merge lists in the records of all configs, by the key of the list."""

_CROWD: Final = "crowdsourced"


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

    Args:
        existing_card: Content of the published README.md, or None.
        repo: Dataset repository, `organization/name`, for the example.
        set_name: Name of the challenge set.
        configs: Configs to add or replace.
        citation: BibTeX of the set's paper.
        metrics_org: Organization of the metric in the example (default: that of the existing card, else of `repo`).

    Raises:
        ValueError: If the published card cannot be read, or has a less restrictive license than a config.
    """
    metadata, text = split_card(existing_card)
    before = parse_build_records(text)
    named = re.search(r'evaluate\.load\("([\w.-]+)/', text)
    metrics_org = metrics_org or (named[1] if named else repo.partition("/")[0])
    text = set_card_block(text, _SET, "", before=None)  # Reserves the position; the text depends on the default config.
    text = set_card_block(
        text, _CITATION, f"## Citation\n\n```bibtex\n{citation}\n```\n\nCite the corpus of the config as well."
    )
    for config in configs:
        text = set_card_block(text, _CONFIG + config.name, build_config_text(config), before=_CITATION)
    after = parse_build_records(text)
    metadata = _merge_metadata(metadata, repo, set_name, configs, before, after)
    metadata["tags"] = _union(metadata["tags"], collect_arxiv_tags([text]))
    text = set_card_block(text, _SET, _build_set_text(repo, set_name, metadata, metrics_org))
    return join_card(metadata, text)


def _merge_metadata(
    old: Mapping[str, Any],
    repo: str,
    set_name: str,
    configs: Sequence[ConfigCard],
    before: Mapping[str, Any],
    after: Mapping[str, Any],
) -> dict[str, Any]:
    """Update the front matter. Replaces the entries maintained by unbag, and keeps all other entries."""
    infos = _by_name(old.get("dataset_info"))
    entries = _by_name(old.get("configs"))
    for config in configs:
        infos[config.name] = {"config_name": config.name, **config.dataset_info}
        files = [{"split": split, "path": path} for split, path in config.data_files.items()]
        default = {"default": True} if entries.get(config.name, {}).get("default") else {}
        entries[config.name] = {"config_name": config.name, "data_files": files, **default}
    if not any(entry.get("default") for entry in entries.values()):
        entries[configs[0].name]["default"] = True
    lists = {
        key: _update_list(old.get(key), _collect(before, name), _collect(after, name)) for name, key in _LISTED.items()
    }
    _validate_licenses(set(lists["license"]) - set(_collect(after, "licences")), after)
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
        "size_categories": [_size_category(rows)],
        "configs": list(entries.values()),
        "dataset_info": list(infos.values()),
    }
    if "other" in lists["license"]:
        links = {config.license_link for config in configs if "other" in config.record["licences"]} - {""}
        link = links.pop() if len(links) == 1 else f"https://huggingface.co/datasets/{repo}#configs"
        ours |= {
            "license_name": old.get("license_name", "see-each-config"),
            "license_link": old.get("license_link", link),
        }
    return {key: value for key, value in (dict(old) | ours).items() if value != []}


def _validate_licenses(others: Iterable[str], records: Mapping[str, Any]) -> None:
    for name, record in records.items():
        for license in record.get("licences", []):
            if laxer := [other for other in others if is_less_restrictive(other, license)]:
                raise ValueError(
                    f"published card: expected a license at least as restrictive as {license}, the license of the "
                    f"config {name}, got {laxer[0]}; correct the card first, or use another repository with --repo-id"
                )


def _update_list(old: Any, before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Update a list of the front matter. Keeps values added by other people, and replaces values of earlier records."""
    foreign = [value for value in _as_list(old) if value not in before]
    return _union(foreign, after)


def _build_set_text(repo: str, set_name: str, metadata: Mapping[str, Any], metrics_org: str) -> str:
    [entry] = [entry for entry in metadata["configs"] if entry.get("default")][:1]
    default, splits = entry["config_name"], [files["split"] for files in entry["data_files"]]
    names = get_label_names(_by_name(metadata["dataset_info"])[default])
    card = strip_relative_links(loading.read_card(set_name)).strip()
    card = re.sub(r"(spaces/|load\(\")ORG/", rf"\g<1>{metrics_org}/", card)
    own = _fill_in_example(card, repo, set_name, default, splits, names)
    mixed = ""
    if not isinstance(metadata["license"], str):
        mixed = (
            "\n\n**The configs have different licenses.** Each config inherits the license of its corpus. If you "
            "combine configs, the licenses of all of them apply."
        )
    question = challenge_sets.get_challenge_set(set_name).question
    return f"""{own}

## Load

```python
from datasets import load_dataset

rows = load_dataset("{repo}", "{default}")  # Parquet files: no code from this repository runs
```

## Evaluate a model

```
unbag evaluate ORG/MODEL --sets {set_name}
```

{describe_package()} The dataset was built with unbag, which also runs a model on the set and scores the predictions.

## Intended use

The set tests one question about a model of natural language inference: *{question}*

Use the set for research and to compare models. Do not evaluate a model that was trained on these rows or on their
source pairs. A high score answers only this question. A high score does not show that a model is suitable for a task,
and in particular not for decisions about people.

## Known biases

{_biases(metadata)}

## Configs{mixed}"""


_THREE_LABELS: Final = ", ".join(f"{number} {label}" for number, label in enumerate(LABELS))
_REFERENCES: Final = '    references=columns["label"],\n'


def _fill_in_example(
    card: str, repo: str, set_name: str, config: str, splits: Sequence[str], label_names: Sequence[str]
) -> str:
    """Fill in the placeholders in a card's example: repository, published config, split and labels."""
    if label_names and tuple(label_names) != LABELS and _THREE_LABELS in card:
        card = card.replace(_THREE_LABELS, ", ".join(f"{number} {label}" for number, label in enumerate(label_names)))
        card = card.replace(_REFERENCES, f'{_REFERENCES}    names=rows.features["label"].names,\n')
    evaluated = challenge_sets.get_challenge_set(set_name).get_builder_class().EVALUATION_SPLIT
    split = evaluated if evaluated in splits else splits[0]
    load = re.compile(rf'load_dataset\("ORG/{set_name}", "[^"]*", split="[^"]*"\)')
    return load.sub(f'load_dataset("{repo}", "{config}", split="{split}")', card)


def _biases(metadata: Mapping[str, Any]) -> str:
    origin = (
        "The sentences come from the sources of each config, or are built from these sources. Errors in the sources "
        "remain in the rows."
    )
    if _CROWD not in (*metadata.get("annotations_creators", ()), *metadata.get("language_creators", ())):
        return f"{origin} Stereotypes in the sources also remain."
    return (
        f"{origin} Crowd workers wrote or labelled the sentences. Their stereotypes about gender, age or origin also "
        "remain ([Rudinger et al. 2017](https://aclanthology.org/W17-1609)). The hypothesis alone may reveal the label "
        "([Gururangan et al. 2018](https://aclanthology.org/N18-2017))."
    )


def parse_build_records(text: str) -> dict[str, Any]:
    """Parse the build records in a card's text, by config.

    Raises:
        ValueError: If a record is not valid JSON.
    """
    records = {}
    for name, block in find_card_blocks(text).items():
        if name.startswith(_CONFIG) and (record := _RECORD.search(block)):
            try:
                records[name.removeprefix(_CONFIG)] = json.loads(record[1])
            except json.JSONDecodeError as error:
                raise ValueError(
                    f"published card: expected valid JSON in the record of {name}, got an error ({error}); correct the "
                    "record, or delete the block that contains the record"
                ) from None
    return records


def _by_name(entries: Any) -> dict[str, dict[str, Any]]:
    """Index front matter entries by config name. A single entry may be a mapping without a name."""
    listed = entries if isinstance(entries, list) else [entries] if entries else []
    return {entry.get("config_name", "default"): dict(entry) for entry in listed}


def _collect(records: Mapping[str, Any], key: str) -> list[str]:
    return _union([], [value for record in records.values() for value in record.get(key, [])])


def _union(old: Any, more: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*_as_list(old), *more]))


def _as_list(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value] if value else []


def _size_category(rows: int) -> str:
    return next((name for limit, name in (*_SIZES, *_LARGE_SIZES) if rows < limit), "100M<n<1B")
