"""An evaluator for sentence-transformers: challenge sets asked of a `CrossEncoder`, also while it is trained."""

import csv
import io
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

try:
    from sentence_transformers.base.evaluation import BaseEvaluator
except ImportError as error:
    raise ImportError(
        f"CrossEncoderEvaluator needs sentence-transformers 6 or newer: pip install sentence-transformers ({error})"
    ) from error

from unbag.challenge_sets.request import Request
from unbag.data.labels import label_space_of
from unbag.data.predictions import SetPredictions
from unbag.inference.predictor import validate_probabilities
from unbag.integrations.asked import DEFAULT_EXAMPLES, built, order_of, quantities, requested
from unbag.utils.files import atomic_write

_STEP: Final = ("epoch", "steps")

logger = logging.getLogger(__name__)


class CrossEncoderEvaluator(BaseEvaluator):
    """Ask a `CrossEncoder` challenge sets; return `<name>_<set>_<number>`.

        evaluator = unbag.CrossEncoderEvaluator(["permuted", "swapped"])
        evaluator(model)["unbag_permuted_p_c"]
        CrossEncoderTrainer(model, args, train_dataset=…, loss=…, evaluator=evaluator)  # logs eval_unbag_permuted_p_c

    The numbers are those that a model card quotes, each with its 95 % interval (`…_p_c`, `…_p_c_low`, `…_p_c_high`).
    `…_beyond_guessing` is the one that all sets have: 0 is a guess or the best constant answer, 1 a perfect
    reader; what counting words gets is not asked here (`unbag evaluate` does that).

    The rows are asked with `CrossEncoder.predict`, which the library shares out where several processes train. The sets
    are built once, here.

    Args:
        sets: names of challenge sets, a sample of each of its default corpus being asked; a
            `unbag.challenge_sets.request.Request` says which pairs, options (`{"q": 10}`: ten orders of each permuted
            example) and how many examples.
        examples: how many source examples of a set that is named.
        name: what the names of all numbers begin with.
        primary: which of them, as `<set>_<number>`, tells the best model; by default the first set's `beyond_guessing`.
        batch_size: pairs asked at once.
        show_progress_bar: as `CrossEncoder.predict` has it.
        write_csv: add a line to `CrossEncoderEvaluator_<name>_results.csv` in the output folder at each call.

    Attributes:
        primary_metric: the name of the primary number.
        greater_is_better: its direction.

    Raises:
        ValueError: if a set cannot be had, or there is no such primary number.
    """

    def __init__(
        self,
        sets: Sequence[Request | str] | Request | str,
        *,
        examples: int = DEFAULT_EXAMPLES,
        name: str = "unbag",
        primary: str | None = None,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        write_csv: bool = True,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        requests = requested(sets, examples)
        known = dict(quantities(requests))
        self._numbers = list(known)
        primary = next(iter(known)) if primary is None else primary
        if primary not in known:
            raise ValueError(f"expected the primary number to be one of {', '.join(known)}, found {primary!r}")
        self.name, self.batch_size, self.show_progress_bar = name, batch_size, show_progress_bar
        self.primary_metric = f"{name}_{primary}" if name else primary
        self.greater_is_better = known[primary].higher_is_better
        self.write_csv = write_csv
        self.csv_file = f"{type(self).__name__}{f'_{name}' if name else ''}_results.csv"
        self._sets = [built(request) for request in requests]

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: int = -1, steps: int = -1
    ) -> dict[str, float]:
        """Return the numbers of a `CrossEncoder` by name; what has no example is left out.

        Args:
            model: the `CrossEncoder`, with an output for each label, which its config names.
            output_path: the folder for the CSV file; None for none.
            epoch: of the training, for the file; -1 outside of one.
            steps: likewise.

        Raises:
            ValueError: if the model's answers are no numbers, or the CSV file is of other sets;
            `data.labels.LabelError` if
                its config does not say which output is which label.
        """
        order = order_of(model.model)
        space = label_space_of(order)
        numbers: dict[str, float] = {}
        for each in self._sets:
            outputs = model.predict(
                list(zip(*each.pairs, strict=True)),
                batch_size=self.batch_size,
                apply_softmax=True,
                convert_to_numpy=True,
                show_progress_bar=self.show_progress_bar,
            )
            probabilities = np.asarray(outputs)[:, [order.index(label) for label in space]]
            answers = SetPredictions(validate_probabilities(probabilities, len(each.pairs[0]), space), space, True)
            found = {f"{each.described.name}_{name}": value for name, value in each.numbers(answers).items()}
            logger.info("%s: %s", each.described.title, {name: round(value, 4) for name, value in found.items()})
            numbers |= found
        if output_path is not None and self.write_csv:
            self._add_line(Path(output_path) / self.csv_file, {"epoch": epoch, "steps": steps, **numbers})
        named: dict[str, float] = self.prefix_name_to_metrics(numbers, self.name)
        self.store_metrics_in_model_card_data(model, named, epoch, steps)
        return named

    def get_config_dict(self) -> dict[str, Any]:
        """Return what the model's card says of the evaluator."""
        return {"sets": [each.described.name for each in self._sets]}

    def _add_line(self, file: Path, values: dict[str, float]) -> None:
        """Add a line to the CSV file, whole or not at all; it has a column for every number that there may be."""
        columns = [*_STEP, *self._numbers]
        header = _line(columns)
        before = file.read_text(encoding="utf-8") if file.is_file() else header
        if not before.startswith(header):
            raise ValueError(f"expected {file} to be of the same sets, found other columns; move it elsewhere")
        with atomic_write(file) as tmp:
            tmp.write_text(before + _line([values.get(column, "") for column in columns]), encoding="utf-8")


def _line(cells: Sequence[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()
