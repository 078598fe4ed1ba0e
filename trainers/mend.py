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

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from unbag.data.corpora import CORPORA
from unbag.training.config import PathText, option
from unbag.training.recipes import DebiasConfig
from unbag.utils.options import Fraction, NonNegativeFloat, PositiveFloat, PositiveInt

if TYPE_CHECKING:
    from unbag.challenge_sets.request import SetRequest
    from unbag.evaluation.comparison import Comparison
    from unbag.training.output import Record
    from unbag.training.trainer import OnStep
    from unbag.utils.progress import OnProgress

_MEND_BIAS: Final = "lexical"
FILE: Final = "mend.json"
BEFORE: Final = "before"
AFTER: Final = "evaluation"  # the folder name of all recipes
logger = logging.getLogger(__name__)


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
    procedure = "unbag.scripts.trainers.mend:train_and_compare"
    view = "unbag.scripts.trainers.mend:build_view"
    excluded_options = ("evaluate",)

    bias: PathText = _MEND_BIAS
    bias_strength: NonNegativeFloat = 0.0
    alpha: NonNegativeFloat = 1.0
    augment: tuple[str, ...] = ("soswap", "addamod", "substituted")
    augment_pairs: PositiveInt = 1_500
    num_train_epochs: PositiveInt = 1
    learning_rate: PositiveFloat = 1e-4
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
                f"--bias-strength: expected a number above 0 for --bias {self.bias}, got 0; set --bias-strength, or "
                "omit --bias"
            )
        if self.distill and self.word_order != "natural":
            yield (
                f"--word-order: expected natural with --distill, got {self.word_order}, because the original model "
                "predicts pairs in natural order; omit --distill"
            )
        for flag, given in (("--sets", ", ".join(self.sets)), ("--official-file", self.official_file)):
            if given and self.no_evaluate:
                yield f"--no-evaluate: cannot be combined with {flag} {given}; omit one of them"

    @property
    def uses_bias(self) -> bool:
        """Whether the loss uses a biased model."""
        return bool(self.bias_strength or self.anneal or self.balance)


def train_and_compare(
    config: Mend,
    seeds: Sequence[int],
    *,
    on_step: "Callable[[str], OnStep | None] | None" = None,
    progress_callback: "OnProgress | None" = None,
) -> "Record":
    """Train a model, compare it with the original model on the same examples, and write the card.

    An interrupted run, in training or in evaluation, resumes when called again. The output folder gets the model, the
    results before and after, and the record `mend.json`. `seeds` has at most one seed, which replaces that of the
    config.

    Returns:
        `runs`, the record of the training; `folder` of the model; `comparison` (`Comparison.to_json`), or None with the
        reason in `why_not`; `skipped`, the skipped sets with reasons.
    """
    from unbag.challenge_sets.request import create_validated_builder
    from unbag.inference.distributed import connect_process_group
    from unbag.reports.training import build_mend_card
    from unbag.training.record import build_train_command
    from unbag.training.run import run
    from unbag.utils.files import atomic_write, write_json

    if len(seeds) > 1:
        raise ValueError(
            f"--seeds: expected one seed, since mend trains one model, got {len(seeds)}; run mend once per seed"
        )
    config = replace(config, seed=seeds[0]) if seeds else config
    sets = [] if config.no_evaluate else _list_sets(config)
    for each in sets:  # sets and their files are validated before hours of training
        if "file" in each.options:
            create_validated_builder(each)
    trained = run(config, on_step=on_step(config.recipe) if on_step else None)
    failures: dict[str, str] = {}
    evaluated: Record = {"comparison": None, "why_not": None, "skipped": failures}
    if not config.no_evaluate:
        evaluated["why_not"] = _evaluate(config, sets, failures, progress_callback)
    record = {"runs": [trained], "folder": str(config.output_dir), **evaluated}
    if connect_process_group().rank != 0:
        return record
    comparison = None
    if not config.no_evaluate:
        if record["why_not"] is None:
            try:
                comparison = compare_before_after(config.output_dir)
                # Without the paths of its files, since equal runs must have equal records on all machines.
                named = [{"letter": system.letter, "name": system.name} for system in comparison.systems]
                record["comparison"] = {**comparison.to_json(), "systems": named}
            except ValueError as error:
                record["why_not"] = str(error)
        write_json({name: record[name] for name in evaluated}, config.output_dir / FILE)
    with atomic_write(config.output_dir / "README.md") as tmp:
        name, command = config.output_dir.name, build_train_command(trained)
        card = build_mend_card(record, comparison, description=config.about, command=command, name=name)
        tmp.write_text(card, encoding="utf-8")
    return record


