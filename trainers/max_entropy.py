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
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbag.training.config import MaxEntropyOptions, TrainConfig
from unbag.training.recipes import Recipe

if TYPE_CHECKING:
    from unbag.inference.loading import Classifier
    from unbag.training.data import TrainingData
    from unbag.training.objective import Objective


@dataclass(frozen=True, kw_only=True)
class MaxEntropyConfig(TrainConfig, MaxEntropyOptions):
    """Common training options and options of max-entropy."""

    def iter_validation_errors(self) -> Iterator[str]:
        """Yield an error message for each invalid option."""
        yield from TrainConfig.iter_validation_errors(self)
        yield from MaxEntropyOptions.iter_validation_errors(self)


def objective(classifier: "Classifier", config: MaxEntropyConfig, data: "TrainingData") -> "Objective":
    """Build the training objective."""
    from unbag.training.max_entropy import MaxEntropyObjective

    return MaxEntropyObjective(classifier.network, config, seed=config.seed, language=data.language)


ABOUT = """Max-entropy: training minimizes the cross-entropy of the gold label and maximizes the entropy of the \
predictions for the same pair with shuffled words, so that the model is correct in the original order and uncertain \
in any other order ([Sinha et al. 2021](https://aclanthology.org/2021.acl-long.569), section 8, equation 5)."""

RECIPE = Recipe("max_entropy", __doc__, objective, MaxEntropyConfig, about=ABOUT)

if __name__ == "__main__":
    from unbag.cli.train import main

    sys.exit(main(RECIPE))
