# /// script
# requires-python = ">=3.11"
# dependencies = ["unbag[models,parse]"]
# ///
"""Fine-tune a sequence classifier by HEX: on what the words alone do not explain of its outputs.

The model it leaves is the unchanged architecture; beside it lies what
`unbag evaluate … --head residual` needs.

  unbag train hex --model ORG/MODEL --corpus snli --out runs/a

or without the command:

  python trainers/hex.py --model ORG/MODEL --out runs/a
  torchrun --nproc_per_node 2 trainers/hex.py --model ORG/MODEL --out runs/a
  accelerate launch trainers/hex.py --model ORG/MODEL --out runs/a
  hf jobs uv run trainers/hex.py --model ORG/MODEL --out runs/a
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbag.training.config import TrainConfig
from unbag.training.options import HexOptions
from unbag.training.recipe import Recipe

if TYPE_CHECKING:
    from unbag.inference.loading import Classifier
    from unbag.training.data import TrainingData
    from unbag.training.objective import Objective


@dataclass(frozen=True, kw_only=True)
class HexConfig(TrainConfig, HexOptions):
    """The options of HEX, and those of every recipe."""

    def problems(self) -> Iterator[str]:
        """Yield what is impossible: what was expected, and what was found."""
        yield from TrainConfig.problems(self)
        yield from HexOptions.problems(self)


def objective(classifier: "Classifier", config: HexConfig, data: "TrainingData") -> "Objective":
    """Return what is minimised."""
    from unbag.training.hex import Hex

    return Hex(classifier.network, classifier.tokenizer, config, accumulation=config.accumulation)


ABOUT = """HEX: a superficial branch that sees no more than the mean of the word embeddings is trained along, what it \
explains of a batch's logits is projected out of them, and the cross-entropy of the rest is minimised ("Refining \
Models' Inference Ability Independent of Simple Bag-of-Word Statistics in Natural Language Inference", anonymous \
EMNLP-IJCNLP 2019 submission, section 3; after [Wang et al. 2019](https://arxiv.org/abs/1903.06256)). The model itself \
is the unchanged architecture; the branch lies beside it, in `hex.safetensors`."""

RECIPE = Recipe("hex", __doc__, objective, HexConfig, about=ABOUT)

if __name__ == "__main__":
    from unbag.cli.training import main

    sys.exit(main(RECIPE))
