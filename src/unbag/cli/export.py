"""`unbag export`: our sets as tasks of other people's evaluation harnesses."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from unbag.cli import typer_utils
from unbag.cli.options import PairOptions, with_shared_options
from unbag.cli.output import AsJson, echo, print_json
from unbag.cli.typer_utils import comma_separated, folder_to_write

# As in `unbag.integrations.harness.export`, which is too heavy to import for a help page; a test holds them together.
Harness = Literal["lm-eval", "lighteval", "inspect-ai"]


@with_shared_options
def export(
    pairs: PairOptions,
    harness: Annotated[Harness, typer.Argument(metavar="HARNESS", help="lm-eval, lighteval or inspect-ai.")],
    to: Annotated[Path, typer.Option(callback=folder_to_write, help="The folder to write.")],
    sets: Annotated[
        list[str],
        typer.Option(
            callback=comma_separated,
            autocompletion=typer_utils.sets,
            help="Challenge sets (unbag sets lists them), comma-separated or repeated.",
        ),
    ] = ["permuted"],  # noqa: B006  (typer reads the default)
    hub: Annotated[
        str | None,
        typer.Option(
            metavar="ORG[/NAME]", help="Read the rows from the Hub, where the sets were published, not from the folder."
        ),
    ] = None,
    num_fewshot: Annotated[int, typer.Option(help="Worked examples before each pair: 0, 3 or 6.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Write challenge sets as tasks of an evaluation harness.

    The files need the harness alone: question, label words and metric are
    in them. Rows are built into the folder, or read from the Hub.

      unbag export lm-eval --output-dir tasks --sets permuted,swapped --max-examples 200
      unbag export lighteval --output-dir tasks --sets cs_lambda --hub ORG
      unbag export inspect-ai --output-dir tasks --data pairs.csv
    """
    from unbag.integrations.harness.export import export_tasks

    written = export_tasks(harness, pairs.requests(sets), to, hub=hub, num_fewshot=num_fewshot)
    if as_json:
        print_json({"files": list(written.files), "command": written.command})
        return
    echo(f"in {to}: {', '.join(written.files)}\n\n{written.command}")
