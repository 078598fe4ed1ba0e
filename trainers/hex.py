# /// script
# requires-python = ">=3.11"
# dependencies = ["unbag[models]"]
# ///
"""Fine-tune a sequence classifier with HEX, on the part of its outputs that a bag of words does not explain.

The model has its original architecture and predicts with its plain head, like
the authors' code. To predict with F_L, as in the paper, use `unbag evaluate …
--head residual`, which reads an additional file in the output folder.

  unbag train hex --model ORG/MODEL --corpus snli --output-dir runs/a
  unbag train hex --model ORG/NLI-MODEL --warm-start 0 --output-dir runs/a
  unbag train hex --model ORG/MODEL --superficial-weight 0.5 --output-dir runs/a

or without the command:

  python trainers/hex.py --model ORG/MODEL --output-dir runs/a
  torchrun --nproc_per_node 2 trainers/hex.py --model ORG/MODEL --output-dir runs/a
  accelerate launch trainers/hex.py --model ORG/MODEL --output-dir runs/a
  hf jobs uv run -s HF_TOKEN trainers/hex.py --model ORG/MODEL --output-dir runs/a --push-results ORG
"""

import sys

from unbag.training.recipes import HexConfig


class Hex(HexConfig):
    """Recipe of HEX."""

    about = """\
HEX: a superficial branch, whose input is the mean of fixed word embeddings, is trained with the model. The \
component of a batch's logits that the branch explains is projected out, and training minimizes the cross-entropy of \
the remaining logits, F_L ("Refining Models' Inference Ability Independent of Simple Bag-of-Word Statistics in Natural \
Language Inference", anonymous EMNLP-IJCNLP 2019 submission, section 3; after [Wang et al. \
2019](https://arxiv.org/abs/1903.06256)). With a superficial weight λ above 0, training minimizes the cross-entropy \
of F_L + λ F_G, the authors' second form, in which the branch learns to predict the label. The first steps (the \
warm start) are plain fine-tuning. The architecture does not change, and the logits are f([h, 0]), as in the authors' \
code. The text of the paper predicts with F_L, which the branch in `models.hex.safetensors` computes for a single pair \
(the residual head)."""


RECIPES = (Hex,)

if __name__ == "__main__":
    from unbag.cli.train import main

    sys.exit(main(*RECIPES))
