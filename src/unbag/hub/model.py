"""Trained models as model repositories: files of the training folder, model card and results."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypedDict

from unbag.challenge_sets.results import Result, read_record
from unbag.data.labels import resolve_output_labels
from unbag.hub import cards, eval_results, vendoring
from unbag.hub.model_card import ModelCardContent, build_model_card, build_results_section
from unbag.hub.model_results import FOLDER, find_result_model_name, is_standard_head
from unbag.hub.push import HubUpload
from unbag.inference.hub_files import compute_folder_revision
from unbag.inference.prediction_store import PREDICTIONS
from unbag.training.record import FILE as RECORD
from unbag.training.record import read_training_record
from unbag.utils import checksums
from unbag.utils.files import read_json_object

_AVERAGED: Final = "interpolation.json"  # same as in `unbag.training.weight_averaging`, which imports torch
_BLOCK: Final = "challenge sets"  # name of the results block in an averaged model's card
_COST: Final = "hardware.json"  # same as in `unbag.training.output`
_CONFIG: Final = "config.json"
_CARD: Final = "README.md"
_OUTPUT: Final = re.compile("[0-9]{1,9}")  # index of an output, a key of id2label
_OWNS: Final = (
    "model*.safetensors*",
    "hex.*",
    "evaluation/*",
    "before/*",
    "runs/*",
    vendoring.MODEL_CODE_FILE,
    eval_results.OWNED_PATTERN,
)


class _TrainingCost(TypedDict):
    hardware: str
    processes: int
    seconds: float


@dataclass(frozen=True)
class PublishedResults:
    """Results that are published with a model.

    Attributes:
        own: Results of the model, evaluated from its folder; for a HEX model, also of its residual head.
        compare_with: Results of other models for comparison, such as the base model.
        organization: Organization that publishes the challenge sets (default: the owner of the model repository).
        context: Context of the model's results, see `eval_results.build_eval_results`.
    """

    own: Sequence[Result] = ()
    compare_with: Sequence[Result] = ()
    organization: str | None = None
    context: eval_results.ResultContext | None = None


NO_RESULTS: Final = PublishedResults()


def build_checkpoint_upload(
    folder: Path,
    repo: str,
    results: PublishedResults = NO_RESULTS,
    *,
    base_license: str | None = None,
    with_code: bool = False,
) -> HubUpload:
    """Build the Hub repository files of a trained model, including the model card and the results.

    Hidden files and stored predictions are not published. The card replaces a README in the folder.

    Args:
        folder: Output folder of a finished training run.
        repo: Model repository, `organization/name`.
        results: Results of this model and of other models.
        base_license: License of the base model (`licenses.fetch_model_license`); None if unknown.
        with_code: Whether to include the code of an unbag architecture (`vendoring.add_model_code`).

    Raises:
        ValueError: If the training run is not finished, if the labels of the config differ from those of the run, if
            results belong to another model, or if `with_code` is set for a transformers architecture.
        ImportError: If `with_code` is set and PyTorch or transformers is not installed.
    """
    record = _read_record(folder)
    _validate_labels(folder, record)
    revision = _validate_results(folder, results.own)
    config = _read_config(folder)
    code = _code_files(config) if with_code else {}
    own = [result for result in results.own if is_standard_head(result)]
    organization = results.organization or repo.partition("/")[0]
    about = ModelCardContent(
        repo=repo,
        record=record,
        own=own,
        residual=[result for result in results.own if not is_standard_head(result)],
        compare_with=_by_model(results.compare_with, revision),
        organization=organization,
        base_license=base_license,
        separator=_separator(folder),
        training_cost=_training_cost(folder),
        needs_unbag=vendoring.is_unbag_config(config),
        with_code=with_code,
    )
    files: dict[str, bytes | Path] = dict(_iter_files(folder))
    files |= {
        **code,
        _CARD: build_model_card(about).encode(),
        **eval_results.build_eval_results(own, organization, results.context),
    }
    message = f"Publish a model trained by unbag's recipe {record['recipe'].replace('_', '-')}"
    return HubUpload(repo, "model", files, message, owned_patterns=_OWNS)


def build_averaged_model_upload(folder: Path, repo: str, results: PublishedResults = NO_RESULTS) -> HubUpload:
    """Build the Hub repository files of a model with averaged weights, including the model card and the results.

    The model card is the README of the folder, with the name of the repository and a block with the results.

    Args:
        folder: Folder of one model of `unbag models interpolate`.
        repo: Model repository, `organization/name`.
        results: Results of this model and of other models.

    Raises:
        ValueError: If the model is incomplete, or results belong to another model.
    """
    _validate_complete(folder)
    compared = _by_model(results.compare_with, _validate_results(folder, results.own))
    own = [result for result in results.own if is_standard_head(result)]
    organization = results.organization or repo.partition("/")[0]
    metadata, text = cards.split_card((folder / _CARD).read_bytes())
    name = repo.partition("/")[2]
    if index := eval_results.build_model_index(own, organization):
        metadata["model-index"] = eval_results.merge_model_index(None, name, index)
    _, _, text = text.strip().partition("\n")  # without the title, which is the name of the folder
    text = cards.set_card_block(f"# {name}\n{text}", _BLOCK, build_results_section(repo, own, (), compared))
    files: dict[str, bytes | Path] = dict(_iter_files(folder))
    files |= {
        _CARD: cards.join_card(metadata, text),
        **eval_results.build_eval_results(own, organization, results.context),
    }
    return HubUpload(repo, "model", files, "Publish a model averaged by unbag", owned_patterns=_OWNS)


def is_averaged_model(folder: Path) -> bool:
    """Check whether a folder contains a model written by `unbag models interpolate`."""
    return (folder / _AVERAGED).is_file() and not (folder / RECORD).exists()


def find_base_model(folder: Path) -> tuple[str, str] | None:
    """Look up the Hub id and commit of the base model of a training run; None for a local base model.

    Raises:
        ValueError: If the folder is not the output of a finished training run.
    """
    model = _read_record(folder)["model"]
    return None if model["name"] == FOLDER else (model["name"], model["revision"])


def _read_record(folder: Path) -> Mapping[str, Any]:
    if not (folder / RECORD).exists():
        contents = sorted(path.name for path in folder.iterdir())[:10] if folder.is_dir() else "no such folder"
        raise ValueError(f"{folder}: expected an output folder of `unbag train` with a {RECORD}, got {contents}")
    record = read_training_record(folder)
    _validate_complete(folder)
    return record


def _validate_results(folder: Path, results: Sequence[Result]) -> str:
    """Validate that all results belong to the model in a folder. Returns the model's revision."""
    revision = compute_folder_revision(folder)
    for result in results:
        if result.model.get("revision") != revision:
            raise ValueError(
                f"--results: expected results of the model in {folder} ({revision[:19]}…), got {result.set} results of "
                f"{result.model['name']} ({str(result.model.get('revision'))[:19]}…); pass results of other models to "
                "--compare-with"
            )
    return revision


