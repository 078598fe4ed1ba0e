# /// script
# requires-python = ">=3.11"
# dependencies = ["unbag[models,wordnet]"]
# ///
"""Fine-tune a model that relies on single words with the recommended recipe, and evaluate it before and after.

This recipe makes the predictions for permuted pairs uncertain, and adds pairs
whose words do not reveal the label: SOSwap pairs, AddAmod pairs, and pairs in
which one word is replaced (requires the extra wordnet). With --bias-strength,
the model is trained in an ensemble with a bag of words. With --distill, the
model also learns from the predictions of the original model. With
--interpolate, the output model has weights between the original and the
trained weights. The output is a transformers model with a card (README.md)
that lists all score differences, with significance tests, on the training
corpora and on other corpora.

  unbag train mend --model ORG/NLI-MODEL --output-dir runs/mended
  unbag compare runs/mended/before runs/mended/evaluation

A pretrained model without a classification head is also accepted, but not
evaluated before training.
Without the command:

  python trainers/mend.py --model ORG/NLI-MODEL --output-dir runs/mended
  torchrun --nproc_per_node 2 trainers/mend.py --model ORG/NLI-MODEL --output-dir runs/mended
  accelerate launch trainers/mend.py --model ORG/NLI-MODEL --output-dir runs/mended
  hf jobs uv run -s HF_TOKEN trainers/mend.py --model ORG/NLI-MODEL --output-dir runs/mended --push-results ORG
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from unbag.training.config import Count, Fraction, NotNegative, PathText, Positive, option
from unbag.training.recipes import DebiasConfig

if TYPE_CHECKING:
    from unbag.training.output import Record

_MEND_BIAS: Final = "lexical"


@dataclass(frozen=True, kw_only=True)
class Mend(DebiasConfig):
    """Recipe of `mend`. The defaults are the only place with the numbers of the recommended recipe."""

    recipe = "mend"
    about = """\
Mended: training minimizes the cross-entropy of the training pairs and the added pairs, and \
maximizes the entropy of the predictions for permuted pairs, unless α is 0 ([Sinha et al. \
2021](https://aclanthology.org/2021.acl-long.569), section 8). With a bias strength above 0, training minimizes the \
cross-entropy of the product of the model and a biased model (default: a bag of words, cross-fitted to the training \
pairs), so that the model learns only what the biased model does not predict ([Clark et al. \
2019](https://aclanthology.org/D19-1418), [Mahabadi et al. 2020](https://aclanthology.org/2020.acl-main.769)). With a \
distillation weight d above 0, the loss of each corpus pair is 1 − d times this cross-entropy plus d times the \
cross-entropy with the predictions of the model before training ([Li & Hoiem \
2016](https://arxiv.org/abs/1606.09282))."""
    procedure = "unbag.scripts.trainers.mend:mend"
    view = "unbag.scripts.trainers.mend:build_mend_view"
    excluded_options = ("evaluate",)

    bias: PathText = _MEND_BIAS
    bias_strength: NotNegative = 0.0
    alpha: NotNegative = 1.0
    augment: tuple[str, ...] = ("soswap", "addamod", "substituted")
    augment_pairs: Count = 1_500
    num_train_epochs: Count = 1
    learning_rate: Positive = 1e-4
    distill: Fraction = option(
        "Weight of the original model's predictions as training targets, from 0 to 1.", 0.0, panel="Training"
    )
    # The rule and the grid are in `training.weight_averaging`.
    interpolate: bool = option("Interpolate old and new weights so that accuracy drops by at most 1 point.", False)

    sets: tuple[str, ...] = option(
        "Sets to evaluate on their default samples before and after (default: all).",
        (),
        panel="Before and after",
        is_bookkeeping=True,
    )
    # A folder may hold the files of both sets, at any depth.
    official_file: Path | None = option(
        "Original data file of breaking_nli or sicck, or its folder (default: download).", None, is_bookkeeping=True
    )
    no_evaluate: bool = option("Skip the evaluation before and after training.", False, is_bookkeeping=True)

    def _iter_errors(self) -> Iterator[str]:
        yield from super()._iter_errors()
        if self.bias != _MEND_BIAS and not self.uses_bias:
            yield (
                f"bias_strength: expected a number above 0 for bias = {self.bias!r}, got 0; set bias_strength, or omit "
                "bias"
            )
        if self.distill and self.word_order != "natural":
            yield (
                f"word_order: expected natural with distill, got {self.word_order}, because the original model "
                "predicts pairs in natural order; omit distill"
            )
        for name, given in (("sets", ", ".join(self.sets)), ("official_file", self.official_file)):
            if given and self.no_evaluate:
                yield f"no_evaluate: cannot be combined with {name} ({given}); omit {name} or no_evaluate"

    @property
    def uses_bias(self) -> bool:
        """Whether the loss uses a biased model."""
        return bool(self.bias_strength or self.anneal or self.balance)


def mend(config: Mend, seeds: Sequence[int], **callbacks: Any) -> "Record":
    """Train a model, evaluate it before and after, compare the results, and write the card."""
    from unbag.inference.distributed import connect_process_group
    from unbag.reports.training import build_mend_card
    from unbag.training.mended import compare_before_after, train_and_compare
    from unbag.training.record import build_train_command
    from unbag.utils.files import atomic_write

    record = train_and_compare(config, seeds, **callbacks)
    if connect_process_group().rank == 0:
        compared = compare_before_after(config.output_dir) if record["comparison"] else None
        [trained] = record["runs"]
        text = build_mend_card(
            record,
            compared,
            description=config.about,
            command=build_train_command(trained),
            name=config.output_dir.name,
        )
        with atomic_write(config.output_dir / "README.md") as tmp:
            tmp.write_text(text, encoding="utf-8")
    return record


def build_mend_view(record: "Record") -> Any:
    """Build the view of a record for the terminal."""
    from unbag.reports.training import build_mend_view
    from unbag.training.mended import compare_before_after

    return build_mend_view(record, compare_before_after(Path(record["folder"])) if record["comparison"] else None)


RECIPES = (Mend,)

if __name__ == "__main__":
    from unbag.cli.train import main

    sys.exit(main(*RECIPES))
