"""sentence-transformers evaluator that scores a `CrossEncoder` on challenge sets, also during training."""

import csv
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

try:
    from sentence_transformers.base.evaluation import BaseEvaluator
except ImportError as error:
    raise ImportError(
        f"CrossEncoderEvaluator: expected sentence-transformers 6 or newer, got an error ({error}); install "
        "it: pip install 'sentence-transformers>=6'"
    ) from error

from unbag import challenge_sets
from unbag.challenge_sets.request import SetRequest, build_requested_set
from unbag.data.labels import find_label_space
from unbag.data.predictions import SetPredictions
from unbag.inference.predictor import validate_probabilities
from unbag.integrations.built_sets import (
    compute_set_metrics,
    get_output_labels,
    iter_logged_metrics,
    list_pairs,
    parse_requests,
)
from unbag.utils.files import atomic_write

logger = logging.getLogger(__name__)


class CrossEncoderEvaluator(BaseEvaluator):
    """Evaluator of a `CrossEncoder` on challenge sets. Keys of the returned metrics are `<name>_<set>_<metric>`.

        evaluator = unbag.CrossEncoderEvaluator(["permuted", "swapped"])
        evaluator(model)["unbag_permuted_p_c"]
        CrossEncoderTrainer(model, args, train_dataset=…, loss=…, evaluator=evaluator)  # logs eval_unbag_permuted_p_c

    The metrics are those of `unbag.UnbagCallback`. `CrossEncoder.predict` computes the predictions, distributed over
    the processes of distributed training. The constructor builds the sets once.

    Args:
        sets: As in `unbag.UnbagCallback`.
        max_examples: As in `unbag.UnbagCallback`.
        name: Prefix of all metric names.
        primary: `<set>_<metric>` that selects the best model (default: `skill_no_lexical` of the first set).
        batch_size: Pairs per batch.
        show_progress_bar: As in `CrossEncoder.predict`.
        write_csv: Whether each call appends a line to `CrossEncoderEvaluator_<name>_results.csv` in the output folder.

    Attributes:
        primary_metric: Name of the primary metric.
        greater_is_better: Whether a higher value of the primary metric is better.

    Raises:
        ValueError: If a set cannot be built, or the primary metric does not exist.
    """

    def __init__(
        self,
        sets: Sequence[SetRequest | str] | SetRequest | str,
        *,
        max_examples: int | None = None,
        name: str = "unbag",
        primary: str | None = None,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        write_csv: bool = True,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        requests = parse_requests(sets, max_examples)
        quantities = dict(iter_logged_metrics(requests))
        self._numbers = list(quantities)
        primary = next(iter(quantities)) if primary is None else primary
        if primary not in quantities:
            raise ValueError(f"primary: expected one of {', '.join(quantities)}, got {primary!r}; use one of these")
        self.name, self.batch_size, self.show_progress_bar = name, batch_size, show_progress_bar
        self.primary_metric = f"{name}_{primary}" if name else primary
        self.greater_is_better = quantities[primary].higher_is_better
        self.write_csv = write_csv
        self.csv_file = f"{type(self).__name__}{f'_{name}' if name else ''}_results.csv"
        self._sets = [build_requested_set(request) for request in requests]

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: int = -1, steps: int = -1
    ) -> dict[str, float]:
        """Compute the metrics of a `CrossEncoder` by name. Metrics without any example are omitted.

        Args:
            model: `CrossEncoder` with one output per label and label names in its config.
            output_path: Folder of the CSV file; None for no file.

        Raises:
            ValueError: If the model's outputs are not finite, or the CSV file belongs to other sets.
                `data.labels.LabelError` if the model's config does not contain NLI labels.
        """
        order = get_output_labels(model.model)
        space = find_label_space(order)
        numbers: dict[str, float] = {}
        for each in self._sets:
            pairs = list(zip(*list_pairs(each), strict=True))
            outputs = model.predict(
                pairs,
                batch_size=self.batch_size,
                apply_softmax=True,
                convert_to_numpy=True,
                show_progress_bar=self.show_progress_bar,
            )
            probabilities = np.asarray(outputs)[:, [order.index(label) for label in space]]
            predictions = SetPredictions(validate_probabilities(probabilities, len(pairs), space), space, True)
            metrics = compute_set_metrics(each.name, each.rows, predictions, each.skill_score_mask)
            values = {f"{each.name}_{name}": value for name, value in metrics.items()}
            title = challenge_sets.get_challenge_set(each.name).title
            logger.info("%s: %s", title, {name: round(value, 4) for name, value in values.items()})
            numbers |= values
        if output_path is not None and self.write_csv:
            self._add_line(Path(output_path) / self.csv_file, {"epoch": epoch, "steps": steps, **numbers})
        named: dict[str, float] = self.prefix_name_to_metrics(numbers, self.name)
        self.store_metrics_in_model_card_data(model, named, epoch, steps)
        return named

    def get_config_dict(self) -> dict[str, Any]:
        """Build the config of the evaluator for the model card."""
        return {"sets": [each.name for each in self._sets]}

    def _add_line(self, file: Path, values: dict[str, float]) -> None:
        """Append a line to the CSV file atomically. The file has a column for every possible metric."""
        columns = ["epoch", "steps", *self._numbers]
        rows: list[list[Any]] = [columns]
        if file.is_file():
            rows = list(csv.reader(file.read_text(encoding="utf-8").splitlines()))
        if rows[:1] != [columns]:
            raise ValueError(
                f"write_csv: expected the columns of the evaluated sets in {file}, got other columns; move the file to "
                "another folder"
            )
        rows.append([values.get(column, "") for column in columns])
        with atomic_write(file) as tmp, tmp.open("w", encoding="utf-8", newline="") as opened:
            csv.writer(opened, lineterminator="\n").writerows(rows)
