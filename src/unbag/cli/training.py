"""Commands that train: `unbag train RECIPE`, one for each file in `trainers/`, its options read off its config."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from unbag import scripts
from unbag.cli.output import AsJson, console, print_json, progress
from unbag.cli.prefetching import Offline
from unbag.training.recipe import Recipe

if TYPE_CHECKING:
    from unbag.training.loop import OnStep

ROOM: Final = "trainers"
_RUN: Final = "Checkpoints and records"
_SHOWN: Final = ("accuracy", "omega_max", "p_c")  # of a set's many numbers, in the table; the files have all

app = typer.Typer(
    no_args_is_help=True,
    help="Train a model: ordinary fine-tuning, or a recipe against bags of words.",
)


class ManyValues(TyperCommand):
    """A command without arguments whose lists take their values in a row: `--seeds 1 2 3`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Join the values behind an option of a list, comma between, before click reads them."""
        lists = {name for each in self.params if each.metavar == _LIST for name in each.opts}
        joined: list[str] = []
        into = False
        for arg in args:
            if arg.startswith("-"):
                name, equals, _ = arg.partition("=")
                into = name in lists
                joined.append(arg)
                first = not equals
            elif into and not first:
                joined[-1] += f",{arg}"
            else:
                joined.append(arg)
                first = False
        return super().parse_args(ctx, joined)


_LIST: Final = "LIST"


def add(recipe: Recipe, to: typer.Typer) -> None:
    """Make a recipe a command."""
    to.command(name=recipe.name.replace("_", "-"), cls=ManyValues, help=recipe.summary)(_command(recipe))


def main(recipe: Recipe, arguments: Sequence[str] | None = None) -> int:
    """Run a recipe's command alone, as `python trainers/RECIPE.py`; return its exit code."""
    from unbag.cli.running import run

    alone = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    add(recipe, alone)
    return run(alone, arguments)


def _command(recipe: Recipe) -> Callable[..., None]:
    hints = get_type_hints(recipe.config)
    declared = {each.name: each for each in fields(recipe.config) if each.init and each.metadata}
    shared = [each for each in _SHARED if recipe.protocol is None or each.name != "evaluate"]

    def command(**arguments: Any) -> None:
        seeds = _read("seeds", arguments.pop("seeds"), int)
        sets = _read("evaluate", arguments.pop("evaluate", ""), str)
        as_json, offline = arguments.pop("as_json"), arguments.pop("offline")
        values: dict[str, Any] = {
            name: _read(name, value, get_args(hints[name])[0]) if get_origin(hints[name]) is tuple else value
            for name, value in arguments.items()
        }
        config = recipe.config(**values)
        if offline:
            _require(config)
        _run(recipe, config, seeds, sets, as_json=as_json)

    own = [_parameter(name, hints[name], each) for name, each in declared.items()]
    command.__signature__ = Signature([*own, *shared])  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *shared)}
    return command


def _parameter(name: str, hint: Any, declared: Any) -> Parameter:
    """Return the option of a field: a tuple is text until it is read."""
    many = get_origin(hint) is tuple
    default = declared.default
    if many:
        default = Parameter.empty if default is MISSING else ",".join(map(str, default))
        hint = str
    elif default is MISSING:
        default = Parameter.empty
    option = typer.Option(
        # A flag is switched on, never off.
        *([f"--{name.replace('_', '-')}"] if hint is bool else []),
        help=declared.metadata.get("help"),
        rich_help_panel=declared.metadata.get("panel"),
        metavar=_LIST if many else None,
        show_default=bool(default) and not isinstance(default, bool),
    )
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[hint, option])


_SHARED: Final = (
    Parameter(
        "seeds",
        Parameter.KEYWORD_ONLY,
        default="",
        annotation=Annotated[
            str,
            typer.Option(
                metavar=_LIST,
                rich_help_panel=_RUN,
                show_default=False,
                help="Run once with each of these seeds, in a folder each, and report mean and standard deviation.",
            ),
        ],
    ),
    Parameter(
        "evaluate",
        Parameter.KEYWORD_ONLY,
        default="",
        annotation=Annotated[
            str,
            typer.Option(
                metavar=_LIST,
                rich_help_panel=_RUN,
                show_default=False,
                help="Challenge sets to evaluate the trained model on, as unbag evaluate does.",
            ),
        ],
    ),
    Parameter("offline", Parameter.KEYWORD_ONLY, default=False, annotation=Offline),
    Parameter("as_json", Parameter.KEYWORD_ONLY, default=False, annotation=AsJson),
)


