"""The command `unbag speed`."""

from dataclasses import replace
from typing import Annotated, Final

import typer

from unbag.cli.model_options import ModelOptions
from unbag.cli.options import PairOptions, with_shared_options
from unbag.cli.output import AsJson, Shown, show, validate_output_form

_SHOWN: Final = ("kind", "model_file", "dtype", "device")
"""Keys of a predictor's identity that explain its speed."""


@with_shared_options
def speed(
    pairs: PairOptions,
    model_options: ModelOptions,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Local model, as in `unbag evaluate`.")],
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of the measurement.")] = 3,
    form: Shown = "table",
    as_json: AsJson = False,
) -> None:
    """Measure the speed of a model: pairs per second, and p50 and p99 per pair.

    Predicts 256 pairs (--max-examples) with 1 to 128 pairs per call, in three
    rounds. The table has one row per number of pairs per call; 1 is a service
    that predicts each pair as it comes. Times include tokenization.

    Predictions are neither stored nor read from a store.

      unbag speed ORG/MODEL
      unbag speed ./exported --model-file onnx/model.onnx --data pairs.csv
      unbag speed ORG/MODEL --dtype bfloat16 --max-examples 64 --json
    """
    from unbag.challenge_sets.request import build_requested_set
    from unbag.data.columns import read_column
    from unbag.evaluation.model_loading import ENDPOINT, find_model_type, list_variants, load_predictor
    from unbag.inference.speed import PAIRS, measure_speed
    from unbag.reports import speed as speed_views

    validate_output_form(form, as_json=as_json)
    model_options.validate([model])
    if find_model_type(model) is ENDPOINT:
        raise typer.BadParameter(f"MODEL: expected a model on this machine, got {model}; its answers may be stored")
    given = {name: value for name, value in model_options.loading_options().items() if value is not None}
    [variant, *others] = list_variants([model], given)
    if others:
        raise typer.BadParameter(f"--prompt: expected one file, got {len(others) + 1}; name one")
    [request] = pairs.requests(["plain"])
    built = build_requested_set(request if request.max_examples is not None else replace(request, max_examples=PAIRS))
    premises, hypotheses = (read_column(built.rows, name).to_pylist() for name in ("premise", "hypothesis"))
    # Options that do not fit the model are rejected by name.
    predictor, name = load_predictor(model, **{**given, **variant.options})
    timings = measure_speed(predictor, premises, hypotheses, rounds=rounds)
    identity = dict(predictor.identity or {})
    where = [identity[key] for key in _SHOWN if identity.get(key, name) != name]
    title = " · ".join(
        [name, f"{len(premises):,} pairs of {built.data['name']}", *([", ".join(where)] if where else [])]
    )
    record = {"model": {"name": name, **identity}, "data": dict(built.data), "pairs": len(premises), "rounds": rounds}
    show(form, speed_views.view(timings, title), speed_views.exported(timings, title, record), as_json=as_json)
