"""Build a challenge set by name, with its options."""

import inspect
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from unbag import challenge_sets
from unbag.challenge_sets.requirements import UnfitError as UnfitError
from unbag.data import corpora
from unbag.data.corpora import CORPORA, LANGUAGES
from unbag.data.readers import is_damage
from unbag.data.sources import EXCLUSION_REASONS
from unbag.utils import parallel
from unbag.utils.options import Option, described, did_you_mean, read, require

DEFAULT_CORPUS: Final = "snli"


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
    for what, value in (("a challenge set", name), ("a config", "" if config is None else config)):
        if not isinstance(value, str):
            raise ValueError(f"expected the name of {what}, found {value!r}")
    cls = challenge_sets.get(name).builder_class()
    if config is None:
        options["name"] = "custom"
    elif config in CORPORA:
        config, options = config_name(name, config, None, options)
    if config is not None and config not in cls.builder_configs:
        raise _no_config(name, config, cls.builder_configs)
    known = [option.name for option in fields(cls.BUILDER_CONFIG_CLASS)]
    if unknown := sorted(set(options) - set(known)):
        raise ValueError(f"the {name} set has no option {', '.join(map(repr, unknown))}; expected some of {known}")
    require(cls.BUILDER_CONFIG_CLASS, options)
    named = {option: _as_text(value) for option, value in options.items()}
    return cls(config_name=config, dataset_name=f"unbag_{name}", cache_dir=cache_dir, **named)


def _no_config(name: str, config: str, known: Collection[str]) -> ValueError:
    """Build the error for a config that a set does not have: why its corpus is none for it, or what it has."""
    of_corpora: dict[str, list[str]] = {}
    for each in known:
        of_corpora.setdefault(each.partition("-")[0], []).append(each)
    asked = config.partition("-")[0]
    if asked in of_corpora:
        return ValueError(f"the {name} set has no config {config!r}; expected one of {', '.join(of_corpora[asked])}")
    taken = [each for each in of_corpora if each in CORPORA]
    others = f"expected one of {', '.join(each for each in of_corpora)}"
    if asked in CORPORA:
        corpus = CORPORA[asked]
        if corpus.is_two_way:
            return UnfitError(
                f"the {name} set needs to know which pairs contradict, and {asked} tells entailment from the rest "
                f"alone; {others}"
            )
        if taken and corpus.language not in {CORPORA[each].language for each in taken}:
            return UnfitError(
                f"the {name} set is not made of {LANGUAGES[corpus.language]} pairs, as {asked} is; {others}"
            )
    question = did_you_mean(config, known) or ";"
    return ValueError(f"the {name} set has no config {config!r}{question} {others}")


def _as_text(value: Any) -> Any:
    """Return the text of a path or of a list's paths, so that a file named either way is one entry of the cache."""
    if isinstance(value, list | tuple):
        return type(value)(map(_as_text, value))
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def options(name: str) -> frozenset[str]:
    """Return the names of a set's own options, beside those that say which pairs.

    Raises:
        ValueError: if there is no such set.
    """
    from unbag.challenge_sets.config import own_option_names

    return own_option_names(challenge_sets.get(name).builder_class().BUILDER_CONFIG_CLASS)


def option_value(name: str, option: str, text: str) -> Any:
    """Return the value of one of a set's own options from text, as `unbag.utils.options.read` does."""
    return read(challenge_sets.get(name).builder_class().BUILDER_CONFIG_CLASS, option, text)


def described_options(name: str) -> list[Option]:
    """Return a set's own options with their defaults and meanings.

    Raises:
        ValueError: if there is no such set.
    """
    return described(challenge_sets.get(name).builder_class().BUILDER_CONFIG_CLASS, options(name))


def takes_split(name: str, corpus: str | None) -> bool:
    """Tell whether a set is made from one split of a corpus (None: of its default one), and not from the whole of it.

    Raises:
        ValueError: if there is no such set.
    """
    cls = challenge_sets.get(name).builder_class()
    return (corpus or cls.DEFAULT_CONFIG_NAME or DEFAULT_CORPUS).partition("-")[0] not in cls.builder_configs


def official_config(name: str) -> str | None:
    """Return the config of the authors' own pairs, where a set is made of these by default; None for another set.

    >>> official_config("breaking_nli"), official_config("swapped")
    ('official', None)
    """
    default = challenge_sets.get(name).builder_class().DEFAULT_CONFIG_NAME
    return default if default == corpora.OFFICIAL else None


