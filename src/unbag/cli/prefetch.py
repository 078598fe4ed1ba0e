"""The command `unbag prefetch`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from unbag.cli.model_options import ModelFile, Revision, lexical_option
from unbag.cli.options import Full, Offline, PairOptions, Sets, build_selected_requests
from unbag.cli.output import AsJson, echo, print_json
from unbag.cli.typer_utils import corpora_option

if TYPE_CHECKING:
    from unbag.challenge_sets.failures import EvaluationFailure


def prefetch(
    pairs: PairOptions,
    models: Annotated[
        list[str] | None, typer.Argument(metavar="MODEL", help="Models to download, as in `unbag evaluate`.")
    ] = None,
    sets: Sets = None,
    full: Full = False,
    revision: Revision = None,
    model_file: ModelFile = None,
    train_data: Annotated[
        list[str] | None, corpora_option(help="Training corpora or files for `unbag train` or the built-in models.")
    ] = None,
    lexical_baseline: Annotated[
        bool, lexical_option(help="Download the training data of the lexical baseline (default: on).")
    ] = True,
    offline: Offline = False,
    as_json: AsJson = False,
) -> None:
    """Download all files that an evaluation needs, so that it can run offline.

    Accepts the same models, sets and source pairs as `unbag evaluate`. Downloads
    corpora, models, the spaCy pipeline, embeddings, WordNet and the authors'
    files into their caches, and lists what cannot be downloaded. Files in the
    caches are not downloaded again.

    With --offline, only lists missing files. For `unbag train`, pass the
    corpora with --train-data.

      unbag prefetch ORG/MODEL
      unbag prefetch --sets permuted,cs_lambda --corpus mnli
      unbag prefetch ORG/PRETRAINED --train-data snli,mnli
    """
    from unbag.challenge_sets.requirements import MissingResourceError
    from unbag.data.sources import validate_corpus_names
    from unbag.evaluation import prefetch
    from unbag.evaluation.model_loading import validate_model

    if train_data and not models:
        raise typer.BadParameter(
            "--train-data: expected a model, got none; to set the option train_data of a challenge set, use "
            "-o train_data=…"
        )
    corpora = tuple(train_data) if train_data else None
    validate_corpus_names(corpora or ())
    for model in models or ():
        validate_model(model)

    def warn(failure: "EvaluationFailure") -> None:
        echo(f"{failure.set}: skipped: {failure.reason}", err=True)

    requests = build_selected_requests(pairs, sets, full=full, on_failure=warn)
    wanted = prefetch.list_run_requirements(
        requests,
        models or (),
        revision=revision,
        train_data=corpora,
        lexical_baseline=lexical_baseline,
        model_file=model_file,
    )
    if corpora and models:
        names = {need.name for need in wanted}
        to_train = prefetch.list_training_requirements(models[0], corpora, revision=revision)
        wanted += [need for need in to_train if need.name not in names]
    lacking: dict[str, str] = {}
    for need in wanted:
        lacking |= prefetch.fetch_requirements([need])
        if not as_json:
            state = f"missing: {lacking[need.name]}" if need.name in lacking else "available"
            echo(f"{need.name}: {state}")
    if as_json:
        record: dict[str, Any] = {"here": [n.name for n in wanted if n.name not in lacking], "missing": lacking}
        print_json(record)
    if lacking:
        raise MissingResourceError(
            f"{len(lacking)} of {len(wanted)} files are missing: {'; '.join(lacking)}; rerun with a network connection"
        )
