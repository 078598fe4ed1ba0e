"""Weight averaging of classifiers with the same architecture: interpolation and model soups.

Interpolation, θ = (1 − α) θ_A + α θ_B: Wortsman et al. 2022, "Robust fine-tuning of zero-shot models" (WiSE-FT),
https://arxiv.org/abs/2109.01903, between a model before and after fine-tuning. Uniform mean of several fine-tuned
models: Wortsman et al. 2022, "Model soups", https://arxiv.org/abs/2203.05482.

The mean of weights is useful only for models that were fine-tuned from the same weights. Nothing here checks this. The
rule that chooses α after training, with a limit on the accuracy loss, is unbag's.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import torch
from huggingface_hub import ModelCardData
from torch import Tensor
from transformers import AutoModelForSequenceClassification

from unbag.challenge_sets import results
from unbag.inference.hub_files import ModelOrigin, resolve_origin
from unbag.inference.loading import (
    build_missing_weights_message,
    has_classification_head,
    load_config,
    load_network,
    load_tokenizer,
)
from unbag.inference.predictor import ModelError
from unbag.training.config import strip_parent_folders
from unbag.training.dataset import ALL, Metrics
from unbag.training.output import (
    Record,
    create_output_folder,
    iter_json_differences,
    save_tokenizer,
    validate_new_folder,
)
from unbag.utils.files import write_json

FILE: Final = "interpolation.json"
COMMAND: Final = "unbag models interpolate"
_SCHEMA: Final = 1
_TRIVIAL: Final = ("_name_or_path", "transformers_version", "dtype", "torch_dtype", "problem_type", "label2id")
"""Config fields without influence on the logits; `label2id` repeats `id2label`."""
_TOKENIZER_FIELDS: Final = ("special_tokens_map", "model_max_length", "padding_side", "truncation_side")
_SHOWN: Final = 200  # characters of a difference in a message

Weights = Mapping[str, Tensor]
"""A network's `state_dict`: weights and buffers by name."""
OPTION: Final = "--interpolate"
GRID: Final = tuple(step / 10 for step in range(11))
MAX_LOSS: Final = 1  # percentage points of validation accuracy
_TOTALS: Final = frozenset({"alpha", ALL})  # keys of a row of the curve that name no corpus
logger = logging.getLogger(__name__)


