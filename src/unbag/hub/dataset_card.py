"""The card of a data set repository: what a set is, and for each config in it how it was built and what it holds.

A repository holds configs that were published one by one. All that a card must remember of the others is in the card:
each config has a block with its record, and its entries in the YAML that `load_dataset` goes by.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from unbag import sets
from unbag.hub.card import blocks, joined, parted, with_block
from unbag.hub.licences import is_laxer
from unbag.labels import LABELS

_SET: Final = "the set"
_CITATION: Final = "citation"
_CONFIG: Final = "config "
_RECORD: Final = re.compile(r"```json\n(.*?)\n```", re.DOTALL)
_RELATIVE_LINK: Final = re.compile(r"\[([^\]]+)\]\((?!https?://|#)[^)]*\)")  # to files that are not in the repository
_SIZES: Final = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_SIZES_ON: Final = ((10_000_000, "1M<n<10M"), (100_000_000, "10M<n<100M"))
_COUNTED: Final = {"licences": "license", "languages": "language", "sources": "source_datasets"}


@dataclass(frozen=True)
class ConfigCard:
    """What a card says of one config.

    Attributes:
        name: of the config.
        data_files: for each split, the pattern of its files.
        dataset_info: its entry in `dataset_info`: features, splits, sizes.
        record: how it was built, no more than JSON can hold: `licences`, `languages`, `sources`, `splits` (rows,
            examples and label counts) and whatever else decides the rows.
        citation: BibTeX of what it is made from.
    """

    name: str
    data_files: Mapping[str, str]
    dataset_info: Mapping[str, Any]
    record: Mapping[str, Any]
    citation: str


def merged_card(
    existing: bytes | None, repo: str, set_name: str, configs: Sequence[ConfigCard], citation: str
) -> bytes:
    """Return the card of a repository in which some configs are new, or new again.

    The first config ever published is the default one and stays it. What others wrote, in the YAML or outside of our
    blocks, stays too.

    Args:
        existing: the README.md that is there.
        repo: `organisation/name`, for the example.
        set_name: the challenge set.
        configs: what is published.
        citation: BibTeX of the set's paper.

    Raises:
        ValueError: if the card that is there cannot be read, or says a laxer licence than a config has.
    """
    metadata, text = parted(existing)
    before = _records(text)
    text = with_block(text, _SET, "", before=None)  # keeps its place; its text needs to know the default config
    text = with_block(text, _CITATION, f"## Citation\n\n```bibtex\n{citation}\n```\n\nand the corpus of the config.")
    for config in configs:
        text = with_block(text, _CONFIG + config.name, _config_text(config), before=_CITATION)
    after = _records(text)
    metadata = _metadata(metadata, set_name, configs, before, after)
    default = next(entry["config_name"] for entry in metadata["configs"] if entry.get("default"))
    text = with_block(text, _SET, _set_text(repo, set_name, default, metadata["license"]))
    return joined(metadata, text)


def _metadata(
    old: Mapping[str, Any],
    set_name: str,
    configs: Sequence[ConfigCard],
    before: Mapping[str, Any],
    after: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the YAML: what is there, ours in place of ours."""
    infos = _by_name(old.get("dataset_info"))
    entries = _by_name(old.get("configs"))
    for config in configs:
        infos[config.name] = {"config_name": config.name, **config.dataset_info}
        files = [{"split": split, "path": path} for split, path in config.data_files.items()]
        default = {"default": True} if entries.get(config.name, {}).get("default") else {}
        entries[config.name] = {"config_name": config.name, "data_files": files, **default}
    if not any(entry.get("default") for entry in entries.values()):
        entries[configs[0].name]["default"] = True
    counted = {key: _recounted(old.get(key), _all(before, name), _all(after, name)) for name, key in _COUNTED.items()}
    _refuse_laxer(set(counted["license"]) - set(_all(after, "licences")), after)
    rows = sum(split["num_examples"] for info in infos.values() for split in info.get("splits", []))
    ours: dict[str, Any] = {
        "pretty_name": old.get("pretty_name", f"{set_name}, an NLI challenge set"),
        "license": counted["license"][0] if len(counted["license"]) == 1 else counted["license"],
        "language": counted["language"],
        "task_categories": _union(old.get("task_categories"), ["text-classification"]),
        "task_ids": _union(old.get("task_ids"), ["natural-language-inference"]),
        "tags": _union(old.get("tags"), ["unbag", "nli", "challenge-set"]),
        "source_datasets": counted["source_datasets"],
        "size_categories": [_size_category(rows)],
        "configs": list(entries.values()),
        "dataset_info": list(infos.values()),
    }
    if "other" in counted["license"]:
        ours |= {"license_name": old.get("license_name", "see-each-config")}
    return {key: value for key, value in (dict(old) | ours).items() if value != []}


