"""Construction of a challenge set by name and options."""

import inspect
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from unbag import challenge_sets
from unbag.challenge_sets.pairs import list_own_options
from unbag.challenge_sets.requirements import UnsuitablePairsError as UnsuitablePairsError
from unbag.challenge_sets.views.tables import format_top_reasons
from unbag.data import corpora
from unbag.data.corpora import CORPORA, LANGUAGES
from unbag.data.readers import is_corrupted_cache_error
from unbag.utils import parallel
from unbag.utils.options import OptionDescription, OptionError, describe_options, suggest_name

DEFAULT_CORPUS: Final = "snli"


def create_builder(name: str, config: str | None = None, *, cache_dir: Path | None = None, **options: Any) -> Any:
    """Create the `datasets` builder of a challenge set.

    A corpus name as config means its default split; None, that the option `data` or `text` names the pairs. `cache_dir`
    is the folder of built sets (default: the cache of `datasets`). `options` are those of the set (`q=10`); for data of
    your own also `data`, `columns`, `labels`, `language`, …
    """
    for what, value in (("a challenge set", name), ("a config", "" if config is None else config)):
        if not isinstance(value, str):
            raise ValueError(f"expected the name of {what}, got {value!r}")
    cls = challenge_sets.get_challenge_set(name).get_builder_class()
    if options.get("text") is not None and not challenge_sets.get_challenge_set(name).from_text:
        raise UnsuitablePairsError(
            f"the {name} set: expected labelled pairs, got a text; use one of the sets "
            f"{', '.join(each.name for each in challenge_sets.list_challenge_sets() if each.from_text)}"
        )
    if config is None:
        options["name"] = "custom"
    elif config in CORPORA:
        config, options = resolve_config(name, config, None, options)
    if config is not None and config not in cls.builder_configs:
        raise _unknown_config_error(name, config, cls.builder_configs)
    config_options = [option.name for option in fields(cls.BUILDER_CONFIG_CLASS)]
    if unknown := sorted(set(options) - set(config_options)):
        raise OptionError(f"the {name} set has no option {', '.join(map(repr, unknown))}; use {config_options}")
    text_options = {option: _as_text(value) for option, value in options.items()}
    return cls(config_name=config, dataset_name=f"unbag_{name}", cache_dir=cache_dir, **text_options)


def _unknown_config_error(name: str, config: str, configs: Collection[str]) -> ValueError:
    """Build the error for a config that a set lacks. The message says why the corpus does not fit, or lists configs."""
    # Configs are named `<corpus>-<split>-<value>`, and no corpus has a hyphen in its name.
    corpora_of_set = list(dict.fromkeys(each.partition("-")[0] for each in configs))
    requested = config.partition("-")[0]
    if requested in corpora_of_set:
        of_corpus = [each for each in configs if each.partition("-")[0] == requested]
        return ValueError(f"the {name} set has no config {config!r}; expected one of {', '.join(of_corpus)}")
    others = f"expected one of {', '.join(corpora_of_set)}"
    corpus = CORPORA.get(requested)
    if corpus is None:
        return ValueError(f"the {name} set has no config {config!r}{suggest_name(config, configs) or ';'} {others}")
    if corpus.is_two_way:
        return UnsuitablePairsError(
            f"the {name} set requires contradictions, but {requested} has only the labels entailment and not "
            f"entailment; {others}"
        )
    return UnsuitablePairsError(
        f"the {name} set does not support {LANGUAGES[corpus.language]}, the language of {requested}; {others}"
    )


def _as_text(value: Any) -> Any:
    """Convert paths to text, so that a `str` and a `Path` of one file give the same cache key."""
    if isinstance(value, list | tuple):
        return type(value)(map(_as_text, value))
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def describe_set_options(name: str) -> list[OptionDescription]:
    """Describe the options that are specific to a set: name, default and meaning."""
    options = challenge_sets.get_challenge_set(name).Options
    return [option for option in describe_options(options) if option.name in list_own_options(options)]


def has_split_config(name: str, corpus: str | None) -> bool:
    """Check whether a set is built from a single split of a corpus. Return False if the set merges all splits.

    Without a corpus, the set's default corpus is checked.
    """
    cls = challenge_sets.get_challenge_set(name).get_builder_class()
    return (corpus or cls.DEFAULT_CONFIG_NAME or DEFAULT_CORPUS).partition("-")[0] not in cls.builder_configs


