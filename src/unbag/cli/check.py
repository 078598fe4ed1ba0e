"""The command that a build asks whether to go on: `unbag check`."""

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbag.cli import config_file, typer_utils
from unbag.cli.evaluate import ask
from unbag.cli.model_options import ModelOptions, in_folder_name
from unbag.cli.options import Full, PairOptions, with_shared_options
from unbag.cli.output import AsJson, Shown, failed, leave, show, validate_output_form
from unbag.cli.run_folder import RUNS, run_folder
from unbag.cli.typer_utils import Badge, comma_separated, folder_to_write

if TYPE_CHECKING:
    from unbag.challenge_sets.failures import Failure
    from unbag.challenge_sets.request import Request
    from unbag.evaluation.gates import GateBound, Side


@with_shared_options
def check(
    ctx: typer.Context,
    pairs: PairOptions,
    asked: ModelOptions,
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL_OR_RUN", help="A model, as unbag evaluate takes it; or the folder that it left."),
    ],
    least: Annotated[
        list[str] | None,
        typer.Option(
            "--min",
            metavar="SET:NUMBER=BOUND",
            callback=comma_separated,
            autocompletion=typer_utils.bounds,
            help="The least that a number may be, of those whose higher is better; comma-separated or repeated. score "
            "is the skill score; an unknown name lists the others.",
        ),
    ] = None,
    most: Annotated[
        list[str] | None,
        typer.Option(
            "--max",
            metavar="SET:NUMBER=BOUND",
            callback=comma_separated,
            autocompletion=typer_utils.bounds,
            help="The most that a number may be, of those whose lower is better.",
        ),
    ] = None,
    no_worse_than: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="The folder of an earlier run, whose model this one must not be worse than."),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            callback=comma_separated,
            help="Against RUN, which numbers, by their paths in results.json (default: the skill score).",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail on inconclusive gates too.")] = False,
    full: Full = False,
    output_dir: Annotated[
        Path | None,
        typer.Option(
            callback=folder_to_write, help="Folder for results, where a model is evaluated (default: in runs/MODEL)."
        ),
    ] = None,
    badge: Badge = None,
    form: Shown = "table",
    as_json: AsJson = False,
) -> None:
    """Fail a build whose model misses a bound, or is worse than before.

    A gate fails where the whole 95 % interval lies below the bound (above it,
    for --max): what a sample came to by chance stops no build. With --strict
    it passes only where the whole interval reaches the bound. Against a run
    it fails where a number is significantly worse on the same examples, and
    with --strict where it may be worse by more than .1.

    A model is asked a sample of the sets that gates are on; or with RUN, what
    that run asked, if it left a run.yaml.

    Exit code 0: no gate fails. 1: one does, or nothing could be checked. 2:
    wrong usage.

      unbag check ORG/MODEL --min permuted:score=.2,swapped:accuracy_after=.6
      unbag check runs/new --no-worse-than runs/old --strict
      unbag check runs/new --max swapped:drop=.1 --badge badge.svg
    """
    from unbag.challenge_sets.results import FILE, explain_damaged_records, read
    from unbag.evaluation import gates
    from unbag.evaluation.verdict import of_model
    from unbag.inference.distributed import process_group
    from unbag.reports import badge as badges
    from unbag.reports import gates as gated

    if not (least or most or no_worse_than):
        raise typer.BadParameter("expected a gate: --min, --max or --no-worse-than")
    if metric and no_worse_than is None:
        raise typer.BadParameter("--metric is for --no-worse-than, found none; a bound names its number itself")
    validate_output_form(form, as_json=as_json)
    bounds = [*_bounds(least, "min"), *_bounds(most, "max")]
    before = None if no_worse_than is None else _file(no_worse_than)
    if no_worse_than is not None and before is None:
        raise typer.BadParameter(f"expected a folder with {FILE} for --no-worse-than, found {no_worse_than}")
    run = _file(Path(model))
    if run is None:
        run = _evaluated(ctx, model, pairs, asked, bounds, before, output_dir, full=full, visible=not as_json) / FILE
    elif given := _given(pairs, asked, full=full, output_dir=output_dir):
        raise typer.BadParameter(f"{', '.join(given)}: for a model to evaluate, found a run, {model}")
    if process_group().rank:  # the first one tells, and a launcher that sees another fail would end it before it has
        return
    notes: list[str] = []
    with explain_damaged_records(run, *([] if before is None else [before])):
        results = gates.of_one_model(read(run), str(run))
        checked = gates.check(results, bounds)
        if before is not None:
            against, notes = gates.no_worse_than(run, before, metric or ())
            checked += against
        if badge is not None:
            badges.write(of_model(results), badge)
        view = gated.view(checked, notes, strict=strict)
        to_paste = gated.exported(checked, notes, strict=strict)
    show(form, view, to_paste, as_json=as_json)
    if any(each.stops(strict=strict) for each in checked):
        raise typer.Exit(1)


