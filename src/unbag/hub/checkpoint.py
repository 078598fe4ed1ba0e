"""A folder that `unbag train` left, as a model of the Hub: its files as they are, a card, and results."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from unbag.hub import eval_results
from unbag.hub.model_card import About, card
from unbag.hub.ownership import FOLDER, is_own_head, model_of
from unbag.hub.publication import Publication
from unbag.inference.revision import folder_revision
from unbag.labels import resolve_order
from unbag.results import Result

RECORD: Final = "training.json"  # as in `unbag.training.published`, which needs torch
_CARD: Final = "README.md"
_CACHE: Final = "predictions"  # what an evaluation in the folder keeps to go on from
_OWNS: Final = ("model*.safetensors*", "hex.*", "evaluation/*", "runs/*", eval_results.OWNS)


def checkpoint(
    folder: Path,
    repo: str,
    *,
    results: Sequence[Result] = (),
    compare_with: Sequence[Result] = (),
    organisation: str | None = None,
    base_licence: str | None = None,
) -> Publication:
    """Return the repository of a trained model.

    Hidden files and stored predictions stay behind; a README in the folder gives way to the card.

    Args:
        folder: as a run left it.
        repo: `organisation/name`.
        results: of this very model, evaluated from the folder; of a HEX model also with its residual head.
        compare_with: of other models, the one it was trained from above all, to be shown next to them.
        organisation: where the challenge sets are published; by default the repository's.
        base_licence: of the model that was trained (`inherited_licence.of_model`); None if it is not known.

    Raises:
        ValueError: if the folder is no finished run, its labels are not those of the run, or results are of another
            model than they are said to be.
    """
    record = _record(folder)
    _check_labels(folder, record)
    revision = folder_revision(folder)
    for result in results:
        if result.model.get("revision") != revision:
            raise ValueError(
                f"expected results of the model in {folder} ({revision[:19]}…), found {result.set} results of "
                f"{result.model['name']} ({str(result.model.get('revision'))[:19]}…); results of other models are for "
                "--compare-with"
            )
    own = [result for result in results if is_own_head(result)]
    organisation = organisation or repo.partition("/")[0]
    about = About(
        repo=repo,
        record=record,
        own=own,
        residual=[result for result in results if not is_own_head(result)],
        compare_with=_by_model(compare_with, revision),
        organisation=organisation,
        base_licence=base_licence,
    )
    files: dict[str, bytes | Path] = dict(_files(folder))
    files |= {_CARD: card(about).encode(), **eval_results.files(own, organisation)}
    message = f"Publish a model trained by unbag's recipe {record['recipe'].replace('_', '-')}"
    return Publication(repo, "model", files, message, owns=_OWNS)


def base_of(folder: Path) -> tuple[str, str] | None:
    """Return Hub id and commit of the model that a run began with; None if it was a folder.

    Raises:
        ValueError: if the folder is no finished run.
    """
    model = _record(folder)["model"]
    return None if model["name"] == FOLDER else (model["name"], model["revision"])


def _record(folder: Path) -> Mapping[str, Any]:
    try:
        record: Mapping[str, Any] = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except FileNotFoundError:
        contents = sorted(path.name for path in folder.iterdir())[:10] if folder.is_dir() else "no such folder"
        raise ValueError(
            f"expected a folder that `unbag train` left, with a {RECORD}; found {contents} in {folder}"
        ) from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{folder / RECORD}: expected JSON ({error})") from None
    missing = [name for name in ("config.json", "tokenizer_config.json") if not (folder / name).is_file()]
    if missing or not list(folder.glob("model*.safetensors")):
        raise ValueError(f"expected a whole model in {folder}, found no {', '.join(missing) or 'model.safetensors'}")
    return record


def _check_labels(folder: Path, record: Mapping[str, Any]) -> None:
    """Refuse a config whose labels are not in the order that the run recorded, or that contradicts itself."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    id2label = {int(output): label for output, label in config.get("id2label", {}).items()}
    order = list(resolve_order(id2label))
    if order != list(record["outputs"]):
        raise ValueError(f"{folder}: the run's outputs are {record['outputs']}, config.json has {order} in id2label")
    if config.get("label2id") != {label: output for output, label in id2label.items()}:
        raise ValueError(f"{folder / 'config.json'}: label2id is {config.get('label2id')}, id2label {id2label}")


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and parts != (_CARD,) and _CACHE not in parts and not any(p.startswith(".") for p in parts):
            yield "/".join(parts), path


def _by_model(results: Iterable[Result], revision: str) -> dict[str, list[Result]]:
    """Return other models' results by what to call them."""
    by_model: dict[str, list[Result]] = {}
    for result in results:
        if result.model.get("revision") == revision:
            raise ValueError("expected results of other models with --compare-with, found this model's own")
        head = "" if is_own_head(result) else ", residual head"
        name = model_of(result) or Path(result.model["name"]).name
        by_model.setdefault(f"{name}{head}", []).append(result)
    return by_model
