"""The command `unbag check`: quality gates for CI builds."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from unbag.cli import config_file, typer_utils
from unbag.cli.evaluate import EvaluationPlan, restrict_to_offline, run_plan
from unbag.cli.model_options import ModelOptions, build_disabled_baseline_options
from unbag.cli.options import Full, PairOptions, with_shared_options
from unbag.cli.output import AsJson, OutputFormat, print_failures, print_table, validate_output_format, write_tables
from unbag.cli.run_folder import RUNS_FOLDER, build_run_folder
from unbag.cli.typer_utils import Badge, split_commas, validate_output_folder

if TYPE_CHECKING:
    from unbag.challenge_sets.request import SetRequest
    from unbag.evaluation.gates import Gates

_PANEL: Final = "Gates"


@dataclass(frozen=True)
class GateOptions:
    """Options that define the gates; see `options.with_shared_options`."""

    lower_bounds: Annotated[
        list[str] | None,
        typer.Option(
            "--min",
            rich_help_panel=_PANEL,
            metavar="SET:METRIC=BOUND",
            callback=split_commas,
            autocompletion=typer_utils.complete_bounds,
            help="Minimum of a metric, such as permuted:score=.2 (score is the skill score).",
        ),
    ] = None
    upper_bounds: Annotated[
        list[str] | None,
        typer.Option(
            "--max",
            rich_help_panel=_PANEL,
            metavar="SET:METRIC=BOUND",
            callback=split_commas,
            autocompletion=typer_utils.complete_bounds,
            help="Maximum of a metric for which lower is better, such as swapped:drop=.1.",
        ),
    ] = None
    no_worse_than: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=_PANEL,
            metavar="RUN",
            help="Results folder of an earlier run; fail if a score is significantly lower.",
        ),
    ] = None
    metric: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=_PANEL,
            callback=split_commas,
            help="Metrics compared by --no-worse-than (default: the skill score).",
        ),
    ] = None
    strict: Annotated[
        bool, typer.Option("--strict", rich_help_panel=_PANEL, help="Also fail if a result is inconclusive.")
    ] = False

    def build_gates(self) -> "Gates":
        """Parse and validate the gates.

        Raises:
            typer.BadParameter: If there is no gate, or an option is invalid.
        """
        from unbag.challenge_sets.results import FILE
        from unbag.evaluation.gates import Gates, parse_bound

        earlier_run = None if self.no_worse_than is None else _results_file(self.no_worse_than)
        if self.no_worse_than is not None and earlier_run is None:
            raise typer.BadParameter(
                f"--no-worse-than: expected a folder with {FILE}, got {self.no_worse_than}; use a results folder"
            )
        try:
            bounds = [parse_bound(text, "min") for text in self.lower_bounds or ()]
            bounds += [parse_bound(text, "max") for text in self.upper_bounds or ()]
            return Gates(tuple(bounds), earlier_run, tuple(self.metric or ()), self.strict)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None


@with_shared_options
def check(
    ctx: typer.Context,
    gate_options: GateOptions,
    pairs: PairOptions,
    model_options: ModelOptions,
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL|RUN", help="Model as in `unbag evaluate`, or a results folder."),
    ],
    full: Full = False,
    output_dir: Annotated[
        Path | None,
        typer.Option(
            callback=validate_output_folder, help="Folder for the results of a new evaluation (default: in runs/MODEL)."
        ),
    ] = None,
    badge: Badge = None,
    form: OutputFormat = "table",
    as_json: AsJson = False,
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
    --no-worse-than, the options come from run.yaml in the earlier run, if
    this file exists.

    Exit code 0: no gate fails. Exit code 1: a gate fails, or cannot be
    computed. Exit code 2: incorrect usage.

      unbag check ORG/MODEL --min permuted:score=.2,swapped:accuracy_after=.6
      unbag check runs/new --no-worse-than runs/old --strict
      unbag check MODEL-int8 --no-worse-than runs/fp32 --max plain:changed_labels=.01
      unbag check runs/new --max swapped:drop=.1 --badge badge.svg
    """
    from unbag.challenge_sets.results import FILE, read_results
    from unbag.evaluation.gates import check_gates
    from unbag.evaluation.verdict import compute_model_verdict
    from unbag.inference.distributed import connect_process_group
    from unbag.reports import badge as badges
    from unbag.reports import gates as gate_views

    gates = gate_options.build_gates()
    validate_output_format(form, as_json=as_json)
    before = gates.earlier_run
    run = _results_file(Path(model))
    if run is None:
        model_options.validate([model])
        sets = [
            *(each.set for each in gates.bounds),
            *(result.set for result in (read_results(before) if before else ())),
        ]
        earlier = None if full or pairs != PairOptions() else _earlier_run(before, ctx)
        requests = _requests(list(dict.fromkeys(sets)), pairs, earlier, full=full)
        plan = _build_plan(model, requests, model_options, earlier, output_dir)
        run = _evaluate(plan, visible=not as_json) / FILE
    elif options := _evaluation_options(pairs, model_options, full=full, output_dir=output_dir):
        raise typer.BadParameter(
            f"{', '.join(options)}: only valid with a model to evaluate, but {model} contains stored results; "
            "remove these options"
        )
    # The first process prints and exits. A launcher that sees another process fail would kill the first one.
    if connect_process_group().rank:
        return
    report = check_gates(run, gates)
    if badge is not None:
        badges.write_badge(compute_model_verdict(report.results), badge)
    view, exported = gate_views.build_gate_view(report), gate_views.export_gates(report)
    print_table(form, view, exported, as_json=as_json)
    if report.is_failure:
        raise typer.Exit(1)


