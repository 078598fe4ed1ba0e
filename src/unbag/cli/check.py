"""The command `unbag check`: quality gates for CI builds."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from unbag.cli import config_file, typer_utils
from unbag.cli.evaluate import run_models, validate_offline
from unbag.cli.model_options import ModelOptions
from unbag.cli.options import Full, PairOptions
from unbag.cli.output import TableOptions, echo, is_quiet, print_failures, write_tables
from unbag.cli.run_folder import build_run_folder
from unbag.cli.typer_utils import Badge, folder_option, split_commas
from unbag.inference.options import IDENTITY_OPTIONS, MODEL_OPTIONS
from unbag.utils.options import format_flag, format_option

if TYPE_CHECKING:
    from unbag.challenge_sets.request import SetRequest
    from unbag.evaluation.gates import Gates

_option = partial(typer.Option, rich_help_panel="Gates")
_bound_option = partial(
    _option, metavar="SET:METRIC=BOUND", callback=split_commas, autocompletion=typer_utils.complete_bounds
)
# Options that do not affect predictions, or describe the machine: never those of an earlier run.
_OF_MACHINE: Final = frozenset({"offline", "price_in", "price_out"}).union(
    name for name, (_, option) in MODEL_OPTIONS.items() if not option.affects_predictions
)


_OF_ALL_COMMANDS: Final = ("lexical_baseline", "shuffled", "offline")  # may be set in the environment


@dataclass(frozen=True)
class GateOptions:
    """Options that define the gates."""

    lower_bounds: Annotated[
        list[str] | None,
        _bound_option("--min", help="Minimum of a metric, such as permuted:score=.2 (score is the skill score)."),
    ] = None
    upper_bounds: Annotated[
        list[str] | None,
        _bound_option("--max", help="Maximum of a metric for which lower is better, such as swapped:drop=.1."),
    ] = None
    no_worse_than: Annotated[
        Path | None,
        _option(metavar="RUN", help="Results folder of an earlier run; fail if a score is significantly lower."),
    ] = None
    metric: Annotated[
        list[str] | None,
        _option(callback=split_commas, help="Metrics compared by --no-worse-than (default: the skill score)."),
    ] = None
    strict: Annotated[bool, _option("--strict", help="Also fail if a result is inconclusive.")] = False

    def build_gates(self) -> "Gates":
        """Parse and validate the gates."""
        from unbag.challenge_sets.results import FILE
        from unbag.evaluation.gates import Gates, parse_bound

        earlier_run = None if self.no_worse_than is None else _results_file(self.no_worse_than)
        if self.no_worse_than is not None and earlier_run is None:
            raise typer.BadParameter(
                f"--no-worse-than: expected a folder with {FILE}, got {self.no_worse_than}; use a results folder"
            )
        bounds = [parse_bound(text, "min") for text in self.lower_bounds or ()]
        bounds += [parse_bound(text, "max") for text in self.upper_bounds or ()]
        return Gates(tuple(bounds), earlier_run, tuple(self.metric or ()), self.strict)


def check(
    ctx: typer.Context,
    gate_options: GateOptions,
    pairs: PairOptions,
    model_options: ModelOptions,
    output: TableOptions,
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL|RUN", help="Model as in `unbag evaluate`, or a results folder."),
    ],
    full: Full = False,
    output_dir: Annotated[
        Path | None, folder_option(help="Folder for the results of a new evaluation (default: in runs/MODEL).")
    ] = None,
    badge: Badge = None,
) -> None:
    """Check a model against bounds or an earlier run, as a gate in CI.

    A gate fails if the whole 95 % interval of a score lies below the bound, or
    above the bound for --max. Sampling noise does not fail a build. With
    --strict, a gate passes only if the whole interval reaches the bound.

    With --no-worse-than, a gate fails if a score is significantly worse on the
    same examples. With --strict, a gate also fails if the score may be worse
    by more than .1. The output also shows the share of predicted labels that
    changed. To limit this share, use --max SET:changed_labels=BOUND.

    The model is evaluated on a sample of each set for which a gate exists. With
    --no-worse-than, the options of the earlier run apply. Options on the command
    line replace them, except options that would change the rows.

    Exit code 0: no gate fails. Exit code 1: a gate fails, or cannot be
    computed. Exit code 2: invalid usage.

      unbag check ORG/MODEL --min permuted:score=.2,swapped:accuracy_after=.6
      unbag check runs/new --no-worse-than runs/old --strict
      unbag check MODEL-int8 --no-worse-than runs/fp32 --max plain:changed_labels=.01
      unbag check runs/new --max swapped:drop=.1 --badge badge.svg
    """
    from unbag.challenge_sets.results import FILE, read_results
    from unbag.evaluation.gates import check_gates, select_results_of_single_model
    from unbag.evaluation.model_loading import BUILT_IN, find_model_type
    from unbag.evaluation.verdict import compute_model_verdict
    from unbag.inference.distributed import connect_process_group
    from unbag.reports import badge as badges
    from unbag.reports import gates as gate_views

    gates = gate_options.build_gates()
    before = gates.earlier_run
    run = None if find_model_type(model) is BUILT_IN else _results_file(Path(model))
    if run is None:
        earlier: config_file.EarlierOptions | None = None
        compared: Sequence[str] = ()
        complete: Sequence[str] = ()
        if before is not None:
            results = read_results(before)
            record = select_results_of_single_model(results, str(before))[0].model
            earlier = config_file.load_earlier_options(before, record, ctx.command.params)
            pairs, model_options = _apply_earlier_options(ctx, earlier, model, pairs, model_options)
            compared, complete, full = [each.set for each in results], earlier.sets, full or earlier.full
        model_options.validate([model])
        sets = list(dict.fromkeys([*(each.set for each in gates.bounds), *compared]))
        requests = _requests(sets, pairs, complete, full=full)
        if earlier is not None and earlier.file.name == config_file.CONFIG_FILE:
            of_run = [each for each in requests if each.name in compared]
            _validate_rows(ctx, earlier, pairs, of_run, full=full)
        run = _evaluate(model, requests, model_options, output_dir, is_visible=not output.as_json) / FILE
    else:
        names = [field.name for group in (PairOptions, ModelOptions) for field in fields(group)]
        names = [*(name for name in names if name not in _OF_ALL_COMMANDS), "full", "output_dir"]
        if given := [format_flag(name) for name in names if config_file.is_set_by_user(ctx, name)]:
            raise typer.BadParameter(
                f"{', '.join(given)}: only valid with a model to evaluate, but {model} contains stored results; "
                "remove these options"
            )
    # The first process prints and exits. A launcher that sees another process fail would kill the first one.
    if connect_process_group().rank:
        return
    report = check_gates(run, gates)
    if badge is not None:
        verdicts = compute_model_verdict(report.results)
        if all(each.is_control for each in verdicts):  # no challenge set, such as for a verifier on its own claims
            n_passed = sum(each.outcome == "passes" for each in report.gates)
            badges.write_gate_badge(n_passed, len(report.gates), badge, is_failure=report.is_failure)
        else:
            badges.write_badge(verdicts, badge)
    output.print(gate_views.build_gate_view(report), gate_views.export_gates(report))
    if report.is_failure:
        raise typer.Exit(1)


def _results_file(path: Path) -> Path | None:
    """Locate the results file of a run; None if the path has no results and is therefore a model."""
    from unbag.challenge_sets.results import FILE

    if path.is_dir():
        path = path / FILE
    return path if path.is_file() and path.suffix == ".json" else None


def _apply_earlier_options(
    ctx: typer.Context,
    earlier: config_file.EarlierOptions,
    model: str,
    pairs: PairOptions,
    model_options: ModelOptions,
) -> tuple[PairOptions, ModelOptions]:
    """Apply the options of an earlier run, except those that the user set, and print them."""
    skip = {name for name in ctx.params if config_file.is_set_by_user(ctx, name)}
    # Each of these options chooses the pairs, and replaces the options that describe the pairs of the earlier run.
    if sources := skip & {"corpus", "data", "text"}:
        skip |= {"corpus", "data", "text"}
    if sources - {"data"}:
        skip |= {"split", "columns", "labels", "language"}
    skip |= _OF_MACHINE if model in earlier.models else _OF_MACHINE | IDENTITY_OPTIONS
    applied = earlier.apply(ctx, pairs, skip=skip), earlier.apply(ctx, model_options, skip=skip)
    used: list[str] = []
    for old, new in zip((pairs, model_options), applied, strict=True):
        for name, value in vars(new).items():
            used += format_option(name, value) if value != getattr(old, name) else []
    if used and not is_quiet():
        echo(f"options of {earlier.file.parent}: {' '.join(used)}", err=True)
    return applied


def _validate_rows(
    ctx: typer.Context,
    earlier: config_file.EarlierOptions,
    pairs: PairOptions,
    requests: "Sequence[SetRequest]",
    *,
    full: bool,
) -> None:
    """Validate that no option of the command line changes the rows of the sets."""

    def describe(request: "SetRequest") -> tuple[Any, ...]:
        # The pairs themselves are compared after the evaluation, because their file may be moved.
        options = {name: value for name, value in request.options.items() if name not in ("data", "text")}
        return request.config, options, request.max_examples, None if request.max_examples is None else request.seed

    theirs = earlier.apply(ctx, PairOptions())
    changed = [each.name for each in fields(pairs) if getattr(pairs, each.name) != getattr(theirs, each.name)]
    changed = [*(name for name in changed if name not in ("data", "text")), *(["full"] if full != earlier.full else [])]
    if not changed:
        return
    expected = _requests([each.name for each in requests], theirs, earlier.sets, full=earlier.full)
    if list(map(describe, requests)) != list(map(describe, expected)):
        raise typer.BadParameter(
            f"{', '.join(map(format_flag, changed))}: expected the rows of {earlier.file.parent}, got other rows; omit "
            "the option, or evaluate both models with it"
        )


def _evaluate(
    model: str,
    requests: "Sequence[SetRequest]",
    model_options: ModelOptions,
    output_dir: Path | None,
    *,
    is_visible: bool,
) -> Path:
    """Evaluate a model on the gated sets. Returns the folder in which the first process writes the results."""
    from unbag.evaluation.result_folder import RunFolder
    from unbag.inference.distributed import connect_process_group

    title = f"check-{'+'.join(request.name for request in requests)}"
    options = model_options.loading_options | model_options.disabled_baselines
    location = output_dir or build_run_folder([model], requests, options, title=title)
    validate_offline([model], requests, model_options)
    folder, is_default = RunFolder(location), output_dir is None
    outcome = run_models(
        [model], requests, model_options, folder, is_default_folder=is_default, is_visible=is_visible, quiet=True
    )
    if connect_process_group().rank:
        return folder.path
    print_failures(outcome.skipped, with_model=False, is_named=True)
    if outcome.skipped:
        raise typer.Exit(1)
    if outcome.contents is not None:
        write_tables(outcome.results, folder.path, outcome.contents)
    return folder.path


def _requests(sets: Sequence[str], pairs: PairOptions, complete: Sequence[str], *, full: bool) -> "list[SetRequest]":
    """Build the set requests for the gates: entire sets for `full` and the sets in `complete`, otherwise samples."""
    from unbag.challenge_sets import selection

    return [
        request if full or request.name in complete else selection.apply_suite_sample(request)
        for request in pairs.build_requests(sets)
    ]
