"""The command that scores predictions that are there: `unbag score`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbag.cli import typer_utils
from unbag.cli.model_options import Lexical, in_folder_name
from unbag.cli.options import Offline, PairOptions, with_shared_options
from unbag.cli.output import AsJson, failed, report
from unbag.cli.run_folder import RUNS, run_folder
from unbag.cli.typer_utils import place_to_write

if TYPE_CHECKING:
    from unbag.challenge_sets.failures import Failure
    from unbag.challenge_sets.request import Request


@with_shared_options
def score(
    ctx: typer.Context,
    pairs: PairOptions,
    predictions: Annotated[
        Path | None, typer.Argument(help="csv, tsv, jsonl or parquet: id, and prediction or a column a label.")
    ] = None,
    shards: Annotated[
        str | None,
        typer.Option(
            "--run-dir",
            metavar="FOLDER",
            help="Instead of a file: the --output-dir of `unbag evaluate --shard`, a folder or an address.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--set",
            metavar="NAME|FILE",
            autocompletion=typer_utils.sets,
            help="The challenge set that was predicted (default: permuted), or the Parquet file that `unbag build` "
            "wrote of it, which says all else.",
        ),
    ] = None,
    output_dir: Annotated[
        str | None,
        typer.Option(
            callback=place_to_write,
            metavar="FOLDER",
            help="Folder for results, or its address (default: runs/FILE/SET-PAIRS; of --run-dir that folder itself).",
        ),
    ] = None,
    lexical_baseline: Lexical = True,
    offline: Offline = False,
    as_json: AsJson = False,
) -> None:
    """Score predictions made elsewhere, without the model.

    The file has a row for each row of the set (unbag build writes it), with
    the id and either the predicted label (column prediction) or the
    probabilities (columns entailment, neutral, contradiction).

      unbag score predictions.csv --set permuted --corpus snli
      unbag score predictions.csv --set permuted.parquet
      unbag score --run-dir s3://BUCKET/RUN

    --run-dir scores the sets of which all shards have done all, and names the
    parts that are missing of others.
    """
    from unbag.challenge_sets.request import BuiltSet, is_exported, read_back
    from unbag.evaluation import evaluator, prefetch
    from unbag.evaluation.result_folder import local_folder
    from unbag.inference.prediction_store import PREDICTIONS

    if shards is not None:
        if predictions is not None or name is not None or pairs != PairOptions():
            raise typer.BadParameter("--run-dir has what was predicted and of which pairs; leave out what else says it")
        said = ctx.get_parameter_source("lexical_baseline")
        if (
            not lexical_baseline and said and said.name == "COMMANDLINE"
        ):  # UNBAG_LEXICAL_BASELINE, which says it too, is for all commands
            raise typer.BadParameter(
                "--run-dir has what scores are held against: give --no-lexical-baseline to the shards instead"
            )
        _score_shards(shards, output_dir or shards, as_json=as_json)
        return
    if predictions is None:
        raise typer.BadParameter("expected a file of predictions, or --run-dir with the folder of shards")
    written = name if name and name.endswith(".parquet") else None
    if name is None and is_exported(predictions):  # to which predictions were added: it is one of both
        written = str(predictions)
    if written is not None:
        if pairs != PairOptions():
            raise typer.BadParameter(f"{written} says which pairs the set is made from; leave out what else says it")
        of: Request | BuiltSet = read_back(Path(written))
    else:
        [of] = pairs.requests([name or "permuted"])
        if offline:
            prefetch.require(prefetch.of_run([of]))
    request = of.request if isinstance(of, BuiltSet) else of
    place = output_dir or str(
        run_folder([str(predictions)], [request], in_folder_name(lexical_baseline), about=request.name)
    )
    with local_folder(place) as folder:
        result = evaluator.evaluate_file(
            predictions, of, output_dir=folder, predictions=RUNS / PREDICTIONS, lexical_baseline=lexical_baseline
        )
        report([result], folder, as_json=as_json, place=place)


def _score_shards(run: str, place: str, *, as_json: bool) -> None:
    """Score what shards predicted, and show it."""
    from unbag.evaluation.result_folder import local_folder
    from unbag.evaluation.sharded import score_tasks
    from unbag.inference.prediction_store import PREDICTIONS
    from unbag.utils.storage import Folder

    failures: list[Failure] = []
    with local_folder(place) as folder:
        found = score_tasks(Folder(run) / PREDICTIONS, output_dir=folder, on_failure=failures.append)
        report(found, folder, as_json=as_json, place=place)
    failed(failures, several=len({failure.model for failure in failures}) > 1, named=True)
    if failures:
        raise typer.Exit(1)
