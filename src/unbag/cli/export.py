"""The command `unbag export`: challenge sets as harness tasks, or results as Every Eval Ever records."""

from functools import partial
from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from unbag.cli.options import PairOptions
from unbag.cli.output import AsJson, echo, print_json
from unbag.cli.publish import locate_results_file, read_results
from unbag.cli.typer_utils import folder_option, sets_option

# Copy of the type in `unbag.integrations.harness.export`, which is slow to import. A test compares both.
Harness = Literal["lm-eval", "lighteval", "inspect-ai"]

# The values of the schema of Every Eval Ever.
Relationship = Literal["first_party", "third_party", "collaborative", "other"]

_RECORDS: Final = "eee"
_eee_option = partial(typer.Option, rich_help_panel="Every Eval Ever")


def export(
    pairs: PairOptions,
    harness: Annotated[
        Literal[Harness, "eee"],
        typer.Argument(metavar="HARNESS", help="Export format: lm-eval, lighteval, inspect-ai or eee."),
    ],
    output_dir: Annotated[Path, folder_option(help="Folder for the exported files.")],
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RUN]...",
            help="Results to export as Every Eval Ever records: results.json files or folders.",
        ),
    ] = None,
    sets: Annotated[
        list[str],
        sets_option(help="Challenge sets, comma-separated or repeated; see `unbag sets`."),
    ] = ["permuted"],  # noqa: B006  (typer reads the default)
    hub: Annotated[
        str | None,
        typer.Option(
            metavar="ORG[/NAME]", help="Hub namespace of published sets (default: include the rows in the folder)."
        ),
    ] = None,
    num_fewshot: Annotated[int, typer.Option(help="Number of few-shot examples in the prompt: 0, 3 or 6.")] = 0,
    model: Annotated[
        str | None, _eee_option(metavar="DEVELOPER/NAME", help="Model id (default: the id recorded in the results).")
    ] = None,
    evaluator: Annotated[str, _eee_option(help="Person or organization that ran the evaluation.")] = "unknown",
    relationship: Annotated[
        Relationship, _eee_option(help="Relationship of the evaluator to the model's developer.")
    ] = "other",
    as_json: AsJson = False,
) -> None:
    """Export challenge sets as tasks for an evaluation harness, or export results.

    The task files contain the prompt, the label words and the metric. The
    harness runs them without unbag. The folder also contains the rows. With
    --hub, the harness reads the rows from published datasets instead.

      unbag export lm-eval --output-dir tasks --sets permuted,swapped
      unbag export lighteval --output-dir tasks --sets cs_lambda --hub ORG
      unbag export inspect-ai --output-dir tasks --data pairs.csv

    With eee, writes the results of runs as records of Every Eval Ever 0.3.0,
    one per model and set.

      unbag export eee runs/model --output-dir records --hub ORG
    """
    if harness == _RECORDS:
        from unbag.integrations.every_eval_ever import export_eee_records
        from unbag.utils.hub import validate_push_repo

        if not runs:
            raise typer.BadParameter("RUN: expected a results.json file or a results folder, got none; add a path")
        if hub is not None and "/" in validate_push_repo(hub):
            raise typer.BadParameter(
                f"--hub: expected an organization, got the repository {hub}; remove the repository name"
            )
        results = read_results(runs)
        timestamp = max(int(locate_results_file(run).stat().st_mtime) for run in runs)  # of the newest results file
        files = export_eee_records(
            results,
            output_dir,
            timestamp=timestamp,
            model=model,
            hub=hub,
            evaluator=evaluator,
            relationship=relationship,
        )
        if as_json:
            print_json({"files": files})
        else:
            records = "1 record" if len(files) == 1 else f"{len(files)} records"
            echo(f"in {output_dir}: {records}\n" + "\n".join(files))
        return
    if runs:
        raise typer.BadParameter(
            f"RUN: not supported by the format {harness}, got {runs[0]}; use the format eee to export results"
        )
    from unbag.integrations.harness.export import export_tasks

    written = export_tasks(harness, pairs.build_requests(sets), output_dir, hub=hub, num_fewshot=num_fewshot)
    if as_json:
        print_json({"files": list(written.files), "command": written.command})
        return
    echo(f"in {output_dir}: {', '.join(written.files)}\n\n{written.command}")
