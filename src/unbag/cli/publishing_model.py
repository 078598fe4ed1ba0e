"""`unbag publish model`: a folder that `unbag train` left, with a card and results."""

from pathlib import Path
from typing import Annotated, Final

import typer

from unbag.cli.publishing import PublishingOptions, carry_out
from unbag.cli.publishing_results import read_results
from unbag.cli.shared_options import with_shared_options

_EVALUATION: Final = Path("evaluation")  # where `unbag train … --evaluate` leaves results, in the model's folder


@with_shared_options
def model(
    options: PublishingOptions,
    folder: Annotated[Path, typer.Argument(help="A folder that `unbag train` left.")],
    results: Annotated[
        list[Path] | None,
        typer.Option(
            help="Results of the model, evaluated from the folder (default: FOLDER/evaluation, if there); give the "
            "option again for others."
        ),
    ] = None,
    compare_with: Annotated[
        list[Path] | None,
        typer.Option(help="Results of other models to show next to them, such as the one it was trained from."),
    ] = None,
    sets: Annotated[
        str | None,
        typer.Option(help="Organisation that publishes the challenge sets (default: the one of --to)."),
    ] = None,
) -> None:
    """Publish a trained model: its files, a model card, and its results.

    unbag publish model runs/hex --to ORG/NAME --results runs/hex-results --yes
    """
    from unbag.hub.checkpoint import base_of, checkpoint
    from unbag.hub.inherited_licence import of_model

    base = base_of(folder)
    if results is None and (folder / _EVALUATION).is_dir():
        results = [folder / _EVALUATION]
    publication = checkpoint(
        folder,
        options.repo(folder.resolve().name),
        results=read_results(results or ()),
        compare_with=read_results(compare_with or ()),
        organisation=sets,
        base_licence=of_model(*base) if base else None,
    )
    carry_out([publication], options)