def resolve_config(
    name: str, corpus: str | None, split: str | None, options: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Find the config for a split of a corpus, and the options that the config does not set.

    Corpus and split are None for the defaults of the set. A value of an option that occurs in a config's name
    (`snli-test-hypothesis`) selects that config.
    """
    cls = challenge_sets.get_challenge_set(name).get_builder_class()
    if corpus is None:
        corpus, _, default_split = (cls.DEFAULT_CONFIG_NAME or DEFAULT_CORPUS).partition("-")
        split = split or default_split or None
    config = corpus
    if config not in cls.builder_configs:
        chosen = corpora.get_corpus(corpus)
        config = f"{corpus}-{chosen.resolve_split(split)}"
    elif split is not None:
        raise ValueError(f"the {name} set merges all splits of {corpus}, so it has no split {split!r}; omit the split")
    remaining = dict(options)
    for option, value in options.items():
        # A config with the value in its name shares its cache with the same set requested by this name.
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
    """Load a challenge set from the cache, or build it, and return the split that models are evaluated on.

    Args:
        name: Name of the set, e.g. `permuted`.
        config: Config of the set; see `create_builder`, which also describes the options.
        streaming: Whether to build rows lazily, without a cache, and return an `IterableDataset`.
        num_proc: Number of build processes (default: 1). The rows do not depend on it.
        cache_dir: Folder of built sets (default: the cache of `datasets`).

    Raises:
        ValueError: If the set, the config or an option does not exist; `data.readers.DataError` if the pairs cannot be
            read.
    """
    dataset_builder = create_builder(name, config, cache_dir=cache_dir, **options)
    if streaming:
        return _evaluated(dataset_builder, dataset_builder.as_streaming_dataset())
    with parallel.set_num_proc(num_proc):
        return load_evaluation_split(dataset_builder)


def load_evaluation_split(dataset_builder: Any) -> Any:
    """Build a challenge set, or load it from the cache, and return its evaluation split.

    Raises:
        ValueError: `UnsuitablePairsError` if no pair can be used; `data.readers.DataError` if the pairs cannot be read.
    """
    _download_and_prepare(dataset_builder)
    validate_has_rows(dataset_builder, (split.num_examples for split in dataset_builder.info.splits.values()))
    try:
        return _evaluated(dataset_builder, dataset_builder.as_dataset())
    except (OSError, ValueError) as error:
        if not is_corrupted_cache_error(error):
            raise
    # The cached rows are damaged: build them again. Downloads are still taken from the cache.
    _download_and_prepare(dataset_builder, download_mode="reuse_cache_if_exists")
    return _evaluated(dataset_builder, dataset_builder.as_dataset())


def validate_has_rows(dataset_builder: Any, rows: Iterable[int]) -> None:
    """Validate that a split of a set has rows. The error lists the options and the excluded pairs by reason."""
    if not any(rows):
        own = dataset_builder.get_set_options()
        options = ", ".join(f"{option}={value}" for option, value in own.items() if value is not None)
        counts = dataset_builder.count_exclusions(n_used=0)
        excluded = ", ".join(f"{n:,} {reason}" for reason, n in counts.items() if n)
        rejected: Counter[str] = Counter()
        for key, n in dataset_builder.load_build_counts().items():
            reason = key.partition(": ")[2]
            if reason and reason not in counts:
                rejected |= Counter({reason: n})  # several kinds of pairs may reject a sentence for the same reason
        reasons = format_top_reasons(rejected)
        own_data = dataset_builder.config.data and not dataset_builder.config.text
        name = dataset_builder.dataset_name.removeprefix("unbag_")
        needs_text = own_data and challenge_sets.get_challenge_set(name).from_text
        raise UnsuitablePairsError(
            f"none of the {'sentences' if dataset_builder.config.text else 'pairs'} are suitable for this set "
            f"(options: {options or 'none'})"
            + (f"; excluded {excluded}" if excluded else "")
            + (f"; most frequent reasons: {reasons}" if reasons else "")
            + ("; pass your documents with --text to use their sentences" if needs_text else "")
        )


def _download_and_prepare(dataset_builder: Any, **how: Any) -> None:
    from unbag.challenge_sets.builder import RowBuildError

    try:
        dataset_builder.download_and_prepare(num_proc=parallel.get_num_proc(), **how)
    except RowBuildError as error:
        # These messages are written for users: they name the row, the missing extra or the address.
        if isinstance(error.cause, ValueError | ImportError | OSError):
            raise error.cause from None
        raise
    except RuntimeError as error:
        # `datasets` reports a killed worker as a RuntimeError with this text, without an own type.
        if "abruptly died" not in str(error):
            raise
        raise ValueError(
            "a build process was killed, perhaps because it ran out of memory; decrease --num-proc, then build the set "
            "again"
        ) from error


def _evaluated(dataset_builder: Any, splits: Any) -> Any:
    [default, *_] = splits
    return splits[dataset_builder.challenge_set.evaluation_split or default]


def read_card(name: str) -> str:
    """Read the dataset card of a set: the README.md in the folder of its class."""
    set_file = Path(inspect.getfile(type(challenge_sets.get_challenge_set(name))))
    return set_file.with_name("README.md").read_text(encoding="utf-8")
