"""What of a training can be told to fail before it begins: names of what is not there, or cannot be written."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from unbag.baselines.lexical import embeddings
from unbag.baselines.wordnet.database import validate_installed
from unbag.challenge_sets import suite
from unbag.challenge_sets.request import check as check_set
from unbag.data.corpora import CORPORA
from unbag.data.labels import parse_label_map
from unbag.data.readers import is_hub_id
from unbag.data.text import tagging as pipelines
from unbag.data.text.tokens import SEGMENTER, is_segmented, validate_language
from unbag.evaluation.model_loading import validate_model
from unbag.training import config as augment_option
from unbag.training.config import TrainConfig, parse_weighted
from unbag.training.data import validate_corpora
from unbag.utils import optional_deps
from unbag.utils.hub_names import validate_repo
from unbag.utils.optional_deps import EXTRA_OF
from unbag.utils.safe_io import validate_file, validate_writable


def check(config: TrainConfig, *, sets: Sequence[str] = ()) -> None:
    """Refuse what would only fail after corpora are read, models fetched, or hours of training.

    Args:
        config: of a training.
        sets: challenge sets that the model is evaluated on at the end.

    Raises:
        ValueError: if a name is none of what it should be one of, or something cannot be read or written.
        ImportError: if a package is missing; the message names the extra.
    """
    validate_writable(config.out, folder=True)
    validate_model(config.model)
    if config.revision is not None and Path(config.model).expanduser().is_dir():
        raise ValueError(f"{config.model} is a folder, which has no revision {config.revision!r}; leave it out")
    if config.label_map:
        parse_label_map(config.label_map)
    _check_pairs(config)
    for name in sets:
        check_set(suite.request(name))
    validate_trackers(config.trackers)
    for option in ("embeddings", "rearranged_by"):  # of recipes that have them
        if table := getattr(config, option, None):
            embeddings.require(table)
    if (file := getattr(config, "file", None)) is not None and not file.is_dir():
        validate_file(file)
    if config.push_checkpoints is not None:
        validate_repo(config.push_checkpoints)
    if config.resume is not None and not is_hub_id(config.resume) and not Path(config.resume).is_dir():
        raise ValueError(f"expected a folder with a checkpoint, or a Hub repository; found no folder {config.resume}")


def validate_trackers(names: Iterable[str]) -> None:
    """Refuse trackers that are not installed.

    Raises:
        ImportError: naming them, and the extra that brings them where one does.
    """
    if missing := [name for name in names if not pipelines.is_installed(name)]:
        packages = {f"'unbag[{EXTRA_OF[name]}]'" if name in EXTRA_OF else name for name in missing}
        raise ImportError(f"expected {', '.join(missing)} to be installed: pip install {' '.join(sorted(packages))}")


def _check_pairs(config: TrainConfig) -> None:
    if not config.reads_corpora:
        return
    languages = {
        CORPORA[name].language if name in CORPORA else config.language for name, _ in map(parse_weighted, config.corpus)
    }
    if config.augment:
        augment_option.validate_english(languages)
        pipelines.require(pipelines.PIPELINE)
        if augment_option.asks_wordnet(config.augment):
            validate_installed()
    if config.order != "natural":
        for language in languages:
            validate_language(language)
        if any(map(is_segmented, languages)):
            optional_deps.require(SEGMENTER)
    if config.order != "natural" and len(languages) > 1:
        raise ValueError(f"expected training pairs in one language, to cut them into words; found {sorted(languages)}")
    # The last check, since it reads the first rows of files.
    how = {"language": config.language, "columns": config.named_columns(), "labels": config.labels}
    validate_corpora(config.corpus, config.validation, not_entailment_as=config.not_entailment_as, **how)
