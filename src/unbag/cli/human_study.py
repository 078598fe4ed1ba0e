"""The commands `unbag human-study sample` and `unbag human-study score`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from unbag.cli.model_options import LabelMap
from unbag.cli.options import App, PairOptions
from unbag.cli.output import AsJson, create_cli_console, echo, print_json
from unbag.cli.progress import show_progress
from unbag.cli.run_folder import RUNS_FOLDER
from unbag.cli.typer_utils import folder_option

app = App(
    no_args_is_help=True,
    help="Collect human labels for permuted pairs that a model accepts (Sinha et al. 2021).",
)


@app.command()
def sample(
    pairs: PairOptions,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model: Hub id, folder or module:function.")],
    output_dir: Annotated[
        Path, folder_option(help="Folder for sheet.csv (for the annotators) and key.csv (gold labels).")
    ],
    num_pairs: Annotated[int, typer.Option(help="Number of pairs, a multiple of 4.")] = 200,
    label_map: LabelMap = None,
    as_json: AsJson = False,
) -> None:
    """Sample permuted pairs to which a model assigns the original gold label.

    Half of the pairs come from examples that the model predicts correctly in
    the original word order. Both halves contain equal numbers of short and long
    pairs. Annotators fill in the column 'label' of sheet.csv.

    Stored predictions of `unbag evaluate` are reused.

      unbag human-study sample ORG/MODEL --corpus mnli --output-dir people
      unbag human-study score people people/sheet.csv
    """
    from unbag.challenge_sets.request import build_requested_set, create_validated_builder
    from unbag.evaluation import human_study
    from unbag.evaluation.model_loading import load_predictor
    from unbag.inference.label_probe import validate_label_order
    from unbag.inference.prediction_store import PREDICTIONS
    from unbag.inference.runner import predict_rows

    human_study.validate_pair_count(num_pairs)
    [request] = pairs.build_requests(["permuted"])
    create_validated_builder(request)
    predictor, _ = load_predictor(model, label_map=label_map)
    built = build_requested_set(request)
    if (predictor.identity or {}).get("kind") == "transformer":
        validate_label_order(predictor, built.language, has_label_map=label_map is not None)
    with show_progress(0, is_visible=not as_json) as callbacks:
        on_rows = callbacks.for_step("permuted")
        predicted = predict_rows(built.rows, predictor, RUNS_FOLDER / PREDICTIONS, progress=on_rows)
    predictions = predicted.to_set_predictions()
    sampled = human_study.sample_permuted_pairs(built.rows, predictions, n_pairs=num_pairs, seed=request.seed)
    human_study.write_annotation_sheet(sampled, output_dir)
    sheet, key = output_dir / human_study.SHEET, output_dir / human_study.KEY
    if as_json:
        print_json({"pairs": len(sampled), "sheet": str(sheet), "key": str(key)})
    else:
        echo(f"{sheet}: {len(sampled)} pairs to label; {key}: the key")


@app.command()
def score(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder written by `unbag human-study sample`.")],
    sheets: Annotated[list[Path], typer.Argument(metavar="SHEET", help="Completed sheets, one file per annotator.")],
    as_json: AsJson = False,
) -> None:
    """Score human labels, and compare them with those of the two experts in the paper.

    unbag human-study score people anna.csv ben.csv
    """
    from rich.table import Table

    from unbag.challenge_sets import papers
    from unbag.challenge_sets.views.tables import format_interval
    from unbag.evaluation import human_study
    from unbag.scoring.bootstrap import to_json

    scored: dict[str, Any] = {sheet.stem: human_study.score_annotation_sheet(folder, sheet) for sheet in sheets}
    if as_json:
        print_json(to_json(scored))
        return
    published = papers.get_paper_table("Sinha et al. 2021", "4")
    table = Table("", *scored, *(f"{row[0]}, {published.paper}" for row in published.rows), box=None)
    table.add_row("answered", *(str(scores["answered"]) for scores in scored.values()))
    for key, name in (("accuracy", "accuracy"), ("macro_f1", "macro F1"), ("d_c", "D^c"), ("d_f", "D^f")):
        table.add_row(
            name,
            *(format_interval(scores[key]) for scores in scored.values()),
            *("" if share is None else f"{share:.3f}" for share in published.read_shares(name)),
        )
    create_cli_console().print(table)
