"""The command `unbag evaluate`."""

import shlex
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from unbag.cli import config_file, push
from unbag.cli.config_file import Config
from unbag.cli.model_options import ModelOptions
from unbag.cli.options import (
    ALL,
    Engine,
    Full,
    NumGpus,
    NumProc,
    PairOptions,
    Sets,
    build_selected_requests,
    list_requested_corpora,
)
from unbag.cli.output import AsJson, echo, print_failures, show_results
from unbag.cli.progress import show_progress
from unbag.cli.run_folder import ALL_CORPORA, CROSS_DOMAIN, RUNS_FOLDER, build_run_folder
from unbag.cli.typer_utils import location_option, validate_output_file
from unbag.utils.hf_jobs import validate_persistent_output
from unbag.utils.options import format_flag

if TYPE_CHECKING:
    from unbag.challenge_sets.failures import EvaluationFailure
    from unbag.challenge_sets.request import SetRequest
    from unbag.evaluation.outcome import EvaluationOutcome
    from unbag.evaluation.ray.predicting import RayEngine
    from unbag.evaluation.result_folder import RunFolder
    from unbag.inference.runner import Shard

# ReSNLI paper, Table 2
_CROSS_CORPORA: Final = ("snli-test", "mnli-validation_matched", "mnli-validation_mismatched", "sick-test")


def evaluate(
    ctx: typer.Context,
    pairs: PairOptions,
    model_options: ModelOptions,
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL",
            help="Hub id, folder, module:function, causal:ID, endpoint:NAME or built-in model.",
        ),
    ],
    sets: Sets = None,
    full: Full = False,
    cross_domain: Annotated[
        bool,
        typer.Option("--cross-domain", help="Evaluate the accuracy on corpora instead of the challenge sets."),
    ] = False,
    output_dir: Annotated[
        str | None, location_option(help="Folder or URL (s3://…) for the results (default: runs/MODEL/SETS-PAIRS).")
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(metavar="I/N", help="Predict shard I of N, counted from 0; all shards share one --output-dir."),
    ] = None,
    predictions_csv: Annotated[
        Path | None,
        typer.Option(
            callback=validate_output_file,
            metavar="FILE",
            help="Output file (CSV) with the gold label and prediction of every pair.",
        ),
    ] = None,
    push_results: Annotated[
        str | None,
        typer.Option(
            push.PUSH_OPTION,
            metavar="ORG[/NAME]",
            help="Hub dataset to add the results to; created as private if missing.",
        ),
    ] = None,
    num_proc: NumProc = 1,
    engine: Engine = None,
    num_gpus: NumGpus = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate models on challenge sets.

    Without --sets, evaluates a sample of every set, in minutes for a small
    model. Prints a table per set, and writes tables, results.json and
    predictions to a folder. `unbag compare` reads such folders.

    Rerun the command to resume a stopped run. Results of the same model on
    more sets are added to the folder. Results of another model are rejected.

    MODEL is a Hub id, a folder, a Python function (module:function), a language
    model (causal:ID or endpoint:NAME), or lexical, hypothesis-only or majority.
    --corpus takes several corpora here, or all.

    Exit code 1: a set failed, or a set in --sets has no result. Without --sets,
    a set is skipped if a package or file is missing, or if the set does not
    support the pairs. Skipped sets are listed at the end.

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
    from unbag.evaluation.ray import open_engine, validate_engine_options
    from unbag.evaluation.result_folder import RunFolder
    from unbag.inference.distributed import connect_process_group
    from unbag.inference.runner import Shard
    from unbag.utils import parallel

    model_options.validate(models)
    push.validate_push_target(push_results, models, pairs.data, offline=model_options.offline)
    if cross_domain and (sets or full):
        raise typer.BadParameter("--cross-domain: cannot be combined with --sets or --full; remove one of the options")
    requests, skipped, title = _select_requests(pairs, sets, full=full, cross_domain=cross_domain)
    parsed_shard = None if shard is None else Shard.parse(shard, "--shard")
    validate_engine_options(engine, num_gpus, shard)
    # A cross-domain table has no baselines, so their options are ignored.
    options = model_options.loading_options | ({} if cross_domain else model_options.disabled_baselines)
    location = output_dir or str(build_run_folder(models, requests, options, title=title))
    validate_persistent_output("--output-dir", location, push_results, push_option=push.PUSH_OPTION)
    validate_offline(models, requests if sets or cross_domain else (), model_options)
    folder = RunFolder(location, extra_files=[config_file.CONFIG_FILE])
    with parallel.set_num_proc(num_proc), open_engine(engine, num_gpus) as backend:
        outcome = run_models(
            models,
            requests,
            model_options,
            folder,
            is_default_folder=output_dir is None,
            engine=backend,
            is_visible=not as_json,
            cross_domain=cross_domain,
            skipped=skipped,
            shard=parsed_shard,
            predictions_csv=predictions_csv,
        )
    if outcome.results or parsed_shard is not None:  # Only the first process has results.
        config_file.write_config(ctx, folder.path)
    show_results(
        outcome,
        folder.path,
        as_json=as_json,
        cross_domain=cross_domain,
        are_tables_printed=not cross_domain,
        output_location=location,
    )
    if outcome.results and predictions_csv is not None:
        echo(f"all pairs with predictions: {predictions_csv}", err=as_json)
    folder.upload()
    if connect_process_group().rank:
        return  # The first process prints and exits with an error; otherwise, the launcher would kill it.
    print_failures(outcome.skipped, with_model=len(models) > 1, is_named=bool(sets))
    if model_options.offline and outcome.skipped:
        echo("For missing files, run `unbag prefetch` with network access.", err=True)
    if parsed_shard is not None:
        if len(outcome.skipped) > len(skipped):
            raise typer.Exit(1)
        score = f"unbag score --run-dir {shlex.quote(location)}"
        echo(f"Shard {parsed_shard} is complete. After all shards, score them: {score}", err=True)
        return
    if push_results and outcome.results:
        push.push_results(list(outcome.results), location, push_results, as_json=as_json)
    if not outcome.results or any(failure.is_fatal(is_named=bool(sets)) for failure in outcome.skipped):
        raise typer.Exit(1)


