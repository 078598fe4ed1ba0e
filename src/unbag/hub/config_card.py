"""What the card of a data set repository says of one config: what is in it, and how it was built."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from unbag.data.labels import LABELS
from unbag.hub.statistics import SIDES

_LONGEST: Final = 300  # characters of a value that is shown


@dataclass(frozen=True)
class ConfigCard:
    """What a card says of one config.

    Attributes:
        name: of the config.
        data_files: for each split, the pattern of its files.
        dataset_info: its entry in `dataset_info`: features, splits, sizes.
        record: how it was built, no more than JSON can hold: `licences`, `languages`, `sources`, who made `labels` and
            `sentences`, `splits` (what `Statistics` counted) and whatever else decides the rows.
        citation: BibTeX of what it is made from.
        sample: some of its rows.
        licence_link: where the terms are told, of a licence that is `other`.
    """

    name: str
    data_files: Mapping[str, str]
    dataset_info: Mapping[str, Any]
    record: Mapping[str, Any]
    citation: str
    sample: Sequence[Mapping[str, Any]] = ()
    licence_link: str = ""


def config_text(config: ConfigCard) -> str:
    """Return the block of a config in the card of its repository."""
    record = config.record
    licence = f"Licence: `{', '.join(record['licences'])}`"
    if config.licence_link:
        licence += f" ([terms]({config.licence_link}))"
    if record["sources"]:
        licence += f", that of {', '.join(f'[{s}](https://huggingface.co/datasets/{s})' for s in record['sources'])}"
    cited = f"\n\n```bibtex\n{config.citation}\n```" if config.citation else ""
    return f"""### {config.name}

{_statistics(record["splits"])}

{licence}.{cited}
{_sample(config.sample)}
<details><summary>How it was built</summary>

```json
{json.dumps(record, indent=1, ensure_ascii=False)}
```

</details>"""


def _statistics(splits: Mapping[str, Mapping[str, Any]]) -> str:
    """Return what was counted as a table, a row a split."""
    units = {split["lengths"]["unit"] for split in splits.values() if "lengths" in split}
    unit = units.pop() if units else "words"
    heads = ["split", "rows", "unique pairs", "examples they are made from", *LABELS]
    heads += [f"{side}, {unit}" for side in SIDES]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for name, split in splits.items():
        numbers = [split["rows"], split.get("unique_pairs"), split["examples"]]
        numbers += [split["labels"].get(label, 0) for label in LABELS]
        lengths = [split["lengths"][side] if "lengths" in split else None for side in SIDES]
        cells = ["–" if number is None else f"{number:,}" for number in numbers]
        cells += [f"{each[1]:.1f} ({each[0]} to {each[2]})" if each else "–" for each in lengths]
        lines.append([name, *cells])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{table}\n\nLengths: mean (least to most)."


def _sample(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return some rows as JSON, long values cut short; nothing of no rows."""
    if not rows:
        return ""
    names = ", ".join(f"{number} is {label}" for number, label in enumerate(LABELS))
    shown = "\n".join(json.dumps({k: _short(v) for k, v in row.items()}, indent=1, ensure_ascii=False) for row in rows)
    return f"\nIts first rows (`label` {names}):\n\n```json\n{shown}\n```\n"


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{value[:_LONGEST]}…"
    return value[:3] if isinstance(value, list) else value
