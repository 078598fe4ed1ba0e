"""The folder that a training run leaves: a transformers model, the training record, and what the training cost.

The cost has a file of its own, so that the record does not depend on time and machine.
"""

import json
import logging
import platform
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import torch
from accelerate import Accelerator

from unbag.challenge_sets import results
from unbag.inference.distributed import process_group
from unbag.inference.hub_files import folder_revision
from unbag.inference.loading import Classifier
from unbag.training.checkpoints import differences
from unbag.training.objective import Objective
from unbag.utils import checksums, locks
from unbag.utils.files import atomic_rename, remove_on_failure
from unbag.utils.hashing import file_hash

HARDWARE_FILE: Final = "hardware.json"


class TrainingCost:
    """Measures a run from now on; what came before a kill is not in it."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def record(self, device: torch.device, processes: int) -> dict[str, Any]:
        """Return `hardware`, `processes` and `seconds`."""
        names = torch.get_device_module(device) if device.type != "cpu" else None
        of_device = getattr(names, "get_device_name", None)
        hardware = of_device(device) if of_device else f"{device.type.upper()}, {platform.machine()}"
        return {"hardware": hardware, "processes": processes, "seconds": round(time.monotonic() - self._began, 1)}


FILE: Final = "training.json"
LOGS: Final = "runs"
"""Where the Hub looks for tensorboard's files in a model repository."""

_NETWORK: Final = "network."  # where a published weight is in the objective
logger = logging.getLogger(__name__)

Record = dict[str, Any]


def work_folder(out: Path) -> Path:
    """Return the folder where an unfinished run keeps its checkpoints and logs, beside the one it will leave."""
    return out.with_name(f"{out.name}.unfinished")


@contextmanager
def alone_in_group(out: Path, doing: str) -> Iterator[None]:
    """Keep others from the folder of a run within this block: one lock for all processes of a run.

    Raises:
        locks.LockedError: in the first process, if another run is at it.
        ValueError: in the others, then.
    """
    group = process_group()
    with ExitStack() as held:
        if group.rank == 0:
            group.run_on_all(lambda: held.enter_context(locks.exclusive_lock(out, doing)))
        else:
            group.run_on_all(lambda: None)
        yield


def publish(
    out: Path,
    record: Record,
    took: Mapping[str, Any],
    module: Any,
    objective: Objective,
    classifier: Classifier,
    accelerator: Accelerator,
) -> None:
    """Write the model, its tokenizer and the record: an ordinary folder of transformers, whole or not at all.

    What it took (`Effort.record`) stands beside them, and is not sealed: it is of no weight.
    """
    gathered = accelerator.get_state_dict(module)  # from all shards, where there are
    if accelerator.is_main_process:
        weights = {name.removeprefix(_NETWORK): value for name, value in gathered.items() if name.startswith(_NETWORK)}
        for name in objective.network.all_tied_weights_keys:  # gathered from shards, it is a copy of what it is tied to
            weights.pop(name, None)
        tmp = out.with_name(f".{out.name}.part")
        with remove_on_failure(tmp):
            objective.network.save_pretrained(tmp, state_dict=weights)
            _save_tokenizer(classifier.tokenizer, tmp)
            objective.save(tmp, gathered)
            (tmp / FILE).write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            checksums.seal(tmp)
            (tmp / HARDWARE_FILE).write_text(json.dumps(took) + "\n", encoding="utf-8")
            logs = work_folder(out) / LOGS
            if logs.is_dir():
                shutil.copytree(logs, tmp / LOGS)
            atomic_rename(tmp, out)
        shutil.rmtree(work_folder(out), ignore_errors=True)
    accelerator.wait_for_everyone()


def _save_tokenizer(tokenizer: Any, folder: Path) -> None:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:  # what the last batch was cut to would be saved as if it were the model's limit
        backend.no_truncation()
        backend.no_padding()
    tokenizer.save_pretrained(folder)


def finished(out: Path, wanted: dict[str, Any], *, model: str, files: Iterable[Path]) -> Record:
    """Return the record of a run that is finished already.

    Args:
        out: the folder that it left.
        wanted: the `recipe`, and of its `config` what decides the weights, as JSON holds it.
        model: what it shall have been trained from.
        files: of pairs, or word vectors, that it shall have read.

    Raises:
        ValueError: if the folder holds anything else.
    """
    if not (out / FILE).is_file():
        raise ValueError(f"{out} exists and holds no {FILE}; name another folder with --out")
    record: Record = results.read_record(out / FILE, results.TrainingRecord, "the record of a finished training")
    if checksums.is_sealed(out) and (damage := checksums.find_damage(out)):
        raise ValueError(f"{damage}; remove {out} to train it again, or name another folder with --out")
    recorded = {"recipe": record["recipe"], "config": {name: record["config"].get(name) for name in wanted["config"]}}
    others = differences(recorded, wanted)
    if Path(model).is_dir() and folder_revision(Path(model)) != record["model"]["revision"]:
        others.append(f"the model in {model} has changed")
    with results.whole(out / FILE):
        read = {revision for parts in record["data"].values() for part in parts for revision in part["revisions"]}
    read.add(record.get("embeddings", "").removeprefix("sha256:"))
    others += [f"{path} has changed" for path in files if file_hash(path) not in read]
    if others:
        raise ValueError(f"{out} holds another run: {'; '.join(others)}; name another folder with --out")
    shutil.rmtree(work_folder(out), ignore_errors=True)  # it may have been killed just before this
    logger.warning("%s is finished already", out)
    return record
