# /// script
# requires-python = ">=3.11"
# dependencies = ["unbag[models]"]
# ///
"""Cross-validate an NLI classifier on SICCK: fine-tune on all folds but one, predict that one, score all pairs.

Section 4.2 of Akoju et al. (2023), as in the authors' notebook: five
contiguous folds of their file, whose pairs are sorted by seed sentence;
training from premise to hypothesis only, with three labels, reverse
entailment as entailment; a random tenth of the training pairs held out; the
authors' five seeds unless --seeds names others. Both directions of a fold's
pairs are predicted, and the reverse rule gives one of four labels. The model
without fine-tuning is scored in the same way. The paper has 4 or 8 epochs and
batches of 8, 16 or 32.

  unbag train kfold --model ORG/NLI-MODEL --output-dir runs/kfold --num-train-epochs 4 --batch-size 8

or without the command:

  python trainers/kfold.py --model ORG/NLI-MODEL --output-dir runs/kfold
  torchrun --nproc_per_node 2 trainers/kfold.py --model ORG/NLI-MODEL --output-dir runs/kfold
  accelerate launch trainers/kfold.py --model ORG/NLI-MODEL --output-dir runs/kfold
  hf jobs uv run -v hf://buckets/ORG/BUCKET:/output trainers/kfold.py --model ORG/NLI-MODEL --output-dir /output/kfold

Two protocols of ours train on both directions of each pair, with their own
labels. With --protocol spread, the pairs of a seed sentence are in all folds,
so that training has other pairs of the same seed, which is far easier. With
--protocol whole_seeds they stay in one fold.
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
    """Build the table of a record for the terminal."""
    from unbag.reports.training import build_kfold_table

    return build_kfold_table(record)


RECIPE = Recipe("kfold", __doc__, config=KFoldConfig, protocol=Protocol(run, view))

if __name__ == "__main__":
    from unbag.cli.train import main

    sys.exit(main(RECIPE))
