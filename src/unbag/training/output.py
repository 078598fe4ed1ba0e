"""Output folder of a training run: model, training record and cost.

The cost is in a separate file, so that the record does not depend on time and machine.
"""

import json
import logging
import platform
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch

from unbag.inference.distributed import connect_process_group
from unbag.inference.hub_files import compute_folder_revision
from unbag.inference.loading import Classifier
from unbag.training.checkpoints import list_json_differences
from unbag.training.config import TrainConfig
from unbag.training.record import FILE, read_training_record
from unbag.utils import checksums, locks
from unbag.utils.files import atomic_rename, remove_on_failure
from unbag.utils.hashing import hash_file

if TYPE_CHECKING:
    from unbag.training.trainer import PairTrainer

HARDWARE_FILE: Final = "hardware.json"
LOGS: Final = "runs"
"""Folder for TensorBoard files in a model repository on the Hub."""

logger = logging.getLogger(__name__)

Record = dict[str, Any]


def get_work_folder(output_dir: Path) -> Path:
    """Build the path of the folder for checkpoints and logs of an unfinished run."""
    return output_dir.with_name(f"{output_dir.name}.unfinished")


@contextmanager
def lock_output_folder(output_dir: Path, activity: str) -> Iterator[None]:
    """Lock the output folder until the `with` block ends. All processes of the run share the lock.

    Raises:
        locks.LockedError: In the first process, if another run holds the lock.
        ValueError: In the other processes, in that case.
    """
    group = connect_process_group()
    with ExitStack() as held:
        lock = locks.hold_lock(output_dir, activity)
        group.run_on_all(lambda: held.enter_context(lock) if group.rank == 0 else None)
        yield


def build_cost_record(device: torch.device, processes: int, seconds: float) -> dict[str, Any]:
    """Build a JSON record of the hardware and the duration of a run."""
    module = torch.get_device_module(device)  # without a device name for the CPU and Apple's GPU
    name = module.get_device_name(device) if hasattr(module, "get_device_name") else None
    hardware = name or f"{device.type.upper()}, {platform.machine()}"
    return {"hardware": hardware, "processes": processes, "seconds": round(seconds, 1)}


def write_model_folder(
    output_dir: Path, record: Record, cost: Mapping[str, Any], trainer: "PairTrainer", classifier: Classifier
) -> None:
    """Write the model, the tokenizer and the training record to the output folder, atomically.

    The cost (`build_cost_record`) is written to the same folder, without a checksum.
    """
    accelerator = trainer.accelerator
    gathered = accelerator.get_state_dict(trainer.model_wrapped)  # collective: all processes must call it
    if accelerator.is_main_process:
        extra = tuple(f"{name}." for name in trainer.extra_modules)
        weights = {name: value for name, value in gathered.items() if not name.startswith(extra)}
        for name in classifier.network.all_tied_weights_keys:  # gathered from shards, a tied weight is a separate copy
            weights.pop(name, None)
        tmp = output_dir.with_name(f".{output_dir.name}.part")
        with remove_on_failure(tmp):
            classifier.network.save_pretrained(tmp, state_dict=weights)
            save_tokenizer(classifier.tokenizer, tmp)
            trainer.save_extra(tmp, gathered)
            (tmp / FILE).write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            checksums.write_folder_checksums(tmp)
            (tmp / HARDWARE_FILE).write_text(json.dumps(cost) + "\n", encoding="utf-8")
            logs = get_work_folder(output_dir) / LOGS
            if logs.is_dir():
                shutil.copytree(logs, tmp / LOGS)
            atomic_rename(tmp, output_dir)
        shutil.rmtree(get_work_folder(output_dir), ignore_errors=True)
    accelerator.wait_for_everyone()


def validate_new_folder(output_dir: Path) -> None:
    """Validate that the output folder does not exist."""
    if output_dir.exists():
        raise ValueError(f"--output-dir: expected a new folder, got {output_dir}, which exists; pass another folder")


@contextmanager
def create_output_folder(output_dir: Path, activity: str) -> Iterator[Path]:
    """Yield the path of a temporary folder, which becomes the output folder at the end of the `with` block."""
    tmp = output_dir.with_name(f".{output_dir.name}.part")
    # A second process waits here, and then fails, since the first one has written the folder.
    with locks.hold_lock(output_dir, activity, wait=True):
        validate_new_folder(output_dir)
        with remove_on_failure(tmp):
            yield tmp
            atomic_rename(tmp, output_dir)


def save_tokenizer(tokenizer: Any, folder: Path) -> None:
    """Save a tokenizer without the truncation and padding settings that were used for its last batch."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:  # otherwise they would be saved as the model's own
        backend.no_truncation()
        backend.no_padding()
    tokenizer.save_pretrained(folder)


def load_finished_run(config: TrainConfig) -> Record:
    """Load the record of a finished run, after validating that it has the same options, model and files."""
    output_dir, model = config.output_dir, Path(config.model)
    if not (output_dir / FILE).is_file():
        raise ValueError(
            f"--output-dir: expected a new folder or the output of a finished run, got {output_dir}, which contains no "
            f"{FILE}; use another folder"
        )
    record: Record = read_training_record(output_dir)
    if checksums.has_checksums(output_dir) and (damage := checksums.find_corruption(output_dir)):
        raise ValueError(f"{damage}; remove {output_dir} to train again, or use another --output-dir")
    expected = config.select_cache_key_fields()
    recorded = {"recipe": record["recipe"], "config": {name: record["config"].get(name) for name in expected}}
    others = list_json_differences(recorded, {"recipe": config.recipe, "config": expected})
    if model.is_dir() and compute_folder_revision(model) != record["model"]["revision"]:
        others.append(f"the model in {model} has changed")
    parts = (*record["data"]["training"], *record["data"]["held_out"])
    read = {revision for part in parts for revision in part["revisions"]}
    read.add(record.get("embeddings", "").removeprefix("sha256:"))
    others += [f"{path} has changed" for path in config.list_files() if hash_file(path) not in read]
    if others:
        raise ValueError(
            f"--output-dir: {output_dir} contains the output of another run: {'; '.join(others)}; use another folder"
        )
    # The folder remains if the run was interrupted just before its removal.
    shutil.rmtree(get_work_folder(output_dir), ignore_errors=True)
    logger.warning("%s already contains the trained model; training is skipped", output_dir)
    return record
