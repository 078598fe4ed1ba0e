"""The command line: `unbag …`.

Commands import heavy packages in their bodies, so that `unbag --help` starts fast.
"""

import os
import sys
from typing import Annotated

import typer

from unbag.cli import (
    build,
    check,
    compare,
    demo,
    evaluate,
    export,
    human_study,
    lexical,
    models,
    natlog,
    prefetch,
    publish,
    published,
    score,
    speed,
    train,
)
from unbag.cli.app import run
from unbag.cli.options import App
from unbag.cli.typer_utils import GreedyCommand


def _print_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        typer.echo(f"unbag {version('unbag')}")
        raise typer.Exit


app = App(
    name="unbag",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Challenge sets that show whether an NLI model understands sentences or counts words.\n\n"
    "`unbag evaluate ORG/MODEL` evaluates a model from the Hub. `unbag demo` runs offline in a minute.",
)


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


app.command(cls=GreedyCommand)(evaluate.evaluate)
app.command()(score.score)
app.command()(compare.compare)
app.command(cls=GreedyCommand)(check.check)
app.command(cls=GreedyCommand)(build.build)
app.command(cls=GreedyCommand)(export.export)
app.command(name="sets")(build.list_sets)
app.command()(published.papers)
app.command()(published.report)
for _group in (lexical, models, natlog, human_study, train, publish):
    app.add_typer(_group.app, name=_group.__name__.rpartition(".")[2].replace("_", "-"))
app.command(cls=GreedyCommand)(speed.speed)
app.command(cls=GreedyCommand)(prefetch.prefetch)
app.command()(demo.demo)


def main() -> None:
    """Run the command line. Exits with code 0 on success, 1 on failure and 2 on invalid usage."""
    # PyTorch reads this variable at import. Beside other programs, threads that wait actively slow each other down.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    sys.exit(run(app))