def _results_file(path: Path) -> Path | None:
    """Locate the results file of a run; None if the path has no results and is therefore a model."""
    from unbag.challenge_sets.results import FILE

    if path.is_dir():
        path = path / FILE
    return path if path.is_file() and path.suffix == ".json" else None


def _evaluation_options(
    pairs: PairOptions, model_options: ModelOptions, *, full: bool, output_dir: Path | None
) -> list[str]:
    """List the options on the command line that apply only to model evaluation."""
    options = [
        f"--{field.name.replace('_', '-')}"
        for group in (pairs, model_options)
        for field in fields(group)
        if getattr(group, field.name) != field.default and field.name not in ("lexical_baseline", "shuffled", "offline")
    ]
    return [*options, *(["--full"] if full else []), *(["--output-dir"] if output_dir else [])]


def _earlier_run(results: Path | None, ctx: typer.Context) -> config_file.EarlierOptions | None:
    """Load the options of an earlier run from the `run.yaml` next to its results; None if there is no such file."""
    if results is None or not (file := results.parent / config_file.CONFIG_FILE).is_file():
        return None
    return config_file.load_earlier_options(file, ctx.command.params)


def _build_plan(
    model: str,
    requests: "Sequence[SetRequest]",
    model_options: ModelOptions,
    earlier: config_file.EarlierOptions | None,
    output_dir: Path | None,
) -> EvaluationPlan:
    """Build the evaluation plan of a model: the gated sets, with the baselines of the earlier run."""
    from unbag.inference.prediction_store import PREDICTIONS

    if earlier is not None:
        model_options = replace(
            model_options,
            lexical_baseline=model_options.lexical_baseline and earlier.lexical_baseline,
            shuffled=model_options.shuffled and earlier.shuffled,
        )
    baselines = build_disabled_baseline_options(model_options.lexical_baseline, model_options.shuffled)
    title = f"check-{'+'.join(request.name for request in requests)}"
    output_location = output_dir or build_run_folder(
        [model], requests, model_options.build_loading_options() | baselines, title=title
    )
    predictions = None if output_dir else RUNS_FOLDER / PREDICTIONS
    return EvaluationPlan([model], requests, model_options, str(output_location), predictions, is_named=True)


def _evaluate(plan: EvaluationPlan, *, visible: bool) -> Path:
    """Evaluate the model of a plan. Returns the folder in which the first process writes the results."""
    from unbag.inference.distributed import connect_process_group

    folder = Path(plan.output_location)
    if plan.model_options.offline:
        plan = restrict_to_offline(plan)
    outcome = run_plan(plan, folder, is_visible=visible, quiet=True)
    if connect_process_group().rank:
        return folder
    print_failures(outcome.skipped, with_model=False, is_named=True)
    if outcome.skipped:
        raise typer.Exit(1)
    if outcome.results:
        write_tables(outcome.results, folder)
    return folder


def _requests(
    sets: Sequence[str], pairs: PairOptions, run: config_file.EarlierOptions | None, *, full: bool
) -> "list[SetRequest]":
    """Build the set requests for the gates: samples, entire sets with `full`, or the sets of an earlier run."""
    from unbag.challenge_sets import selection

    if run is None:
        complete = sets if full else ()
    else:
        pairs, complete = run.pairs, sets if run.full else run.sets
    return [
        request if request.name in complete else selection.apply_suite_sample(request)
        for request in pairs.build_requests(sets)
    ]
