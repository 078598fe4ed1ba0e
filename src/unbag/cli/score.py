"""The command `unbag score`."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from unbag.cli.model_options import Lexical, build_cli_option
from unbag.cli.options import Offline, PairOptions, parse_columns
from unbag.cli.output import AsJson, echo, print_failures, show_results
from unbag.cli.run_folder import RUNS_FOLDER, build_run_folder
from unbag.cli.typer_utils import location_option, sets_option

_Threshold: Any = build_cli_option("threshold")


def score(
    ctx: typer.Context,
    pairs: PairOptions,
    predictions: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help="Predictions: files with ids or texts, and labels or scores of models.",
        ),
    ] = None,
    run_dir: Annotated[
        str | None,
        typer.Option(
            "--run-dir",
            metavar="FOLDER",
            help="Folder or URL of a sharded `unbag evaluate` run, instead of FILE.",
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        sets_option(
            "--set",
            "--sets",
            metavar="NAME|FILE",
            help="Challenge sets, or Parquet file from `unbag build` (default: plain).",
        ),
    ] = None,
    by_order: Annotated[
        bool,
        typer.Option("--by-order", help="Match rows by their number; requires gold labels in FILE as a check."),
    ] = False,
    output_dir: Annotated[
        str | None, location_option(help="Folder or URL for results (default: runs/FILE/SET-PAIRS or --run-dir).")
    ] = None,
    threshold: _Threshold = None,
    lexical_baseline: Lexical = True,
    offline: Offline = False,
    as_json: AsJson = False,
) -> None:
    """Score predictions that another program made.

    FILE (csv, tsv, jsonl, json, parquet, a log of lm-eval or inspect-ai)
    contains the columns 'id' or 'premise' and 'hypothesis', and predicted
    labels, logits or probabilities, or one column of labels per model. Rows
    match by id, by an id of the corpus (pairID, uid) or by their texts. Rows
    without a prediction are left out.

    Usual names of columns and labels are recognized. Without --data, --columns
    (prediction=…,label=…,scores=…) and --labels describe FILE. With --data,
    --labels describes both, and --columns the data, except prediction and
    scores.

    With --run-dir, scores a sharded run, after predicting what its shards
    have not predicted.

      unbag score eval_predictions.jsonl --corpus snli
      unbag score predictions.csv --set plain,cs_lambda --corpus mnli
      unbag score a.csv b.csv --corpus mnli --columns prediction=answer
      unbag score predictions.csv --set permuted.parquet
      unbag score --run-dir s3://BUCKET/RUN
    """
    from unbag import challenge_sets
    from unbag.challenge_sets.request import is_exported_set, read_exported_set
    from unbag.evaluation import prefetch
    from unbag.evaluation.published import (
        COMPARISON_FILE,
        list_sets_of_pairs,
        score_published_predictions,
        separate_options,
    )
    from unbag.evaluation.result_folder import RunFolder
    from unbag.inference.prediction_store import PREDICTIONS
    from unbag.utils.files import write_json

    if run_dir is not None:
        if predictions or names or by_order or threshold is not None or pairs != PairOptions():
            raise typer.BadParameter(
                "--run-dir: cannot be combined with FILE, --set, --by-order, --threshold or source pairs, because the "
                "run defines them; remove them"
            )
        source = ctx.get_parameter_source("lexical_baseline")
        # Only the flag is an error: UNBAG_LEXICAL_BASELINE in the environment applies to all commands.
        if not lexical_baseline and source and source.name == "COMMANDLINE":
            raise typer.BadParameter(
                "--no-lexical-baseline: cannot be combined with --run-dir, because the run defines its baselines; "
                "pass the flag to `unbag evaluate --shard`"
            )
        _score_shards(ctx, run_dir, output_dir or run_dir, as_json=as_json)
        return
    if not predictions:
        raise typer.BadParameter("expected FILE or --run-dir, got neither; add one")
    reading = separate_options(
        parse_columns(pairs.columns), pairs.labels, has_pairs=pairs.data is not None or pairs.text is not None
    )
    pair_columns, columns = (
        [f"{ours}={theirs}" for ours, theirs in (each or {}).items()] or None
        for each in (reading.pair_columns, reading.columns)
    )
    pairs = pairs.replace(columns=pair_columns, labels=reading.pair_labels)
    parquets = [name for name in names or () if name.endswith(".parquet")]
    if not names and is_exported_set(predictions[0]):  # A built set with an additional column of predictions.
        parquets = [str(predictions[0])]
    if parquets:
        if pairs != PairOptions() or len(parquets) < len(names or ()):
            raise typer.BadParameter(
                f"--set {parquets[0]}: the file contains its source pairs; remove --corpus, the other options for "
                "pairs, and other sets"
            )
        built = [read_exported_set(Path(each)) for each in parquets]
        requests = [each.request for each in built]
    else:
        built, requests = [], pairs.build_requests(names or ["plain"])
        if offline:
            prefetch.validate_offline_requirements(prefetch.list_run_requirements(requests))
    labels = reading.labels or None
    described = {"columns": columns, "labels": labels, "by_order": by_order or None, "threshold": threshold}
    output_location = output_dir or str(
        build_run_folder(
            [str(path) for path in predictions],
            requests,
            ({} if lexical_baseline else {"lexical_baseline": False})
            | {option: value for option, value in described.items() if value is not None},
            title="-".join(request.name for request in requests),
        )
    )
    folder = RunFolder(output_location)
    outcome = score_published_predictions(
        predictions,
        built or requests,
        output_dir=folder.path,
        predictions=RUNS_FOLDER / PREDICTIONS,
        lexical_baseline=lexical_baseline,
        threshold=threshold,
        columns=reading.columns,
        labels=reading.labels,
        by_order=by_order,
        keep_going=len(predictions) * len(requests) > 1,
    )
    if comparison := outcome.compare():
        write_json(comparison.to_json(), folder.path / COMPARISON_FILE)
    show_results(outcome, folder.path, as_json=as_json, output_location=output_location, comparison=comparison)
    folder.upload()
    print_failures(outcome.skipped, with_model=True, is_named=True)
    if not parquets and not as_json:
        # Other sets that can be scored from predictions for the pairs, and what the rest needs.
        scored, of_pairs = {request.name for request in requests}, list_sets_of_pairs()
        others = [name for name in challenge_sets.list_set_names() if name not in scored]
        if more := [name for name in others if name in of_pairs]:
            echo(f"The same predictions can also be scored with --set {','.join(more)}.")
        if rest := [name for name in others if name not in of_pairs]:
            echo(
                f"{', '.join(rest)}: need predictions for their own rows; write these with `unbag build SET --output "
                "SET.parquet`, and pass --set SET.parquet."
            )
    if outcome.skipped:
        raise typer.Exit(1)


def _score_shards(ctx: typer.Context, run: str, output_location: str, *, as_json: bool) -> None:
    """Run the command of a sharded run again without `--shard`: it scores what is stored, and predicts the rest."""
    from unbag.cli.config_file import CONFIG_FILE
    from unbag.utils.storage import StorageFolder

    try:
        content = StorageFolder(run).read(CONFIG_FILE)
    except FileNotFoundError:
        raise typer.BadParameter(
            f"--run-dir: expected the folder of an `unbag evaluate --shard` run, got {run} without {CONFIG_FILE}; pass "
            "the --output-dir of the shards"
        ) from None
    group: Any = ctx.parent and ctx.parent.command
    evaluate = group.commands["evaluate"]
    with TemporaryDirectory(prefix="unbag-") as folder:
        config = Path(folder) / CONFIG_FILE
        config.write_bytes(content)
        options = ["--config", str(config), "--output-dir", output_location, *(["--json"] if as_json else [])]
        with evaluate.make_context("evaluate", options, parent=ctx.parent) as evaluate_ctx:
            evaluate.invoke(evaluate_ctx)