def _validate_complete(folder: Path) -> None:
    missing = [name for name in (_CONFIG, "tokenizer_config.json") if not (folder / name).is_file()]
    if missing or not list(folder.glob("model*.safetensors")):
        raise ValueError(
            f"{folder}: expected a complete model, got no {', '.join(missing) or 'model.safetensors'}; add the files"
        )


def _read_config(folder: Path) -> dict[str, Any]:
    return read_json_object(folder / _CONFIG)


def _training_cost(folder: Path) -> Mapping[str, Any] | None:
    """Read hardware and duration of the training run; None for runs of earlier versions without this record."""
    if not (folder / _COST).is_file():
        return None
    return read_record(folder / _COST, _TrainingCost, "the hardware and the duration of a training run")


def _separator(folder: Path) -> str:
    """Find the tokenizer's separator for pairs in a single text (default: a space)."""
    token = read_json_object(folder / "tokenizer_config.json").get("sep_token")
    if isinstance(token, dict):
        token = token.get("content")
    if not isinstance(token, str):
        return " "
    return token * 2 if token == "</s>" else f" {token} "  # RoBERTa joins with </s></s>, BERT with [SEP]


def _code_files(config: Mapping[str, Any]) -> dict[str, bytes]:
    """Build the code files of a model: the module, and a config that refers to the module."""
    config_with_code, module = vendoring.add_model_code(config)
    return {
        _CONFIG: (json.dumps(config_with_code, indent=2, ensure_ascii=False) + "\n").encode(),
        vendoring.MODEL_CODE_FILE: module.encode(),
    }


def _validate_labels(folder: Path, record: Mapping[str, Any]) -> None:
    """Validate that the config has the label order of the training record, and that `id2label` matches `label2id`."""
    config = _read_config(folder)
    labels = config.get("id2label", {})
    if not (isinstance(labels, dict) and all(map(_OUTPUT.fullmatch, labels))):
        raise ValueError(
            f"{folder / _CONFIG}: expected the label of each output in id2label, got {labels!r:.80}; correct the file"
        )
    id2label = {int(output): label for output, label in labels.items()}
    order = list(resolve_output_labels(id2label))
    if order != list(record["label_order"]):
        raise ValueError(
            f"{folder / _CONFIG}: expected the label order of {RECORD} ({record['label_order']}) in id2label, got "
            f"{order}"
        )
    if config.get("label2id") != {label: output for output, label in id2label.items()}:
        raise ValueError(
            f"{folder / _CONFIG}: expected label2id to match id2label {id2label}, got {config.get('label2id')}; "
            "correct the file"
        )


def _iter_files(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if (
            path.is_file()
            and parts not in ((_CARD,), (checksums.FILE,))
            and PREDICTIONS not in parts
            and not any(p.startswith(".") for p in parts)
        ):
            yield "/".join(parts), path


def _by_model(results: Iterable[Result], revision: str) -> dict[str, list[Result]]:
    """Group the results of other models by the display name of the model."""
    by_model: dict[str, list[Result]] = {}
    for result in results:
        if result.model.get("revision") == revision:
            raise ValueError(
                "--compare-with: expected results of other models, got results of the published model; remove them"
            )
        head = "" if is_standard_head(result) else ", residual head"
        name = find_result_model_name(result) or Path(result.model["name"]).name
        by_model.setdefault(f"{name}{head}", []).append(result)
    return by_model
