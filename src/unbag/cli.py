"""The command line: `unbag …`.

Nothing heavy is imported before a command needs it, so that `unbag --help` answers at once.
"""

import json
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from unbag.built import Request
    from unbag.evaluation import OnProgress

FAILED: Final = 1
USAGE: Final = 2

app = typer.Typer(
    name="unbag",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Does an NLI model read sentences, or count words?\n\n"
    "[bold]unbag evaluate ORG/MODEL[/bold] asks a model of the Hub; [bold]unbag demo[/bold] shows the flow offline.",
)

Sets = Annotated[list[str], typer.Option(help="A challenge set; give the option again for another.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script to read.")]

_WHICH: Final = "Which pairs"

# As in `unbag.perturb.permutation` and `unbag.inference.transformer`, which are too heavy to import for a help page; a
# test holds them together.
_Mode = Literal["both", "hypothesis", "clumped_25", "clumped_50", "clumped_75"]
_Dtype = Literal["float32", "bfloat16", "float16"]
_Q, _MIN_WORDS, _SEED = 100, 8, 13


def _pairs(
    corpus: Annotated[
        str | None,
        typer.Option(rich_help_panel=_WHICH, help="Base corpus: snli, mnli, anli, sick or ocnli (default: snli)."),
    ] = None,
    split: Annotated[
        str | None, typer.Option(rich_help_panel=_WHICH, help="Its split (default: the one the papers evaluate on).")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_WHICH,
            help="Pairs of your own instead: a csv, tsv, jsonl or parquet file, or a data set id on the Hub.",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_WHICH,
            help="Its columns where unusually named, such as premise=text,label=gold (also hypothesis, id).",
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_WHICH,
            help="Its labels 0, 1, 2 by name, comma between, where it has numbers only.",
        ),
    ] = None,
    language: Annotated[Literal["en", "zh"], typer.Option(rich_help_panel=_WHICH, help="Its language.")] = "en",
    mode: Annotated[
        _Mode,
        typer.Option(
            metavar="MODE", rich_help_panel=_WHICH, help="What is permuted: both, hypothesis, clumped_25, _50 or _75."
        ),
    ] = "both",
    q: Annotated[int, typer.Option("--q", rich_help_panel=_WHICH, help="Permutations of each pair.")] = _Q,
    min_words: Annotated[
        int, typer.Option(rich_help_panel=_WHICH, help="Words that both sentences must have.")
    ] = _MIN_WORDS,
    seed: Annotated[
        int, typer.Option(rich_help_panel=_WHICH, help="Decides every permutation, and which examples are drawn.")
    ] = _SEED,
    examples: Annotated[
        int | None, typer.Option(rich_help_panel=_WHICH, help="Draw this many examples instead of taking all.")
    ] = None,
) -> Callable[[str], "Request"]:
    """Return what makes the request for a set, by its name, from the options that say which pairs."""
    from unbag import corpora
    from unbag.built import Request

    if data is not None and corpus is not None:
        raise typer.BadParameter("name either --corpus or --data")
    options: dict[str, Any] = {"q": q, "min_words": min_words, "seed": seed}
    config = None
    if data is None:
        chosen = corpora.corpus(corpus or "snli")
        config = "-".join([chosen.name, chosen.split(split), *([] if mode == "both" else [mode])])
    else:
        options |= {"mode": mode, "data": data, "language": language, "source_split": split}
        if columns:
            options["columns"] = dict(_pair(part) for part in columns.split(","))
        if labels:
            options["labels"] = [label.strip() for label in labels.split(",")]
    return lambda name: Request(name, config, options, examples, seed)


def _pair(part: str) -> tuple[str, str]:
    ours, equals, theirs = part.partition("=")
    if not equals:
        raise typer.BadParameter(f"expected --columns premise=…,hypothesis=…,label=…; found {part!r}")
    return ours.strip(), theirs.strip()


