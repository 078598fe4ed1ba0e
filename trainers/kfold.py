# /// script
# requires-python = ">=3.11"
# dependencies = ["unbag[models]"]
# ///
"""Cross-validate an NLI classifier on SICCK: fine-tuned on the other folds, scored on all pairs.

Section 4.2 of Akoju et al. (2023), whose runs are of 4 or 8 epochs, in
batches of 8, 16 or 32, with 5 seeds; beside it the same model as it is.

  unbag train kfold --model ORG/NLI-MODEL --out runs/kfold --batch-size 16 --seeds 1 2 3 4 5

or without the command:

  python trainers/kfold.py --model ORG/NLI-MODEL --out runs/kfold
  torchrun --nproc_per_node 2 trainers/kfold.py --model ORG/NLI-MODEL --out runs/kfold
  accelerate launch trainers/kfold.py --model ORG/NLI-MODEL --out runs/kfold
  hf jobs uv run trainers/kfold.py --model ORG/NLI-MODEL --out runs/kfold

The paper does not say how a model of three labels was given four to learn.
Here it keeps its head: it learns both directions of each pair, with their
three labels, and predicts both; the reverse rule, as for a model as it is,
then gives one of four. The paper does not name a learning rate either.
"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from unbag.training.kfold_config import KFoldConfig
from unbag.training.recipe import Protocol, Recipe

if TYPE_CHECKING:
    from unbag.training.published import Record


def run(recipe: Recipe, config: KFoldConfig, seeds: Sequence[int], **callbacks: Any) -> "Record":
    """Train and predict each fold with each seed."""
    from unbag.training.kfold import cross_validate

    return cross_validate(recipe, config, seeds, **callbacks)


def view(record: "Record") -> Any:
    """Return the table that a terminal shows of a record."""
    from unbag.report.kfold import table

    return table(record)


RECIPE = Recipe("kfold", __doc__, config=KFoldConfig, protocol=Protocol(run, view))

if __name__ == "__main__":
    from unbag.cli.training import main

    sys.exit(main(RECIPE))
