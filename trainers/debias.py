# /// script
# requires-python = ">=3.11"
# dependencies = ["unbag[models]"]
# ///
"""Fine-tune a sequence classifier with a biased model, so that it learns more than the bias.

  unbag train product-of-experts --model ORG/MODEL --corpus snli --output-dir runs/a

or without the command:

  python trainers/debias.py product-of-experts --model ORG/MODEL --output-dir runs/a
  torchrun --nproc_per_node 2 trainers/debias.py product-of-experts --model ORG/MODEL --output-dir runs/a
  accelerate launch trainers/debias.py product-of-experts --model ORG/MODEL --output-dir runs/a
  hf jobs uv run -s HF_TOKEN trainers/debias.py product-of-experts --model ORG/MODEL --output-dir a --push-results ORG
"""

import sys

from unbag.training import config_recipes as options
from unbag.training.recipes import Recipe

_CLARK = "[Clark et al. 2019](https://aclanthology.org/D19-1418)"
_MAHABADI = "[Mahabadi et al. 2020](https://aclanthology.org/2020.acl-main.769)"
_SELF = "[Utama et al. 2020b](https://aclanthology.org/2020.emnlp-main.613)"
_PRODUCT = "training minimizes the cross-entropy of the product of the model and a biased model"
_BIAS = "The biased model is fixed. By default, it is a bag of words, cross-fitted to the training pairs."

_TABLE: "tuple[tuple[str, str, type[options.DebiasConfig], str, str], ...]" = (
    (
        "product_of_experts",
        "ProductOfExpertsTrainer",
        options.DebiasConfig,
        "Train a product of experts with a bag of words or another biased model.",
        f"Product of experts: {_PRODUCT}, so that the model learns only what the biased model does not predict. "
        f"The model predicts without the biased model (Hinton 2002, {_CLARK}, "
        f"[He et al. 2019](https://aclanthology.org/D19-6115), {_MAHABADI}).",
    ),
    (
        "learned_mixin",
        "LearnedMixinTrainer",
        options.LearnedMixinConfig,
        "Train a product of experts with a learned weight per pair for the biased model.",
        f"Learned mixin +H: {_PRODUCT}, raised to a power that is learned for each pair, with an entropy penalty "
        f"on the biased model ({_CLARK}).",
    ),
    (
        "reweighting",
        "ReweightedTrainer",
        options.ReweightingConfig,
        "Weight each pair by the biased model's uncertainty about the gold label.",
        "Reweighting: the weight of each pair in the cross-entropy is 1 minus the biased model's probability of "
        f"the gold label ({_CLARK}).",
    ),
    (
        "focal",
        "ReweightedTrainer",
        options.FocalConfig,
        "Weight each pair by a power of the biased model's uncertainty about the gold label.",
        "Debiased focal loss: the weight of each pair in the cross-entropy is a power of 1 minus the biased "
        f"model's probability of the gold label ({_MAHABADI}).",
    ),
    (
        "confidence_regularization",
        "ConfidenceRegularizationTrainer",
        options.ConfidenceConfig,
        "Distill a teacher whose predictions are smoothed where the biased model is confident.",
        "Confidence regularization: the model learns the predictions of a plainly fine-tuned teacher, which are "
        "flatter for pairs on which a biased model is confident about the gold label ([Utama et al. "
        "2020a](https://aclanthology.org/2020.acl-main.770)).",
    ),
    (
        "self_debiasing",
        "ProductOfExpertsTrainer",
        options.SelfDebiasingConfig,
        "Train a product of experts with a weak learner, trained on a few pairs.",
        f"Self-debiasing: {_PRODUCT}. The biased model is a copy of the model, trained on a few pairs. For these "
        f"pairs, its probabilities are set to uniform. The bias strength decreases during training ({_SELF}).",
    ),
    (
        "group_balanced",
        "WeightedCrossEntropyTrainer",
        options.GroupBalancedConfig,
        "Weight pairs so that all groups, formed by lexically misleading score, have equal total weight.",
        "Group-balanced weights: pairs are grouped by the lexically misleading score of a bag of words, and all "
        "groups have the same total weight (after [Sagawa et al. 2020](https://arxiv.org/abs/1911.08731) and "
        "[Liu et al. 2021](https://arxiv.org/abs/2107.09044)).",
    ),
)
_HELP = """{summary}

  unbag train {command} --model ORG/MODEL --corpus snli --output-dir runs/a

or without the command:

  python trainers/debias.py {command} --model ORG/MODEL --output-dir runs/a
  torchrun --nproc_per_node 2 trainers/debias.py {command} --model ORG/MODEL --output-dir runs/a
"""

RECIPES = tuple(
    Recipe(
        name,
        _HELP.format(summary=summary, command=name.replace("_", "-")),
        f"unbag.training.debiasing:{trainer}",
        config,
        about=f"{about} {_BIAS}" if name != "self_debiasing" else about,
    )
    for name, trainer, config, summary, about in _TABLE
)

if __name__ == "__main__":
    from unbag.cli.train import main

    sys.exit(main(*RECIPES))
