"""The `datasets` builder of a challenge set, made from its class."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import Any

import datasets
import pyarrow as pa

from unbag.challenge_sets.builder import ChallengeSetBuilder
from unbag.challenge_sets.config import SourceConfig, build_source_configs
from unbag.challenge_sets.pairs import Pairs
from unbag.challenge_sets.requirements import Requirement
from unbag.data.columns import PAIR, iter_tables
from unbag.data.corpora import LANGUAGES
from unbag.data.sources import MAX_SENTENCE_CHARACTERS, Example, PairSource

_PIPELINE = "pipeline"  # option of the sets that parse or tag the pairs


class _RestoredFromSet:
    """Mixin of the classes that are made from a set. Worker processes find the set by its own class."""

    challenge_set: Any

    def __reduce__(self) -> tuple[Any, ...]:
        # The class exists only at run time, so that pickle cannot import it. The class of the set can be imported.
        is_config = isinstance(self, SourceConfig)
        return _restore, (type(self.challenge_set), is_config, self.__dict__)


def _restore(set_class: type, is_config: bool, state: Mapping[str, Any]) -> Any:
    made = create_builder_class(set_class)
    cls = made.BUILDER_CONFIG_CLASS if is_config else made
    restored = cls.__new__(cls)
    restored.__dict__.update(state)
    return restored


class _SetConfig(_RestoredFromSet, SourceConfig):
    """Options of the pairs. A subclass has those of the set too."""


def _validate_config(config: Any) -> None:
    """Validate the options of the pairs and of the set."""
    challenge_set = config.challenge_set
    SourceConfig.validate(config)
    challenge_set.Options.validate(config)
    if challenge_set.language not in ("", config.sentence_language):
        language = LANGUAGES[challenge_set.language]
        raise ValueError(
            f"{challenge_set.name}: expected {language} pairs, got the language {config.sentence_language!r}; choose a "
            f"corpus in {language}"
        )


class _SetBuilder(_RestoredFromSet, ChallengeSetBuilder):
    """Builder whose rows come from `ChallengeSet.rows`."""

    def open_sources(self, *, streaming: bool = False) -> list[PairSource]:
        sources = super().open_sources(streaming=streaming)
        if self.challenge_set.is_sequential:
            return [source.with_single_span() for source in sources]
        return sources

    def warm_caches(self, source: PairSource) -> None:
        self.challenge_set.warm_caches(source, self.config)

    def iter_tables(self, source: PairSource, examples: Iterator[Example]) -> Iterator[pa.Table]:
        counts: Counter[str] = Counter()
        rows = self.challenge_set.rows(Pairs(examples, source, self.config, counts))
        yield from _as_tables(rows, self.SCHEMA, self.challenge_set.rows_per_table)
        if counts:
            self.save_build_counts(counts)

    def get_exclusion_counts(self) -> dict[str, int]:
        exclusions: dict[str, int] = self.challenge_set.count_exclusions(self.load_build_counts(), self.config)
        return exclusions

    def validate_resources(self) -> None:
        super().validate_resources()
        self.challenge_set.validate_resources(self.config)

    def iter_requirements(self) -> Iterator[Requirement]:
        yield from super().iter_requirements()
        yield from self.challenge_set.iter_requirements(self.config)

    def describe_provenance(self) -> dict[str, Any]:
        provenance: dict[str, Any] = self.challenge_set.describe_provenance(self)
        return provenance


def _as_tables(
    rows: Iterable[Mapping[str, Any] | pa.Table], schema: pa.Schema, rows_per_table: int
) -> Iterator[pa.Table]:
    """Convert rows to tables, unless they are tables already."""
    stream = iter(rows)
    for first in stream:
        if isinstance(first, pa.Table):
            yield first
            yield from stream
        else:
            yield from iter_tables(chain([first], stream), schema, size=rows_per_table)


def _vary(config: Any, option: str, value: str) -> Any:
    """Copy a config with the value of an option. The name of the config contains a value other than the default."""
    suffix = "" if value == getattr(type(config), option) else f"-{value}"
    return replace(config, name=f"{config.name}{suffix}", **{option: value})


@cache
def create_builder_class(set_class: type) -> type[ChallengeSetBuilder]:
    """Create the builder class of a challenge set (`base.ChallengeSet`)."""
    challenge_set: Any = set_class()
    title, options = set_class.__name__, challenge_set.Options
    # `datasets` and the hash of the code find the folder of a builder, and thus the card, by its module.
    shared = {"challenge_set": challenge_set, "__module__": set_class.__module__}
    files = (*SourceConfig.FILES, *options.FILES)
    if hasattr(options, _PIPELINE):
        files = (*files, _PIPELINE)
    # Without a docstring, `dataclass` would set the signature as one.
    own = {
        "__doc__": options.__doc__,
        "FILES": files,
        "UNRECORDED_DEFAULTS": challenge_set.unrecorded_defaults,
        "validate": _validate_config,
    }
    config: Any = dataclass(type(f"{title}Config", (options, _SetConfig), own | shared))
    version = datasets.Version(challenge_set.version)
    configs = build_source_configs(
        config,
        version,
        language=challenge_set.language or None,
        has_two_label_corpora=challenge_set.has_two_label_corpora,
    )
    if challenge_set.config_variants:
        option, values = challenge_set.config_variants
        configs = [_vary(each, option, value) for each in configs for value in values]
    own_columns = ((name, pa.type_for_alias(type_)) for name, type_ in challenge_set.own_columns.items())
    attributes = {
        "__doc__": set_class.__doc__,
        "VERSION": version,
        "BUILDER_CONFIG_CLASS": config,
        "BUILDER_CONFIGS": configs,
        "SCHEMA": challenge_set.schema or pa.schema([*PAIR, *own_columns]),
        "EXAMPLE_ID": challenge_set.example_id,
        "CITATION": challenge_set.citation,
        "EXCLUSION_REASON": challenge_set.exclusion_reason,
        "MAX_SENTENCE_CHARACTERS": MAX_SENTENCE_CHARACTERS if challenge_set.tokenizes else None,
        "MACHINE_MADE": challenge_set.machine_made,
        "LABEL_NAMES": challenge_set.label_names,
        "REQUIRES_ENGLISH": challenge_set.language == "en",
        "ACCEPTS_CONTRADICTION_LABELS": challenge_set.accepts_contradiction_labels,
    }
    return type(f"{title}Builder", (_SetBuilder,), attributes | shared)
