"""The `datasets` builder of a challenge set, made from its class, and the hash that it adds to the cache key."""

import hashlib
import os
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Final

import datasets
import pyarrow as pa
from datasets.exceptions import DatasetGenerationError

from unbag.baselines.lexical import embeddings
from unbag.challenge_sets import build_stats, requirements
from unbag.challenge_sets.pairs import OFFICIAL_FILE, OfficialPairs, PairPart, Pairs, SetOptions, list_own_options
from unbag.challenge_sets.perturbations.corpus_counts import is_bigram_file
from unbag.challenge_sets.requirements import Requirement, UnsuitablePairsError
from unbag.data.columns import PAIR, iter_tables
from unbag.data.corpora import CORPORA, LANGUAGES, OFFICIAL
from unbag.data.labels import LABELS, TWO_WAY
from unbag.data.readers import DATASET_FOLDER_FILES, is_dataset_folder, is_hub_id, open_data_file, resolve_hub_commit
from unbag.data.sources import EXCLUSION_REASONS, MAX_SENTENCE_CHARACTERS, Example, PairSource, validate_corpus_names
from unbag.data.text import tagging
from unbag.data.text.tagging import ALL
from unbag.data.user_text import list_text_files
from unbag.utils import checksums, parallel
from unbag.utils.hashing import hash_file, hash_package_code
from unbag.utils.options import validate_options
from unbag.utils.safe_io import validate_file

_MAKES_ROWS: Final = ("data", "challenge_sets", "baselines", "scoring", "utils/rng.py")
"""Code that may determine the rows of a set. A change to any of these files invalidates every cached set."""


def compute_builder_hash(builder_file: str, config: type[SetOptions], options: Mapping[str, Any]) -> str:
    """Compute a hash of the code, the tokenizer versions and the user's files that affect the rows of a set.

    The hash becomes part of the cache key of `datasets`. It covers all modules in the folder of `builder_file`, and the
    content of the files and folders that the options in `config.FILES` name.
    """
    digest = hashlib.sha256(hash_package_code(*_MAKES_ROWS).encode())
    for file in sorted(Path(builder_file).parent.glob("*.py")):  # a set of another package may compute its rows there
        digest.update(file.read_bytes())
    # Another version of a tokenizer may split sentences differently.
    for package in ("spacy", "rjieba"):
        try:
            digest.update(version(package).encode())
        except PackageNotFoundError:
            digest.update(b"absent")
    for option in config.FILES:
        for path in list_option_files(options.get(option) or getattr(config, option)):
            files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
            for file in map(validate_file, files):
                digest.update(f"{option}\0{file.relative_to(path)}\0{hash_file(file)}\n".encode())
    return digest.hexdigest()


def list_option_files(value: Any) -> list[Path]:
    """List the existing files and folders that an option names. Hub repositories and corpora are omitted."""
    # No `isinstance(…, Path)` here: `datasets` replaces `Path` in a builder's module by a class of its own.
    names = [name for name in value if name not in CORPORA] if isinstance(value, list | tuple) else [value]
    return [Path(os.fspath(name)) for name in names if name and os.path.exists(name)]


_MACHINE: Final = "machine-generated"
_OFFICIAL_SPLIT: Final = "test"  # the authors' files do not specify a split
_UNNAMED_SPLIT: Final = "data"  # the split of a file, which has no name of its own
_COUNTS: Final = "counts"
_PIPELINE: Final = "pipeline"  # option of the sets that parse or tag the pairs
# In the folder of a pipeline, model, embeddings or data set.
_FOLDER_MARKERS: Final = ("meta.json", "config.json", "config.cfg", *DATASET_FOLDER_FILES)


class _RestoredFromSet:
    """Mixin of the classes that are made from a set. Worker processes find the set by its own class."""

    challenge_set: Any

    def __reduce__(self) -> tuple[Any, ...]:
        # The class exists only at run time, so that pickle cannot import it. The class of the set can be imported.
        is_config = isinstance(self, SetOptions)
        return _restore, (type(self.challenge_set), is_config, self.__dict__)


def _restore(set_class: type, is_config: bool, state: Mapping[str, Any]) -> Any:
    made = create_builder_class(set_class)
    cls = made.BUILDER_CONFIG_CLASS if is_config else made
    restored = cls.__new__(cls)
    restored.__dict__.update(state)
    return restored