@cache  # the report of the run needs it a second time
def compare_before_after(output_dir: Path) -> "Comparison":
    """Compare the evaluations before and after training that `train_and_compare` stored."""
    from unbag.evaluation.comparison import compare_single_models

    comparison = compare_single_models(output_dir / BEFORE, output_dir / AFTER)
    names = ("before", "after")
    systems = [replace(system, name=name) for system, name in zip(comparison.systems, names, strict=True)]
    return replace(comparison, systems=systems)


def build_view(record: "Record") -> Any:
    """Build the view of a record for the terminal."""
    from unbag.reports.training import build_mend_view

    return build_mend_view(record, compare_before_after(Path(record["folder"])) if record["comparison"] else None)


def _evaluate(
    config: Mend, sets: "Sequence[SetRequest]", failures: dict[str, str], progress_callback: "OnProgress | None"
) -> str | None:
    """Evaluate both models. Returns the reason if the original model cannot be evaluated, otherwise None."""
    from unbag.challenge_sets.failures import EvaluationFailure
    from unbag.data.labels import LabelError, parse_label_map
    from unbag.evaluation.evaluator import evaluate_all
    from unbag.evaluation.outcome import EvaluationCallbacks
    from unbag.inference.label_probe import MislabelledError, build_label_map_error
    from unbag.inference.prediction_store import PREDICTIONS
    from unbag.inference.predictor import ModelError

    def add_failure(failure: EvaluationFailure) -> None:
        if failure.set not in failures:
            logger.warning("skipped: %s (%s)", failure.set, failure.error)
        failures[failure.set] = str(failure.error)

    options: dict[str, Any] = {
        "predictions": config.output_dir / AFTER / PREDICTIONS,
        "keep_going": True,
        "callbacks": EvaluationCallbacks(on_progress=progress_callback, on_failure=add_failure),
        "trust_labels": config.label_map is not None,  # the mapping holds for both models, which share the head
    }
    evaluate_all([config.output_dir], sets, output_dir=config.output_dir / AFTER, **options)
    label_map = parse_label_map(config.label_map) if config.label_map else None
    options |= {"revision": config.revision, "label_map": label_map}
    try:
        evaluate_all([config.model], sets, output_dir=config.output_dir / BEFORE, **options)
    except (ModelError, LabelError) as error:  # a model without a head, or with unknown labels, has no "before"
        reason = build_label_map_error(error.report) if isinstance(error, MislabelledError) else error
        return f"{config.model}: expected an evaluation before training, got an error: {reason}"
    return None


def _list_sets(config: Mend) -> "list[SetRequest]":
    """Build the requests for both models: the sets, and pairs of every training corpus and validation file."""
    from unbag.challenge_sets import selection
    from unbag.challenge_sets.request import SetRequest

    options = {"file": str(config.official_file)} if config.official_file else {}
    named = selection.PairSelection(options=options).build_requests(config.sets or selection.list_suite_sets())
    requests = [selection.apply_suite_sample(each) for each in named]
    for corpus in dict.fromkeys(config.corpus_names):
        plain = [(each.config or "").split("-")[0] for each in requests if each.name == "plain"]
        if corpus in CORPORA and corpus not in plain:
            requests.append(selection.apply_suite_sample(SetRequest("plain", corpus)))
    for name in config.validation:
        if Path(name).is_file():
            how: dict[str, Any] = {"data": name, "language": config.language}
            how |= {"columns": config.parse_columns()} if config.columns else {}
            how |= {"labels": list(config.labels)} if config.labels else {}
            requests.append(selection.apply_suite_sample(SetRequest("plain", None, how)))
    return requests


RECIPES = (Mend,)

if __name__ == "__main__":
    from unbag.cli.train import main

    sys.exit(main(*RECIPES))
