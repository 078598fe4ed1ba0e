# /// script
# requires-python = ">=3.11"
# dependencies = ["unbag[models]"]
# ///
"""Fine-tune a sequence classifier with max-entropy, so that it makes uniform predictions for permuted words.

  unbag train max-entropy --model ORG/MODEL --corpus snli --output-dir runs/a

or without the command:

  python trainers/max_entropy.py --model ORG/MODEL --output-dir runs/a
  torchrun --nproc_per_node 2 trainers/max_entropy.py --model ORG/MODEL --output-dir runs/a
  accelerate launch trainers/max_entropy.py --model ORG/MODEL --output-dir runs/a
  hf jobs uv run -s HF_TOKEN trainers/max_entropy.py --model ORG/MODEL --output-dir runs/a --push-results ORG
"""

import sys
from dataclasses import dataclass

from unbag.training.config import TrainConfig, option
from unbag.utils.options import PositiveFloat, PositiveInt


@dataclass(frozen=True, kw_only=True)
class MaxEntropy(TrainConfig):
    """Recipe of max-entropy."""

    recipe = "max_entropy"
    trainer = "unbag.training.losses:MaxEntropyTrainer"
    about = """\
Max-entropy: training minimizes the cross-entropy of the gold label and maximizes the entropy of the \
predictions for the same pair with shuffled words, so that the model is correct in the original order and uncertain \
in any other order ([Sinha et al. 2021](https://aclanthology.org/2021.acl-long.569), section 8, equation 5)."""

    alpha: PositiveFloat = option("Weight α of the entropy on permuted pairs.", 1.0, panel="Max-entropy")
    permutations: PositiveInt = option("Number n of permutations per pair and epoch.", 1)


RECIPES = (MaxEntropy,)

if __name__ == "__main__":
    from unbag.cli.train import main

    sys.exit(main(*RECIPES))
