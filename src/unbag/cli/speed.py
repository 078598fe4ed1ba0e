"""The command `unbag speed`."""

from dataclasses import replace
from typing import Annotated, Final

import typer

from unbag.cli.model_options import ModelOptions
from unbag.cli.options import PairOptions
from unbag.cli.output import TableOptions

_SHOWN: Final = ("kind", "model_file", "dtype", "device")
"""Keys of a predictor's identity that affect its speed."""
_COLUMNS: Final = ("pairs per call", "pairs/s", "p50 ms", "p99 ms", "calls")
_NOTE: Final = (
    "p50 and p99 are the latency until the prediction of a pair. All times depend on the machine and its load."
)


def speed(
    pairs: PairOptions,
    model_options: ModelOptions,
    output: TableOptions,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Local model, as in `unbag evaluate`.")],
    rounds: Annotated[int, typer.Option(min=1, help="Number of measurement rounds (default: 3).")] = 3,
) -> None:
    """Measure the throughput of a model, and its p50 and p99 latency per pair.

    Predicts 256 pairs (--max-examples) with batch sizes from 1 to 128, in three
    rounds. The table has one row per batch size. Batch size 1 corresponds to a
    service without batching. Times include tokenization.

    The command always runs the model, and ignores stored predictions.

      unbag speed ORG/MODEL
      unbag speed ./exported --model-file onnx/model.onnx --data pairs.csv
      unbag speed ORG/MODEL --dtype bfloat16 --max-examples 64 --json
    """
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from unbag.challenge_sets.request import build_requested_set
    from unbag.data.columns import read_column
    from unbag.evaluation.model_loading import ENDPOINT, find_model_type, list_variants, load_predictor
    from unbag.inference.speed import PAIRS, measure_speed, select_fastest
    from unbag.reports.formats import ExportedTable, GroupedTable

    model_options.validate([model])
    if find_model_type(model) is ENDPOINT:
        raise typer.BadParameter(
            f"MODEL: expected a local model, got the endpoint {model}, which may cache predictions; use a local model"
        )
    given = model_options.loading_options
    [variant, *others] = list_variants([model], given)
    if others:
        raise typer.BadParameter(f"--prompt: expected one file, got {len(others) + 1}; use a single file")
    [request] = pairs.build_requests(["plain"])
    built = build_requested_set(request if request.max_examples is not None else replace(request, max_examples=PAIRS))
    premises, hypotheses = (read_column(built.rows, name).to_pylist() for name in ("premise", "hypothesis"))
    # The loader rejects options that the model does not support.
    predictor, name = load_predictor(model, **{**given, **variant.options})
    timings = measure_speed(predictor, premises, hypotheses, rounds=rounds)
    identity = dict(predictor.identity or {})
    where = [identity[key] for key in _SHOWN if identity.get(key, name) != name]
    title = " · ".join(
        [name, f"{len(premises):,} pairs of {built.data['name']}", *([", ".join(where)] if where else [])]
    )
    record = {"model": {"name": name, **identity}, "data": dict(built.data), "pairs": len(premises), "rounds": rounds}
    table = Table(*_COLUMNS, box=box.SIMPLE_HEAD, pad_edge=False)
    for column in table.columns:
        column.justify, column.no_wrap = "right", True
    best, rows = select_fastest(timings), []
    for each in timings:
        calls = f"{each.pairs_per_call}{' (best)' if each is best else ''}"
        cells = (calls, f"{each.pairs_per_second:,.1f}", f"{each.p50:.1f}", f"{each.p99:.1f}", f"{each.calls:,}")
        rows.append(cells)
        table.add_row(*cells, style="bold" if each is best else "")
    flat = [each._asdict() for each in timings]
    exported = ExportedTable(
        [GroupedTable(title, _COLUMNS, [rows], n_text_columns=1, notes=(_NOTE,))],
        flat,
        {**record, "timings": flat, "best": best._asdict()},
    )
    output.print(Group(Text(title), table, Text(_NOTE, style="dim")), exported)
