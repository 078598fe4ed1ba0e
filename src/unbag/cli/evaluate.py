"""The command that asks a model and scores it: `unbag evaluate`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from unbag.cli import config_file, push
from unbag.cli.config_file import Config
from unbag.cli.model_options import ModelOptions, in_folder_name
from unbag.cli.options import (
    ALL,
    Engine,
    Full,
    NumGpus,
    NumProc,
    PairOptions,
    Sets,
    require,
    selected,
    with_shared_options,
)
from unbag.cli.output import AsJson, echo, failed, report
from unbag.cli.progress import watch
from unbag.cli.run_folder import ALL_CORPORA, CROSS, RUNS, run_folder
from unbag.cli.typer_utils import file_to_write, place_to_write
from unbag.data.corpora import PAPER_CORPORA

if TYPE_CHECKING:
    from unbag.challenge_sets.failures import Failure
    from unbag.challenge_sets.request import Request
    from unbag.challenge_sets.results import Result
    from unbag.evaluation.backends import Engine as EvaluationEngine
    from unbag.evaluation.evaluator import OnFailure
    from unbag.inference.shards import Shard

# ReSNLI paper, Table 2
_CROSS: Final = ("snli-test", "mnli-validation_matched", "mnli-validation_mismatched", "sick-test")


@with_shared_options
def evaluate(
    ctx: typer.Context,
    pairs: PairOptions,
    asked: ModelOptions,
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help="Hub id, folder, or module:function of your own; causal:ID or endpoint:NAME, a language model; "
            "lexical, hypothesis-only or majority.",
        ),
    ],
    sets: Sets = None,
    full: Full = False,
    cross_domain: Annotated[
        bool,
        typer.Option(
            "--cross-domain", help="Instead of sets, the cross-domain table: accuracy of each model on each corpus."
        ),
    ] = False,
    output_dir: Annotated[
        str | None,
        typer.Option(
            callback=place_to_write,
            metavar="FOLDER",
            help="Folder for results and predictions, or its address, such as s3://BUCKET/RUN "
            "(default: runs/MODEL/SETS-PAIRS).",
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N",
            help="Which of N processes this is that share the work without being connected, from 0/N; all are given "
            "the same --output-dir, which all see.",
        ),
    ] = None,
    predictions_csv: Annotated[
        Path | None,
        typer.Option(
            callback=file_to_write,
            metavar="FILE",
            help="Also write each pair with gold label, prediction and probabilities.",
        ),
    ] = None,
    push_results: Annotated[
        str | None,
        typer.Option(
            push.OPTION,
            metavar="ORG[/NAME]",
            help="Also add the results to this data set of results on the Hub, as unbag publish results-dataset does; "
            "made private where there is none.",
        ),
    ] = None,
    num_proc: NumProc = 1,
    engine: Engine = None,
    num_gpus: NumGpus = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate models on challenge sets.

    Asks a sample of every set, in minutes for a small model, and shows each
    set's table as it comes. Leaves tables, results.json, predictions, and
    what `unbag compare` needs in a folder. A run that was stopped goes on
    where it was when given again. Further sets of the same model are added
    to a folder; results of another model are rejected.

    Exit code 1: a set named in --sets has no result, for whatever reason; or
    one of the suite failed. Without --sets, a set is left out, and named at
    the end, where a package or a download for it is missing or the pairs do
    not fit it.

      unbag evaluate ORG/MODEL
      unbag evaluate ORG/MODEL --full
      unbag evaluate cross-encoder/nli-deberta-v3-base --corpus mnli
      unbag evaluate ORG/MODEL --sets cs_lambda,swapped
      unbag evaluate ORG/MODEL --corpus all
      unbag evaluate ORG/RERANKER --threshold break-even
      unbag evaluate ORG/MODEL lexical majority --cross-domain --corpus snli,sick
      unbag evaluate ./my-model --data pairs.csv --max-examples 500
      unbag evaluate my_module:predict --split test
      unbag evaluate ORG/MODEL --sets permuted --predictions-csv pairs.csv
      unbag evaluate --config runs/my-model/suite-snli-validation/run.yaml
      unbag evaluate causal:ORG/LM --num-fewshot 3 --sets cs_lambda
      unbag evaluate endpoint:NAME --base-url http://localhost:8000/v1
      torchrun --nproc_per_node 2 -m unbag evaluate ORG/MODEL
      unbag evaluate ORG/MODEL --shard 0/8 --output-dir s3://BUCKET/RUN
      unbag evaluate ORG/MODEL --engine ray --output-dir s3://BUCKET/RUN
    """
    from unbag.evaluation import prefetch
    from unbag.evaluation.backends import open_backend
    from unbag.evaluation.result_folder import local_folder
    from unbag.inference.distributed import process_group
    from unbag.inference.prediction_store import PREDICTIONS
    from unbag.utils import parallel
    from unbag.utils.storage import Folder, is_address

    asked.check(models)
    push.validate_push_target(push_results, models, pairs.data, offline=asked.offline)
    if cross_domain and (sets or full):
        raise typer.BadParameter("--cross-domain is a table of its own: it takes neither --sets nor --full")
    failures: list[Failure] = []
    absent: list[Failure] = []
    if cross_domain:
        named = PAPER_CORPORA if pairs.corpus == [ALL] else pairs.corpus
        requests = [_plain(name, pairs.max_examples) for name in named or _CROSS]
        about = f"{CROSS}-{'+'.join(pairs.corpus)}" if pairs.corpus else CROSS
    else:
        requests = selected(pairs, sets, full=full, on_failure=failures.append)
        if not requests:
            raise failures[0].error
        about = "+".join(sets) if sets else "full" if full else "suite"
        if pairs.corpus == [ALL]:
            about = f"{ALL_CORPORA}-{about}"
    of_shards = _shard(shard)
    require(engine, num_gpus, shard)
    options = asked.of_model()
    place = output_dir or str(
        run_folder(
            models,
            requests,
            options | in_folder_name(asked.lexical_baseline or cross_domain, asked.shuffled or cross_domain),
            about=about,
        )
    )
    predictions: str | Path | None = None if output_dir else RUNS / PREDICTIONS
    if of_shards or is_address(place):
        predictions = str(Folder(place) / PREDICTIONS)
    if asked.offline:
        in_suite = not (sets or cross_domain)  # of which those are asked that are there
        wanted = prefetch.of_run(
            () if in_suite else requests, models, revision=asked.revision, train_data=options["train_data"]
        )
        prefetch.require(wanted)
        if in_suite:
            requests, absent = _at_hand(requests)
    with (
        local_folder(place, further=[config_file.FILE]) as folder,
        parallel.worker_count(num_proc),
        open_backend(engine, num_gpus) as asking,
    ):
        found = ask(
            models,
            requests,
            asked,
            folder,
            predictions=predictions,
            skipped=(*failures, *absent),
            on_failure=failures.append if len(requests) > 1 and not cross_domain else None,
            shard=of_shards,
            engine=asking,
            cross_domain=cross_domain,
            visible=not as_json,
            predictions_csv=predictions_csv,
        )
        if found:  # in the first process
            config_file.write(ctx, folder)
        report(found, folder, as_json=as_json, cross=cross_domain, seen=not cross_domain, place=place)
        if found and predictions_csv is not None:
            echo(f"every pair with its prediction: {predictions_csv}", err=as_json)
    if process_group().rank:  # the first one tells; and a launcher that sees another fail would end it before it has
        return
    failed(failures, several=len(models) > 1, named=bool(sets))
    if of_shards and not (found or failures):
        echo(f"All is predicted; another shard scores it, and writes to {place}.", err=True)
        return
    if push_results and found:
        push.push_results(found, place, push_results, as_json=as_json)
    if not found or any(failure.counts(named=bool(sets)) for failure in failures):
        raise typer.Exit(1)