class ChallengeSetBuilder(_RestoredFromSet, datasets.ArrowBasedBuilder):
    """Base class of the `datasets` builders that `create_builder_class` makes from the challenge sets.

    The attribute `challenge_set` is the set (`base.ChallengeSet`), which builds the rows.
    """

    SCHEMA: ClassVar[pa.Schema]  # all columns

    _span: int  # first row of the span of the source that `iter_tables` is processing

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        validate_options(self.BUILDER_CONFIG_CLASS, kwargs)
        module = str(sys.modules[type(self).__module__].__file__)
        data = str(kwargs.get("data") or "")
        if kwargs.get("embeddings"):
            # The target of a name may change, so the cache key contains the commit of a repository or a file hash.
            kwargs["embeddings"] = embeddings.pin_embedding_table_name(kwargs["embeddings"])
        if (official := self.challenge_set.official) and kwargs.get(OFFICIAL_FILE):
            config = kwargs.get("config_name") or kwargs.get("name") or OFFICIAL
            kwargs[OFFICIAL_FILE] = official.resolve_file_option(kwargs[OFFICIAL_FILE], config)
        if data and not is_hub_id(data) and Path(data).exists():
            if not is_dataset_folder(Path(data)):
                # Rejects a wrong file before its gigabytes are hashed.
                open_data_file(Path(data), kwargs.get("encoding"), has_option=True)
        if texts := kwargs.get("text"):
            kwargs["text"] = list_text_files(texts)
        for name in (data, *(kwargs.get("text") or ())):
            if is_hub_id(name):  # a branch may move, so the cache key needs the commit
                kwargs["revision"] = resolve_hub_commit(name, kwargs.get("revision") or "main")
        for option in self.BUILDER_CONFIG_CLASS.FILES:
            for path in list_option_files(kwargs.get(option)):
                if not any((path / name).is_file() for name in _FOLDER_MARKERS):
                    validate_file(path)  # rejects any other folder, which may be the whole disk, before it is hashed
        super().__init__(*args, **{"hash": compute_builder_hash(module, self.BUILDER_CONFIG_CLASS, kwargs), **kwargs})

    def iter_tables(self, source: PairSource, examples: Iterator[Example]) -> Iterator[pa.Table]:
        """Build rows from the examples of one range of the source, as tables with a few thousand rows each."""
        counts: Counter[str] = Counter()
        stream = iter(self.challenge_set.rows(Pairs(examples, source, self.config, counts)))
        for first in stream:
            if isinstance(first, pa.Table):
                yield first
                yield from stream
            else:
                yield from iter_tables(chain([first], stream), self.SCHEMA, size=self.challenge_set.rows_per_table)
        if counts and self._is_prepared:
            build_stats.save_range_counts(Path(self._output_dir), _COUNTS, self._span, counts)

    def open_sources(self) -> list[PairSource]:
        """Open the data sources that the set is built from."""
        sources: list[PairSource] = self.challenge_set.open_sources(self)
        return [replace(source, has_single_span=self.challenge_set.is_sequential) for source in sources]

    def open_pairs(self, split: str | None = None) -> PairSource:
        """Open the corpus or the user-provided data of the options. A given split replaces that of the options."""
        config = self.config if split is None else replace(self.config, source_split=split)
        challenge_set = self.challenge_set
        source: PairSource = replace(
            config.open_pairs(),
            max_characters=MAX_SENTENCE_CHARACTERS if challenge_set.tokenizes else None,
            requires_english=challenge_set.language == "en" and config.data is not None,
        )
        if self.config.data and len(source.labels) == len(TWO_WAY):
            is_two_way = source.labels == TWO_WAY
            if not (challenge_set.has_two_label_corpora if is_two_way else challenge_set.accepts_contradiction_labels):
                why = "to identify contradictions" if is_two_way else "to identify entailments"
                raise UnsuitablePairsError(
                    f"{source.name}: expected three labels, {why}, got two labels ({', '.join(source.labels)}); label "
                    f"the pairs {', '.join(LABELS[:-1])} or {LABELS[-1]}, or omit the set"
                )
            self.info.features = build_features(self.SCHEMA, challenge_set.label_names or source.labels)
        return source

    def validate_resources(self) -> None:
        """Validate that the files, pipelines and corpora in the options exist, and that the first row is valid."""
        pipeline = getattr(self.config, "pipeline", None)
        if pipeline and pipeline != ALL:
            tagging.validate_pipeline(pipeline)
        if self.config.data and not is_hub_id(self.config.data):
            for source in self.open_sources():
                source.validate_first_row()
        own = [option for option in self.config.FILES if option not in SetOptions.FILES]  # pairs are validated above
        for option in own:
            names = getattr(self.config, option)
            for name in names if isinstance(names, list | tuple) else ():
                if is_bigram_file(name):
                    validate_file(Path(name))
                else:
                    validate_corpus_names([name])
        self.challenge_set.validate_resources(self.config)

    def iter_requirements(self) -> Iterator[Requirement]:
        """Iterate over the external resources that are needed to build the rows."""
        config = self.config
        if config.corpus:
            base = CORPORA[config.corpus]
            splits = [config.source_split] if config.source_split else [*base.train, *base.validation, *base.test]
            yield from requirements.iter_corpus_requirements(config.corpus, splits, config.revision)
        elif config.text:
            if is_hub_id(config.text[0]):
                yield Requirement(f"the text {config.text[0]} of {self.dataset_name}", self.open_sources)
            yield requirements.build_pipeline_requirement(str(getattr(config, "pipeline", "")))
        elif not config.data or is_hub_id(str(config.data)):
            yield Requirement(f"the pairs {config.data or config.name} of {self.dataset_name}", self.open_sources)
        yield from self.challenge_set.iter_requirements(config)

    def list_creators(self) -> dict[PairPart, list[str]]:
        """List the creators of the sentences and labels for the dataset card. User-provided data adds none."""
        if self._official:
            return {part: list(creators) for part, creators in self._official.creators.items()}
        base, machine_made = CORPORA.get(self.config.corpus), self.challenge_set.machine_made
        sentences, labels = (base.sentence_creators, base.label_creators) if base else ((), ())
        return {
            "sentences": [*sentences, *([_MACHINE] if "sentences" in machine_made else ())],
            "labels": [_MACHINE] if "labels" in machine_made else list(labels),
        }

    def get_split_name(self, source: PairSource) -> str:
        """Return the name of the split for the rows that are built from a source."""
        return _OFFICIAL_SPLIT if self._official else source.split or _UNNAMED_SPLIT

    @property
    def _official(self) -> OfficialPairs | None:
        """The authors' published pairs, if the config selects them."""
        return self.challenge_set.official if self.config.is_official else None

    def get_set_options(self) -> dict[str, Any]:
        """Collect the options that are specific to the set. Options that select the pairs are omitted."""
        options, unrecorded = self.challenge_set.Options, self.challenge_set.unrecorded_defaults
        given = {name: getattr(self.config, name) for name in sorted(list_own_options(options))}
        if self.challenge_set.official:
            del given[OFFICIAL_FILE]  # the checksum guarantees that all copies of the authors' file are equal
        return {
            name: value for name, value in given.items() if name not in unrecorded or value != getattr(options, name)
        }

    def load_build_counts(self) -> dict[str, int]:
        """Load the counts of `ChallengeSet.rows`, such as rejected candidates by reason, summed over all processes."""
        return dict(sorted(build_stats.load_total_counts(Path(self._output_dir), _COUNTS).items()))

    def count_exclusions(self, n_used: int) -> dict[str, int]:
        """Count the excluded source rows by reason, for a set with rows of `n_used` examples."""
        read, config = self.load_row_counts(), self.config
        # Sets count only the rare reasons, so that the usual one has the rest of the labelled examples without rows.
        rare: dict[str, int] = self.challenge_set.count_exclusions(self.load_build_counts(), config)
        usual = {self.challenge_set.exclusion_reason: read[build_stats.LABELLED] - n_used - sum(rare.values())}
        return {reason: read[reason] for reason in EXCLUSION_REASONS} | usual | rare

    def load_row_counts(self) -> Counter[str]:
        """Load how many source rows were read, excluded for each reason, labelled and annotated."""
        return build_stats.load_total_counts(Path(self._output_dir), build_stats.READ)

    def save_row_counts(self, counts: Mapping[str, int]) -> None:
        """Store the counts that `load_row_counts` loads, for a set that reads its sources in `plan_splits`."""
        if self._is_prepared:
            build_stats.save_range_counts(Path(self._output_dir), build_stats.READ, 0, counts)

    def _build_cache_dir(self) -> str:
        folder = Path(str(super()._build_cache_dir()))
        # Verify the checksums before `datasets` maps the files: a flipped byte silently changes rows or crashes Arrow.
        if folder.is_dir() and (damage := checksums.find_corruption(folder)):
            checksums.remove_damaged(folder, damage)
        return str(folder)

    def _save_info(self) -> None:
        super()._save_info()  # writes the last file of a set; afterwards `datasets` renames the folder
        checksums.write_folder_checksums(Path(self._output_dir))

    def _info(self) -> datasets.DatasetInfo:
        # Validated here, not in `__post_init__`: `datasets` sets the options after it has created the config.
        config, challenge_set = self.config, self.challenge_set
        if not config.is_official:
            config.validate_pairs()
        config.validate()
        if challenge_set.language not in ("", config.sentence_language):
            language = LANGUAGES[challenge_set.language]
            raise ValueError(
                f"{challenge_set.name}: expected {language} pairs, got the language {config.sentence_language!r}; "
                f"choose a corpus in {language}"
            )
        base = CORPORA[config.corpus] if config.corpus else None
        labels = challenge_set.label_names or (TWO_WAY if base and base.is_two_way else LABELS)
        return datasets.DatasetInfo(
            description=sys.modules[type(self).__module__].__doc__,
            features=build_features(self.SCHEMA, labels),
            citation="\n".join([challenge_set.citation, *([base.citation] if base else [])]),
            license=self._official.license if self._official else base.license if base else "",
        )

    @property
    def _is_prepared(self) -> bool:
        """Whether rows are being written to the cache, not streamed."""
        # `datasets` builds in a folder `….incomplete` and renames it when the set is complete.
        return Path(self._output_dir).suffix == ".incomplete"

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        sources = tuple(self.open_sources())
        splits = self.challenge_set.plan_splits(self, sources)
        if splits is None:
            [source] = sources
            if not dl_manager.is_streaming:
                self.challenge_set.warm_caches(source, self.config)
            splits = {self.get_split_name(source): (list(source.spans), None)}
        # `datasets` distributes list arguments, here the spans, over its processes. The rows do not depend on the
        # distribution.
        return [
            datasets.SplitGenerator(name, {"sources": sources, "spans": spans, "plan": plan})
            for name, (spans, plan) in splits.items()
        ]

    def _prepare_split(self, split_generator: datasets.SplitGenerator, *args: Any, **how: Any) -> None:
        if how.get("num_proc"):
            # `datasets` warns if there are fewer spans than processes.
            how["num_proc"] = min(how["num_proc"], len(split_generator.gen_kwargs.get("spans") or [None]))
        try:
            with parallel.set_num_proc(1):  # worker processes start no further processes
                super()._prepare_split(split_generator, *args, **how)
        except Exception as error:
            # After Ctrl-C the process pool raises an error of its own, which hides the interrupt.
            if isinstance(error.__context__, KeyboardInterrupt):
                raise error.__context__ from None
            raise
        if split_generator.gen_kwargs["plan"] is None:
            build_stats.validate_unique_ids(split_generator.gen_kwargs["sources"][0], Path(self._output_dir))

    def _prepare_split_single(self, *args: Any, **how: Any) -> Iterator[Any]:
        try:
            yield from super()._prepare_split_single(*args, **how)
        except DatasetGenerationError as error:
            if error.__cause__ is None:
                raise
            raise RowBuildError(error.__cause__) from error.__cause__

    def _generate_tables(
        self, sources: tuple[PairSource, ...], spans: list[Any], plan: Any
    ) -> Iterator[tuple[tuple[Any, ...], pa.Table]]:
        if plan is not None:
            for number, table in enumerate(self.challenge_set.iter_planned_tables(sources, spans, plan)):
                yield (spans[0], number), table
            return
        [source] = sources
        # Joined, so that the work that `iter_tables` does before its first row is done once per process.
        for start, stop in _join_spans(spans):
            self._span = start
            examples = source.iter_examples(start, stop)
            if self._is_prepared:
                examples = build_stats.iter_and_count_examples(source, start, stop, Path(self._output_dir))
            for number, table in enumerate(self.iter_tables(source, examples)):
                yield (start, number), table
            deque(examples, maxlen=0)  # exhausts the iterator, so that examples after the last row are counted too


