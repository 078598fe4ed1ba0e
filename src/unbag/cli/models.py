"""The commands `unbag models`, `init` and `interpolate`: pre-transformer architectures, and weight averaging."""

from pathlib import Path
from typing import Annotated

import typer

from unbag.cli.options import App, Offline
from unbag.cli.output import AsJson, create_cli_console, echo, print_json
from unbag.cli.typer_utils import corpora_option, folder_option, list_option

app = App()


@app.callback(invoke_without_command=True)
def list_models(context: typer.Context, as_json: AsJson = False) -> None:
    """List pre-transformer architectures, initialize one, or average model weights.

    The column 'parameters' counts the parameters without the word embeddings.
    The column 'published' contains the authors' count. A star marks an
    unverified count.

      unbag models
      unbag models init esim --vectors glove.840B.300d.zip --output-dir esim
    """
    if context.invoked_subcommand is not None:
        return
    from unbag.models import ARCHITECTURES
    from unbag.training.initialization import count_parameters

    if as_json:
        records = [
            {
                "name": kind.name,
                "paper": kind.paper,
                "url": kind.url,
                "sees": kind.input_description,
                "parameters": count_parameters(kind),
                "published_parameters": kind.published,
                "published_looked_up": None if kind.published is None else kind.is_verified,
            }
            for kind in ARCHITECTURES.values()
        ]
        print_json(records)
        return
    from rich.table import Table

    table = Table("model", "paper", "input", box=None, header_style="bold")
    table.add_column("parameters", justify="right")
    table.add_column("published", justify="right")
    for kind in ARCHITECTURES.values():
        star = "" if kind.is_verified else " *"
        published = "" if kind.published is None else f"{kind.published / 1e6:.2f} M{star}"
        ours = f"{count_parameters(kind) / 1e6:.2f} M"
        table.add_row(kind.name, kind.paper, kind.input_description, ours, published)
    create_cli_console().print(table)
    echo("\n* Not verified. docs/reference/models.md explains the differences.")
    echo("\nExample: unbag models init esim --corpus snli --vectors glove.840B.300d.zip --output-dir esim")


@app.command()
def init(
    name: Annotated[str, typer.Argument(metavar="MODEL", help="Architecture, such as esim; see `unbag models`.")],
    output_dir: Annotated[Path, folder_option(help="Folder for the initialized model.")],
    corpus: Annotated[
        list[str] | None, corpora_option(help="Corpora (train splits) or files for the vocabulary (default: snli).")
    ] = None,
    vectors: Annotated[
        str | None,
        typer.Option(help="Word vectors: GloVe file, spaCy, model2vec or transformer (default: random)."),
    ] = None,
    dimensions: Annotated[int, typer.Option(min=1, help="Number of dimensions of random word vectors.")] = 300,
    encoder: Annotated[
        str | None,
        typer.Option(help="Hub id or folder of a frozen transformer that replaces the word vectors."),
    ] = None,
    min_count: Annotated[int, typer.Option(min=1, help="Minimum frequency of a word in the vocabulary.")] = 1,
    model_option: Annotated[
        list[str] | None,
        typer.Option(
            "--model-option", "-o", metavar="NAME=VALUE", help="Option of the model, such as hidden_size=100."
        ),
    ] = None,
    pipeline: Annotated[
        str | None,
        typer.Option(help="spaCy pipeline for tags or parses (default: spacy/en_core_web_sm)."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed for the word vectors.")] = 13,
    offline: Offline = False,
    as_json: AsJson = False,
) -> None:
    """Initialize a model for training, with a vocabulary, word vectors and tags.

    Training later initializes the layers above the word vectors, with the
    seed of the training run.

      unbag models init esim --vectors glove.840B.300d.zip --output-dir esim
      unbag train finetune --model esim --corpus snli --output-dir runs/esim
      unbag evaluate runs/esim
    """
    from unbag.training.initialization import initialize_model
    from unbag.utils.options import parse_name_values

    options = parse_name_values(model_option or (), "-o NAME=VALUE")
    record = initialize_model(
        name,
        tuple(corpus or ("snli",)),
        output_dir,
        vectors=vectors,
        dimensions=dimensions,
        encoder=encoder,
        min_count=min_count,
        options=options,
        pipeline=pipeline,
        seed=seed,
    )
    if as_json:
        print_json({"output_dir": str(output_dir), **record})
    elif encoder:
        echo(f"{output_dir}: {name} with encoder {encoder}, untrained")
    else:
        with_vectors = f", {record['words_with_vectors']:,} of these with pretrained vectors" if vectors else ""
        echo(f"{output_dir}: {name} with a vocabulary of {record['words']:,} words{with_vectors}, untrained")


@app.command()
def interpolate(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="A B [MODEL ...]", help="Hub ids or folders of classifiers that share the same architecture."
        ),
    ],
    output_dir: Annotated[Path, folder_option(help="Folder for the model.")],
    alpha: Annotated[
        list[str] | None,
        list_option(metavar="LIST", help="Weights α of the second model, from 0 to 1, such as 0.3,0.5 (default: 0.5)."),
    ] = None,
    offline: Offline = False,
    as_json: AsJson = False,
) -> None:
    """Average the weights of two models, (1 − α) θ_A + α θ_B, or of more models.

    The models should be fine-tuned from the same weights, such as a model
    before and after `unbag train mend`. With several values of --alpha, each
    model gets a subfolder. This command does not train or evaluate a model.

      unbag models interpolate ORG/PLAIN runs/mended --alpha 0.5 --output-dir half
      unbag models interpolate ORG/PLAIN runs/mended --alpha 0.2,0.4,0.6 --output-dir line
      unbag models interpolate runs/seed-1 runs/seed-2 runs/seed-3 --output-dir soup
    """
    from transformers.utils import logging

    from unbag.training.weight_averaging import average_models

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        alphas = [float(text) for text in alpha or ()]
    except ValueError:
        raise typer.BadParameter(
            f"--alpha: expected numbers from 0 to 1, got {','.join(alpha or ())!r}; use a list such as 0.3,0.5"
        ) from None
    record = average_models(models, output_dir, alphas=alphas)
    if as_json:
        print_json({"output_dir": str(output_dir), **record})
        return
    names = [source["name"] for source in record["sources"]]
    for each in record["models"]:
        terms = [f"{weight:.3g} × {name}" for weight, name in zip(each["weights"], names, strict=True)]
        echo(f"{each['folder']}: {' + '.join(terms)}")
