"""One of the many models that a protocol trains: what stays of it is a file with its answers, beside its folder."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from unbag.inference.distributed import process_group
from unbag.training.checkpoints import differences
from unbag.training.config import TrainConfig
from unbag.training.data import TrainingData
from unbag.training.published import Record
from unbag.utils import checksums
from unbag.utils.files import write_json


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
    if group.rank == 0 and path.is_file() and checksums.verified(path) is None:
        checksums.set_aside(path, f"{path} is damaged")
    group.wait()
    if not path.is_file():
        record = train_and_ask()
        group.wait()  # each process reads the answers in the folder
        if group.rank == 0:
            write_json(checksums.signed(record), path)
            if not keep_model:
                shutil.rmtree(config.out)
        group.wait()
    # Read back, so that every process has what the first one wrote.
    kept: Record = checksums.verified(path) or {}
    trained = kept["training"]
    wanted = {"config": config.deciding(), "data": json.loads(json.dumps(data.record()))}
    recorded = {"config": {name: trained["config"].get(name) for name in wanted["config"]}, "data": trained["data"]}
    if others := differences(recorded, wanted):
        raise ValueError(f"{path} is of another run: {'; '.join(others)}; name another folder with --out")
    return kept
