"""A folder that `unbag train` left, as a model of the Hub: its files as they are, a card, and results."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from unbag.challenge_sets import results as schemas
from unbag.challenge_sets.results import Result
from unbag.data.labels import resolve_order
from unbag.hub import eval_results, model_code
from unbag.hub.model_card import ModelCardContent, build_model_card
from unbag.hub.ownership import FOLDER, is_own_head, result_model_name
from unbag.hub.push import Publication
from unbag.inference.hub_files import folder_revision
from unbag.inference.prediction_store import PREDICTIONS
from unbag.utils import checksums
from unbag.utils.files import read_json_object

RECORD: Final = "training.json"  # as in `unbag.training.output`, which needs torch
_COST: Final = "hardware.json"  # as in `unbag.training.output`, likewise
_CONFIG: Final = "config.json"
_CARD: Final = "README.md"
_OWNS: Final = ("model*.safetensors*", "hex.*", "evaluation/*", "runs/*", model_code.FILE, eval_results.OWNS)


def checkpoint_publication(
    folder: Path,
    repo: str,
    *,
    results: Sequence[Result] = (),
    compare_with: Sequence[Result] = (),
    organisation: str | None = None,
    base_licence: str | None = None,
    with_code: bool = False,
    about_results: eval_results.ResultContext | None = None,
) -> Publication:
    """Return the repository of a trained model.

    Hidden files and stored predictions stay behind; a README in the folder gives way to the card.

    Args:
        folder: as a run left it.
        repo: `organisation/name`.
        results: of this very model, evaluated from the folder; of a HEX model also with its residual head.
        compare_with: of other models, the one it was trained from above all, to be shown next to them.
        organisation: where the challenge sets are published; by default the repository's.
        base_licence: of the model that was trained (`licences.of_model`); None if it is not known.
        with_code: whether the repository has the code of a model of ours (`model_code.with_code`).
        about_results: as `eval_results.files` takes it.

    Raises:
        ValueError: if the folder is no finished run, its labels are not those of the run, results are of another
            model than they are said to be, or code is asked for that is not ours.
        ImportError: with code, without PyTorch and transformers.
    """
    record = _read_record(folder)
    _validate_labels(folder, record)
    revision = folder_revision(folder)
    for result in results:
        if result.model.get("revision") != revision:
            raise ValueError(
                f"expected results of the model in {folder} ({revision[:19]}…), found {result.set} results of "
                f"{result.model['name']} ({str(result.model.get('revision'))[:19]}…); results of other models are for "
                "--compare-with"
            )
    config = _read_config(folder)
    code = _code_files(config) if with_code else {}
    own = [result for result in results if is_own_head(result)]
    organisation = organisation or repo.partition("/")[0]
    about = ModelCardContent(
        repo=repo,
        record=record,
        own=own,
        residual=[result for result in results if not is_own_head(result)],
        compare_with=_by_model(compare_with, revision),
        organisation=organisation,
        base_licence=base_licence,
        separator=_separator(folder),
        took=_training_cost(folder),
        needs_unbag=model_code.is_unbag_config(config),
        with_code=with_code,
    )
    files: dict[str, bytes | Path] = dict(_iter_files(folder))
    files |= {
        **code,
        _CARD: build_model_card(about).encode(),
        **eval_results.build_eval_results(own, organisation, about_results),
    }
    message = f"Publish a model trained by unbag's recipe {record['recipe'].replace('_', '-')}"
    return Publication(repo, "model", files, message, owns=_OWNS)


def find_base_model(folder: Path) -> tuple[str, str] | None:
    """Return Hub id and commit of the model that a run began with; None if it was a folder.

    Raises:
        ValueError: if the folder is no finished run.
    """
    model = _read_record(folder)["model"]
    return None if model["name"] == FOLDER else (model["name"], model["revision"])


def _read_record(folder: Path) -> Mapping[str, Any]:
    if not (folder / RECORD).exists():
        contents = sorted(path.name for path in folder.iterdir())[:10] if folder.is_dir() else "no such folder"
        raise ValueError(f"expected a folder that `unbag train` left, with a {RECORD}; found {contents} in {folder}")
    record = schemas.read_record(folder / RECORD, schemas.TrainingRecord, "the record of a finished training")
    missing = [name for name in (_CONFIG, "tokenizer_config.json") if not (folder / name).is_file()]
    if missing or not list(folder.glob("model*.safetensors")):
        raise ValueError(f"expected a whole model in {folder}, found no {', '.join(missing) or 'model.safetensors'}")
    return record


def _read_config(folder: Path) -> dict[str, Any]:
    return read_json_object(folder / _CONFIG)


def _training_cost(folder: Path) -> Mapping[str, Any] | None:
    """Return what the training took; None where an earlier version of us did not say, or somebody wrote otherwise."""
    if not (folder / _COST).is_file():
        return None
    took = read_json_object(folder / _COST)
    kinds = {"hardware": str, "processes": int, "seconds": float | int}
    if not all(isinstance(took.get(name), kind) for name, kind in kinds.items()):
        raise ValueError(f"{folder / _COST}: expected {', '.join(kinds)}, found {sorted(took)}; remove the file")
    return took


def _separator(folder: Path) -> str:
    """Return what a tokenizer puts between two sentences, so that one text can stand for a pair; else a space."""
    token = read_json_object(folder / "tokenizer_config.json").get("sep_token")
    if isinstance(token, dict):
        token = token.get("content")
    if not isinstance(token, str):
        return " "
    return token * 2 if token == "</s>" else f" {token} "  # as RoBERTa does, and as BERT does


def _code_files(config: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files of a model's code: its config, which names it, and the module."""
    named, module = model_code.add_code(config)
    return {
        _CONFIG: (json.dumps(named, indent=2, ensure_ascii=False) + "\n").encode(),
        model_code.FILE: module.encode(),
    }


def _validate_labels(folder: Path, record: Mapping[str, Any]) -> None:
    """Refuse a config whose labels are not in the order that the run recorded, or that contradicts itself."""
    config = _read_config(folder)
    with schemas.explain_damaged_records(folder / _CONFIG):
        id2label = {int(output): label for output, label in config.get("id2label", {}).items()}
    order = list(resolve_order(id2label))
    if order != list(record["label_order"]):
        raise ValueError(
            f"{folder}: the run's outputs are {record['label_order']}, config.json has {order} in id2label"
        )
    if config.get("label2id") != {label: output for output, label in id2label.items()}:
        raise ValueError(f"{folder / _CONFIG}: label2id is {config.get('label2id')}, id2label {id2label}")


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
    """Return other models' results by what to call them."""
    by_model: dict[str, list[Result]] = {}
    for result in results:
        if result.model.get("revision") == revision:
            raise ValueError("expected results of other models with --compare-with, found this model's own")
        head = "" if is_own_head(result) else ", residual head"
        name = result_model_name(result) or Path(result.model["name"]).name
        by_model.setdefault(f"{name}{head}", []).append(result)
    return by_model
