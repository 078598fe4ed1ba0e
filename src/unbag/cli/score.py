"""The command `unbag score`."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unbag.cli import typer_utils
from unbag.cli.model_options import Lexical, build_cli_option, build_disabled_baseline_options
from unbag.cli.options import Offline, PairOptions, with_shared_options
from unbag.cli.output import AsJson, show_results
from unbag.cli.run_folder import RUNS_FOLDER, build_run_folder
from unbag.cli.typer_utils import validate_output_location

if TYPE_CHECKING:
    from unbag.challenge_sets.request import SetRequest

_Threshold: Any = build_cli_option("threshold")


@with_shared_options
def score(
    ctx: typer.Context,
    pairs: PairOptions,
    predictions: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help="Predictions: columns 'id' and 'prediction', or 'id' and one column per label."
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
    name: Annotated[
        str | None,
        typer.Option(
            "--set",
            metavar="NAME|FILE",
            autocompletion=typer_utils.complete_sets,
            help="Challenge set, or Parquet file from `unbag build` (default: permuted).",
        ),
    ] = None,
    output_dir: Annotated[
        str | None,
        typer.Option(
            callback=validate_output_location,
            metavar="FOLDER",
            help="Folder or URL for results (default: runs/FILE/SET-PAIRS or --run-dir).",
        ),
    ] = None,
    threshold: _Threshold = None,
    lexical_baseline: Lexical = True,
    offline: Offline = False,
    as_json: AsJson = False,
) -> None:
    """Score a file of predictions.

    FILE (csv, tsv, jsonl or parquet) contains one row per row of the set (see
    `unbag build`), with the column 'id' and either the predicted label (column
    'prediction') or the probabilities (columns 'entailment', 'neutral' and
    'contradiction').

    With --run-dir, scores a sharded run, after predicting what its shards
    have not predicted.

      unbag score predictions.csv --set permuted --corpus snli
      unbag score predictions.csv --set permuted.parquet
      unbag score --run-dir s3://BUCKET/RUN
    """
    from unbag.challenge_sets.request import BuiltSet, is_exported_set, read_exported_set
    from unbag.evaluation import prefetch
    from unbag.evaluation.published import score_published_predictions
    from unbag.evaluation.result_folder import RunFolder
    from unbag.inference.prediction_store import PREDICTIONS

    if run_dir is not None:
        if predictions is not None or name is not None or threshold is not None or pairs != PairOptions():
            raise typer.BadParameter(
                "--run-dir: cannot be combined with FILE, --set, --threshold or source pairs, because the run defines "
                "them; remove them"
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
    if predictions is None:
        raise typer.BadParameter("expected FILE or --run-dir, got neither; add one")
    parquet = name if name and name.endswith(".parquet") else None
    if name is None and is_exported_set(predictions):  # A built set with an additional column of predictions.
        parquet = str(predictions)
    if parquet is not None:
        if pairs != PairOptions():
            raise typer.BadParameter(
                f"--set {parquet}: the file contains its source pairs; remove --corpus and the other options for pairs"
            )
        target: SetRequest | BuiltSet = read_exported_set(Path(parquet))
    else:
        [target] = pairs.build_requests([name or "permuted"])
        if offline:
            prefetch.validate_offline_requirements(prefetch.list_run_requirements([target]))
    request = target.request if isinstance(target, BuiltSet) else target
    output_location = output_dir or str(
        build_run_folder(
            [str(predictions)],
            [request],
            build_disabled_baseline_options(lexical_baseline) | ({} if threshold is None else {"threshold": threshold}),
            title=request.name,
        )
    )
    folder = RunFolder(output_location)
    outcome = score_published_predictions(
        [predictions],
        [target],
        output_dir=folder.path,
        predictions=RUNS_FOLDER / PREDICTIONS,
        lexical_baseline=lexical_baseline,
        threshold=threshold,
    )
    show_results(
        outcome.results, folder.path, as_json=as_json, contents=outcome.contents, output_location=output_location
    )
    folder.upload()


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
