"""Training commands: one `unbag train RECIPE` per recipe in `trainers/`, with the options of its class."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass
from datetime import timedelta
from functools import cache, partial
from inspect import Parameter, Signature, signature
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any, Final, get_origin, get_type_hints

import typer

from unbag.cli import push as pushing
from unbag.cli.options import App, Offline
from unbag.cli.output import AsJson, create_cli_console, echo, is_quiet, print_failures, print_json
from unbag.cli.progress import show_progress
from unbag.cli.typer_utils import LIST, GreedyCommand, validate_output_folder
from unbag.training.config import TrainConfig
from unbag.training.recipes import load_recipes
from unbag.utils.hf_jobs import validate_persistent_output
from unbag.utils.options import format_flag, parse_text

if TYPE_CHECKING:
    from unbag.challenge_sets.failures import EvaluationFailure
    from unbag.training.trainer import OnStep

_run_option = partial(typer.Option, rich_help_panel="Checkpoints and logging")
_SHOWN: Final = ("accuracy", "omega_max", "p_c")  # metrics shown in the table; the result files contain all

app = App(
    no_args_is_help=True,
    help="Train a model with plain fine-tuning or with a debiasing recipe.",
)


def add_recipe_command(recipe: type[TrainConfig], app: typer.Typer) -> None:
    """Add the training command of a recipe to a Typer app."""
    app.command(recipe.recipe.replace("_", "-"), cls=GreedyCommand, help=recipe.build_help())(_command(recipe))


def main(*recipes: type[TrainConfig], arguments: Sequence[str] | None = None) -> int:
    """Run the command line of one or several recipes (`python trainers/RECIPE.py`). Returns the exit code."""
    from unbag.cli.app import run

    alone = App(
        add_completion=False,
        # Rich tracebacks print local variables, which may contain tokens.
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for recipe in recipes:
        add_recipe_command(recipe, alone)
    return run(alone, arguments, is_resumable=True)


def _command(recipe: type[TrainConfig]) -> Callable[..., None]:
    hints, excluded = get_type_hints(recipe), {*recipe.FIXED, *recipe.excluded_options}
    shared = [
        each.replace(kind=Parameter.KEYWORD_ONLY)
        for each in signature(_RunOptions).parameters.values()
        if each.name not in excluded
    ]

    def command(**arguments: Any) -> None:
        given = _RunOptions(**{each.name: arguments.pop(each.name) for each in shared})
        seeds = _parse_list("seeds", tuple[int, ...], given.seeds)
        sets = _parse_list("evaluate", tuple[str, ...], given.evaluate)
        values: dict[str, Any] = {
            name: _parse_list(name, hints[name], value) if get_origin(hints[name]) is tuple else value
            for name, value in arguments.items()
        }
        if labels := values.get("label_map"):
            values["label_map"] = ",".join(labels)
        if _train_and_publish(recipe(**values), given, seeds, sets):
            raise typer.Exit(1)

    own = [
        _parameter(recipe.__dataclass_fields__[name], declared, hints[name])
        for name, declared in recipe.collect_declarations().items()
        if name not in excluded
    ]
    command.__signature__ = Signature([*own, *shared])  # type: ignore[attr-defined]
    return command


def _train_and_publish(
    config: TrainConfig, options: "_RunOptions", seeds: Sequence[int], sets: Sequence[str]
) -> "list[EvaluationFailure]":
    """Validate the options, train, evaluate and publish. Returns the sets that could not be evaluated."""
    push, offline = options.push_results, options.offline
    can_push = "push_results" not in config.excluded_options and not seeds
    validate_persistent_output(
        "--output-dir", config.output_dir, push, push_option=pushing.PUSH_OPTION if can_push else None
    )
    if push is not None:
        if seeds and not config.procedure:  # A procedure that can push its model accepts at most one seed.
            raise typer.BadParameter(
                f"{pushing.PUSH_OPTION}: expected one model, got several (--seeds); publish each model separately"
            )
        pushing.validate_push(push, offline=offline)
    if config.push_checkpoints is not None:
        pushing.validate_push(config.push_checkpoints, offline=offline, option="--push-checkpoints")
    if offline:
        from unbag.evaluation import prefetch

        prefetch.validate_offline_requirements(config.list_requirements())
    failures = _run(config, seeds, sets, as_json=options.as_json)
    if push is not None and _is_first():
        pushing.push_model(config.output_dir, push, as_json=options.as_json)
    return failures


def _parameter(field: Field[Any], declared: Mapping[str, Any], hint: Any) -> Parameter:
    """Build the option for a config field. A tuple is passed as a list of texts, which `_parse_list` parses."""
    name, default = field.name, Parameter.empty if field.default is MISSING else field.default
    # The config parses the text of a label map.
    is_list = get_origin(hint) is tuple or name == "label_map"
    if is_list:
        hint, default = list[str] | None, list(map(str, default)) if isinstance(default, tuple) else default
    option = typer.Option(
        # No --no-… form, since all flags are off by default.
        *([format_flag(name)] if hint is bool else []),
        help=declared["help"],
        rich_help_panel=declared["panel"],
        callback=validate_output_folder if name == "output_dir" else None,
        metavar=LIST if is_list else None,
        show_default=bool(default) and not isinstance(default, bool),
    )
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[hint, option])


@dataclass(frozen=True)
class _RunOptions:
    """Options of all recipes, which are not part of their configs."""

    seeds: Annotated[
        list[str] | None,
        _run_option(
            metavar=LIST,
            show_default=False,
            help="Random seeds: one run and subfolder each; prints mean and standard deviation.",
        ),
    ] = None
    evaluate: Annotated[
        list[str] | None,
        _run_option(
            metavar=LIST,
            show_default=False,
            help="Challenge sets to evaluate after training, on their default samples.",
        ),
    ] = None
    push_results: Annotated[
        str | None,
        _run_option(
            metavar="ORG[/NAME]", help="Hub repository for the model and results; created as private if missing."
        ),
    ] = None
    offline: Offline = False
    as_json: AsJson = False


def _parse_list(name: str, hint: Any, given: Sequence[str] | None) -> Any:
    text = ",".join(given or ())
    return parse_text(format_flag(name), hint, text) if text else ()


def _run(config: Any, seeds: Sequence[int], sets: Sequence[str], *, as_json: bool) -> "list[EvaluationFailure]":
    """Train and evaluate a model and show the results. Returns the sets that could not be evaluated."""
    from unbag.challenge_sets.results import FILE, read_results
    from unbag.reports import terminal
    from unbag.training.output import lock_output_folder
    from unbag.training.seeds import run_seeds

    first = _is_first()
    visible = first and not as_json
    _quiet(first=first)
    failures: list[EvaluationFailure] = []
    with (
        lock_output_folder(config.output_dir, "training"),
        show_progress(0, is_visible=visible, quiet=True) as callbacks,
    ):
        on_step = _build_step_printers(config) if visible and not is_quiet() else None
        done = run_seeds(
            config,
            seeds,
            sets=sets,
            on_step=on_step,
            progress_callback=callbacks.on_progress,
            on_failure=failures.append,
        )
    if not first:
        return failures
    if as_json:
        print_json({"output_dir": str(config.output_dir), **done})
    elif not config.procedure:
        _show(done, config.output_dir)
        for run in done["runs"] if sets else ():
            file = Path(run["evaluation"]) / FILE
            if run["verdict"] is not None and file.is_file():
                create_cli_console().print()
                terminal.print_views(terminal.build_summary_views(read_results(file)), create_cli_console())
    else:
        create_cli_console().print(resolve_name(config.view)(done))
        echo(f"in {config.output_dir}")
    print_failures(failures, with_model=bool(seeds), is_named=True)
    return failures


def _quiet(*, first: bool) -> None:
    """Silence the progress bars and warnings of other libraries, and log only in the first process."""
    import datasets
    import transformers

    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    # Otherwise transformers warns that the head is new, as intended here.
    transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    datasets.disable_progress_bars()
    if not first:
        logging.getLogger().setLevel(logging.ERROR)


def _build_step_printers(config: Any) -> "Callable[[str], OnStep]":
    """Create a function that builds the step callback of a run. The first step prints where the model is trained."""
    from unbag.inference.distributed import connect_process_group

    @cache
    def announce() -> None:
        processes = connect_process_group().world_size
        echo(f"training with {processes} process{'es' if processes > 1 else ''} in {config.output_dir}", err=True)

    return lambda name: _StepPrinter(name, config.logging_steps, announce)


class _StepPrinter:
    """Callback that prints a line per logging step, with the time left."""

    def __init__(self, name: str, logging_steps: int, announce: Callable[[], None]) -> None:
        self._name, self._logging_steps, self._announce = name, logging_steps, announce
        self._start: tuple[int, float] | None = None

    def __call__(self, done: int, total: int, status: str) -> None:
        self._announce()
        if self._start is None or done <= self._start[0]:  # the first step, or that of the next run
            self._start = (done, time.monotonic())
        first, began = self._start
        if done % self._logging_steps and done != total:
            return
        left = ""
        if first < done < total:
            seconds = (time.monotonic() - began) / (done - first) * (total - done)
            left = f", {timedelta(seconds=round(seconds))} left"
        echo(f"{self._name}: step {done:,} of {total:,}, {status}{left}", err=True)


def _show(done: Any, out: Path) -> None:
    from rich.table import Table

    from unbag.challenge_sets.views.tables import format_interval
    from unbag.scoring.bootstrap import Estimate
    from unbag.training.dataset import ALL

    several = len(done["runs"]) > 1
    table = Table("", *(["mean", "standard deviation"] if several else ["value [95 %]"]), box=None, pad_edge=False)
    table.add_column("n", justify="right")
    for name, statistics in done["summary"].items():
        # Scores of sets have dotted paths. "=" in a name is the score of one subset, such as one lambda.
        is_score = "." in name and not name.startswith("accuracy on ")
        if is_score and (name.rsplit(".", 1)[-1] not in _SHOWN or "=" in name):
            continue
        mean, spread = statistics["mean"], statistics["standard_deviation"]
        if several:
            cells = [f"{mean:.4f}", "" if spread is None else f"{spread:.4f}"]
        else:
            cells = [format_interval(Estimate(mean, statistics["low"], statistics["high"], statistics["n"]))]
        table.add_row(name, *cells, f"{statistics['n']:,}")
    if table.row_count:  # empty without validation pairs
        create_cli_console().print(table)
    first = done["runs"][0]
    steps = ", ".join(f"{run['steps']:,}" for run in done["runs"])
    echo(f"{first['pairs_per_epoch']:,} pairs per epoch, {steps} steps; in {out}")
    if (accuracy := first.get("bias_accuracy")) is not None:
        own = first["best_evaluation"].get(ALL, {}).get("accuracy")
        worse = (
            f"; of this model: {own:.1%} of held-out pairs. The biased model may leave too few pairs to learn from"
            if own is not None and own < accuracy
            else ""
        )
        echo(f"Accuracy of the biased model: {accuracy:.1%} of the training pairs that it predicts{worse}.")


for _recipe in load_recipes().values():
    add_recipe_command(_recipe, app)


def _is_first() -> bool:
    from unbag.inference.distributed import connect_process_group

    return connect_process_group().rank == 0