def _select_requests(
    pairs: PairOptions, sets: Sequence[str] | None, *, full: bool, cross_domain: bool
) -> "tuple[list[SetRequest], list[EvaluationFailure], str]":
    """Build the set requests of a command, the list of skipped sets, and a title for the run."""
    if cross_domain:
        applied = ("corpus", "max_examples", "seed")
        others = [each for each in fields(pairs) if each.name not in applied]
        if given := [each.name for each in others if getattr(pairs, each.name) != each.default]:
            options = (format_flag(name) + (" (-o)" if name == "set_option" else "") for name in given)
            raise typer.BadParameter(
                f"--cross-domain: expected corpora, such as --corpus snli-test,sick, got {', '.join(options)}; remove "
                "the option, or use --sets plain instead of --cross-domain"
            )
        requests = [
            request
            for name in list_requested_corpora(pairs) or _CROSS_CORPORA
            for corpus, _, split in [name.partition("-")]
            for request in pairs.replace(corpus=[corpus], split=split or None).build_requests(["plain"])
        ]
        return requests, [], f"{CROSS_DOMAIN}-{'+'.join(pairs.corpus)}" if pairs.corpus else CROSS_DOMAIN
    skipped: list[EvaluationFailure] = []
    requests = build_selected_requests(pairs, sets, full=full, on_failure=skipped.append)
    if not requests:
        # No set supports the pairs, so the first reason becomes the error of the command.
        raise skipped[0].error
    title = "+".join(sets) if sets else "full" if full else "suite"
    return requests, skipped, f"{ALL_CORPORA}-{title}" if pairs.corpus == [ALL] else title


def validate_offline(models: Sequence[str], requests: "Sequence[SetRequest]", options: ModelOptions) -> None:
    """Validate that the files of models and sets are available, if the run is offline, before it starts."""
    if options.offline:
        from unbag.evaluation import prefetch

        prefetch.validate_offline_requirements(
            prefetch.list_run_requirements(
                requests,
                models,
                revision=options.revision,
                train_data=options.loading_options.get("train_data"),
                model_file=options.model_file,
            )
        )


def run_models(
    models: Sequence[str],
    requests: "Sequence[SetRequest]",
    options: ModelOptions,
    folder: "RunFolder",
    *,
    is_default_folder: bool,
    engine: "RayEngine | None" = None,
    is_visible: bool = True,
    quiet: bool = False,
    cross_domain: bool = False,
    skipped: "Sequence[EvaluationFailure]" = (),
    shard: "Shard | None" = None,
    predictions_csv: Path | None = None,
) -> "EvaluationOutcome":
    """Evaluate models with `evaluation.evaluator.evaluate_all`, and show the progress.

    All runs in default folders share one store of predictions. `quiet` shows progress without tables. `skipped` are
    sets of the suite that have failed already.
    """
    from unbag.evaluation import evaluator
    from unbag.inference.distributed import connect_process_group
    from unbag.inference.prediction_store import PREDICTIONS

    is_visible = is_visible and connect_process_group().rank == 0
    with (
        options.track_endpoint_usage(models) as spending,
        show_progress(len(requests), is_visible=is_visible, quiet=quiet or cross_domain) as callbacks,
    ):
        return evaluator.evaluate_all(
            models,
            requests,
            output_dir=folder.path,
            predictions=RUNS_FOLDER / PREDICTIONS if is_default_folder else folder.predictions,
            trust_labels=options.trust_labels,
            lexical_baseline=options.lexical_baseline and not cross_domain,
            shuffled=options.shuffled and not cross_domain,
            skipped=skipped,
            # With one set or one table, a failure stops the run with the original error.
            keep_going=len(requests) > 1 and not cross_domain,
            callbacks=callbacks,
            engine=engine,
            shard=shard,
            predictions_csv=predictions_csv,
            **options.loading_options,
            spending=spending,
        )
