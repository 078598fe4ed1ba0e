"""Training on a corpus as it is and rearranged, with and without HEX: Table 3 and Figure 2 of the ReSNLI paper."""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import datasets
import numpy as np
from numpy.typing import NDArray

from unbag import scripts
from unbag.challenge_sets import loading, papers, results
from unbag.challenge_sets.perturbations.permutation import DEFAULT_SEED
from unbag.challenge_sets.request import Request, build, draw_examples
from unbag.data.columns import column, numbers
from unbag.data.corpora import CORPORA
from unbag.data.labels import LABELS
from unbag.data.predictions import SetPredictions
from unbag.inference.distributed import process_group
from unbag.inference.prediction_store import PREDICTIONS
from unbag.inference.runner import predict_rows
from unbag.inference.transformer import TransformerPredictor
from unbag.scoring.bootstrap import named_estimates, to_json
from unbag.training import preflight
from unbag.training.checkpoints import differences
from unbag.training.config import TrainConfig
from unbag.training.config_recipes import RearrangedConfig
from unbag.training.data import Part, TrainingData, drawn, examples_of, gather, some
from unbag.training.loop import OnStep
from unbag.training.output import Record
from unbag.training.recipes import Recipe
from unbag.training.run import run
from unbag.training.seeds import different, over_seeds
from unbag.utils import checksums
from unbag.utils.files import write_json

if TYPE_CHECKING:
    from unbag.evaluation.evaluator import OnProgress
    from unbag.inference.transformer import Head


def path_of(model: Path) -> Path:
    """Return the file that stays of a model, beside the folder that it is trained into."""
    return model.with_name(f"{model.name}.json")


def answered(
    config: TrainConfig, data: TrainingData, train_and_ask: Callable[[], Record], *, keep_model: bool
) -> Record:
    """Return the record of a model and its answers; train it and ask it if that is not there.

    Args:
        config: how it is trained; `out` is its folder.
        data: what it is trained on.
        train_and_ask: does both, in every process, and returns the record, in which `training` is that of `run`.
        keep_model: whether the folder stays too.

    Raises:
        ValueError: if what is there is of a model that was trained otherwise, or on something else.
    """
    path, group = path_of(config.out), process_group()
    if group.rank == 0 and path.is_file() and checksums.read_verified(path) is None:
        checksums.set_aside(path, f"{path} is damaged")
    group.wait()
    if not path.is_file():
        record = train_and_ask()
        group.wait()  # each process reads the answers in the folder
        if group.rank == 0:
            write_json(checksums.add_checksum(record), path)
            if not keep_model:
                shutil.rmtree(config.out)
        group.wait()
    # Read back, so that every process has what the first one wrote.
    kept: Record = checksums.read_verified(path) or {}
    trained = kept["training"]
    wanted = {"config": config.cache_key_config(), "data": json.loads(json.dumps(data.record()))}
    recorded = {"config": {name: trained["config"].get(name) for name in wanted["config"]}, "data": trained["data"]}
    if others := differences(recorded, wanted):
        raise ValueError(f"{path} is of another run: {'; '.join(others)}; name another folder with --out")
    return kept


FILE: Final = "rearranged.json"
REARRANGED: Final = "rearranged"
PLAIN: Final = "finetune"
HEADS: Final[Mapping[str, tuple["Head", ...]]] = {PLAIN: ("plain",), "hex": ("plain", "residual")}
"""The recipes, and which heads of its models answer: of HEX the one that its authors' code evaluates, f([h, 0]), and
the one of the paper's text, F_L."""
_SCHEMA: Final = 1
_PAPER: Final = ("ReSNLI 2019", "3")


class Arrangement(NamedTuple):
    """What is trained on, and the rows that are tested on."""

    data: TrainingData
    test: Any


