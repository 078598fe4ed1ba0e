"""Training on a corpus and on its rearrangement, with and without HEX (ReSNLI paper, Table 3 and Figure 2)."""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import datasets
import numpy as np
from numpy.typing import NDArray

from unbag.challenge_sets import loading, papers, results
from unbag.challenge_sets.perturbations.permutation import DEFAULT_SEED
from unbag.challenge_sets.request import SetRequest, build_requested_set, draw_examples
from unbag.data.columns import read_column, read_numeric_column
from unbag.data.corpora import CORPORA
from unbag.data.labels import LABELS
from unbag.inference.distributed import connect_process_group
from unbag.inference.prediction_store import PREDICTIONS
from unbag.inference.runner import predict_rows
from unbag.inference.transformer import TransformerPredictor
from unbag.scoring.bootstrap import estimate_difference, estimate_ratio, to_json
from unbag.training.config import TrainConfig
from unbag.training.data import (
    PairDataset,
    TrainingData,
    convert_rows_to_examples,
    load_training_data,
    sample_dataset,
    sample_from_datasets,
)
from unbag.training.output import Record, list_json_differences
from unbag.training.recipes import find_recipe
from unbag.training.run import run
from unbag.training.seeds import compute_mean_and_deviation
from unbag.training.trainer import OnStep
from unbag.utils.files import read_json_object, write_json

if TYPE_CHECKING:
    from unbag.inference.options import Head
    from unbag.utils.progress import OnProgress


PROTOCOL_SCHEMA: Final = 1


def get_record_path(model: Path) -> Path:
    """Build the path of a model's JSON record. The record is kept when the model's folder is deleted."""
    return model.with_name(f"{model.name}.json")


def write_protocol_record(
    path: Path, config: TrainConfig, seeds: Sequence[int], record: Mapping[str, Any], **changed: None
) -> Record:
    """Write the record of a protocol, with its options and the versions. Returns it with the JSON types of the file."""
    written: Record = dict(
        to_json(
            {
                "schema": PROTOCOL_SCHEMA,
                "recipe": config.recipe,
                "config": {**config.to_json(), "output_dir": path.parent.name, **changed},
                "seeds": list(seeds),
                **record,
                "environment": results.collect_environment(),
            }
        )
    )
    if connect_process_group().rank == 0:
        write_json(written, path)
    return written


def train_and_predict(
    config: TrainConfig,
    data: TrainingData,
    rows: Any,
    heads: Sequence["Head"],
    *,
    title: str,
    keep_model: bool,
    on_step: Callable[[str], OnStep | None] | None = None,
    progress_callback: "OnProgress | None" = None,
) -> Record:
    """Train a model and predict rows, or load the stored record of both. `title` names the run for the callbacks.

    Returns:
        `training`, the record of `run`; `probabilities` of `LABELS`, by head and row id; `truncated_pairs`.
    """
    path, group = get_record_path(config.output_dir), connect_process_group()
    ids = read_column(rows, "id").to_pylist()
    if not group.broadcast(path.is_file()):  # all processes must agree on whether it exists
        training = run(config, data=data, on_step=on_step(title) if on_step else None)
        record: Record = {"schema": PROTOCOL_SCHEMA, "labels": list(LABELS), "probabilities": {}, "training": training}
        for head in heads:
            predictor = TransformerPredictor.load(config.output_dir, max_length=config.max_length, head=head)
            progress = None if progress_callback is None else partial(progress_callback, f"{title}, {head} head")
            predictions = predict_rows(rows, predictor, config.output_dir / PREDICTIONS, progress=progress)
            by_id = dict(zip(ids, predictions.load_probabilities(LABELS).tolist(), strict=True))
            record["probabilities"][head] = by_id
            record["truncated_pairs"] = predictions.truncated
        group.wait()  # each process has read the predictions before their folder is deleted
        if group.rank == 0:
            write_json(record, path)
            if not keep_model:
                shutil.rmtree(config.output_dir)
        group.wait()
    # All processes read the file, so that they have the same record, with numbers rounded alike.
    try:
        stored: Record = read_json_object(path)
    except ValueError as error:
        raise ValueError(f"{error}; remove the file to train this model again") from None
    trained = stored["training"]
    wanted = {"config": config.select_cache_key_fields(), "data": json.loads(json.dumps(data.build_record()))}
    recorded = {"config": {name: trained["config"].get(name) for name in wanted["config"]}, "data": trained["data"]}
    others = list_json_differences(recorded, wanted)
    if any(by_id.keys() != set(ids) for by_id in stored["probabilities"].values()):
        others.append("the test pairs have changed")
    if others:
        raise ValueError(f"{path} belongs to another run: {'; '.join(others)}; pass another folder with --output-dir")
    return stored


