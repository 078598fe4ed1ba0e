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
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge

from unbag.training.config import PathText, TrainConfig, option
from unbag.training.recipes import PROTOCOL_FIXED
from unbag.utils.options import Fraction, PositiveInt


@dataclass(frozen=True, kw_only=True)
class KFold(TrainConfig):
    """Recipe of k-fold cross-validation."""

    recipe = "kfold"
    procedure = "unbag.training.kfold:cross_validate"
    view = "unbag.reports.training:build_kfold_table"
    excluded_options = ("seed", "evaluate", "push_results")  # --seeds lists all seeds (`kfold.cross_validate`)

    reads_corpora: ClassVar[bool] = False
    # The held-out pairs are evaluated once, after the last step, and select no weights.
    FIXED: ClassVar[frozenset[str]] = PROTOCOL_FIXED | {
        *("corpus", "max_examples", "max_validation_examples", "eval_steps", "early_stopping_patience")
    }

    corpus: tuple[str, ...] = ("sicck",)
    eval_steps: PositiveInt | None = sys.maxsize
    model: PathText = option("Hub id or folder of an NLI classifier to fine-tune in each fold.")
    official_file: Path | None = option(
        "Local copy of SICCK-Ground-Truth-apr24.csv (default: download).", None, panel="Data", is_bookkeeping=True
    )
    folds: Annotated[int, Ge(2)] = option("Number of folds.", 5)
    # `authors`: contiguous folds of the authors' file. Training pairs keep the direction, forward and reverse
    # entailment are both labelled entailment, and a random tenth is held out. With `spread` and `whole_seeds`, the
    # pairs of each seed are distributed over all folds, or stay in one fold. Training uses both directions of each
    # pair, each with its own label. All three protocols predict both directions of the pairs in a fold.
    protocol: Literal["authors", "spread", "whole_seeds"] = option(
        "Assignment of pairs to folds: authors, spread or whole_seeds.", "authors"
    )
    num_train_epochs: PositiveInt = option("Number of training epochs; the paper uses 4 or 8.", 4)
    batch_size: PositiveInt = option(
        "Total batch size, over all processes; the paper uses 8, 16 or 32.", TrainConfig.batch_size
    )
    # As in transformers' Trainer, which the authors use.
    warmup_ratio: Fraction = 0.0
    output_dir: Path = option("Folder for predictions and scores; kfold.json contains the scores.", is_bookkeeping=True)
    keep_models: bool = option(
        "Keep the trained model of each fold.", False, panel="Checkpoints and logging", is_bookkeeping=True
    )


RECIPES = (KFold,)

if __name__ == "__main__":
    from unbag.cli.train import main

    sys.exit(main(*RECIPES))