def train_rearranged(
    recipe: Recipe,
    config: RearrangedConfig,
    seeds: Sequence[int],
    *,
    on_step: Callable[[str], OnStep | None] | None = None,
    on_progress: "OnProgress | None" = None,
) -> Record:
    """Train on a corpus's own training split and on the rearranged one, with and without HEX; test on each one's test.

    Nothing is chosen by the test pairs: a model is trained to the last step, or with `patience` to the best on the
    arrangement's own validation split. A run that was stopped goes on when called again: a model whose answers are
    there is not trained again, and one in the midst goes on from its checkpoint.

    Args:
        recipe: the protocol's.
        config: its config. `out` gets the answers of each model, and in the end `rearranged.json`, what is returned.
        seeds: the training seeds; none means the config's own.
        on_step: makes the `OnStep` of a model's run from what to call it.
        on_progress: see `unbag.evaluation.evaluator`; of a model's answers.

    Returns:
        `arrangements`, by name (the corpus's, and `rearranged`) the `data`, the test pairs `n` and the `answers`: by
        who answers (`finetune`, `hex`, `hex, residual head`) the `accuracy` (over seeds, with its 95 %
        interval over pairs), `over_seeds`, the difference `less_finetune` on the same pairs, and of the rearranged
        pairs `by_partition`, the accuracy from the easiest to the hardest (Figure 2). `published`, the paper's own
        figures where the corpus is SNLI. What was run, on what, with what.

    Raises:
        ValueError: if a seed comes twice, or `config.out` holds answers of another run; see also `run`.
    """
    seeds = different(seeds) or [config.seed]
    preflight.check(config)
    [corpus] = config.corpus
    arrangements = {}
    for name, make in ((corpus, _as_it_is), (REARRANGED, _rearranged)):
        arrangement = make(config)
        right: dict[str, list[NDArray[np.bool_]]] = {}
        for seed in seeds:
            for trained_by, heads in HEADS.items():
                done = _answers(config, arrangement, name, trained_by, seed, on_step, on_progress)
                for head in heads:
                    right.setdefault(_title(trained_by, head), []).append(_right(arrangement.test, done[head]))
        arrangements[name] = {
            "data": arrangement.data.record(),
            "n": len(arrangement.test),
            "answers": _summary(arrangement.test, right),
        }
    record: Record = {
        "schema": _SCHEMA,
        "recipe": recipe.name,
        "config": config.to_json() | {"out": config.out.name},
        "seeds": seeds,
        "arrangements": arrangements,
        "published": _published() if corpus == loading.DEFAULT_CORPUS else [],
        "environment": results.environment(),
    }
    record = dict(to_json(record))
    if process_group().rank == 0:
        write_json(record, config.out / FILE)
    return record


def _as_it_is(config: RearrangedConfig) -> Arrangement:
    """Return a corpus's own splits."""
    [corpus] = config.corpus
    data = gather(
        (corpus,),
        examples=config.examples,
        validation_examples=config.validation_examples,
        language=config.language,
        seed=config.seed,
    )
    tests = [build(Request("plain", f"{corpus}-{split}")).rows for split in CORPORA[corpus].test]
    return Arrangement(data, _test_rows(tests, config))


def _rearranged(config: RearrangedConfig) -> Arrangement:
    """Return the splits of the set `resnli`."""
    [corpus] = config.corpus
    builder = loading.builder("resnli", corpus, **config.rearrangement())
    test = loading.prepare(builder)
    splits = builder.as_dataset()
    provenance = {
        "revisions": sorted({source.revision for source in builder.sources()}),
        "rearranged_by": builder.provenance()["embeddings"],
        "rearranged_seed": builder.config.seed,
    }
    training, held_out = (_part(corpus, split, splits[split], provenance) for split in ("train", "validation"))
    if config.validation_examples is not None:
        held_out = some(held_out, config.validation_examples, "validation")
    data = TrainingData(tuple(drawn([training], config.examples, config.seed)), (held_out,))
    return Arrangement(data, _test_rows([test], config))


def _part(corpus: str, split: str, rows: Any, made_with: Mapping[str, Any]) -> Part:
    """Return a rearranged split as what a run reads."""
    origin = CORPORA[corpus].hub_id
    record = {"origin": origin, "splits": [f"{REARRANGED} {split}"], **made_with, "rows": len(rows), "left_out": {}}
    return Part(corpus, examples_of(rows), 1.0, CORPORA[corpus].language, record)


