"""Commands about the papers' own models: `unbag models` lists them, `unbag models init` makes one to train."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbag.cli import typer_utils
from unbag.cli.options import Offline
from unbag.cli.output import AsJson, console, echo, print_json
from unbag.cli.typer_utils import comma_separated, folder_to_write

if TYPE_CHECKING:
    from unbag.models import Architecture

app = typer.Typer(help="The models of the papers before transformers: list them, or make one that is ready to train.")


@app.callback(invoke_without_command=True)
def list_models(context: typer.Context, as_json: AsJson = False) -> None:
    """List the models of the papers before transformers; with `init`, make one that is ready to train.

    Parameters are those above the word embeddings; beside them what the
    authors count, with a star where that was not looked up.
    """
    if context.invoked_subcommand is not None:
        return
    from unbag.models import ARCHITECTURES
    from unbag.training.initialization import parameters

    if as_json:
        print_json([_entry(kind, parameters(kind)) for kind in ARCHITECTURES.values()])
        return
    from rich.table import Table

    table = Table("model", "paper", "what it sees", box=None, header_style="bold")
    table.add_column("parameters", justify="right")
    table.add_column("published", justify="right")
    for kind in ARCHITECTURES.values():
        published = "" if kind.published is None else _millions(kind.published) + ("" if kind.looked_up else " *")
        table.add_row(kind.name, kind.paper, kind.sees, _millions(parameters(kind)), published)
    console().print(table)
    echo("\n* from memory, not looked up. docs/reference/models.md says where counts differ, and why.")
    echo("\nFor instance: unbag models init esim --corpus snli --vectors glove.840B.300d.zip --output-dir esim")


@app.command()
def init(
    name: Annotated[str, typer.Argument(help="The model, as `unbag models` lists it, e.g. esim.")],
    output_dir: Annotated[Path, typer.Option(callback=folder_to_write, help="Folder for the model; it appears whole.")],
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            callback=comma_separated,
            autocompletion=typer_utils.corpora,
            help="Corpora (their train splits) or files whose words it knows, comma-separated or repeated "
            "(default: snli).",
        ),
    ] = None,
    vectors: Annotated[
        str | None,
        typer.Option(
            help="Word vectors: a text file such as GloVe's, a spaCy pipeline, a model2vec model, or a transformer's "
            "input layer, brought to the scale of word vectors (default: drawn, and learnt in training)."
        ),
    ] = None,
    dimensions: Annotated[int, typer.Option(min=1, help="Of vectors that are drawn.")] = 300,
    encoder: Annotated[
        str | None,
        typer.Option(help="Hub id or folder of a transformer whose outputs, frozen, stand in for word vectors."),
    ] = None,
    min_count: Annotated[int, typer.Option(min=1, help="How often a word occurs that it knows.")] = 1,
    option: Annotated[
        list[str] | None, typer.Option("-o", metavar="NAME=VALUE", help="An option of the model, e.g. hidden_size=100.")
    ] = None,
    pipeline: Annotated[
        str | None,
        typer.Option(help="spaCy pipeline, where the model is of tags or parses (default: spacy/en_core_web_sm)."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides the vectors that are drawn.")] = 13,
    offline: Offline = False,
    as_json: AsJson = False,
) -> None:
    """Make a model that is ready to train: vocabulary, vectors, and what it is told of its words.

    unbag models init esim --corpus snli --vectors glove.840B.300d.zip --output-dir esim
    unbag train finetune --model esim --corpus snli --learning-rate 4e-4 --output-dir runs/esim
    unbag evaluate runs/esim

    What is above the vectors is drawn when it is trained, by the seed of that run.
    """
    from unbag.training.initialization import initialize_model

    options = {}
    for text in option or ():
        key, equals, value = text.partition("=")
        if not equals:
            raise typer.BadParameter(f"expected -o NAME=VALUE, found {text!r}")
        options[key] = value
    record = initialize_model(
        name,
        tuple(corpus or ("snli",)),
        output_dir,
        vectors=vectors,
        dimensions=dimensions,
        encoder=encoder,
        least=min_count,
        options=options,
        pipeline=pipeline,
        seed=seed,
    )
    if as_json:
        print_json({"output_dir": str(output_dir), **record})
    elif encoder:
        echo(f"{output_dir}: {name} over {encoder}, untrained")
    else:
        found = f", {record['words_with_vectors']:,} of them with vectors" if vectors else ""
        echo(f"{output_dir}: {name} of {record['words']:,} words{found}, untrained")


def _entry(kind: "Architecture", parameters: int) -> dict[str, object]:
    return {
        "name": kind.name,
        "paper": kind.paper,
        "url": kind.url,
        "sees": kind.sees,
        "parameters": parameters,
        "published_parameters": kind.published,
        "published_looked_up": None if kind.published is None else kind.looked_up,
    }


def _millions(parameters: int) -> str:
    return f"{parameters / 1e6:.2f} M"
