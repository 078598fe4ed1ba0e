# /// script
# requires-python = ">=3.11"
# dependencies = ["unbag[models]"]
# ///
"""Train on a corpus and on its rearrangement, with and without HEX, and evaluate each model on its own test split.

Reproduces Table 3 of the ReSNLI paper: how much accuracy models lose on pairs
whose words reveal least about the label, and how much of this loss HEX avoids.
The command trains four models per seed: with plain fine-tuning and with HEX,
each on the training split of the corpus and on the training split of resnli.
The training split of resnli shares no pair with its test split. Both
heads of the HEX models are evaluated.

  unbag train rearranged --model ORG/PRETRAINED --output-dir runs/table-3 --seeds 1 2 3

or without the command:

  python trainers/rearranged.py --model ORG/PRETRAINED --output-dir runs/table-3
  torchrun --nproc_per_node 2 trainers/rearranged.py --model ORG/PRETRAINED --output-dir runs/table-3
  accelerate launch trainers/rearranged.py --model ORG/PRETRAINED --output-dir runs/table-3
  hf jobs uv run -v hf://buckets/ORG/BUCKET:/output trainers/rearranged.py --model ORG/MODEL --output-dir /output/a

Use a model that was not trained on an NLI corpus: a model fine-tuned on the
corpus has been trained on most of the rearranged test pairs.
"""

import sys

from unbag.training.config_recipes import RearrangedConfig
from unbag.training.recipes import Recipe, TrainingProtocol, defer

PROTOCOL = TrainingProtocol(
    defer("unbag.training.rearranged:train_on_rearranged_corpus"),
    defer("unbag.reports.training:build_rearranged_table"),
)
RECIPE = Recipe("rearranged", __doc__, config=RearrangedConfig, protocol=PROTOCOL)

if __name__ == "__main__":
    from unbag.cli.train import main

    sys.exit(main(RECIPE))
