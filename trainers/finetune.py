# /// script
# requires-python = ">=3.11"
# dependencies = ["unbag[models,parse]"]
# ///
"""Fine-tune a sequence classifier on NLI pairs with cross-entropy.

  unbag train finetune --model ORG/MODEL --corpus snli=2 mnli --out runs/a

or without the command:

  python trainers/finetune.py --model ORG/MODEL --out runs/a
  torchrun --nproc_per_node 2 trainers/finetune.py --model ORG/MODEL --out runs/a
  accelerate launch trainers/finetune.py --model ORG/MODEL --out runs/a
  hf jobs uv run trainers/finetune.py --model ORG/MODEL --out runs/a
"""

import sys
from typing import TYPE_CHECKING

from unbag.training.config import TrainConfig
from unbag.training.recipe import Recipe

if TYPE_CHECKING:
    from unbag.inference.loading import Classifier
    from unbag.training.data import TrainingData
    from unbag.training.objective import Objective


def objective(classifier: "Classifier", config: TrainConfig, data: "TrainingData") -> "Objective":
    """Return what is minimised."""
    from unbag.training.cross_entropy import CrossEntropy

    return CrossEntropy(classifier.network)


ABOUT = "Ordinary fine-tuning: the cross-entropy of the gold label is minimised."

RECIPE = Recipe("finetune", __doc__, objective, about=ABOUT)

if __name__ == "__main__":
    sys.exit(RECIPE.main())