def order_probabilities(rows: Any, by_id: Mapping[str, Sequence[float]]) -> NDArray[np.float32]:
    """Arrange probabilities by row id in the order of n rows, shape (n, 3)."""
    # JSON stores the float32 values as exact doubles, so that they return bit for bit.
    return np.array([by_id[name] for name in read_column(rows, "id").to_pylist()], dtype=np.float32)


FILE: Final = "rearranged.json"
REARRANGED: Final = "rearranged"
PLAIN: Final = "finetune"
HEADS: Final[Mapping[str, tuple["Head", ...]]] = {PLAIN: ("plain",), "hex": ("plain", "residual")}
"""Recipes, and the heads to evaluate. For HEX: f([h, 0]), as in the authors' code, and F_L, as in the text of the
paper."""


class CorpusVersion(NamedTuple):
    """Training data and test rows of a corpus in its original or rearranged form."""

    data: TrainingData
    test: Any


def train_on_rearranged_corpus(
    config: Any,
    seeds: Sequence[int],
    *,
    on_step: Callable[[str], OnStep | None] | None = None,
    progress_callback: "OnProgress | None" = None,
) -> Record:
    """Train and test models on a corpus and on its rearrangement, with and without HEX.

    Training ends at the last step, or with `early_stopping_patience` at the best step on the arrangement's own
    validation split. An interrupted run resumes when called again.

    Args:
        config: Its options. The output folder gets the predictions of each model and at the end the record
            `rearranged.json`. A folder with predictions of another run raises a `ValueError`.
        seeds: Training seeds; an empty list stands for the config's own.

    Returns:
        `arrangements`, by name (that of the corpus, and `rearranged`) the `data`, the number `n` of test pairs and the
        `answers`: by model and head (`finetune`, `hex`, `hex, residual head`) the `accuracy` (mean over seeds, with its
        95 % interval over pairs), `over_seeds`, the difference `less_finetune` on the same pairs, and for rearranged
        pairs `by_partition`, the accuracy from the easiest to the hardest (Figure 2). `published`, the paper's own
        figures if the corpus is SNLI. Config, data and versions.
    """
    seeds = seeds or [config.seed]
    [corpus] = config.corpus
    arrangements = {}
    # Both are built before any training, so that a missing download ends the run at once.
    rearranged, original = _rearranged(config), _original(config)
    for name, arrangement in ((corpus, original), (REARRANGED, rearranged)):
        correct: dict[str, list[NDArray[np.bool_]]] = {}
        for seed, (trained_by, heads) in product(seeds, HEADS.items()):
            trained = train_and_predict(
                config.build_recipe_config(
                    find_recipe(trained_by),
                    seed=seed,
                    output_dir=config.output_dir / name / trained_by / f"seed-{seed}",
                ),
                arrangement.data,
                arrangement.test,
                heads,
                title=f"{name}, {trained_by}, seed {seed}",
                keep_model=config.keep_models,
                on_step=on_step,
                progress_callback=progress_callback,
            )
            for head, by_id in trained["probabilities"].items():
                answer = trained_by if head == "plain" else f"{trained_by}, {head} head"
                predicted = order_probabilities(arrangement.test, by_id).argmax(axis=1)
                is_correct = predicted == read_numeric_column(arrangement.test, "label")
                correct.setdefault(answer, []).append(is_correct)
        arrangements[name] = {
            "data": arrangement.data.build_record(),
            "n": len(arrangement.test),
            "answers": _summary(arrangement.test, correct),
        }
    published = []
    if corpus == loading.DEFAULT_CORPUS:
        table = papers.get_paper_table("ReSNLI 2019", "3")
        shares = (table.read_shares(name) for name in ("SNLI", "ReSNLI"))
        rows = zip([row[0] for row in table.rows], *shares, strict=True)
        published = [dict(zip(("model", "SNLI", "ReSNLI"), row, strict=True)) for row in rows]
    record = {"arrangements": arrangements, "published": published}
    return write_protocol_record(config.output_dir / FILE, config, seeds, record)


