# /// script
# requires-python = ">=3.11"
# dependencies = ["unbag[models]"]
# ///
"""Cross-validate an NLI classifier on SICCK: fine-tune on all folds except one, predict it, and score all pairs.

Reproduces section 4.2 of Akoju et al. (2023), as in the authors' notebook.
The folds are five contiguous blocks of the authors' file, in which the pairs
built from one seed pair are adjacent. Training uses only the direction
from premise to hypothesis and three labels. Pairs labelled reverse entailment
count as entailment. A random tenth of the training pairs is held out. Without
--seeds, the random seeds are the authors' five. The model predicts both
directions of each pair, which yields one of four labels: a neutral pair is
reverse entailment if the exchanged pair is predicted as entailment. The command
also scores the model without fine-tuning in the same way. The paper uses 4 or 8
epochs and batches of 8, 16 or 32.

  unbag train kfold --model ORG/NLI-MODEL --output-dir runs/kfold --num-train-epochs 4 --batch-size 8

or without the command:

  python trainers/kfold.py --model ORG/NLI-MODEL --output-dir runs/kfold
  torchrun --nproc_per_node 2 trainers/kfold.py --model ORG/NLI-MODEL --output-dir runs/kfold
  accelerate launch trainers/kfold.py --model ORG/NLI-MODEL --output-dir runs/kfold
  hf jobs uv run -v hf://buckets/ORG/BUCKET:/output trainers/kfold.py --model ORG/NLI-MODEL --output-dir /output/kfold

Two additional protocols train on both directions of each pair, each with its
own label. With --protocol spread, the pairs of a seed sentence are in all
folds, so that training contains other pairs of the same seed, which is much
easier. With --protocol whole_seeds they are in one fold.
"""

import sys

from unbag.training.config_recipes import KFoldConfig
from unbag.training.recipes import Recipe, TrainingProtocol, defer

PROTOCOL = TrainingProtocol(
    defer("unbag.training.kfold:cross_validate"), defer("unbag.reports.training:build_kfold_table")
)
RECIPE = Recipe("kfold", __doc__, config=KFoldConfig, protocol=PROTOCOL)

if __name__ == "__main__":
    from unbag.cli.train import main

    sys.exit(main(RECIPE))
