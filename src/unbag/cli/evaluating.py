"""Commands that score a model: `unbag evaluate` and `unbag score`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal
from urllib.parse import urlsplit

import typer

from unbag.cli.output import AsJson, failed, report
from unbag.cli.prefetching import Offline
from unbag.cli.request_options import PairOptions
from unbag.cli.run_folder import CROSS, RUNS, run_folder
from unbag.cli.set_selection import Full, Sets, selected
from unbag.cli.shared_options import with_shared_options
from unbag.cli.watching import watch
from unbag.options import listed

if TYPE_CHECKING:
    from unbag.failures import Failure
    from unbag.llm.spending import Spending
    from unbag.request import Request

# As in `unbag.inference.transformer`, which is too heavy to import for a help page; a test holds them together.
Dtype = Literal["float32", "bfloat16", "float16"]
Head = Literal["plain", "residual"]

_BASELINES: Final = "For the built-in models (lexical, hypothesis-only, majority)"
_IN_WORDS: Final = "For language models (causal:…, endpoint:…)"
_AGAINST: Final = "Hold scores against a lexical model too (default), or against guessing alone."
_CROSS: Final = "snli-test,mnli-validation_matched,mnli-validation_mismatched,sick-test"  # ReSNLI paper, Table 2


@with_shared_options
def evaluate(
    pairs: PairOptions,
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help="Hub id, folder, or module:function of your own; causal:ID or endpoint:NAME, a language model; "
            "lexical, hypothesis-only or majority.",
        ),
    ],
    sets: Sets = None,
    full: Full = False,
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
        typer.Option(metavar="HEAD", help="plain (default), or residual: of a HEX model, F_L instead of f([h, 0])."),
    ] = None,
    label_map: Annotated[str | None, typer.Option(help="The model's labels in output order, comma between.")] = None,
    trust_labels: Annotated[
        bool, typer.Option("--trust-labels", help="Go on although another label order fits the model better.")
    ] = False,
    lexical: Annotated[bool, typer.Option("--lexical/--no-lexical", envvar="UNBAG_LEXICAL", help=_AGAINST)] = True,
    offline: Offline = False,
    training: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=_BASELINES,
            help="What they are fitted to: corpora or files, comma between (default: snli,mnli).",
        ),
    ] = None,
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
) -> None:
    """Evaluate models on challenge sets.

    Asks a sample of every set, in minutes for a small model, and shows each
    set's table as it comes. Leaves tables, results.json, predictions, and
    what `unbag compare` needs in a folder. A run that was stopped goes on
    where it was when given again. A set is left out, and named at the end,
    where a package, a file or pairs for it are not at hand; any other failure
    is exit code 1.

      unbag evaluate ORG/MODEL
      unbag evaluate ORG/MODEL --full
      unbag evaluate cross-encoder/nli-deberta-v3-base --corpus mnli
      unbag evaluate ORG/MODEL --sets cs_lambda --sets swapped
      unbag evaluate ORG/MODEL lexical majority --cross --corpus snli,sick
      unbag evaluate ./my-model --data pairs.csv --examples 500
      unbag evaluate my_module:predict --split test
      unbag evaluate causal:ORG/LM --shots 3 --sets cs_lambda
      unbag evaluate endpoint:NAME --base-url http://localhost:8000/v1
      torchrun --nproc_per_node 2 -m unbag evaluate ORG/MODEL
    """
    from unbag import evaluation, prefetch
    from unbag.inference.process_group import process_group
    from unbag.lexical.predictors import BASELINES
    from unbag.predictors import prompted

    if offline and not _is_of_this_machine(base_url):
        for model in models:
            if prompted(model) == "endpoint":
                raise typer.BadParameter(
                    f"{model} is asked over the network, which --offline keeps from; leave one out"
                )
    if cross and (sets or full):
        raise typer.BadParameter("--cross is a table of its own: it takes neither --sets nor --full")
    if training and not set(models) & set(BASELINES):
        raise typer.BadParameter(
            f"--training is for the built-in models {', '.join(BASELINES)}; an option of a set is -o training=…"
        )
    failures: list[Failure] = []
    absent: list[Failure] = []
    if cross:
        requests = [_plain(name, pairs.examples) for name in listed(pairs.corpus or _CROSS)]
        about = f"{CROSS}-{'+'.join(listed(pairs.corpus))}" if pairs.corpus else CROSS
    else:
        requests = selected(pairs, sets, full=full, on_failure=failures.append)
        if not requests:
            raise failures[0].error
        about = "+".join(sets) if sets else "full" if full else "suite"
    options: dict[str, Any] = {
        "revision": revision,
        "dtype": dtype,
        "device": device,
        "head": head,
        "label_map": _label_map(label_map),
        "training": listed(*training) if training else None,
        "shots": shots,
        "chat": chat,
        "base_url": base_url,
        "concurrency": concurrency,
    }
    folder = out or run_folder(models, requests, options, about=about)
    if offline:
        in_suite = not (sets or cross)  # of which those are asked that are there
        wanted = prefetch.of_run(() if in_suite else requests, models, revision=revision, training=options["training"])
        prefetch.require(wanted)
        if in_suite:
            requests, absent = _at_hand(requests)
    several = len(requests) > 1
    first = process_group().rank == 0
    with (
        _spending(models, price_in, price_out) as spending,
        watch(len(requests), visible=not as_json and first, quiet=cross) as watched,
    ):
        results = evaluation.evaluate_all(
            models,
            requests,
            out=folder,
            predictions=None if out else RUNS / "predictions",
            trust_labels=trust_labels,
            lexical=lexical and not cross,
            left_out=(*failures, *absent),
            on_set=watched.on_set,
            on_progress=watched.on_progress,
            on_result=watched.on_result,
            on_failure=failures.append if several and not cross else None,
            **options,
            spending=spending,
        )
    report(results, folder, as_json=as_json, cross=cross, seen=not cross)
    if process_group().rank:  # the first one tells; and a launcher that sees another fail would end it before it has
        return
    failed(failures, several=len(models) > 1)
    # Who named the sets wants them all; of the suite, what is not installed or to be had is no failure.
    if not results or any(sets or not failure.is_left_out for failure in failures):
        raise typer.Exit(1)


@with_shared_options
def score(
    pairs: PairOptions,
    predictions: Annotated[
        Path, typer.Argument(help="csv, tsv, jsonl or parquet: id, and prediction or a column a label.")
    ],
    name: Annotated[str, typer.Option("--set", help="The challenge set that was predicted.")] = "permuted",
    out: Annotated[Path | None, typer.Option(help="Folder for results (default: runs/FILE/SET-PAIRS).")] = None,
    lexical: Annotated[bool, typer.Option("--lexical/--no-lexical", envvar="UNBAG_LEXICAL", help=_AGAINST)] = True,
    offline: Offline = False,
    as_json: AsJson = False,
) -> None:
    """Score predictions made elsewhere, without the model.

    The file has a row for each row of the set (unbag build writes it), with
    the id and either the predicted label (column prediction) or the
    probabilities (columns entailment, neutral, contradiction).

      unbag score predictions.csv --set permuted --corpus snli
    """
    from unbag import evaluation, prefetch

    [request] = pairs.requests([name])
    folder = out or run_folder([str(predictions)], [request], {}, about=name)
    if offline:
        prefetch.require(prefetch.of_run([request]))
    result = evaluation.evaluate_file(predictions, request, out=folder, lexical=lexical)
    report([result], folder, as_json=as_json)


def _at_hand(requests: "list[Request]") -> "tuple[list[Request], list[Failure]]":
    """Return the sets of which nothing is missing on this machine, and the others; tell at once what is of these."""
    from unbag import prefetch
    from unbag.failures import Failure

    available, absent = [], []
    for request in requests:
        if lacking := prefetch.missing(prefetch.of_run([request])):
            reason = f"offline and without {', '.join(lacking)}"
            typer.secho(f"{request.name}: left out, {reason}", err=True, fg="yellow")
            absent.append(Failure(request.name, prefetch.MissingError(reason)))
        else:
            available.append(request)
    if not available:
        raise prefetch.MissingError("offline, and of no set all is on this machine; fetch it with `unbag prefetch`")
    return available, absent


@contextmanager
def _spending(models: list[str], price_in: float | None, price_out: float | None) -> Iterator["Spending | None"]:
    """Give where to count what endpoints cost, and show it at the end, however that comes; None without endpoints."""
    from unbag.predictors import prompted

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


def _is_of_this_machine(address: str | None) -> bool:
    host = urlsplit(address or "").hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _plain(name: str, examples: int | None) -> Any:
    from unbag import sets
    from unbag.request import Request

    corpus, _, split = name.strip().partition("-")
    return Request("plain", sets.config_name("plain", corpus, split or None, {})[0], examples=examples)


def _label_map(text: str | None) -> dict[str, str] | None:
    from unbag.labels import parse_label_map

    return None if text is None else parse_label_map(text)
