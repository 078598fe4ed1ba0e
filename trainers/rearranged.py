# /// script
# requires-python = ">=3.11"
# dependencies = ["unbag[models]"]
# ///
"""Train on a corpus as it is and rearranged, with and without HEX, and test on each one's own test split.

Table 3 of the ReSNLI paper: what is lost where words give the label away
least, and what HEX wins back. Four models a seed: fine-tuned and by HEX, on
the training split of the corpus and on that of resnli, which no test pair
is in. HEX answers with both of its heads.

  unbag train rearranged --model ORG/PRETRAINED --output-dir runs/table-3 --seeds 1 2 3

or without the command:

  python trainers/rearranged.py --model ORG/PRETRAINED --output-dir runs/table-3
  torchrun --nproc_per_node 2 trainers/rearranged.py --model ORG/PRETRAINED --output-dir runs/table-3
  accelerate launch trainers/rearranged.py --model ORG/PRETRAINED --output-dir runs/table-3
  hf jobs uv run trainers/rearranged.py --model ORG/PRETRAINED --output-dir runs/table-3

Take a model that no NLI corpus was put to before: one that was fine-tuned on
the corpus has met most of the rearranged test pairs.
"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from unbag.training.config_recipes import RearrangedConfig
from unbag.training.recipes import Protocol, Recipe

if TYPE_CHECKING:
    from unbag.training.output import Record


def run(recipe: Recipe, config: RearrangedConfig, seeds: Sequence[int], **callbacks: Any) -> "Record":
    """Train and ask the models of each seed."""
    from unbag.training.rearranged import train_rearranged

    return train_rearranged(recipe, config, seeds, **callbacks)


def view(record: "Record") -> Any:
    """Return the table that a terminal shows of a record."""
    from unbag.reports.training import rearranged_table

    return rearranged_table(record)


RECIPE = Recipe("rearranged", __doc__, config=RearrangedConfig, protocol=Protocol(run, view))

if __name__ == "__main__":
    from unbag.cli.train import main

    sys.exit(main(RECIPE))
