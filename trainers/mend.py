# /// script
# requires-python = ">=3.11"
# dependencies = ["unbag[models]"]
# ///
"""Mend a model that counts words: the recommended recipe, with the model before and after on every challenge set.

The entropy of permuted pairs, and added pairs that words do not give away:
SOSwap, AddAmod, and one word replaced, by WordNet (unbag[wordnet]). With
--bias-strength a product of experts with a bag of words too. Each is a recipe
of its own, and each option is theirs. It leaves an ordinary model with a card
(README.md), on which every difference is tested, in and out of domain.

  unbag train mend --model ORG/NLI-MODEL --output-dir runs/mended
  unbag compare runs/mended/before runs/mended/evaluation

A pre-trained model without a head may be mended too; there is no before then.
Without the command:

  python trainers/mend.py --model ORG/NLI-MODEL --output-dir runs/mended
  torchrun --nproc_per_node 2 trainers/mend.py --model ORG/NLI-MODEL --output-dir runs/mended
  accelerate launch trainers/mend.py --model ORG/NLI-MODEL --output-dir runs/mended
  hf jobs uv run trainers/mend.py --model ORG/NLI-MODEL --output-dir runs/mended
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbag.training.config_recipes import MendConfig
from unbag.training.recipes import Protocol, Recipe

if TYPE_CHECKING:
    from unbag.inference.loading import Classifier
    from unbag.training.bias import PairFeatures
    from unbag.training.data import TrainingData
    from unbag.training.objective import Objective
    from unbag.training.output import Record


def pair_features(config: Any, pairs: "TrainingData", models: "Mapping[str, Path]") -> "PairFeatures | None":
    """Return what biased models say of the training pairs, if they are asked."""
    from unbag.training.debiasing import bias_features

    return bias_features(config, pairs, models) if config.uses_bias else None


def objective(classifier: "Classifier", config: MendConfig, data: "TrainingData") -> "Objective":
    """Return what is minimised."""
    from unbag.training.debiasing import ProductOfExperts, Weighted

    kind = ProductOfExperts if config.uses_bias else Weighted
    return kind(classifier.network, config, language=data.training[0].language)


def run(recipe: Recipe, config: MendConfig, seeds: Sequence[int], **callbacks: Any) -> "Record":
    """Train, evaluate before and after, compare, and write the card."""
    from unbag.inference.distributed import process_group
    from unbag.reports.training import card
    from unbag.training.mended import before_and_after, mend
    from unbag.training.reproduce import command
    from unbag.utils.files import atomic_write

    record = mend(recipe, config, seeds, **callbacks)
    if process_group().rank == 0:
        compared = before_and_after(config.output_dir) if record["comparison"] else None
        [trained] = record["runs"]
        text = card(record, compared, about=recipe.about, command=command(trained), name=config.output_dir.name)
        with atomic_write(config.output_dir / "README.md") as tmp:
            tmp.write_text(text, encoding="utf-8")
    return record


def view(record: "Record") -> Any:
    """Return what a terminal shows of a record."""
    from unbag.reports.training import view
    from unbag.training.mended import before_and_after

    return view(record, before_and_after(Path(record["folder"])) if record["comparison"] else None)


ABOUT = """Mended: beside the cross-entropy of the training pairs and of pairs added to them, the entropy of its \
answers to permuted pairs is maximised, unless α is 0 ([Sinha et al. \
2021](https://aclanthology.org/2021.acl-long.569), section 8). Where the bias has a strength above 0, the \
cross-entropy is that of the product of the model and a biased model, by default a bag of words cross-fitted to the \
training pairs, so that the model learns what is left to say once that one has spoken ([Clark et al. \
2019](https://aclanthology.org/D19-1418), [Mahabadi et al. 2020](https://aclanthology.org/2020.acl-main.769))."""

RECIPE = Recipe("mend", __doc__, objective, MendConfig, Protocol(run, view), about=ABOUT, pair_features=pair_features)

if __name__ == "__main__":
    from unbag.cli.train import main

    sys.exit(main(RECIPE))