def config_name(
    name: str, corpus: str | None, split: str | None, options: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return the config for a split of a corpus, and those options that the config's name does not say already.

    Args:
        name: the set.
        corpus: a base corpus; None for what the set is made from by default.
        split: of the corpus; None for its default one. A set that takes a corpus whole has none.
        options: the set's; one whose value is part of a config's name (`snli-test-hypothesis`) selects that config.

    Raises:
        ValueError: if there is no such set, corpus or config.
    """
    cls = challenge_sets.get(name).builder_class()
    if corpus is None:
        corpus, _, default_split = (cls.DEFAULT_CONFIG_NAME or DEFAULT_CORPUS).partition("-")
        split = split or default_split or None
    config = corpus
    if config not in cls.builder_configs:
        chosen = corpora.corpus(corpus)
        config = f"{corpus}-{chosen.split(split)}"
    elif split is not None:
        raise ValueError(f"the {name} set is made from all splits of {corpus}, found the split {split!r}")
    remaining = dict(options)
    for option, value in options.items():
        if f"{config}-{value}" in cls.builder_configs:
            config = f"{config}-{remaining.pop(option)}"
    return config, remaining


def load(
    name: str,
    config: str | None = None,
    *,
    streaming: bool = False,
    num_proc: int = 1,
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
        ValueError: if there is no such set, config or option; `data.readers.DataError` if the pairs cannot be read.
    """
    dataset_builder = builder(name, config, cache_dir=cache_dir, **options)
    if streaming:
        return _evaluated(dataset_builder, dataset_builder.as_streaming_dataset())
    with parallel.worker_count(num_proc):
        return prepare(dataset_builder)


def prepare(dataset_builder: Any) -> Any:
    """Build what a `builder` makes, or take it from the cache, and return the split that models are evaluated on.

    Raises:
        ValueError: `UnfitError` if no pair can be used; `data.readers.DataError` if the pairs cannot be read.
    """
    _download_and_prepare(dataset_builder)
    validate_row_range(dataset_builder, (split.num_examples for split in dataset_builder.info.splits.values()))
    try:
        return _evaluated(dataset_builder, dataset_builder.as_dataset())
    except (OSError, ValueError) as error:
        if not is_damage(error):
            raise
    # All but the set itself comes from the cache.
    _download_and_prepare(dataset_builder, download_mode="reuse_cache_if_exists")
    return _evaluated(dataset_builder, dataset_builder.as_dataset())


def validate_row_range(dataset_builder: Any, rows: Iterable[int]) -> None:
    """Refuse a set without rows.

    Args:
        dataset_builder: its builder.
        rows: how many each split has.

    Raises:
        UnfitError: if none has any.
    """
    if not any(rows):
        options = ", ".join(f"{option}={value}" for option, value in dataset_builder.config.own_options().items())
        counts = dataset_builder.read_counts()
        left_out = ", ".join(f"{counts[reason]:,} {reason}" for reason in EXCLUSION_REASONS if counts[reason])
        raise UnfitError(
            f"none of the pairs can be used for this set, with {options or 'no options'}"
            + (f"; left out {left_out}" if left_out else "")
        )


def _download_and_prepare(dataset_builder: Any, **how: Any) -> None:
    from unbag.challenge_sets.builder import RowsError

    try:
        dataset_builder.download_and_prepare(num_proc=parallel.num_proc(), **how)
    except RowsError as error:
        if isinstance(error.cause, ValueError | ImportError | OSError):  # it names the row, the extra, the address
            raise error.cause from None
        raise
    except RuntimeError as error:
        if "abruptly died" not in str(error):
            raise
        raise ValueError(
            "a process that makes rows died, killed for want of memory perhaps; take fewer of them (--num-proc), "
            "and build the set again"
        ) from error


def _evaluated(dataset_builder: Any, splits: Any) -> Any:
    if dataset_builder.EVALUATED is not None:
        return splits[dataset_builder.EVALUATED]
    [split] = splits.values()
    return split


def summaries() -> list[dict[str, str]]:
    """Return name, display name, summary and paper of each challenge set. The summary is of its builder's module."""
    return [
        {
            "name": name,
            "title": described.title,
            "summary": (inspect.getmodule(described.builder_class()).__doc__ or "").strip().splitlines()[0],
            "paper": described.paper,
        }
        for name in challenge_sets.names()
        for described in [challenge_sets.get(name)]
    ]


def card(name: str) -> str:
    """Return the text of a set's card, the README.md beside its builder.

    Raises:
        ValueError: if there is no such set.
    """
    builder_file = Path(inspect.getfile(challenge_sets.get(name).builder_class()))
    return builder_file.with_name("README.md").read_text(encoding="utf-8")
