"""The command `unbag export`: challenge sets as tasks of other evaluation harnesses."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from unbag.cli import typer_utils
from unbag.cli.options import PairOptions, with_shared_options
from unbag.cli.output import AsJson, echo, print_json
from unbag.cli.typer_utils import comma_separated, folder_to_write

# A copy of the type in `unbag.integrations.harness.export`, which is slow to import; a test keeps them equal.
Harness = Literal["lm-eval", "lighteval", "inspect-ai"]


@with_shared_options
def export(
    pairs: PairOptions,
    harness: Annotated[Harness, typer.Argument(metavar="HARNESS", help="lm-eval, lighteval or inspect-ai.")],
    output_dir: Annotated[Path, typer.Option(callback=folder_to_write, help="Folder for the task files.")],
    sets: Annotated[
        list[str],
        typer.Option(
            callback=comma_separated,
            autocompletion=typer_utils.sets,
            help="Challenge sets, comma-separated or repeated; see `unbag sets`.",
        ),
    ] = ["permuted"],  # noqa: B006  (typer reads the default)
    hub: Annotated[
        str | None,
        typer.Option(
            metavar="ORG[/NAME]", help="Hub namespace of published sets to read rows from (default: the folder)."
        ),
    ] = None,
    num_fewshot: Annotated[int, typer.Option(help="Few-shot examples in the prompt: 0, 3 or 6.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Export challenge sets as tasks of an evaluation harness.

    The task files contain prompt, label words and metric, so that the harness
    runs them without unbag. Rows are built into the folder or, with --hub,
    read from published datasets.

      unbag export lm-eval --output-dir tasks --sets permuted,swapped
      unbag export lighteval --output-dir tasks --sets cs_lambda --hub ORG
      unbag export inspect-ai --output-dir tasks --data pairs.csv
    """
    from unbag.integrations.harness.export import export_tasks

    written = export_tasks(harness, pairs.requests(sets), output_dir, hub=hub, num_fewshot=num_fewshot)
    if as_json:
        print_json({"files": list(written.files), "command": written.command})
        return
    echo(f"in {output_dir}: {', '.join(written.files)}\n\n{written.command}")