def _with_pairs(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `_pairs`; it is handed what `_pairs` returns, as `pairs`."""
    own = [parameter for parameter in signature(command).parameters.values() if parameter.name != "pairs"]
    shared = list(signature(_pairs).parameters.values())

    @wraps(command)
    def run(**given: Any) -> None:
        pairs = _pairs(**{parameter.name: given.pop(parameter.name) for parameter in shared})
        command(pairs=pairs, **given)

    # typer reads a command's options off its signature and its annotations.
    parameters = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in (*own, *shared)]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


@app.command()
@_with_pairs
def evaluate(
    pairs: Callable[[str], "Request"],
    model: Annotated[str, typer.Argument(help="Hub id, folder, or module:function of your own.")],
    sets: Sets = ["permuted"],  # noqa: B006  (typer reads the default)
    out: Annotated[
        Path | None, typer.Option(help="Folder for results and predictions (default: runs/MODEL/PAIRS).")
    ] = None,
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit of the model.")] = None,
    dtype: Annotated[
        _Dtype | None, typer.Option(metavar="DTYPE", help="float32 (default), bfloat16 or float16.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="As torch names it; by default a GPU if there is one.")] = None,
    label_map: Annotated[str | None, typer.Option(help="The model's labels in output order, comma between.")] = None,
    trust_labels: Annotated[
        bool, typer.Option("--trust-labels", help="Go on although another label order fits the model better.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Evaluate a model on challenge sets.

    Builds the sets, predicts, prints a table, and leaves the table,
    results.json and the predictions in a folder. A run that was stopped goes
    on where it was when given again.

      unbag evaluate cross-encoder/nli-deberta-v3-base --corpus mnli
      unbag evaluate ./my-model --data pairs.csv --examples 500
      unbag evaluate my_module:predict --split test
      torchrun --nproc_per_node 2 -m unbag evaluate ORG/MODEL
    """
    from unbag import evaluation

    requests = [pairs(name) for name in sets]
    # By the pairs too: the same model on another corpus must not take the place of these results.
    which = requests[0].config or Path(requests[0].options["data"]).stem
    folder = out or Path("runs") / model.strip("./").replace("/", "__").replace(":", "__") / which
    model_options: dict[str, Any] = {
        "revision": revision,
        "dtype": dtype,
        "device": device,
        "label_map": _label_map(label_map),
    }
    with _progress(shown=not as_json) as on_progress:
        results = evaluation.evaluate(
            model,
            requests,
            out=folder,
            trust_labels=trust_labels,
            on_progress=on_progress,
            **{name: value for name, value in model_options.items() if value is not None},
        )
    _report(results, folder, as_json=as_json)


@app.command()
@_with_pairs
def score(
    pairs: Callable[[str], "Request"],
    predictions: Annotated[
        Path, typer.Argument(help="csv, tsv, jsonl or parquet: id, and prediction or a column a label.")
    ],
    name: Annotated[str, typer.Option("--set", help="The challenge set that was predicted.")] = "permuted",
    out: Annotated[Path | None, typer.Option(help="Folder for results (default: runs/FILE).")] = None,
    as_json: AsJson = False,
) -> None:
    """Score predictions made elsewhere, without the model.

    The file has a row for each row of the set (unbag build writes it), with
    the id and either the predicted label (column prediction) or the
    probabilities (columns entailment, neutral, contradiction).

      unbag score predictions.csv --set permuted --corpus snli
    """
    from unbag import evaluation

    folder = out or Path("runs") / predictions.stem
    result = evaluation.evaluate_file(predictions, pairs(name), out=folder)
    _report([result], folder, as_json=as_json)


@app.command()
@_with_pairs
def build(
    pairs: Callable[[str], "Request"],
    name: Annotated[str, typer.Argument(help="The challenge set, e.g. permuted.")],
    out: Annotated[Path, typer.Option(help="The Parquet file to write.")],
    as_json: AsJson = False,
) -> None:
    """Build a challenge set as a Parquet file.

    unbag build permuted --corpus snli --split test --out snli-test-permuted.parquet
    """
    from unbag.built import export

    record = export(pairs(name), out)
    if as_json:
        typer.echo(json.dumps(record))
    else:
        from unbag.report.cells import left_out

        used = f"{record['examples']:,} examples, {record['rows']:,} rows"
        typer.echo(f"{out}: {used} ({left_out(record['data'])})")


@app.command(name="sets")
def list_sets(as_json: AsJson = False) -> None:
    """List the challenge sets, and the corpora they can be built from."""
    from unbag.corpora import CORPORA
    from unbag.sets import summaries

    found = summaries()
    if as_json:
        typer.echo(json.dumps({"sets": found, "corpora": {name: c.splits for name, c in CORPORA.items()}}))
        return
    from rich.table import Table

    table = Table("set", "what it is", box=None, header_style="bold")
    table.add_column("paper", overflow="fold")  # an address that is cut off is none
    for entry in found:
        table.add_row(entry["name"], entry["summary"], entry["paper"])
    corpora = Table(
        "corpus", "data set", "splits (the first is evaluated by default)", "licence", box=None, header_style="bold"
    )
    for c in CORPORA.values():
        corpora.add_row(c.name, c.hub_id, " ".join(c.splits), c.licence)
    for part in (table, "", corpora):
        _console().print(part)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for results and predictions.")] = Path("runs/demo"),
    as_json: AsJson = False,
) -> None:
    """Show the whole flow offline, in half a minute.

    A small grammar writes captions and pairs them, with labels that follow
    from what they mean. A bag of words is fitted to some of them and
    evaluated on others, in order and permuted.
    """
    from unbag.demo.run import run

    with _progress(shown=not as_json) as on_progress:
        results = run(out, on_progress=on_progress)
    _report(results, out, as_json=as_json)


def main() -> None:
    """Run the command: exit 0 when done, 1 when failed, 2 on wrong usage."""
    logging.basicConfig(format="%(levelname)s %(message)s", level=logging.WARNING)
    try:
        app()
    except (ValueError, ImportError, OSError) as error:  # ours, or what a disk or network says: no traceback needed
        typer.secho(f"unbag: {error}", err=True, fg=typer.colors.RED)
        sys.exit(FAILED)
    except KeyboardInterrupt:
        typer.secho("unbag: stopped; the same command goes on from here", err=True)
        sys.exit(FAILED)


def _label_map(text: str | None) -> dict[str, str] | None:
    from unbag.labels import parse_label_map

    return None if text is None else parse_label_map(text)


def _console(*, err: bool = False) -> "Console":
    from rich.console import Console

    return Console(stderr=err, highlight=False)


@contextmanager
def _progress(*, shown: bool) -> Iterator["OnProgress | None"]:
    """Give a function that moves a progress bar a set, on standard error; none where not shown."""
    if not shown:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("rows"))
    with Progress(*columns, TimeRemainingColumn(), console=_console(err=True)) as progress:
        tasks: dict[str, Any] = {}

        def tell(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = progress.add_task(f"predicting {name}", total=total)
            progress.update(tasks[name], completed=done)

        yield tell


def _report(results: Any, folder: Path, *, as_json: bool) -> None:
    """Show results and leave the table beside them; only the first of several processes has any."""
    if not results:
        return
    from unbag.report import terminal

    terminal.write(results, folder / "table.txt")
    if as_json:
        typer.echo((folder / "results.json").read_text(encoding="utf-8"), nl=False)
        return
    terminal.show(results, _console())
    typer.echo(f"in {folder}: {', '.join(sorted(path.name for path in folder.iterdir()))}")