def _test_rows(tests: Sequence[Any], config: RearrangedConfig) -> Any:
    """Return the rows of test splits together, or some of them, which do not depend on the run's seed."""
    rows = datasets.concatenate_datasets(list(tests))
    if config.test_examples is None or config.test_examples >= len(rows):
        return rows
    return draw_examples(rows, config.test_examples, DEFAULT_SEED)


def _answers(
    config: RearrangedConfig,
    arrangement: Arrangement,
    name: str,
    trained_by: str,
    seed: int,
    on_step: Callable[[str], OnStep | None] | None,
    on_progress: "OnProgress | None",
) -> dict[str, NDArray[np.float32]]:
    """Return by head one model's probabilities of the test rows, shape (n, 3); train it if they are not there."""
    recipe = scripts.file("trainers", trained_by).RECIPE
    each = config.for_recipe(recipe.config, seed=seed, out=config.out / name / trained_by / f"seed-{seed}")
    ids = column(arrangement.test, "id").to_pylist()

    def train_and_ask() -> Record:
        title = f"{name}, {trained_by}, seed {seed}"
        training = run(recipe, each, data=arrangement.data, on_step=on_step(title) if on_step else None)
        probabilities = {}
        for head in HEADS[trained_by]:
            predictor = TransformerPredictor.load(each.out, max_length=config.max_length, head=head)
            progress = None if on_progress is None else partial(on_progress, f"{title}, {head} head")
            predictions = predict_rows(arrangement.test, predictor, each.out / PREDICTIONS, progress=progress)
            probabilities[head] = dict(zip(ids, predictions.array(LABELS).tolist(), strict=True))
        return {"schema": _SCHEMA, "labels": list(LABELS), "probabilities": probabilities, "training": training}

    found = answered(each, arrangement.data, train_and_ask, keep_model=config.keep_models)["probabilities"]
    if any(by_id.keys() != set(ids) for by_id in found.values()):
        raise ValueError(
            f"{path_of(each.out)} is of another run: it answers other test pairs; name another folder with --out"
        )
    return {head: np.array([by_id[row] for row in ids], dtype=np.float32) for head, by_id in found.items()}


def _right(test: Any, probabilities: NDArray[np.float32]) -> NDArray[np.bool_]:
    answers = SetPredictions(probabilities, LABELS, has_probabilities=True)
    right: NDArray[np.bool_] = answers.predicted == answers.gold(numbers(test, "label"))
    return right


def _title(recipe: str, head: str) -> str:
    return recipe if head == "plain" else f"{recipe}, {head} head"


def _summary(test: Any, right: Mapping[str, Sequence[NDArray[np.bool_]]]) -> dict[str, Any]:
    """Return the accuracies of who answered, by name, each pair by its share of right answers over seeds.

    Args:
        test: the n rows.
        right: by who answers, for each seed whether each row was right, shape (n,).
    """
    shares = {name: np.mean(runs, axis=0) for name, runs in right.items()}
    others = {f"{name} less {PLAIN}": (name, PLAIN) for name in shares if name != PLAIN}
    estimates = named_estimates({name: (share, 1.0) for name, share in shares.items()}, others)
    partition = numbers(test, "partition") if "partition" in test.column_names else None
    found: dict[str, dict[str, Any]] = {}
    for name, share in shares.items():
        found[name] = {
            "accuracy": estimates[name],
            "over_seeds": over_seeds([float(each.mean()) for each in right[name]]),
            "less_finetune": estimates.get(f"{name} less {PLAIN}"),
        }
        if partition is not None:
            found[name]["by_partition"] = [
                {"partition": int(number), "accuracy": float(share[partition == number].mean())}
                for number in np.unique(partition)
            ]
    return found


def _published() -> list[dict[str, Any]]:
    """Return the paper's Table 3, as shares."""
    table = papers.table(*_PAPER)
    columns = {"model": [row[0] for row in table.rows], "SNLI": table.shares("SNLI"), "ReSNLI": table.shares("ReSNLI")}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