def _shard(text: str | None) -> "Shard | None":
    from unbag.inference.shards import Shard

    try:
        return None if text is None else Shard.parse(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def ask(
    models: Sequence[str],
    requests: "Sequence[Request]",
    asked: ModelOptions,
    folder: Path,
    *,
    predictions: str | Path | None,
    skipped: "Sequence[Failure]" = (),
    on_failure: "OnFailure | None" = None,
    shard: "Shard | None" = None,
    cross_domain: bool = False,
    visible: bool = True,
    quiet: bool = False,
    engine: "EvaluationEngine | None" = None,
    predictions_csv: Path | None = None,
) -> "list[Result]":
    """Ask models, as `evaluation.evaluator.evaluate_all` does, and show how it goes.

    Args:
        models: the models.
        requests: the sets.
        asked: how.
        folder: for results.
        predictions: for predictions, or its address; in `folder` by default.
        skipped: sets that could not even be asked for.
        on_failure: told of a set that fails.
        shard: which of several processes this is that share the work.
        cross_domain: whether one table of all comes at the end, and no lexical model is asked.
        visible: whether to show anything.
        quiet: show how far it is, and no set's table.
        engine: where models are asked; here by default.
        predictions_csv: a file for each pair with its prediction.
    """
    from unbag.evaluation import evaluator
    from unbag.inference.distributed import process_group

    visible = visible and process_group().rank == 0
    with (
        asked.spending(models) as spending,
        watch(len(requests), visible=visible, quiet=quiet or cross_domain) as watched,
    ):
        return evaluator.evaluate_all(
            models,
            requests,
            output_dir=folder,
            predictions=predictions,
            trust_labels=asked.trust_labels,
            lexical_baseline=asked.lexical_baseline and not cross_domain,
            shuffled=asked.shuffled and not cross_domain,
            skipped=skipped,
            on_set=watched.on_set,
            progress_callback=watched.progress_callback,
            on_result=watched.on_result,
            on_failure=on_failure,
            engine=engine,
            shard=shard,
            predictions_csv=predictions_csv,
            **asked.of_model(),
            spending=spending,
        )


def _at_hand(requests: "list[Request]") -> "tuple[list[Request], list[Failure]]":
    """Return the sets of which nothing is missing on this machine, and the others; tell at once what is of these."""
    from unbag.challenge_sets.failures import Failure
    from unbag.challenge_sets.requirements import MissingError
    from unbag.evaluation import prefetch

    available, absent = [], []
    for request in requests:
        if lacking := prefetch.missing(prefetch.of_run([request])):
            reason = f"offline and without {', '.join(lacking)}"
            echo(f"{request.name}: left out, {reason}", err=True, fg="yellow")
            absent.append(Failure(request.name, MissingError(reason)))
        else:
            available.append(request)
    if not available:
        raise MissingError("offline, and of no set all is on this machine; fetch it with `unbag prefetch`")
    return available, absent


def _plain(name: str, max_examples: int | None) -> Any:
    from unbag.challenge_sets import loading
    from unbag.challenge_sets.request import Request

    corpus, _, split = name.strip().partition("-")
    return Request("plain", loading.config_name("plain", corpus, split or None, {})[0], max_examples=max_examples)