def _require(config: Any) -> None:
    """Refuse to begin offline without the model or the corpora."""
    from unbag import prefetch, requirements
    from unbag.request import Request
    from unbag.training.config import weighted

    corpora = [weighted(entry)[0] for entry in (*getattr(config, "corpus", ()), *getattr(config, "validation", ()))]
    needs = prefetch.of_training(str(config.model), corpora, revision=config.revision)
    needs += [requirements.pipeline("")] if getattr(config, "augment", ()) else []
    if named := getattr(config, "embeddings", None):
        needs.append(requirements.embeddings(named))
    if (rearranged_by := getattr(config, "rearranged_by", None)) is not None:
        options: dict[str, Any] = {"embeddings": rearranged_by} if rearranged_by else {}
        needs += prefetch.of_run([Request("resnli", config.corpus[0], options)])
    prefetch.require(needs)


def _read(name: str, text: str, kind: Callable[[str], Any]) -> tuple[Any, ...]:
    try:
        return tuple(kind(part.strip()) for part in text.split(",") if part.strip())
    except ValueError:
        raise typer.BadParameter(f"expected numbers for --{name}, found {text!r}") from None


def _run(recipe: Recipe, config: Any, seeds: Sequence[int], sets: Sequence[str], *, as_json: bool) -> None:
    from unbag.inference.process_group import process_group
    from unbag.training.seeds import run_seeds

    first = process_group().rank == 0
    visible = first and not as_json
    _quiet(first=first)
    with _bars(visible=visible) as on_step, progress(visible=visible) as on_progress:
        if recipe.protocol is None:
            done = run_seeds(recipe, config, seeds, sets=sets, on_step=on_step, on_progress=on_progress)
        else:
            done = recipe.protocol.run(recipe, config, seeds, on_step=on_step, on_progress=on_progress)
    if not first:
        return
    if as_json:
        print_json({"out": str(config.out), **done})
    elif recipe.protocol is None:
        _show(done, config.out)
    else:
        console().print(recipe.protocol.view(done))
        typer.echo(f"in {config.out}")


def _quiet(*, first: bool) -> None:
    """Leave standard error to our own bar; warnings of several processes are told once."""
    import datasets
    import transformers

    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    # That the head is new is what was asked for.
    transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    datasets.disable_progress_bars()
    if not first:
        logging.getLogger().setLevel(logging.ERROR)


@contextmanager
def _bars(*, visible: bool) -> "Iterator[Callable[[str], OnStep | None] | None]":
    """Give what makes the progress bar of a run."""
    if not visible:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[status]}"), console=console(err=True)) as bars:

        def of_run(name: str) -> "OnStep":
            tasks: list[Any] = []

            def update(done: int, total: int, status: str) -> None:
                if not tasks:
                    tasks.append(bars.add_task(name, total=total, status=status))
                bars.update(tasks[0], completed=done, status=status)

            return update

        yield of_run


def _show(done: Any, out: Path) -> None:
    from rich.table import Table

    several = len(done["runs"]) > 1
    table = Table("", "mean" if several else "value", box=None, pad_edge=False)
    if several:
        table.add_column("standard deviation")
    for name, statistics in done["summary"].items():
        if "." in name and (name.rsplit(".", 1)[-1] not in _SHOWN or "=" in name):  # "=": of a part, say one lambda
            continue
        spread = statistics["standard_deviation"]
        table.add_row(
            name, f"{statistics['mean']:.4f}", *(["" if spread is None else f"{spread:.4f}"] if several else [])
        )
    if table.row_count:  # without validation pairs there is nothing to tell
        console().print(table)
    first = done["runs"][0]
    steps = ", ".join(f"{run['steps']:,}" for run in done["runs"])
    typer.echo(f"{first['pairs_per_epoch']:,} pairs an epoch, {steps} steps; in {out}")


for _name in scripts.files(ROOM):
    add(scripts.file(ROOM, _name).RECIPE, app)
