"""`unbag prefetch`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from unbag.cli import typer_utils
from unbag.cli.options import Full, Offline, PairOptions, Sets, selected, with_shared_options
from unbag.cli.output import AsJson, echo, print_json
from unbag.cli.typer_utils import comma_separated

if TYPE_CHECKING:
    from unbag.challenge_sets.failures import Failure


@with_shared_options
def prefetch(
    pairs: PairOptions,
    models: Annotated[
        list[str] | None, typer.Argument(metavar="[MODEL]...", help="Models, as `unbag evaluate` takes them.")
    ] = None,
    sets: Sets = None,
    full: Full = False,
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit of the models.")] = None,
    train_data: Annotated[
        list[str] | None,
        typer.Option(
            callback=comma_separated,
            autocompletion=typer_utils.corpora,
            help="What `unbag train` reads, or the built-in models are fitted to: corpora or files, comma-separated or "
            "repeated.",
        ),
    ] = None,
    lexical_baseline: Annotated[
        bool,
        typer.Option(
            "--lexical-baseline/--no-lexical-baseline",
            envvar="UNBAG_LEXICAL_BASELINE",
            help="Also what the lexical model is fitted to that `unbag evaluate` holds scores against (default).",
        ),
    ] = True,
    offline: Offline = False,
    as_json: AsJson = False,
) -> None:
    """Fetch all that a run needs, for a machine or a time without a network.

    Takes what `unbag evaluate` takes: models, sets, and which pairs. Fetches
    corpora, models, the spaCy pipeline, embeddings, WordNet and the authors'
    files into the caches where they are looked for, and lists what cannot be
    had; given again, it fetches that only. With --offline it just looks. For
    `unbag train`, name its corpora with --train-data.

      unbag prefetch ORG/MODEL
      unbag prefetch --sets permuted,cs_lambda --corpus mnli
      unbag prefetch ORG/PRETRAINED --train-data snli,mnli
    """
    from unbag.challenge_sets.requirements import MissingError
    from unbag.data.sources import validate_corpus_names
    from unbag.evaluation import prefetch
    from unbag.evaluation.model_loading import validate_model

    if train_data and not models:
        raise typer.BadParameter("--train-data is for models, found none; an option of a set is -o train_data=…")
    corpora = tuple(train_data) if train_data else None
    validate_corpus_names(corpora or ())
    for model in models or ():
        validate_model(model)

    def warn(failure: "Failure") -> None:
        echo(f"{failure.set}: left out: {failure.reason}", err=True)

    requests = selected(pairs, sets, full=full, on_failure=warn)
    wanted = prefetch.of_run(
        requests, models or (), revision=revision, train_data=corpora, lexical_baseline=lexical_baseline
    )
    if corpora and models:
        known = {need.name for need in wanted}
        to_train = prefetch.of_training(models[0], corpora, revision=revision)
        wanted += [need for need in to_train if need.name not in known]
    lacking: dict[str, str] = {}
    for need in wanted:
        lacking |= prefetch.missing([need])
        if not as_json:
            state = f"missing: {lacking[need.name]}" if need.name in lacking else "here"
            echo(f"{need.name}: {state}")
    if as_json:
        record: dict[str, Any] = {"here": [n.name for n in wanted if n.name not in lacking], "missing": lacking}
        print_json(record)
    if lacking:
        raise MissingError(f"{len(lacking)} of {len(wanted)} things could not be had: {'; '.join(lacking)}")
