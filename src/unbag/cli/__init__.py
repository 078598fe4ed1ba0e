"""The command line: `unbag …`.

Nothing heavy is imported before a command needs it, so that `unbag --help` answers at once.
"""

import sys
from typing import Annotated

import typer

from unbag.cli import (
    checking,
    comparing,
    demonstrating,
    evaluating,
    exporting,
    lexical,
    making,
    models,
    natlog,
    people,
    prefetching,
    published,
    publishing,
    publishing_all,
    publishing_dataset,
    publishing_model,
    publishing_results,
    publishing_spaces,
    scoring,
    training,
    verbosity,
)
from unbag.cli.running import run


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"unbag {version('unbag')}")
        raise typer.Exit


app = typer.Typer(
    name="unbag",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Does an NLI model read sentences, or count words?\n\n"
    "[bold]unbag evaluate ORG/MODEL[/bold] asks a model of the Hub; [bold]unbag demo[/bold] shows the flow offline.",
)


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


app.command()(evaluating.evaluate)
app.command()(scoring.score)
app.command()(comparing.compare)
app.command()(checking.check)
app.command()(making.build)
app.command()(exporting.export)
app.command(name="sets")(making.list_sets)
app.command()(published.papers)
app.command()(published.report)
app.add_typer(lexical.app, name="lexical")
app.add_typer(models.app, name="models")
app.add_typer(natlog.app, name="natlog")
app.add_typer(people.app, name="people")
app.add_typer(training.app, name="train")
app.add_typer(publishing.app, name="publish")
publishing.app.command()(publishing_dataset.dataset)
publishing.app.command()(publishing_spaces.metric)
publishing.app.command()(publishing_model.model)
publishing.app.command()(publishing_results.results)
publishing.app.command()(publishing_results.results_dataset)
publishing.app.command()(publishing_spaces.leaderboard)
publishing.app.command()(publishing_spaces.pair)
publishing.app.command(name="all")(publishing_all.everything)
app.command()(prefetching.prefetch)
app.command()(demonstrating.demo)
verbosity.add_to(app)


def main() -> None:
    """Run the command: exit 0 when done, 1 when failed, 2 on wrong usage."""
    sys.exit(run(app))