def _original(config: Any) -> CorpusVersion:
    """Load the splits of a corpus."""
    [corpus] = config.corpus
    tests = [build_requested_set(SetRequest("plain", f"{corpus}-{split}")).rows for split in CORPORA[corpus].test]
    return CorpusVersion(load_training_data(config), _test_rows(tests, config))


def _rearranged(config: Any) -> CorpusVersion:
    """Load the splits of the set `resnli`."""
    [corpus] = config.corpus
    builder = loading.create_builder("resnli", corpus, **config.build_rearrangement_options())
    test = loading.load_evaluation_split(builder)
    splits = builder.as_dataset()
    provenance = {
        "revisions": sorted({source.revision for source in builder.open_sources()}),
        "rearranged_by": builder.challenge_set.describe_provenance(builder)["embeddings"],
        "rearranged_seed": builder.config.seed,
    }
    language, origin = CORPORA[corpus].language, CORPORA[corpus].hub_id
    parts = []
    for split in ("train", "validation"):
        source = {"origin": origin, "splits": [f"{REARRANGED} {split}"], **provenance}
        record = {**source, "rows": len(splits[split]), "excluded": {}}
        parts.append(PairDataset(corpus, convert_rows_to_examples(splits[split]), 1.0, language, record))
    training, held_out = parts
    if config.max_validation_examples is not None:
        # The key does not depend on the run's seed: runs with several seeds are compared on the same pairs.
        held_out = sample_dataset(held_out, config.max_validation_examples, "validation")
    data = TrainingData(tuple(sample_from_datasets([training], config.max_examples, config.seed)), (held_out,))
    return CorpusVersion(data, _test_rows([test], config))


def _test_rows(tests: Sequence[Any], config: Any) -> Any:
    """Concatenate the rows of test splits, and draw some of them by a fixed seed, not that of the run."""
    rows = datasets.concatenate_datasets(list(tests))
    if config.test_examples is None or config.test_examples >= len(rows):
        return rows
    return draw_examples(rows, config.test_examples, DEFAULT_SEED)


def _summary(test: Any, correct: Mapping[str, Sequence[NDArray[np.bool_]]]) -> dict[str, Any]:
    """Summarize the accuracies by model and head. The value of a pair is the mean over seeds."""
    # Seeds are averaged within each pair: the interval is over pairs, and runs of one pair are not independent.
    shares = {name: np.mean(runs, axis=0) for name, runs in correct.items()}
    estimates = {name: estimate_ratio(share) for name, share in shares.items()}
    partition = read_numeric_column(test, "partition") if "partition" in test.column_names else None
    summary: dict[str, dict[str, Any]] = {}
    for name, share in shares.items():
        summary[name] = {
            "accuracy": estimates[name],
            "over_seeds": compute_mean_and_deviation([float(each.mean()) for each in correct[name]]),
            "less_finetune": None if name == PLAIN else estimate_difference(estimates[name], estimates[PLAIN]),
        }
        if partition is not None:
            summary[name]["by_partition"] = [
                {"partition": int(number), "accuracy": float(share[partition == number].mean())}
                for number in np.unique(partition)
            ]
    return summary