def _refuse_laxer(others: Iterable[str], records: Mapping[str, Any]) -> None:
    for name, record in records.items():
        for licence in record.get("licences", []):
            if laxer := [other for other in others if is_laxer(other, licence)]:
                raise ValueError(
                    f"the card that is there says the licence {laxer[0]}, which is laxer than that of the config "
                    f"{name}, {licence}; correct the card first, or publish to another repository with --to"
                )


def _recounted(old: Any, before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Return a list in the YAML: what others put there, and ours as it is now."""
    foreign = [value for value in _as_list(old) if value not in before]
    return _union(foreign, after)


def _set_text(repo: str, set_name: str, default: str, licences: Any) -> str:
    own = _RELATIVE_LINK.sub(r"\1", sets.card(set_name)).strip()
    mixed = ""
    if not isinstance(licences, str):
        mixed = (
            "\n\n**The configs have different licences**, each that of the corpus it is made from; who takes "
            "several is bound by all of theirs."
        )
    return f"""{own}

## Load

```python
from datasets import load_dataset

rows = load_dataset("{repo}", "{default}")  # plain `datasets`: no code of ours runs
```

Made by `unbag`, whose `unbag evaluate ORG/MODEL --sets {set_name}` asks a model and scores its answers.

## The configs here{mixed}"""


def _config_text(config: ConfigCard) -> str:
    record = config.record
    rows = "\n".join(
        f"| {name} | {split['rows']:,} | {split['examples']:,} | "
        + " | ".join(f"{split['labels'].get(label, 0):,}" for label in LABELS)
        + " |"
        for name, split in record["splits"].items()
    )
    labels = " | ".join(LABELS)
    licence = f"Licence: `{', '.join(record['licences'])}`"
    if record["sources"]:
        licence += f", that of {', '.join(f'[{s}](https://huggingface.co/datasets/{s})' for s in record['sources'])}"
    cited = f"\n\n```bibtex\n{config.citation}\n```" if config.citation else ""
    return f"""### {config.name}

| split | rows | examples they are made from | {labels} |
|---|---:|---:|{"---:|" * len(LABELS)}
{rows}

{licence}.{cited}

<details><summary>How it was built</summary>

```json
{json.dumps(record, indent=1, ensure_ascii=False)}
```

</details>"""


def _records(text: str) -> dict[str, Any]:
    """Return the record of each config that a card has a block of."""
    records = {}
    for name, block in blocks(text).items():
        if name.startswith(_CONFIG) and (record := _RECORD.search(block)):
            try:
                records[name.removeprefix(_CONFIG)] = json.loads(record[1])
            except json.JSONDecodeError as error:
                raise ValueError(
                    f"the card that is there has a broken record of the {name} ({error}); mend it or delete its block"
                ) from None
    return records


def _by_name(entries: Any) -> dict[str, dict[str, Any]]:
    """Return entries of the YAML by config; a single one may stand there without a list, or without a name."""
    listed = entries if isinstance(entries, list) else [entries] if entries else []
    return {entry.get("config_name", "default"): dict(entry) for entry in listed}


def _all(records: Mapping[str, Any], key: str) -> list[str]:
    return _union([], [value for record in records.values() for value in record.get(key, [])])


def _union(old: Any, more: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*_as_list(old), *more]))


def _as_list(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value] if value else []


def _size_category(rows: int) -> str:
    return next((name for limit, name in (*_SIZES, *_SIZES_ON) if rows < limit), "100M<n<1B")
