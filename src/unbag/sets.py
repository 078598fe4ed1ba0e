"""The challenge sets by name: what there is, and how to get one."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from unbag import rooms
from unbag.corpora import CORPORA

ROOM = "dataset_scripts"


def names() -> list[str]:
    """Return the names of the challenge sets."""
    return rooms.names(ROOM)


def builder(name: str, config: str | None = None, *, cache_dir: Path | None = None, **options: Any) -> Any:
    """Return the `datasets` builder of a challenge set.

    Args:
        name: the set, e.g. `permuted`.
        config: one of its configs, e.g. `snli-validation-hypothesis`; a corpus alone means its default split. Without
            one, `data` says what it is made from.
        cache_dir: where built sets are kept; by default where `datasets` keeps its own.
        options: the set's own options (`q=10`), and for data of your own `data`, `columns`, `labels`, `language`, …

    Raises:
        ValueError: if there is no such set, config or option.
    """
    if config is None:
        options["name"] = "custom"
    elif config in CORPORA:
        config = f"{config}-{CORPORA[config].splits[0]}"
    [found] = [
        value
        for value in vars(rooms.module(ROOM, name)).values()
        if isinstance(value, type) and value.__module__.endswith(f".{name}") and hasattr(value, "BUILDER_CONFIG_CLASS")
    ]
    cls: Any = found  # a subclass of `datasets.DatasetBuilder`, which has no types
    if config is not None and config not in cls.builder_configs:
        raise ValueError(f"the {name} set has no config {config!r}; expected one of {', '.join(cls.builder_configs)}")
    known = [option.name for option in fields(cls.BUILDER_CONFIG_CLASS)]
    if unknown := sorted(set(options) - set(known)):
        raise ValueError(f"the {name} set has no option {', '.join(map(repr, unknown))}; expected some of {known}")
    return cls(config_name=config, dataset_name=f"unbag_{name}", cache_dir=cache_dir, **options)


def load(
    name: str,
    config: str | None = None,
    *,
    streaming: bool = False,
    num_proc: int | None = None,
    cache_dir: Path | None = None,
    **options: Any,
) -> Any:
    """Build a challenge set, or take it from the cache, and return the split that models are evaluated on.

    Args:
        name: the set, e.g. `permuted`.
        config: one of its configs; see `builder`.
        streaming: make rows as they are asked for, and keep nothing.
        num_proc: processes to build with. The rows do not depend on it.
        cache_dir: where built sets are kept.
        options: see `builder`.

    Returns:
        A `datasets.Dataset`, memory-mapped, or an `IterableDataset`.

    Raises:
        ValueError: if there is no such set, config or option; `rows.DataError` if the pairs cannot be read.
    """
    made = builder(name, config, cache_dir=cache_dir, **options)
    if streaming:
        return _evaluated(made, made.as_streaming_dataset())
    return prepare(made, num_proc=num_proc)


def prepare(made: Any, *, num_proc: int | None = None) -> Any:
    """Build what a `builder` makes, or take it from the cache, and return the split that models are evaluated on.

    Raises:
        ValueError: if no pair can be used; `rows.DataError` if the pairs cannot be read.
    """
    from datasets.exceptions import DatasetGenerationError

    try:
        made.download_and_prepare(num_proc=num_proc)
    except DatasetGenerationError as error:
        if isinstance(error.__cause__, ValueError):  # ours, and it names the row
            raise error.__cause__ from None
        raise
    if not any(split.num_examples for split in made.info.splits.values()):
        raise ValueError(f"none of the pairs can be used for this set with the options {made.config}")
    return _evaluated(made, made.as_dataset())


def _evaluated(made: Any, splits: Any) -> Any:
    if made.EVALUATED is not None:
        return splits[made.EVALUATED]
    [split] = splits.values()
    return split


def summaries() -> list[dict[str, str]]:
    """Return name, what it is, and the paper of each challenge set, as its module says."""
    return [
        {"name": name, "summary": (module.__doc__ or "").strip().splitlines()[0], "paper": module.PAPER}
        for name in names()
        for module in [rooms.module(ROOM, name)]
    ]
