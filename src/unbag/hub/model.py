"""Trained models as model repositories: files of the training folder, model card and results."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from unbag.challenge_sets.results import Result
from unbag.data.labels import resolve_output_labels
from unbag.hub import cards, eval_results, vendoring
from unbag.hub.eval_results import FOLDER_NAME, find_result_model_name, is_standard_head
from unbag.hub.model_card import ModelCardContent, build_model_card, build_results_section
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
_OWNS: Final = (
    "model*.safetensors*",
    "hex.*",
    "evaluation/*",
    "before/*",
    "runs/*",
    vendoring.MODEL_CODE_FILE,
    eval_results.OWNED_PATTERN,
)


def build_model_upload(
    folder: Path,
    repo: str,
    results: Sequence[Result] = (),
    compare_with: Sequence[Result] = (),
    *,
    organization: str | None = None,
    context: eval_results.ResultContext | None = None,
    base_license: str | None = None,
    with_code: bool = False,
) -> HubUpload:
    """Build the Hub repository files of a trained or averaged model, including the model card and the results.

    Hidden files and stored predictions are not published. The card of a trained model replaces a README in the folder.
    The card of an averaged model is this README, with the name of the repository and a block with the results.

    `results` are those of the model, evaluated from its folder, and `compare_with` those of other models.
    `organization` publishes the challenge sets (default: the owner of the repository). For a trained model, `with_code`
    includes the code of an unbag architecture.
    """
    organization = organization or repo.partition("/")[0]
    record = None if is_averaged_model(folder) else _read_record(folder)
    missing = [name for name in (_CONFIG, "tokenizer_config.json") if not (folder / name).is_file()]
    if missing or not list(folder.glob("model*.safetensors")):
        raise ValueError(
            f"{folder}: expected a complete model, got no {', '.join(missing) or 'model.safetensors'}; add the files"
        )
    own, compared = _group_results(folder, results, compare_with)
    # Without the card, hidden files and stored predictions.
    paths = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    files: dict[str, bytes | Path] = {
        name.as_posix(): path
        for name, path in paths.items()
        if name.parts not in ((_CARD,), (checksums.FILE,))
        and PREDICTIONS not in name.parts
        and not any(part.startswith(".") for part in name.parts)
    }
    if record is None:
        files[_CARD] = _build_averaged_card(folder, repo, own, compared, organization)
        message = "Publish a model averaged by unbag"
    else:
        config = read_json_object(folder / _CONFIG)
        if with_code:
            config_with_code, module = vendoring.add_model_code(config)
            files[_CONFIG] = (json.dumps(config_with_code, indent=2, ensure_ascii=False) + "\n").encode()
            files[vendoring.MODEL_CODE_FILE] = module.encode()
        outputs = {int(output): label for output, label in config.get("id2label", {}).items()}
        order = list(resolve_output_labels(outputs))
        by_label = {output: label for label, output in config.get("label2id", {}).items()}
        if order != list(record["label_order"]) or by_label not in ({}, outputs):
            raise ValueError(
                f"{folder / _CONFIG}: expected the label order of {RECORD} ({record['label_order']}) in id2label and "
                f"label2id, got {order} and {by_label}"
            )
        cost = folder / _COST
        card = ModelCardContent(
            repo=repo,
            record=record,
            own=own,
            residual=[result for result in results if not is_standard_head(result)],
            compare_with=compared,
            organization=organization,
            base_license=base_license,
            separator=_find_separator(folder),
            training_cost=read_json_object(cost) if cost.is_file() else None,
            needs_unbag=str(config.get("model_type")).startswith("unbag-"),
            with_code=with_code,
        )
        files[_CARD] = build_model_card(card).encode()
        message = f"Publish a model trained by unbag's recipe {record['recipe'].replace('_', '-')}"
    files |= eval_results.build_eval_results(own, organization, context)
    return HubUpload(repo, "model", files, message, owned_patterns=_OWNS)


def _build_averaged_card(
    folder: Path, repo: str, own: Sequence[Result], compared: Mapping[str, Sequence[Result]], organization: str
) -> bytes:
    metadata, text = cards.split_card((folder / _CARD).read_bytes())
    name = repo.partition("/")[2]
    if index := eval_results.build_model_index(own, organization):
        metadata["model-index"] = eval_results.merge_model_index(None, name, index)
    _, _, text = text.strip().partition("\n")  # without the title, which is the name of the folder
    text = cards.set_card_block(f"# {name}\n{text}", _BLOCK, build_results_section(repo, own, (), compared))
    return cards.join_card(metadata, text)


def is_averaged_model(folder: Path) -> bool:
    """Check whether a folder contains a model written by `unbag models interpolate`."""
    return (folder / _AVERAGED).is_file() and not (folder / RECORD).exists()


def find_base_model(folder: Path) -> tuple[str, str] | None:
    """Look up the Hub id and commit of the base model of a training run; None for a local or an averaged model."""
    if is_averaged_model(folder):
        return None
    model = _read_record(folder)["model"]
    return None if model["name"] == FOLDER_NAME else (model["name"], model["revision"])


def _read_record(folder: Path) -> Mapping[str, Any]:
    if not (folder / RECORD).exists():
        contents = sorted(path.name for path in folder.iterdir())[:10] if folder.is_dir() else "no such folder"
        raise ValueError(f"{folder}: expected an output folder of `unbag train` with a {RECORD}, got {contents}")
    return read_training_record(folder)


def _group_results(
    folder: Path, results: Sequence[Result], compare_with: Sequence[Result]
) -> tuple[list[Result], dict[str, list[Result]]]:
    """Validate the model of all results. Returns those of its own head, and those of other models by display name."""
    revision = compute_folder_revision(folder)
    for result in results:
        if result.model.get("revision") != revision:
            raise ValueError(
                f"--results: expected results of the model in {folder} ({revision[:19]}…), got {result.set} results of "
                f"{result.model['name']} ({str(result.model.get('revision'))[:19]}…); pass results of other models to "
                "--compare-with"
            )
    compared: dict[str, list[Result]] = {}
    for result in compare_with:
        if result.model.get("revision") == revision:
            raise ValueError(
                "--compare-with: expected results of other models, got results of the published model; remove them"
            )
        head = "" if is_standard_head(result) else ", residual head"
        name = find_result_model_name(result) or Path(result.model["name"]).name
        compared.setdefault(f"{name}{head}", []).append(result)
    return [result for result in results if is_standard_head(result)], compared


def _find_separator(folder: Path) -> str:
    """Find the tokenizer's separator for pairs in a single text (default: a space)."""
    token = read_json_object(folder / "tokenizer_config.json").get("sep_token")
    if isinstance(token, dict):
        token = token.get("content")
    if not isinstance(token, str):
        return " "
    return token * 2 if token == "</s>" else f" {token} "  # RoBERTa joins with </s></s>, BERT with [SEP]
