# /// script
# requires-python = ">=3.11"
# dependencies = ["unbag[models]"]
# ///
"""Fine-tune a sequence classifier by HEX: on what the words alone do not explain of its outputs.

The model it leaves is the unchanged architecture, which answers with
f([h, 0]) as the authors' code does; beside it lies what `unbag evaluate …
--head residual` needs to answer with F_L, as the paper's text does.

  unbag train hex --model ORG/MODEL --corpus snli --output-dir runs/a
  unbag train hex --model ORG/NLI-MODEL --warm-start 0 --output-dir runs/a
  unbag train hex --model ORG/MODEL --superficial-weight 0.5 --output-dir runs/a

or without the command:

  python trainers/hex.py --model ORG/MODEL --output-dir runs/a
  torchrun --nproc_per_node 2 trainers/hex.py --model ORG/MODEL --output-dir runs/a
  accelerate launch trainers/hex.py --model ORG/MODEL --output-dir runs/a
  hf jobs uv run trainers/hex.py --model ORG/MODEL --output-dir runs/a
"""

import sys
from typing import TYPE_CHECKING

from unbag.training.config_recipes import HexConfig
from unbag.training.recipes import Recipe

if TYPE_CHECKING:
    from unbag.inference.loading import Classifier
    from unbag.training.data import TrainingData
    from unbag.training.objective import Objective


def objective(classifier: "Classifier", config: HexConfig, data: "TrainingData") -> "Objective":
    """Return what is minimised."""
    from unbag.training.hex import Hex

    return Hex(
        classifier.network, classifier.tokenizer, config, gradient_accumulation_steps=config.gradient_accumulation_steps
    )


ABOUT = """HEX: a superficial branch that sees no more than the mean of fixed word embeddings is trained along, what \
it explains of a batch's logits is projected out of them, and the cross-entropy of the rest, F_L, is minimised \
("Refining Models' Inference Ability Independent of Simple Bag-of-Word Statistics in Natural Language Inference", \
anonymous EMNLP-IJCNLP 2019 submission, section 3; after [Wang et al. 2019](https://arxiv.org/abs/1903.06256)); with \
a superficial weight λ above 0, that of F_L + λ F_G, their second form, by which the branch learns to predict the \
label. The first steps, a share of all (the warm start), are ordinary fine-tuning. The model itself is the unchanged \
architecture, whose answer f([h, 0]) is the one that the authors' code evaluates; the paper's text predicts by F_L, \
which the branch beside the model, in `models.hex.safetensors`, gives for a single pair (the residual head)."""

RECIPE = Recipe("hex", __doc__, objective, HexConfig, about=ABOUT)

if __name__ == "__main__":
    from unbag.cli.train import main

    sys.exit(main(RECIPE))
