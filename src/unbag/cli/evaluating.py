"""Commands that score a model: `unbag evaluate` and `unbag score`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from unbag.cli.pairs import Requests, with_pairs
from unbag.cli.shown import AsJson, progress, report

if TYPE_CHECKING:
    from unbag.llm.spending import Spending

# As in `unbag.inference.transformer`, which is too heavy to import for a help page; a test holds them together.
Dtype = Literal["float32", "bfloat16", "float16"]
Head = Literal["plain", "residual"]

_IN_WORDS: Final = "For language models (causal:…, endpoint:…)"
_RUNS: Final = Path("runs")
_CROSS: Final = "snli-test,mnli-validation_matched,mnli-validation_mismatched,sick-test"  # ReSNLI paper, Table 2


@with_pairs
def evaluate(
    pairs: Requests,
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help="Hub id, folder, or module:function of your own; causal:ID or endpoint:NAME, a language model; "
            "lexical, hypothesis-only or majority.",
        ),
    ],
    sets: Annotated[
        list[str], typer.Option(help="A challenge set (unbag sets lists them); give the option again for another.")
    ] = ["permuted"],  # noqa: B006  (typer reads the default)
    cross: Annotated[
        bool,
        typer.Option("--cross", help="Instead of sets, the cross-domain table: accuracy of each model on each corpus."),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for results and predictions (default: runs/MODEL/SETS-PAIRS).")
    ] = None,
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit of the model.")] = None,
    dtype: Annotated[
        Dtype | None, typer.Option(metavar="DTYPE", help="float32 (default), bfloat16 or float16.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="As torch names it; by default a GPU if there is one.")] = None,
    head: Annotated[
        Head | None,
        typer.Option(metavar="HEAD", help="plain (default), or residual: of a HEX model, less what words explain."),
    ] = None,
    label_map: Annotated[str | None, typer.Option(help="The model's labels in output order, comma between.")] = None,
    trust_labels: Annotated[
        bool, typer.Option("--trust-labels", help="Go on although another label order fits the model better.")
    ] = False,
    shots: Annotated[
        int | None,
        typer.Option(rich_help_panel=_IN_WORDS, help="Worked examples before each pair: 0 (default), 3 or 6."),
    ] = None,
    chat: Annotated[
        bool | None,
        typer.Option(
            "--chat/--no-chat",
            rich_help_panel=_IN_WORDS,
            help="causal: ask by the tokenizer's chat template (default: where it has one).",
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_IN_WORDS,
            help="endpoint: its address up to /v1. The key is read from OPENAI_API_KEY in the environment.",
        ),
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(rich_help_panel=_IN_WORDS, help="endpoint: requests at a time (default: 8).")
    ] = None,
    price_in: Annotated[
        float | None,
        typer.Option(rich_help_panel=_IN_WORDS, help="endpoint: price of a million tokens of questions."),
    ] = None,
    price_out: Annotated[
        float | None, typer.Option(rich_help_panel=_IN_WORDS, help="endpoint: price of a million tokens of answers.")
    ] = None,
    as_json: AsJson = False,
    corpus: str | None = None,
    examples: int | None = None,
    training: str | None = None,
) -> None:
    """Evaluate models on challenge sets.

    Builds the sets, predicts, prints a table, and leaves the table,
    results.json and the predictions in a folder. A run that was stopped goes
    on where it was when given again.

      unbag evaluate cross-encoder/nli-deberta-v3-base --corpus mnli
      unbag evaluate ORG/MODEL --sets cs_lambda --sets swapped
      unbag evaluate ORG/MODEL lexical majority --cross --corpus snli,sick
      unbag evaluate ./my-model --data pairs.csv --examples 500
      unbag evaluate my_module:predict --split test
      unbag evaluate causal:ORG/LM --shots 3 --sets cs_lambda
      unbag evaluate endpoint:NAME --base-url http://localhost:8000/v1
      torchrun --nproc_per_node 2 -m unbag evaluate ORG/MODEL
    """
    from unbag import evaluation
    from unbag.lexical.predictors import BASELINES

    if cross:
        requests = [_plain(name, examples) for name in (corpus or _CROSS).split(",")]
        which = "cross"
    else:
        baseline = bool(set(models) & set(BASELINES))
        requests = pairs(sets, elsewhere=frozenset({"training"} if baseline else ()))
        # By the sets and pairs too: the same model on others must not take the place of these results.
        which = f"{'+'.join(sets)}-{requests[0].config or Path(requests[0].options['data']).stem}"
    folder = out or _RUNS / "+".join(map(_folder_name, models)) / which
    options: dict[str, Any] = {
        "revision": revision,
        "dtype": dtype,
        "device": device,
        "head": head,
        "label_map": _label_map(label_map),
        "training": tuple(training.split(",")) if training and set(models) & set(BASELINES) else None,
        "shots": shots,
        "chat": chat,
        "base_url": base_url,
        "concurrency": concurrency,
    }
    with _spending(models, price_in, price_out) as spending, progress(shown=not as_json) as on_progress:
        results = evaluation.evaluate_all(
            models,
            requests,
            out=folder,
            predictions=None if out else _RUNS / "predictions",
            trust_labels=trust_labels,
            on_progress=on_progress,
            **options,
            spending=spending,
        )
    report(results, folder, as_json=as_json, cross=cross)


@with_pairs
def score(
    pairs: Requests,
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

    folder = out or _RUNS / predictions.stem
    [request] = pairs([name])
    result = evaluation.evaluate_file(predictions, request, out=folder)
    report([result], folder, as_json=as_json)


@contextmanager
def _spending(models: list[str], price_in: float | None, price_out: float | None) -> Iterator["Spending | None"]:
    """Give where to count what endpoints cost, and show it at the end, however that comes; None without endpoints."""
    from unbag.inference.naming import prompted

    if not any(prompted(model) == "endpoint" for model in models):
        if price_in is not None or price_out is not None:
            raise typer.BadParameter("a price is for a model behind an endpoint (endpoint:NAME)")
        yield None
        return
    from unbag.llm.spending import Spending

    spending = Spending(price_in, price_out)
    try:
        yield spending
    finally:
        typer.echo(str(spending), err=True)


def _plain(name: str, examples: int | None) -> Any:
    from unbag import sets
    from unbag.built import Request

    corpus, _, split = name.strip().partition("-")
    return Request("plain", sets.config_name("plain", corpus, split or None, {})[0], examples=examples)


def _folder_name(model: str) -> str:
    return model.strip("./").replace("/", "__").replace(":", "__")


def _label_map(text: str | None) -> dict[str, str] | None:
    from unbag.labels import parse_label_map

    return None if text is None else parse_label_map(text)