def _join_spans(spans: Iterable[tuple[int, int | None]]) -> list[tuple[int, int | None]]:
    """Join adjacent spans.

    >>> _join_spans([(0, 500), (500, 1000), (2000, None)])
    [(0, 1000), (2000, None)]
    """
    joined: list[tuple[int, int | None]] = []
    for start, stop in spans:
        if joined and joined[-1][1] == start:
            start, _ = joined.pop()
        joined.append((start, stop))
    return joined


class RowBuildError(DatasetGenerationError):
    """Raised when the rows of a set cannot be built."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"{type(cause).__name__}: {cause}")
        self.cause = cause

    def __reduce__(self) -> tuple[type["RowBuildError"], tuple[BaseException]]:
        # The default would pass the message as `cause`, since `args` holds only the message.
        return type(self), (self.cause,)


def build_features(schema: pa.Schema, labels: Sequence[str] = LABELS) -> datasets.Features:
    """Convert an Arrow schema to `datasets.Features`. The column `label` becomes a `ClassLabel` with names `labels`."""
    return datasets.Features(
        {**datasets.Features.from_arrow_schema(schema), "label": datasets.ClassLabel(names=list(labels))}
    )


def _vary(configs: list[Any], variants: tuple[str, Sequence[str]] | None) -> list[Any]:
    """Copy configs with each value of an option. The name of a config contains a value other than the default."""
    if variants is None:
        return configs
    option, values = variants
    default = getattr(type(configs[0]), option)
    return [
        replace(config, name=f"{config.name}{'' if value == default else f'-{value}'}", **{option: value})
        for config in configs
        for value in values
    ]


@cache
def create_builder_class(set_class: type) -> type[ChallengeSetBuilder]:
    """Create the builder class of a challenge set (`base.ChallengeSet`)."""
    challenge_set: Any = set_class()
    title, options, official = set_class.__name__, challenge_set.Options, challenge_set.official
    # `datasets` and the hash of the code find the folder of a builder, and thus the card, by its module.
    shared = {"challenge_set": challenge_set, "__module__": set_class.__module__}
    pipeline = (_PIPELINE,) if hasattr(options, _PIPELINE) else ()
    # Without a docstring, `dataclass` would set the signature as one.
    own = {"__doc__": options.__doc__, "FILES": tuple(dict.fromkeys((*SetOptions.FILES, *options.FILES, *pipeline)))}
    config: Any = dataclass(type(f"{title}Config", (options, _RestoredFromSet, datasets.BuilderConfig), own | shared))
    version = datasets.Version(challenge_set.version)
    languages = challenge_set.corpus_languages or list(filter(None, [challenge_set.language])) or LANGUAGES
    # One config per split, or one per corpus for a set that merges all splits.
    configs = [
        config(
            name="-".join(filter(None, (corpus.name, split))), version=version, corpus=corpus.name, source_split=split
        )
        for corpus in CORPORA.values()
        if corpus.language in languages and (challenge_set.has_two_label_corpora or not corpus.is_two_way)
        for split in (corpus.splits if challenge_set.evaluation_split is None else (None,))
    ]
    configs = _vary(configs, challenge_set.config_variants)
    if official:
        configs = _vary([config(name=OFFICIAL, version=version)], official.variants) + configs
    own_columns = ((name, pa.type_for_alias(type_)) for name, type_ in challenge_set.own_columns.items())
    attributes = {
        "__doc__": set_class.__doc__,
        "VERSION": version,
        "BUILDER_CONFIG_CLASS": config,
        "BUILDER_CONFIGS": configs,
        "DEFAULT_CONFIG_NAME": OFFICIAL if official else None,
        "SCHEMA": challenge_set.schema or pa.schema([*PAIR, *own_columns]),
    }
    return type(f"{title}Builder", (ChallengeSetBuilder,), attributes | shared)
