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
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from unbag.data.corpora import CORPORA
from unbag.data.labels import LABELS
from unbag.training.config import PathText, TrainConfig, option
from unbag.training.recipes import PROTOCOL_FIXED, HexConfig
from unbag.utils.options import PositiveInt

if TYPE_CHECKING:
    from unbag.challenge_sets.requirements import Requirement


@dataclass(frozen=True, kw_only=True)
class Rearranged(HexConfig):
    """Recipe of the experiments on a rearranged corpus."""

    recipe = "rearranged"
    procedure = "unbag.training.rearranged:train_on_rearranged_corpus"
    view = "unbag.reports.training:build_rearranged_table"
    excluded_options = ("evaluate", "push_results")

    FIXED: ClassVar[frozenset[str]] = PROTOCOL_FIXED

    corpus: tuple[str, ...] = option(
        "Corpus to rearrange, with training, validation and test splits.", TrainConfig.corpus
    )
    max_examples: PositiveInt | None = option(
        "Maximum number of training pairs per corpus version (default: all).", None
    )
    test_examples: PositiveInt | None = option(
        "Maximum number of test pairs per corpus version (default: all).", None, panel="Data"
    )
    rearranged_by: PathText = option("Embeddings for rearranging the corpus (default: as in the set resnli).", "")
    seed: int = option("Random seed for training (head, sampling, data order, dropout).", TrainConfig.seed)
    output_dir: Path = option(
        "Folder for predictions and scores; rearranged.json contains the scores.", is_bookkeeping=True
    )
    keep_models: bool = option("Keep all trained models.", False, panel="Checkpoints and logging", is_bookkeeping=True)

    def _iter_errors(self) -> Iterator[str]:
        yield from super()._iter_errors()
        fitting = [
            name
            for name, corpus in CORPORA.items()
            if corpus.train and corpus.validation and corpus.test and len(corpus.labels) == len(LABELS)
        ]
        if len(self.corpus) != 1 or self.corpus[0] not in fitting:
            yield f"--corpus: expected exactly one of {', '.join(fitting)}, got {' '.join(self.corpus) or 'none'}"

    def build_rearrangement_options(self) -> dict[str, Any]:
        """Build the options of the challenge set `resnli`, which rearranges the corpus."""
        return {"embeddings": self.rearranged_by} if self.rearranged_by else {}

    def list_requirements(self) -> "list[Requirement]":
        """List the downloads required for training and rearrangement."""
        from unbag.challenge_sets.request import SetRequest
        from unbag.evaluation import prefetch

        return [
            *super().list_requirements(),
            *prefetch.list_run_requirements([SetRequest("resnli", self.corpus[0], self.build_rearrangement_options())]),
        ]


RECIPES = (Rearranged,)

if __name__ == "__main__":
    from unbag.cli.train import main

    sys.exit(main(*RECIPES))