def average_tensors(tensors: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
    """Compute the weighted mean of tensors, in float32.

    The tensors are on the CPU, and the weights have the sum 1. Products and sums are in float64 and rounded once.
    Therefore the mean of equal tensors is that tensor, bit for bit. A tensor of weight 0 has no influence, even if its
    values are infinite. The order of the tensors has no influence.

    >>> average_tensors([torch.tensor([0.0, 2.0]), torch.tensor([4.0, 2.0])], [0.75, 0.25])
    tensor([1., 2.])
    """
    products = [weight * tensor.double() for tensor, weight in zip(tensors, weights, strict=True) if weight]
    if len(products) > 2:  # floating-point addition of two numbers commutes, that of three does not associate
        products = list(torch.stack(products).sort(dim=0).values)
    total = products[0]
    for product in products[1:]:
        total = total + product
    return total.float()


def average_weights(models: Sequence[Weights], weights: Sequence[float]) -> dict[str, Tensor]:
    """Compute the weighted mean of the weights of n networks of one architecture, on the CPU.

    Means of floating-point tensors are in float32. Other tensors, such as integer buffers, are copied.
    """
    mean = {}
    for name, tensor in models[0].items():
        tensors = [model[name] for model in models]
        if tensor.is_floating_point():
            mean[name] = average_tensors(tensors, weights)
        elif all(torch.equal(tensor, each) for each in tensors):
            mean[name] = tensor.clone()
        else:
            raise ValueError(
                f"{name}: expected equal integers in all models, got different values; average models with the "
                f"same {name}"
            )
    return mean


def interpolate_weights(weights_a: Weights, weights_b: Weights, alpha: float) -> dict[str, Tensor]:
    """Interpolate weights on the CPU linearly: (1 − α) θ_A + α θ_B, with θ_A = `weights_a`."""
    return average_weights([weights_a, weights_b], [1 - alpha, alpha])


def clone_weights(network: Any) -> dict[str, Tensor]:
    """Copy the weights and buffers of a network to the CPU."""
    return {name: tensor.detach().to("cpu", copy=True) for name, tensor in network.state_dict().items()}


def average_models(models: Sequence[str | Path], output_dir: Path, *, alphas: Sequence[float] = ()) -> Record:
    """Average the weights of classifiers, and write the resulting models as transformers folders.

    Args:
        models: Hub ids or folders of at least two sequence classifiers. Architecture, config, labels and tokenizer must
            agree. The output has the config and the tokenizer of the first one.
        output_dir: New folder. For several α, each model is in a subfolder `alpha-0.5`.
        alphas: Weights of the second model, from 0 to 1, for two models (default: the uniform mean of all models).

    Returns:
        `sources`, the models with name and revision; `models`, the written models with folder, `alpha` (None for a
        uniform mean) and `weights`, the weight of each source.
    """
    _validate(models, alphas, output_dir)
    choices: Sequence[float | None] = alphas or ([0.5] if len(models) == 2 else [None])
    origins = [resolve_origin(model, None) for model in models]
    validate_compatible_models(origins)
    networks = [_load(origin) for origin in origins]
    tokenizer = load_tokenizer(origins[0])
    sources = [
        {"name": strip_parent_folders(each.source), "revision": each.compute_identity().revision} for each in origins
    ]
    on_hub = [origin.source for origin in origins if origin.commit is not None]
    written = []
    with create_output_folder(output_dir, "averaging models") as tmp:
        for alpha in choices:
            weights = [1 / len(models)] * len(models) if alpha is None else [1 - alpha, alpha]
            subfolder = "" if alpha is None or len(choices) == 1 else f"alpha-{_text(alpha)}"
            network = deepcopy(networks[0])  # loading changes it in place, and the next α reads the original again
            network.load_state_dict(average_weights([each.state_dict() for each in networks], weights))
            network.save_pretrained(tmp / subfolder)
            save_tokenizer(tokenizer, tmp / subfolder)
            record: Record = {"schema": _SCHEMA, "alpha": alpha, "environment": results.collect_environment()}
            record["sources"] = [{**each, "weight": weight} for each, weight in zip(sources, weights, strict=True)]
            write_json(record, tmp / subfolder / FILE)
            (tmp / subfolder / "README.md").write_text(_card(output_dir.name, record, on_hub), encoding="utf-8")
            written.append({"folder": str(output_dir / subfolder), "alpha": alpha, "weights": weights})
    return {"sources": sources, "models": written}


def validate_compatible_models(origins: Sequence[ModelOrigin]) -> None:
    """Validate that models have the same architecture, config, label order and tokenizer, without their weights."""
    expected = _description(origins[0])
    for origin in origins[1:]:
        for where, theirs, ours in iter_json_differences(_description(origin), expected):
            raise ValueError(
                f"{origin}: expected {where} = {ours!r:.{_SHOWN}} as in {origins[0]}, got {theirs!r:.{_SHOWN}}; "
                "average models that were fine-tuned from one checkpoint"
            )


def _description(origin: ModelOrigin) -> dict[str, Any]:
    """Describe everything that determines the predictions of a model except its weights."""
    config = load_config(origin).to_dict()
    tokenizer = load_tokenizer(origin)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    steps = {"vocabulary": tokenizer.get_vocab()} if backend is None else json.loads(backend.to_str())
    described: dict[str, Any] = {
        "architecture": config.pop("architectures", None),
        "labels": config.pop("id2label", None),
        "config": {name: value for name, value in config.items() if name not in _TRIVIAL},
        # Truncation and padding are those of the last batch before the tokenizer was saved.
        "tokenizer": {name: value for name, value in steps.items() if name not in ("truncation", "padding")},
    }
    described["tokenizer"] |= {name: getattr(tokenizer, name, None) for name in _TOKENIZER_FIELDS}
    return described


def _load(origin: ModelOrigin) -> Any:
    network, missing = load_network(AutoModelForSequenceClassification, origin, torch.float32)
    if missing:
        raise ModelError(f"{build_missing_weights_message(missing, origin)}; expected a fine-tuned classifier")
    return network


def _validate(models: Sequence[str | Path], alphas: Sequence[float], output_dir: Path) -> None:
    if len(models) < 2:
        raise ValueError(f"MODELS: expected at least two models, got {len(models)}; pass another model")
    if alphas and len(models) > 2:
        raise ValueError(f"--alpha: not supported for {len(models)} models, got {alphas[0]:g}; omit --alpha")
    if outside := [alpha for alpha in alphas if not 0 <= alpha <= 1]:
        raise ValueError(f"--alpha: expected a number from 0 to 1, got {outside[0]:g}; choose another α")
    if len(set(alphas)) < len(alphas):
        raise ValueError(f"--alpha: expected different numbers, got {', '.join(map(_text, alphas))}; pass each α once")
    validate_new_folder(output_dir)


def _text(number: float) -> str:
    # 15 digits round-trip every decimal that users type, without artefacts such as 0.30000000000000004.
    return f"{number:.15g}"


def _card(title: str, record: Record, on_hub: list[str]) -> str:
    """Build the README of an averaged model, in Markdown, with the sources that are Hub repositories as its base."""
    sources, alpha = record["sources"], record["alpha"]
    metadata = ModelCardData(
        library_name="transformers",
        pipeline_tag="text-classification",
        base_model=on_hub or None,
        base_model_relation="merge" if on_hub else None,
        tags=["natural-language-inference", "unbag", f"arxiv:{'2203.05482' if alpha is None else '2109.01903'}"],
    )
    rows = [f"| `{each['name']}` | `{each['revision']}` | {_text(each['weight'])} |" for each in sources]
    method = (
        "the uniform mean of the models below ([model soup, Wortsman et al. 2022](https://arxiv.org/abs/2203.05482))"
        if alpha is None
        else f"(1 − α) θ_A + α θ_B with α = {_text(alpha)}, of the two models below in this order ([WiSE-FT, Wortsman "
        "et al. 2022](https://arxiv.org/abs/2109.01903))"
    )
    parts = [
        f"# {title}",
        f"A standard transformers classifier. Its weights are {method}, without further training. Config and "
        "tokenizer come from the first model.",
        "\n".join(["| model | revision | weight |", "|---|---|---:|", *rows]),
        "The weights derive from all of these models, so the license of each model applies.",
        f"Made with `{COMMAND}`. Evaluate the model with `unbag evaluate`.",
    ]
    text = "\n\n".join(parts)
    return f"---\n{metadata.to_yaml()}\n---\n\n{text}\n"


def copy_original_weights(network: Any, *, sharding: str | None = None) -> Weights:
    """Copy the weights of a classifier before training. They must not be sharded (`trainer.describe_sharding`)."""
    if sharding is not None:
        raise ValueError(
            f"{OPTION}: expected unsharded weights, got {sharding}; train without {OPTION}, then run "
            "`unbag models interpolate`"
        )
    if not has_classification_head(network.config):
        raise ValueError(
            f"{OPTION}: expected a model that is a classifier before training, got a model without a head; "
            f"omit {OPTION}"
        )
    return clone_weights(network)


def interpolate_network(network: Any, original: Weights, evaluate: Callable[[], Metrics]) -> Record:
    """Set a trained network's weights to (1 − α) θ_original + α θ_trained, with the best α of `GRID`.

    α is chosen by the accuracy on validation pairs, which `evaluate` computes. All processes call this together.

    Returns:
        `alpha`, the chosen α; `max_loss`, in percentage points; `curve`, the metrics for each α of `GRID`.
    """
    trained = clone_weights(network)
    curve: list[Record] = []
    for alpha in GRID:
        network.load_state_dict(interpolate_weights(original, trained, alpha))
        curve.append({"alpha": alpha, **evaluate()})
    alpha = choose_alpha(curve)
    if alpha == 0:
        logger.warning(
            "%s: every α above 0 loses more than %d point of accuracy on a validation corpus; the output is the "
            "original model",
            *(OPTION, MAX_LOSS),
        )
    network.load_state_dict(interpolate_weights(original, trained, alpha))
    return {"alpha": alpha, "max_loss": MAX_LOSS, "curve": curve}


def choose_alpha(curve: Sequence[Record], max_accuracy_loss: float = MAX_LOSS) -> float:
    """Choose the largest α at which accuracy drops by at most `max_accuracy_loss` points on each validation corpus.

    The loss is measured against α = 0, which is in the curve.

    >>> row = lambda alpha, correct: {"alpha": alpha, "snli": {"accuracy": correct / 200, "pairs": 200}}
    >>> choose_alpha([row(0.0, 160), row(0.3, 157), row(0.6, 158), row(1.0, 150)])
    0.6
    """
    [first] = [row for row in curve if row["alpha"] == 0]

    def is_kept(name: str, row: Record) -> bool:
        before, after = (round(each[name]["accuracy"] * each[name]["pairs"]) for each in (first, row))
        return bool(100 * (before - after) <= max_accuracy_loss * first[name]["pairs"])

    corpora = first.keys() - _TOTALS
    return max(float(row["alpha"]) for row in curve if all(is_kept(name, row) for name in corpora))
