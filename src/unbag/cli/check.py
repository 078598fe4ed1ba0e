"""The command `unbag check`: quality gates for CI builds."""

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbag.cli import config_file, typer_utils
from unbag.cli.evaluate import EvaluationPlan, available_offline, run_plan
from unbag.cli.model_options import ModelOptions, disabled_baselines
from unbag.cli.options import Full, PairOptions, with_shared_options
from unbag.cli.output import AsJson, Shown, print_failures, show, validate_output_form, write_tables
from unbag.cli.run_folder import RUNS, run_folder
from unbag.cli.typer_utils import Badge, comma_separated, folder_to_write

if TYPE_CHECKING:
    from unbag.challenge_sets.request import SetRequest
    from unbag.evaluation.gates import GateBound, Side


@with_shared_options
def check(
    ctx: typer.Context,
    pairs: PairOptions,
    model_options: ModelOptions,
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL|RUN", help="Model as in `unbag evaluate`, or a results folder."),
    ],
    lower_bounds: Annotated[
        list[str] | None,
        typer.Option(
            "--min",
            metavar="SET:METRIC=BOUND",
            callback=comma_separated,
            autocompletion=typer_utils.bounds,
            help="Minimum of a metric, such as permuted:score=.2 (score is the skill score).",
        ),
    ] = None,
    upper_bounds: Annotated[
        list[str] | None,
        typer.Option(
            "--max",
            metavar="SET:METRIC=BOUND",
            callback=comma_separated,
            autocompletion=typer_utils.bounds,
            help="Maximum of a metric for which lower is better, such as swapped:drop=.1.",
        ),
    ] = None,
    no_worse_than: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Results folder of an earlier run that the model must match or exceed."),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            callback=comma_separated,
            help="Metrics compared by --no-worse-than (default: the skill score).",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Also fail on inconclusive gates.")] = False,
    full: Full = False,
    output_dir: Annotated[
        Path | None,
        typer.Option(
            callback=folder_to_write, help="Folder for the results of a new evaluation (default: in runs/MODEL)."
        ),
    ] = None,
    badge: Badge = None,
    form: Shown = "table",
    as_json: AsJson = False,
) -> None:
    """Check a model against bounds or an earlier run, as a gate in CI.

    A gate fails if the whole 95 % interval of a score lies below the bound, or
    above the bound for --max. Sampling noise stops no build. With --strict, a
    gate passes only if the whole interval reaches the bound.

    With --no-worse-than, a gate fails if a score is significantly worse on the
    same examples. With --strict, a gate also fails if the score may be worse
    by more than .1. The share of changed labels is reported, and
    --max SET:changed_labels=BOUND limits it.

    A model is evaluated on a sample of the sets of the gates. With
    --no-worse-than, it is evaluated like that run if the run has a run.yaml.

    Exit code 0: no gate fails. Exit code 1: a gate fails, or nothing could be
    checked. Exit code 2: wrong usage.

      unbag check ORG/MODEL --min permuted:score=.2,swapped:accuracy_after=.6
      unbag check runs/new --no-worse-than runs/old --strict
      unbag check MODEL-int8 --no-worse-than runs/fp32 --max plain:changed_labels=.01
      unbag check runs/new --max swapped:drop=.1 --badge badge.svg
    """
    from unbag.challenge_sets.results import FILE, convert_record_errors, read_results
    from unbag.evaluation import gates, parity
    from unbag.evaluation.quantities import CHANGED_LABELS
    from unbag.evaluation.verdict import compute_model_verdict
    from unbag.inference.distributed import connect_process_group
    from unbag.reports import badge as badges
    from unbag.reports import gates as gate_views

    if not (lower_bounds or upper_bounds or no_worse_than):
        raise typer.BadParameter("expected a gate, got none; add --min, --max or --no-worse-than")
    if metric and no_worse_than is None:
        raise typer.BadParameter(
            "--metric: expected --no-worse-than, got none; for --min and --max, write the metric in their value, as in "
            "--min permuted:score=.2"
        )
    validate_output_form(form, as_json=as_json)
    bounds = [*_parse_bounds(lower_bounds, "min"), *_parse_bounds(upper_bounds, "max")]
    parity_bounds = [each for each in bounds if each.number == CHANGED_LABELS.name]
    if parity_bounds and no_worse_than is None:
        raise typer.BadParameter(
            f"--max {parity_bounds[0].set}:{CHANGED_LABELS.name}: expected --no-worse-than, got none; name the earlier "
            "run whose labels are compared"
        )
    before = None if no_worse_than is None else _results_file(no_worse_than)
    if no_worse_than is not None and before is None:
        raise typer.BadParameter(f"--no-worse-than: expected a folder with {FILE}, got {no_worse_than}")
    run = _results_file(Path(model))
    if run is None:
        model_options.validate([model])
        sets = [*(each.set for each in bounds), *(result.set for result in (read_results(before) if before else ()))]
        earlier = None if full or pairs != PairOptions() else _earlier_run(before, ctx)
        requests = _requests(list(dict.fromkeys(sets)), pairs, earlier, full=full)
        plan = _build_plan(model, requests, model_options, earlier, output_dir)
        run = _evaluate(plan, visible=not as_json) / FILE
    elif options := _evaluation_options(pairs, model_options, full=full, output_dir=output_dir):
        raise typer.BadParameter(
            f"{', '.join(options)}: expected a model to evaluate, got the results {model}; omit these options"
        )
    # The first process prints and exits. A launcher that sees another process fail would kill the first one.
    if connect_process_group().rank:
        return
    notes: list[str] = []
    compared: list[parity.Parity] = []
    with convert_record_errors(run, *([] if before is None else [before])):
        results = gates.select_results_of_single_model(read_results(run), str(run))
        checked = gates.check_bounds(results, [each for each in bounds if each not in parity_bounds])
        if before is not None:
            comparisons, notes = gates.check_no_worse_than(run, before, metric or ())
            compared, parity_notes = parity.compare_labels(run, before)
            checked += [*comparisons, *gates.check_parity(compared, parity_bounds)]
            notes = [*notes, *parity_notes]
        if badge is not None:
            badges.write_badge(compute_model_verdict(results), badge)
        view = gate_views.build_gate_view(checked, notes, compared, strict=strict)
        to_paste = gate_views.export_gates(checked, notes, compared, strict=strict)
    show(form, view, to_paste, as_json=as_json)
    if any(each.stops(strict=strict) for each in checked):
        raise typer.Exit(1)


