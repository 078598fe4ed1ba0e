"""Validation of options before training, such as names that do not exist and files that cannot be read."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from unbag.baselines.lexical import embeddings
from unbag.baselines.wordnet.database import validate_wordnet
from unbag.challenge_sets import selection
from unbag.challenge_sets.request import create_validated_builder
from unbag.data.corpora import CORPORA
from unbag.data.labels import parse_label_map
from unbag.data.readers import is_hub_id
from unbag.data.text import tagging as pipelines
from unbag.data.text.tokens import SEGMENTER, is_segmenter_required, validate_language
from unbag.evaluation.model_loading import validate_model
from unbag.inference.distributed import connect_process_group
from unbag.training.config import TrainConfig, is_wordnet_required, validate_english
from unbag.training.data import get_single_language, validate_corpora
from unbag.utils import optional_deps
from unbag.utils.hub import validate_repo
from unbag.utils.optional_deps import EXTRA_OF
from unbag.utils.safe_io import validate_file, validate_writable


def validate_training_options(config: TrainConfig, *, sets: Sequence[str] = ()) -> None:
    """Validate all options before any download or training, also those for an evaluation on `sets` afterwards."""
    validate_writable(config.output_dir, folder=True)
    validate_model(config.model)
    if config.revision is not None and Path(config.model).expanduser().is_dir():
        raise ValueError(
            f"--revision: not supported for the folder {config.model}, got {config.revision!r}; omit --revision"
        )
    if config.label_map:
        parse_label_map(config.label_map)
    validate_batch_size(config)
    _check_pairs(config)
    for name in sets:
        create_validated_builder(selection.build_suite_request(name))
    validate_trackers(config.report_to)
    for option in ("embeddings", "rearranged_by"):  # only some recipes have these options
        if table := getattr(config, option, None):
            embeddings.validate_embedding_table_name(table)
    if (file := getattr(config, "official_file", None)) is not None and not file.is_dir():
        validate_file(file)
    if config.push_checkpoints is not None:
        validate_repo(config.push_checkpoints)
    start = config.resume_from_checkpoint
    if start is not None and not is_hub_id(start) and not Path(start).is_dir():
        raise ValueError(
            f"--resume-from-checkpoint: expected a folder or a Hub repository, got {start}; check the name"
        )


def validate_batch_size(config: TrainConfig) -> int:
    """Validate that a batch can be divided among processes and accumulation steps. Returns the number of parts."""
    world_size, steps = connect_process_group().world_size, config.gradient_accumulation_steps
    if config.batch_size % (world_size * steps):
        raise ValueError(
            f"batch_size: expected a multiple of {world_size * steps} ({world_size} processes × "
            f"gradient_accumulation_steps = {steps}), got {config.batch_size}; change batch_size or "
            "gradient_accumulation_steps"
        )
    return world_size * steps


def validate_trackers(names: Iterable[str]) -> None:
    """Validate that experiment trackers are installed. The `ImportError` names the missing ones and their extra."""
    if missing := [name for name in names if not pipelines.is_package_installed(name)]:
        packages = {f"'unbag[{EXTRA_OF[name]}]'" if name in EXTRA_OF else name for name in missing}
        raise ImportError(
            f"expected the packages {', '.join(missing)}, got none; install them: pip install "
            f"{' '.join(sorted(packages))}"
        )


def _check_pairs(config: TrainConfig) -> None:
    if not config.reads_corpora:
        return
    languages = {CORPORA[name].language if name in CORPORA else config.language for name in config.corpus_names}
    if config.augment:
        validate_english(languages)
        pipelines.validate_pipeline(pipelines.PIPELINE)
        if is_wordnet_required(config.augment):
            validate_wordnet()
    if config.word_order != "natural":
        language = get_single_language(languages)
        validate_language(language)
        if is_segmenter_required(language):
            optional_deps.validate_dependency(SEGMENTER)
    # Last, since it reads the first rows of files.
    validate_corpora(config)
