# /// script
# requires-python = ">=3.11"
# dependencies = ["unbag[models]"]
# ///
"""Fine-tune a sequence classifier on NLI pairs with cross-entropy.

  unbag train finetune --model ORG/MODEL --corpus snli=2 mnli --output-dir runs/a

or without the command:

  python trainers/finetune.py --model ORG/MODEL --output-dir runs/a
  torchrun --nproc_per_node 2 trainers/finetune.py --model ORG/MODEL --output-dir runs/a
  accelerate launch trainers/finetune.py --model ORG/MODEL --output-dir runs/a
  hf jobs uv run -s HF_TOKEN trainers/finetune.py --model ORG/MODEL --output-dir runs/a --push-results ORG
"""

import sys

from unbag.training.config import TrainConfig


class FineTuning(TrainConfig):
    """Recipe of plain fine-tuning."""


RECIPES = (FineTuning,)

if __name__ == "__main__":
    from unbag.cli.train import main

    sys.exit(main(*RECIPES))