def _parse_bounds(texts: Sequence[str] | None, side: "Side") -> "list[GateBound]":
    from unbag.evaluation import gates

    try:
        return [gates.parse_bound(text, side) for text in texts or ()]
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _results_file(path: Path) -> Path | None:
    """Find the results file of a run. Returns None if the path has no results, so that the name is a model."""
    from unbag.challenge_sets.results import FILE

    if path.is_dir():
        path = path / FILE
    return path if path.is_file() and path.suffix == ".json" else None


def _evaluation_options(
    pairs: PairOptions, model_options: ModelOptions, *, full: bool, output_dir: Path | None
) -> list[str]:
    """List the given options that apply only to model evaluation."""
    options = [
        f"--{field.name.replace('_', '-')}"
        for group in (pairs, model_options)
        for field in fields(group)
        if getattr(group, field.name) != field.default and field.name not in ("lexical_baseline", "shuffled", "offline")
    ]
    return [*options, *(["--full"] if full else []), *(["--output-dir"] if output_dir else [])]


def _earlier_run(results: Path | None, ctx: typer.Context) -> config_file.Recorded | None:
    """Load the options of an earlier run from the `run.yaml` next to its results; None if there is no such file."""
    if results is None or not (file := results.parent / config_file.FILE).is_file():
        return None
    return config_file.recorded(file, ctx.command.params)


def _build_plan(
    model: str,
    requests: "Sequence[SetRequest]",
    model_options: ModelOptions,
    earlier: config_file.Recorded | None,
    output_dir: Path | None,
) -> EvaluationPlan:
    """Build the evaluation plan of a model: the sets of the gates, and the baselines of the earlier run."""
    from unbag.inference.prediction_store import PREDICTIONS

    if earlier is not None:
        model_options = replace(
            model_options,
            lexical_baseline=model_options.lexical_baseline and earlier.lexical_baseline,
            shuffled=model_options.shuffled and earlier.shuffled,
        )
    baselines = disabled_baselines(model_options.lexical_baseline, model_options.shuffled)
    title = f"check-{'+'.join(request.name for request in requests)}"
    place = output_dir or run_folder([model], requests, model_options.loading_options() | baselines, title=title)
    predictions = None if output_dir else RUNS / PREDICTIONS
    return EvaluationPlan([model], requests, model_options, str(place), predictions, is_named=True)


def _evaluate(plan: EvaluationPlan, *, visible: bool) -> Path:
    """Evaluate the model of a plan. Returns the folder in which the first process writes the results."""
    from unbag.inference.distributed import connect_process_group

    folder = Path(plan.place)
    if plan.model_options.offline:
        plan = available_offline(plan)
    outcome = run_plan(plan, folder, visible=visible, quiet=True)
    if connect_process_group().rank:
        return folder
    print_failures(outcome.failures, with_model=False, is_named=True)
    if outcome.failures:
        raise typer.Exit(1)
    if outcome.results:
        write_tables(outcome.results, folder)
    return folder


def _requests(
    sets: Sequence[str], pairs: PairOptions, run: config_file.Recorded | None, *, full: bool
) -> "list[SetRequest]":
    """Build the requests of a gate: samples of the sets, entire sets with `full`, or the sets of an earlier run."""
    from unbag.challenge_sets import suite

    if run is None:
        complete = sets if full else ()
    else:
        pairs, complete = run.pairs, sets if run.full else run.sets
    return [
        request if request.name in complete else suite.apply_suite_sample(request) for request in pairs.requests(sets)
    ]
