"""Downloads that a run requires: in advance, or as a check before an offline run."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from unbag.challenge_sets import loading, requirements
from unbag.challenge_sets.request import SetRequest
from unbag.challenge_sets.requirements import MissingResourceError, Requirement
from unbag.data.corpora import CORPORA
from unbag.data.readers import is_hub_id
from unbag.utils import hub
from unbag.utils.files import read_json_object
from unbag.utils.hub import describe_missing_repo

_CONFIG: Final = "config.json"


def list_run_requirements(
    requests: Iterable[SetRequest],
    models: Sequence[str] = (),
    *,
    revision: str | None = None,
    train_data: Sequence[str] | None = None,
    lexical_baseline: bool = False,
    model_file: str | None = None,
) -> list[Requirement]:
    """List the downloads required to evaluate models on challenge sets, without duplicates.

    Args:
        models: Names of models, such as Hub ids, at `revision`.
        train_data: Training data of built-in models; None for the default.
        lexical_baseline: Whether to include the training data of the lexical baseline, which is optional.
        model_file: Exported model file of the Hub models, which replaces the PyTorch weights.
    """
    from unbag.baselines.lexical.words import ALL
    from unbag.evaluation.lexical_baseline import PAIRS

    required: list[Requirement] = []
    for request in requests:
        builder = loading.create_builder(request.name, request.config, **request.options)
        required += builder.iter_requirements()
        if lexical_baseline and (language := builder.config.sentence_language) in PAIRS:
            corpus, _, pipeline = PAIRS[language]
            required += requirements.iter_train_split_requirements([corpus])
            required += [requirements.build_pipeline_requirement(pipeline)] if pipeline != ALL else []
    for model in models:
        required += iter_model_requirements(model, revision=revision, train_data=train_data, model_file=model_file)
    return list({each.name: each for each in required}.values())


def iter_model_requirements(
    model: str,
    *,
    revision: str | None = None,
    train_data: Sequence[str] | None = None,
    model_file: str | None = None,
) -> Iterator[Requirement]:
    """Iterate over the downloads that a model requires, such as model files, training data or WordNet."""
    from unbag.baselines.lexical.fitting import DEFAULT_TRAINING
    from unbag.baselines.lexical.predictors import BASELINES

    if model == "wordnet":
        yield requirements.build_wordnet_requirement()
    elif model == "natlog":
        yield requirements.build_wordnet_requirement()
        yield requirements.build_pipeline_requirement("")
    elif model in BASELINES:
        yield from requirements.iter_train_split_requirements(train_data or DEFAULT_TRAINING["en"])
        yield requirements.build_pipeline_requirement("")
    # Functions and endpoints still contain a colon, so they are not Hub ids.
    elif is_hub_id(repository := model.removeprefix("causal:")):
        at = f" at {revision}" if revision else ""
        if repository == model and model_file is not None:
            name = f"the model {model}{at}, {model_file}"
            yield Requirement(name, lambda: _exported_files(model, revision, model_file))
        else:
            is_causal = repository != model
            yield Requirement(
                f"the model {repository}{at}", lambda: _model_files(repository, revision, is_causal=is_causal)
            )
    elif (Path(model) / _CONFIG).is_file() and (parser := _parser_of(Path(model))):
        yield requirements.build_pipeline_requirement(parser)


def list_training_requirements(model: str, corpora: Sequence[str], *, revision: str | None = None) -> list[Requirement]:
    """List the downloads required to train a model: model files and corpora."""
    return [
        *iter_model_requirements(model, revision=revision),
        *requirements.iter_train_split_requirements(corpora),
        *(
            each
            for name in corpora
            if name in CORPORA
            for each in requirements.iter_corpus_requirements(name, CORPORA[name].validation)
        ),
    ]


def fetch_requirements(requirements: Iterable[Requirement]) -> dict[str, str]:
    """Download all required resources, such as models and corpora.

    Returns the error message of each failed download, by resource name.
    """
    import datasets

    reasons = {}
    enabled = datasets.is_progress_bar_enabled()
    datasets.disable_progress_bars()  # the command prints one line for each resource
    try:
        for each in requirements:
            try:
                each.get()
            # The other downloads continue, so that one call reports all that fail.
            except (ValueError, ImportError, OSError) as error:
                reasons[each.name] = " ".join(str(error).split()) or type(error).__name__
    finally:
        if enabled:
            datasets.enable_progress_bars()
    return reasons


def validate_offline_requirements(requirements: Iterable[Requirement]) -> None:
    """Validate that all required resources, such as models and corpora, are available offline."""
    if lacking := fetch_requirements(requirements):
        raise MissingResourceError(
            f"expected all files to be available offline, got {len(lacking)} missing: {'; '.join(lacking)}; download "
            "them while online with `unbag prefetch` and the same arguments"
        )


def _exported_files(model: str, revision: str | None, model_file: str | None) -> Path:
    """Download an exported model with its config and tokenizer. Returns the path of the model."""
    from unbag.inference.exported_files import fetch_exported_model
    from unbag.inference.hub_files import resolve_origin

    return fetch_exported_model(resolve_origin(model, revision), model_file)[1]


def _model_files(model: str, revision: str | None, *, is_causal: bool = False) -> Path:
    """Download all files for loading a model, with weights in a single format. Returns the path of a file."""
    from huggingface_hub.errors import RepositoryNotFoundError

    from unbag.baselines.lexical.model import is_lexical_model, locate_lexical_model
    from unbag.inference.exported_files import has_only_exported_models

    try:
        if not is_causal and has_only_exported_models(model, revision):
            return _exported_files(model, revision, None)
        if is_lexical_model(model, revision=revision):
            return locate_lexical_model(model, revision=revision)
        folder = hub.download_model_files(model, revision, code=True)  # runs only with --trust-remote-code
    except RepositoryNotFoundError as error:
        raise ValueError(describe_missing_repo(error, "model", model)) from error
    if not any(folder.glob("*.safetensors")) and not any(folder.glob("*.bin")):
        raise ValueError(f"{model}: expected weights (*.safetensors or *.bin), got none in {folder}; use another model")
    if parser := _parser_of(folder):
        requirements.build_pipeline_requirement(parser).get()
    return folder


def _parser_of(folder: Path) -> str | None:
    """Read the name of the spaCy parser of a tree-based `unbag.models` model. Return None for other models."""
    config = read_json_object(folder / _CONFIG) if (folder / _CONFIG).is_file() else {}
    return config.get("parser") if str(config.get("model_type")).startswith("unbag-") else None
