"""`unbag.evaluate`: a model in, a report out; what `unbag evaluate` does, from Python."""

import logging
import tempfile
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unbag.challenge_sets import results, suite
from unbag.challenge_sets.failures import Failure
from unbag.challenge_sets.request import Request
from unbag.challenge_sets.results import SkippedSet
from unbag.challenge_sets.selection import Pairs
from unbag.data.labels import parse_label_map
from unbag.evaluation import evaluator, result_folder
from unbag.evaluation.backends import open_backend, validate_backend
from unbag.evaluation.evaluator import OnProgress
from unbag.evaluation.model_loading import Model, is_recognised
from unbag.inference.distributed import process_group
from unbag.inference.prediction_store import PREDICTIONS
from unbag.inference.shards import Shard
from unbag.reports.report import Report
from unbag.utils import parallel
from unbag.utils.files import cache_folder
from unbag.utils.options import check_int
from unbag.utils.progress import progress_bars
from unbag.utils.safe_io import validate_writable
from unbag.utils.storage import Folder, is_address, upload_files

if TYPE_CHECKING:
    from unbag.inference.long_premises import LongPremise
    from unbag.inference.transformer import Dtype, Head

logger = logging.getLogger(__name__)


def evaluate(
    model: Model,
    sets: str | Request | Sequence[str | Request] | None = None,
    *,
    corpus: str | None = None,
    split: str | None = None,
    data: Path | str | None = None,
    columns: Mapping[str, str] | None = None,
    labels: Sequence[str] | None = None,
    language: str | None = None,
    max_examples: int | None = None,
    seed: int | None = None,
    options: Mapping[str, Any] | None = None,
    full: bool = False,
    output_dir: Path | str | None = None,
    shard: str | None = None,
    predictions_csv: Path | str | None = None,
    lexical_baseline: bool = True,
    shuffled: bool = True,
    num_proc: int = 1,
    engine: Literal["ray"] | None = None,
    num_gpus: float | None = None,
    revision: str | None = None,
    dtype: "Dtype | None" = None,
    device: str | None = None,
    head: "Head | None" = None,
    label_map: Mapping[str, str] | Sequence[str] | str | None = None,
    threshold: float | Literal["break-even"] | None = None,
    long_premise: "LongPremise | None" = None,
    trust_labels: bool = False,
    trust_remote_code: bool = False,
    max_length: int | None = None,
    batch_tokens: int | None = None,
    num_fewshot: int | None = None,
    apply_chat_template: bool | None = None,
    base_url: str | None = None,
    concurrency: int | None = None,
    retries: int | None = None,
    train_data: Sequence[str] | None = None,
    max_train_pairs: int | None = None,
    pipeline: str | None = None,
    progress: bool = True,
    progress_callback: OnProgress | None = None,
) -> Report:
    """Evaluate a model on challenge sets.

    A function is given the list of premises and the list of hypotheses and answers each pair with a label's name, its
    id (whose meaning `label_map` says), or probabilities; `unbag.inference.CallablePredictor` says how they are told
    apart.

    Args:
        model: a Hub id, a folder, a built-in model (`lexical`, `hypothesis-only`, `majority`), `causal:ORG/LM`,
            `endpoint:NAME`, `module:function`, a function, a `CrossEncoder`, a text-classification pipeline, or a
            predictor (`unbag.inference.Predictor`).
        sets: what to evaluate on: a name means all of that set. By default a sample of every set
            (`unbag.challenge_sets.suite`), of which those that cannot be had are warned of and left out.
        corpus: what the sets are made from, a corpus that `unbag sets` lists; by default each set's own.
        split: of the corpus; by default the one that the papers evaluate on.
        data: pairs of your own instead: a csv, tsv, jsonl or parquet file, or a data set of the Hub.
        columns: its names of our columns, `{"premise": "text", …}`, where they are unusual.
        labels: what its label ids 0, 1, 2 are called, or what each of its labels means (`E=entailment`).
        language: its language: `en` (default), `zh`, or another of XNLI's by its code.
        max_examples: Maximum number of source examples of each set; by default all, or the sample of the suite.
        seed: decides all that is drawn; 13 by default.
        options: of the sets, `{"q": 10}`; each set takes those that it has (`unbag sets NAME` lists them).
        full: all examples of every set, where none is named.
        output_dir: the folder for results and predictions, or its address (`s3://…`). A run that was stopped resumes
            there. Without one, results are kept with the report until it is saved. Predictions are stored in the user's
            cache folder (`UNBAG_CACHE`), except those of a function, which cannot be identified. The numbers are the
            same. A folder with results of the same model keeps them beside these; one of another model is rejected.
        shard: which of several processes this is that share the work without being connected, all with the same
            `output_dir` that all see: `0/3`, `1/3` or `2/3`. The first that finds all of it done has the results.
        predictions_csv: a csv file to write every pair to: `model`, `set`, `data`, `id`, `premise`, `hypothesis`,
            `gold`, `prediction`, and the probability of each label. Stored predictions are read, not made again.
        lexical_baseline: hold the scores against a lexical model on the same rows.
        shuffled: hold them against the model's own answers to the rows with shuffled words too; this takes about as
            many predictions again.
        num_proc: processes that build the sets and tag sentences; the results do not depend on it.
        engine: `ray` leaves the work to a Ray cluster, or to one on this machine (`pip install 'unbag[ray]'`).
            `output_dir` is a place that all its nodes see. Results do not depend on it.
        num_gpus: of `ray`: the share of a GPU that each copy of the model takes; by default 1 if there are any.
        revision: branch, tag or commit of a Hub model.
        dtype: float32 (default), bfloat16 or float16.
        device: as torch names it; by default a GPU if there is one.
        head: of a model trained by HEX: `plain` (default) or `residual`.
        label_map: which output, or which id, is which label: names in order, as a list or with commas between, or our
            name by the model's.
        threshold: of a model of one output (a reranker, a fact checker): from which share of its sigmoid on a pair is
            entailed; or `break-even`, where none is known: as many pairs as are labelled so, those it scores highest.
        long_premise: How a premise that is longer than the model reads is used: `truncate` (default), `any-chunk` (the
            sentences are joined to chunks that fit, and the chunk with the most probable entailment counts), or
            `every-sentence` (each sentence is a premise, likewise).
        trust_labels: go on although another order of the labels fits the model clearly better.
        trust_remote_code: run the Python code that the model's repository brings; the results name it.
        max_length: the most tokens a pair; by default what the model reads.
        batch_tokens: the most tokens a batch; by default what is fast.
        num_fewshot: of a language model: worked examples before each pair, 0 (default), 3 or 6.
        apply_chat_template: of `causal:`: whether to ask by the chat template; by default where there is one.
        base_url: of `endpoint:`: its address up to `/v1`.
        concurrency: of `endpoint:`: requests at a time; 8 by default.
        retries: of `endpoint:`: how often a request is sent again.
        train_data: what a built-in model is fitted to: corpora or files.
        max_train_pairs: Of a built-in model: how many training pairs to draw.
        pipeline: of a built-in model: what tells which words count.
        progress: show progress bars, on standard error.
        progress_callback: called instead with a set's name, and how many of how many rows are predicted.

    Returns:
        The report; without results in the processes after the first.

    Raises:
        ValueError: if an input is not what is expected, or an option does not fit the model; `data.labels.LabelError`
        if
            the label order is unknown or refuted.

    >>> from unbag.data.demo import file
    >>> def model(premises, hypotheses):
    ...     return ["entailment" if len(h) < len(p) else "neutral" for p, h in zip(premises, hypotheses)]
    >>> options = {"max_examples": 60, "lexical_baseline": False, "progress": False}
    >>> report = evaluate(model, "swapped", data=file("validation"), **options)
    >>> report.results[0].scores["n_examples"]
    60
    """
    asked = Pairs(
        corpus=corpus,
        split=split,
        data=None if data is None else str(data),
        columns=columns,
        labels=labels,
        language=language,
        max_examples=max_examples,
        seed=seed,
        options=options or {},
    )
    if not (sets is None or isinstance(sets, str | Request | list | tuple)):
        raise ValueError(f"expected sets to be a set, or a list of them, found {sets!r}")
    if isinstance(sets, list | tuple) and (wrong := [each for each in sets if not isinstance(each, str | Request)]):
        raise ValueError(f"expected sets to be a list of names and requests, found {wrong[0]!r:.100}; leave it out")
    if not (label_map is None or isinstance(label_map, str | Mapping | list | tuple)):
        raise ValueError(f"expected label_map to be labels in order, or ours by the model's, found {label_map!r}")
    for name, text in {"revision": revision, "device": device, "base_url": base_url, "pipeline": pipeline}.items():
        if not (text is None or isinstance(text, str)):
            raise ValueError(f"expected {name} to be text, found {text!r}")
    numbers = {
        "max_length": max_length,
        "batch_tokens": batch_tokens,
        "concurrency": concurrency,
        "max_train_pairs": max_train_pairs,
    }
    for name, number in numbers.items():
        if number is not None:
            check_int(name, number, least=1)
    for name, number in {"num_fewshot": num_fewshot, "retries": retries}.items():
        if number is not None:
            check_int(name, number)
    if not (output_dir is None or isinstance(output_dir, str | PathLike)) or output_dir == "":
        raise ValueError(f"expected output_dir to be the path of a folder, found {output_dir!r}")
    if isinstance(label_map, str) or not (label_map is None or isinstance(label_map, Mapping)):
        label_map = parse_label_map(label_map if isinstance(label_map, str) else ",".join(map(str, label_map)))
    validate_backend(engine, num_gpus, shard)
    evaluator.validate_unsharded(shard, predictions_csv)
    if predictions_csv is not None:
        validate_writable(Path(predictions_csv), folder=False)
    failures: list[Failure] = []

    def failed(failure: Failure) -> None:
        logger.warning("%s is left out: %s", failure.set, failure.reason)
        failures.append(failure)

    if sets is None:
        requests = asked.requests(suite.names(), on_failure=failed)
        requests = requests if full else [suite.sampled(request) for request in requests]
    else:
        if not sets:
            raise ValueError(f"expected a set or more ({', '.join(suite.names())}), found none; leave sets out for all")
        requests = _named([sets] if isinstance(sets, str | Request) else sets, asked, full=full)
    before = tuple(failures)  # `evaluate_all` notes those that come on its own
    if output_dir is None and process_group().world > 1:
        raise ValueError("several processes share a folder that they all see; pass output_dir=…")
    if shard is not None and output_dir is None:
        raise ValueError("shards share a folder that they all see, or an address; pass output_dir=…")
    address = str(output_dir) if output_dir is not None and is_address(output_dir) else None
    temporary = output_dir is None or address is not None
    folder = Path(tempfile.mkdtemp(prefix="unbag-")) if temporary else Path(str(output_dir))
    predictions: Path | str = folder / PREDICTIONS
    if address is not None:
        predictions = str(Folder(address) / PREDICTIONS)
        result_folder.receive(address, folder)
    elif output_dir is None and is_recognised(model):
        predictions = cache_folder(PREDICTIONS)
    report = Report((), folder, temporary=temporary)  # whatever comes, the temporary folder goes with it
    visible = progress and progress_callback is None and process_group().rank == 0
    with (
        progress_bars(visible=visible) as shown,
        parallel.worker_count(num_proc),
        open_backend(engine, num_gpus) as asking,
    ):
        report.results = evaluator.evaluate_all(
            [model],
            requests,
            output_dir=folder,
            predictions=predictions,
            long_premise=long_premise,
            trust_labels=trust_labels,
            lexical_baseline=lexical_baseline,
            shuffled=shuffled,
            skipped=before,
            progress_callback=progress_callback or shown,
            on_failure=failed if sets is None else None,
            shard=None if shard is None else Shard.parse(shard),
            engine=asking,
            predictions_csv=None if predictions_csv is None else Path(predictions_csv),
            revision=revision,
            dtype=dtype,
            device=device,
            head=head,
            label_map=label_map,
            threshold=threshold,
            trust_remote_code=trust_remote_code or None,
            max_length=max_length,
            batch_tokens=batch_tokens,
            num_fewshot=num_fewshot,
            apply_chat_template=apply_chat_template,
            base_url=base_url,
            concurrency=concurrency,
            retries=retries,
            train_data=tuple(map(str, train_data)) if train_data else None,
            max_train_pairs=max_train_pairs,
            pipeline=pipeline,
        )
    if address is not None:
        upload_files(folder, address, last=results.FILE)
    report.skipped = [SkippedSet(each.set, each.model, each.reason) for each in failures]
    return report


def _named(sets: Sequence[str | Request], asked: Pairs, *, full: bool) -> list[Request]:
    """Return requests for sets that were named, or asked for as requests already."""
    if full:
        raise ValueError("full is for all sets; of a set that is named, all is taken anyway")
    if made := [each.name for each in sets if isinstance(each, Request)]:
        if asked.is_given():
            raise ValueError(f"the request for {made[0]} says which pairs; leave out corpus, data, max_examples, …")
        return [each if isinstance(each, Request) else suite.request(each) for each in sets]
    return asked.requests([str(each) for each in sets])
