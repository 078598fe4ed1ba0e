"""`unbag publish model`: a folder that `unbag train` left, with a card and results."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from unbag.cli.lists import comma_separated_paths
from unbag.cli.publishing import PublishingOptions, carry_out
from unbag.cli.publishing_results import read_results, results_file
from unbag.cli.shared_options import with_shared_options

if TYPE_CHECKING:
    from unbag.hub.push import Publication

_EVALUATION: Final = Path("evaluation")  # where `unbag train … --evaluate` leaves results, in the model's folder


@with_shared_options
def model(
    options: PublishingOptions,
    folder: Annotated[Path, typer.Argument(help="A folder that `unbag train` left.")],
    results: Annotated[
        list[Path] | None,
        typer.Option(
            callback=comma_separated_paths,
            help="Results of the model, evaluated from the folder (default: FOLDER/evaluation, if there), "
            "comma-separated or repeated.",
        ),
    ] = None,
    compare_with: Annotated[
        list[Path] | None,
        typer.Option(
            callback=comma_separated_paths,
            help="Results of other models to show next to them, such as the one it was trained from, comma-separated "
            "or repeated.",
        ),
    ] = None,
    sets: Annotated[
        str | None,
        typer.Option(help="Organisation that publishes the challenge sets (default: the one of --to)."),
    ] = None,
    with_code: Annotated[
        bool,
        typer.Option(
            "--with-code",
            help="Of a model of `unbag models`: put its code into the repository, in one file, so that transformers "
            "loads it without unbag where remote code is trusted.",
        ),
    ] = False,
) -> None:
    """Publish a trained model: its files, a model card, and its results.

    unbag publish model runs/hex --to ORG/NAME --results runs/hex-results --yes
    """
    repo = options.repo(folder.resolve().name)
    made = trained(folder, repo, results, compare_with=compare_with or (), sets=sets, with_code=with_code)
    carry_out([made], options)


def trained(
    folder: Path,
    repo: str,
    results: Sequence[Path] | None = None,
    *,
    compare_with: Sequence[Path] = (),
    sets: str | None = None,
    with_code: bool = False,
) -> "Publication":
    """Return the repository of a trained model; what is what, the command's options say."""
    from unbag.challenge_sets.results import whole
    from unbag.hub.eval_results import known
    from unbag.hub.licences import of_model
    from unbag.hub.model import base_of, checkpoint

    base = base_of(folder)
    if results is None:
        results = [folder / _EVALUATION] if (folder / _EVALUATION).is_dir() else []
    with whole(folder, *results, *compare_with):
        found = read_results(results)
        return checkpoint(
            folder,
            repo,
            results=found,
            compare_with=read_results(compare_with),
            organisation=sets,
            base_licence=of_model(*base) if base else None,
            with_code=with_code,
            about_results=known(found, sets or repo.partition("/")[0], map(results_file, results)),
        )
