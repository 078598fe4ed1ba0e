"""All that a run reads from elsewhere: fetched beforehand, or, offline, listed at once where it is not there."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from unbag.challenge_sets import loading, requirements
from unbag.challenge_sets.request import Request
from unbag.challenge_sets.requirements import MissingError, Requirement
from unbag.data.corpora import CORPORA
from unbag.data.readers import is_hub_id
from unbag.utils import hub_files
from unbag.utils.files import read_json_object
from unbag.utils.hub import missing_repo_message

_CONFIG: Final = "config.json"


def of_run(
    requests: Iterable[Request],
    models: Sequence[str] = (),
    *,
    revision: str | None = None,
    train_data: Sequence[str] | None = None,
    lexical_baseline: bool = False,
) -> list[Requirement]:
    """Return what evaluating models on challenge sets reads, each thing once.

    Args:
        requests: the sets.
        models: Hub ids, or whatever else names a model.
        revision: of the models.
        train_data: what built-in models are fitted to; None for the default.
        lexical_baseline: also what the lexical model is fitted to that scores are held against. A run can do without.
    """
    requirements: list[Requirement] = []
    for request in requests:
        builder = loading.builder(request.name, request.config, **request.options)
        requirements += builder.requirements()
        if lexical_baseline:
            requirements += of_word_counter(builder.config.sentences_in)
    for model in models:
        requirements += of_model(model, revision=revision, train_data=train_data)
    return list({each.name: each for each in requirements}.values())


def of_model(
    model: str, *, revision: str | None = None, train_data: Sequence[str] | None = None
) -> Iterator[Requirement]:
    """Yield what a model reads: its files, or for a built-in model what it is fitted to or looks up."""
    from unbag.baselines.lexical.fitting import DEFAULT_TRAINING
    from unbag.baselines.lexical.predictors import BASELINES

    if model == "wordnet":
        yield requirements.wordnet()
    elif model == "natlog":
        yield requirements.wordnet()
        yield requirements.pipeline("")
    elif model in BASELINES:
        yield from requirements.train_splits(train_data or DEFAULT_TRAINING["en"])
        yield requirements.pipeline("")
    elif is_hub_id(repository := model.removeprefix("causal:")):  # no function or endpoint: those have a colon still
        at = f" at {revision}" if revision else ""
        yield Requirement(f"the model {repository}{at}", lambda: _model_files(repository, revision))
    elif (Path(model) / _CONFIG).is_file() and (parser := _parser_of(Path(model))):
        yield requirements.pipeline(parser)


def of_word_counter(language: str) -> Iterator[Requirement]:
    """Yield what the lexical model is fitted to that scores are held against (`word_counter`)."""
    from unbag.baselines.lexical.words import ALL
    from unbag.evaluation.lexical_baseline import PAIRS

    if language in PAIRS:
        corpus, _, pipeline = PAIRS[language]
        yield from requirements.train_splits([corpus])
        if pipeline != ALL:
            yield requirements.pipeline(pipeline)


def of_training(model: str, corpora: Sequence[str], *, revision: str | None = None) -> list[Requirement]:
    """Return what training a model reads: its files, and the train and validation splits of corpora."""
    return [
        *of_model(model, revision=revision),
        *requirements.train_splits(corpora),
        *(
            each
            for name in corpora
            if name in CORPORA
            for each in requirements.corpus_splits(name, CORPORA[name].validation)
        ),
    ]


def missing(wanted: Iterable[Requirement]) -> dict[str, str]:
    """Get things, and return for each that cannot be had why not, by name."""
    reasons = {}
    for each in wanted:
        try:
            _quietly(each.get)
        except (ValueError, ImportError, OSError) as error:
            reasons[each.name] = " ".join(str(error).split()) or type(error).__name__
    return reasons


def require(wanted: Iterable[Requirement]) -> None:
    """Refuse to begin, offline, without something that is needed.

    Raises:
        MissingError: naming everything that is missing.
    """
    if lacking := missing(wanted):
        raise MissingError(
            f"offline, and {len(lacking)} of the things this needs {'is' if len(lacking) == 1 else 'are'} not on this "
            f"machine: {'; '.join(lacking)}. Fetch them while there is a network: the same command with `unbag "
            "prefetch` in place of `unbag evaluate`"
        )


def _model_files(model: str, revision: str | None) -> Path:
    """Return the folder of a model's files: all that loading it may read, and no weights twice."""
    from huggingface_hub.errors import RepositoryNotFoundError

    from unbag.baselines.lexical.hub import is_lexical_model, open_lexical_model

    try:
        if is_lexical_model(model, revision=revision):
            return open_lexical_model(model, revision=revision)
        folder = hub_files.download_model_files(model, revision, code=True)  # which only a run that trusts it will run
    except RepositoryNotFoundError as error:
        raise ValueError(missing_repo_message(error, "model", model)) from error
    if not any(folder.glob("*.safetensors")) and not any(folder.glob("*.bin")):
        raise ValueError(f"{model}: found no weights in {folder}")
    if parser := _parser_of(folder):
        requirements.pipeline(parser).get()
    return folder


def _parser_of(folder: Path) -> str | None:
    """Return the spaCy pipeline that a model parses sentences with: those of `unbag.models` that read trees."""
    config = read_json_object(folder / _CONFIG) if (folder / _CONFIG).is_file() else {}
    return config.get("parser") if str(config.get("model_type")).startswith("unbag-") else None


def _quietly(get: Callable[[], object]) -> None:
    """Get something without the progress bars of `datasets`: there is one line for each thing."""
    import datasets

    enabled = datasets.is_progress_bar_enabled()
    datasets.disable_progress_bars()
    try:
        get()
    finally:
        if enabled:
            datasets.enable_progress_bars()