def _bounds(texts: Sequence[str] | None, side: "Side") -> "list[GateBound]":
    from unbag.evaluation import gates

    try:
        return [gates.bound(text, side) for text in texts or ()]
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _file(path: Path) -> Path | None:
    """Return the results file that a path names; None if it names none, and so a model."""
    from unbag.challenge_sets.results import FILE

    if path.is_dir():
        path = path / FILE
    return path if path.is_file() and path.suffix == ".json" else None


def _given(pairs: PairOptions, asked: ModelOptions, *, full: bool, output_dir: Path | None) -> list[str]:
    """Return the options that are given and say how to evaluate a model."""
    named = [
        f"--{field.name.replace('_', '-')}"
        for group in (pairs, asked)
        for field in fields(group)
        if getattr(group, field.name) != field.default and field.name not in ("lexical_baseline", "shuffled", "offline")
    ]
    return [*named, *(["--full"] if full else []), *(["--output-dir"] if output_dir else [])]


def _evaluated(
    ctx: typer.Context,
    model: str,
    pairs: PairOptions,
    asked: ModelOptions,
    bounds: "Sequence[GateBound]",
    before: Path | None,
    output_dir: Path | None,
    *,
    full: bool,
    visible: bool,
) -> Path:
    """Evaluate a model on what gates are on, and return the folder where the first process leaves its results."""
    from unbag.challenge_sets.results import read
    from unbag.evaluation import prefetch
    from unbag.inference.distributed import process_group
    from unbag.inference.prediction_store import PREDICTIONS

    asked.check([model])
    found = None if before is None else before.parent / config_file.FILE
    run = None
    if found is not None and found.is_file() and pairs == PairOptions() and not full:
        run = config_file.recorded(found, ctx.command.params)
        asked = replace(
            asked,
            lexical_baseline=asked.lexical_baseline and run.lexical_baseline,
            shuffled=asked.shuffled and run.shuffled,
        )
    sets = [*(each.set for each in bounds), *(result.set for result in (read(before) if before else ()))]
    requests = _requests(list(dict.fromkeys(sets)), pairs, run, full=full)
    options = asked.of_model() | in_folder_name(asked.lexical_baseline, asked.shuffled)
    names = "+".join(request.name for request in requests)
    folder = output_dir or run_folder([model], requests, options, about=f"check-{names}")
    if asked.offline:
        wanted = prefetch.of_run(requests, [model], revision=asked.revision, train_data=options["train_data"])
        prefetch.require(wanted)
    failures: list[Failure] = []
    results = ask(
        [model],
        requests,
        asked,
        folder,
        predictions=None if output_dir else RUNS / PREDICTIONS,
        on_failure=failures.append if len(requests) > 1 else None,
        visible=visible,
        quiet=True,
    )
    if process_group().rank:
        return folder
    failed(failures, several=False, named=True)
    if failures:
        raise typer.Exit(1)
    if results:
        leave(results, folder)
    return folder


def _requests(
    sets: Sequence[str], pairs: PairOptions, run: config_file.Recorded | None, *, full: bool
) -> "list[Request]":
    """Return samples of sets, or all of each; or as an earlier run asked them."""
    from unbag.challenge_sets import suite

    if run is None:
        whole = sets if full else ()
    else:
        pairs, whole = run.pairs, sets if run.full else run.sets
    return [request if request.name in whole else suite.sampled(request) for request in pairs.requests(sets)]
