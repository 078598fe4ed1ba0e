# /// script
# requires-python = ">=3.11"
# dependencies = ["unbag[models]"]
# ///
"""Cross-validate an NLI classifier on SICCK: fine-tuned on the other folds, scored on all pairs.

Section 4.2 of Akoju et al. (2023), as the authors' notebook does it: five
contiguous folds of their file, whose pairs are sorted by seed; training on
premise to hypothesis only, with three labels, reverse entailment as
entailment; a random tenth of the training pairs held out; five seeds, which
are run where --seeds names none. Both directions of a fold's pairs are
predicted, and the reverse rule gives one of four labels, as for the model as
it is, which is scored beside. The paper's runs are of 4 or 8 epochs in
batches of 8, 16 or 32.

  unbag train kfold --model ORG/NLI-MODEL --output-dir runs/kfold --num-train-epochs 4 --batch-size 8

or without the command:

  python trainers/kfold.py --model ORG/NLI-MODEL --output-dir runs/kfold
  torchrun --nproc_per_node 2 trainers/kfold.py --model ORG/NLI-MODEL --output-dir runs/kfold
  accelerate launch trainers/kfold.py --model ORG/NLI-MODEL --output-dir runs/kfold
  hf jobs uv run trainers/kfold.py --model ORG/NLI-MODEL --output-dir runs/kfold

Two protocols of ours learn both directions of each pair, with their own
labels: --protocol spread puts each seed's pairs into all folds, so that every
predicted pair has others of its seed in training, which is far easier;
--protocol whole_seeds keeps each seed's pairs in one fold.
"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from unbag.training.config_recipes import KFoldConfig
from unbag.training.recipes import Protocol, Recipe

if TYPE_CHECKING:
    from unbag.training.output import Record


def run(recipe: Recipe, config: KFoldConfig, seeds: Sequence[int], **callbacks: Any) -> "Record":
    """Train and predict each fold with each seed."""
    from unbag.training.kfold import cross_validate

    return cross_validate(recipe, config, seeds, **callbacks)


def view(record: "Record") -> Any:
    """Return the table that a terminal shows of a record."""
    from unbag.reports.training import kfold_table

    return kfold_table(record)


RECIPE = Recipe("kfold", __doc__, config=KFoldConfig, protocol=Protocol(run, view))

if __name__ == "__main__":
    from unbag.cli.train import main

    sys.exit(main(RECIPE))
