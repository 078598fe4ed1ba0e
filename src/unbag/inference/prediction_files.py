"""Predictions as people publish them: files and tables with ids or texts, labels or probabilities, and several models.

Columns are recognized by their usual names. Ids and texts become 64-bit hashes, so that a row needs little memory.
`evaluation.prediction_matching` finds the rows of a challenge set in such a table, and the meaning of its labels.
"""

import html
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import xxhash
from numpy.typing import NDArray

from unbag.data.labels import (
    CONTRADICTION,
    CONTRADICTION_OR_NOT,
    ENTAILMENT,
    LABEL_SPACES,
    LABELS,
    TWO_WAY,
    LabelError,
    is_missing_label,
    resolve_label,
)
from unbag.data.predictions import NONE
from unbag.data.readers import (
    DataRow,
    DataTable,
    HubTable,
    get_cell,
    open_local_table,
)
from unbag.data.text_layout import normalise_column_name
from unbag.inference.prediction_logs import convert_lm_eval_log, open_inspect_log
from unbag.utils.hashing import hash_texts
from unbag.utils.safe_io import DataError

PredictionSource: TypeAlias = Any
"""Path of a file or folder of `save_to_disk`, or a table: a data frame, a dict of columns or a `datasets.Dataset`."""

Hashes: TypeAlias = NDArray[np.uint64]

EXACT: Final = "premise and hypothesis"
NORMALISED: Final = "normalized premise and hypothesis"
NUMBER: Final = "row number"

INITIALS: Final = {label[0]: label for label in LABELS}
"""Labels by their first letter."""

_TEXTS: Final = {
    "premise": ("premise", "sentence1", "sentence_A", "text1", "text_a", "premises", "sent1", "context", "sentence_1"),
    "hypothesis": (
        *("hypothesis", "sentence2", "sentence_B", "text2", "text_b", "hypotheses", "sent2", "claim", "statement"),
        "sentence_2",
    ),
}
_IDS: Final = (
    *("id", "pairID", "uid", "guid", "promptID", "pair_id", "example_id", "sample_id", "question_id", "source_id"),
    *("qid", "sent_id", "doc_id"),
)
_NUMBERS: Final = ("index", "idx", "row", "row_id", "row_number", "line", "unnamed_0", "")
"""Names of row numbers. pandas writes an index without a name."""

_GOLD: Final = (
    *("gold", "gold_label", "label_gold", "gold_labels", "label", "labels", "true", "true_label", "label_true"),
    *("target", "reference", "ground_truth", "groundtruth", "gt", "y_true", "answer_key", "expected"),
)
_PREDICTION: Final = (
    *("prediction", "predictions", "predicted_label", "pred_label", "label_pred", "label_predicted", "predicted"),
    *("pred", "preds", "y_pred", "model_prediction", "model_label", "predicted_class", "output_label"),
    *("model_answer", "response_label", "output", "response"),
)
_SCORES: Final = (
    *("predicted_scores", "logits", "probabilities", "probs", "scores", "pred_scores", "pred_probs", "logit"),
    *("predicted_probabilities", "predicted_logits", "class_probabilities", "softmax", "model_probs"),
)
_CONFIDENCE: Final = (
    *("p_predicted", "confidence", "probability", "prob", "score", "predicted_prob", "predicted_probability"),
    *("max_prob", "pred_prob", "pred_score", "predicted_score", "conf"),
)
_SCORE_WORDS: Final = re.compile(
    r"^(?:p|prob|probs|probability|score|logit|logits|logprob|log_prob|pred)_"
    r"|_(?:logprob|log_prob|prob|probs|probability|score|logit|logits|p)$"
)
_NEVER_MODELS: Final = re.compile(r"^label\d*$|(?:^|_)(?:gold|true|corrected|original|annotat\w*)(?:_|$)")
_SAMPLE: Final = 2_000  # rows that are inspected for columns with labels


class ModelColumn(NamedTuple):
    """Predictions of one model for n rows of a table, as written there."""

    name: str
    values: Sequence[str] | None  # label of each row; "" without a prediction, None for a table with scores only
    scores: NDArray[np.float64] | None = None  # scores of each label, shape (n, m); NaN without a prediction
    score_labels: tuple[str, ...] | None = None  # labels of the columns of `scores`; None if these are numbered
    confidence: NDArray[np.float64] | None = None  # probability of the predicted label, shape (n,)

    @property
    def is_predicted(self) -> NDArray[np.bool_]:
        """Mask of the rows with a prediction, shape (n,)."""
        if self.values is None and self.scores is not None:
            is_known: NDArray[np.bool_] = ~np.isnan(self.scores[:, 0])  # a row has all scores or none
            return is_known
        return np.array([bool(value) for value in self.values or ()], dtype=np.bool_)


@dataclass(frozen=True, eq=False)  # compared by identity, since its arrays have no truth value
class PublishedPredictions:
    """Table of predictions of one or more models for n rows."""

    name: str
    sha256: str
    keys: Mapping[str, Hashes]  # hashes of the ids, texts and row numbers by which rows can be matched, by column
    numeric: frozenset[str]  # names of the id columns whose values are all whole numbers
    gold: Sequence[str] | None  # gold label of each row; "" if missing, None without gold labels
    id_names: Sequence[str] | None  # names of the label ids 0, 1, …, if the table stores them
    models: Sequence[ModelColumn]
    table: DataTable

    def __len__(self) -> int:
        return len(self.keys[NUMBER])

    def locate(self, row: int) -> str:
        """Describe the location of a row, for error messages."""
        return _locate(self.table, row, self.name)


def _locate(table: DataTable, row: int, name: str) -> str:
    """Describe the location of a row; the name of the table for a row that it does not contain."""
    return next(table.read(row, row + 1), DataRow(row, name, {})).location


def hash_key(text: str) -> int:
    """Compute the 64-bit hash of an id or a text."""
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))


def hash_pair(premise: str, hypothesis: str) -> tuple[int, int]:
    """Compute the hashes of a pair: of the exact texts without surrounding white space, and of the normalized texts.

    Normalized texts consist of the letters and digits, without case, compatibility forms and escapes of HTML.

    >>> hash_pair("It's late.", "No!")[1] == hash_pair("It’s  late", "no")[1]
    True
    """
    exact = f"{premise.strip()}\0{hypothesis.strip()}"
    return hash_key(exact), hash_key("\0".join(map(_normalise, (premise, hypothesis))))


def _normalise(text: str) -> str:
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", html.unescape(text)).casefold())


def read_published_predictions(
    source: PredictionSource, *, columns: Mapping[str, str] | None = None
) -> PublishedPredictions:
    """Read a file or table of predictions.

    Args:
        source: File, folder or table (`PredictionSource`).
        columns: Names of the columns `id`, `premise`, `hypothesis`, `label` (gold), `prediction` and `scores`. Columns
            that are not given are recognized by their usual names.
    """
    table, where = _open(source)
    layout = _recognise(table, where, columns or {})
    keys: dict[str, list[int]] = {each: [] for each in (*layout.ids, *((EXACT, NORMALISED) if layout.texts else ()))}
    numbers: list[int] = []
    numeric = set(layout.ids)
    labels: dict[str, list[str]] = {name: [] for name in (*layout.labels, layout.gold) if name is not None}
    scores: list[list[float]] = []
    confidence: list[float] = []
    for row in table.read():
        for each in layout.ids:
            if isinstance(value := get_cell(row, each), list | dict):
                raise DataError(f"{row.location}: expected an id in the column {each!r}, got {value!r:.60}; correct it")
            text = _text(value)
            keys[each].append(hash_key(text))
            if not text.isdecimal():
                numeric.discard(each)
        if layout.texts:
            hashes = hash_pair(*(_text(row.values.get(each)) for each in layout.texts))
            for kind, key in zip((EXACT, NORMALISED), hashes, strict=True):
                keys[kind].append(key)
        number = _text(row.values.get(layout.number)) if layout.number is not None else ""
        numbers.append(int(number) if number.isdecimal() else row.number)
        for each, texts in labels.items():
            texts.append(_label_text(row, each))
        if layout.scores:
            scores.append(_scores(row, layout))
        if layout.confidence is not None:
            certain = get_cell(row, layout.confidence)
            confidence.append(np.nan if certain in (None, "") else _number(row, layout.confidence, certain))

    matrix = _score_matrix(scores, where, table) if layout.scores else None
    score_labels = layout.score_labels
    if max(map(len, scores), default=0) == 1:
        score_labels = CONTRADICTION_OR_NOT if score_labels == (CONTRADICTION,) else TWO_WAY
    is_named = len(layout.labels) > 1 or layout.is_model_name
    certainty = np.array(confidence) if confidence else None
    models = [
        ModelColumn(each if is_named else where, labels[each], matrix, score_labels, certainty)
        for each in layout.labels
    ]
    return PublishedPredictions(
        where,
        table.revision,
        {name: np.array(values, dtype=np.uint64) for name, values in (keys | {NUMBER: numbers}).items()},
        frozenset(numeric),
        gold=(labels[layout.gold] or None) if layout.gold else None,
        id_names=next((names for each in labels if (names := table.get_label_names(each))), None),
        models=models or [ModelColumn(where, None, matrix, score_labels)],
        table=table,
    )


def _open(source: PredictionSource) -> tuple[DataTable, str]:
    """Open a file or table. Returns the table and its name."""
    if isinstance(source, str | PathLike):
        path = Path(source)
        if not path.is_dir() and (log := open_inspect_log(path)) is not None:
            return log, path.name
        return convert_lm_eval_log(open_local_table(path)), path.name
    import datasets

    data = source
    if isinstance(data, Mapping) and not isinstance(data, datasets.DatasetDict):
        data = datasets.Dataset.from_dict(dict(data))
    elif hasattr(data, "iterrows"):
        data = datasets.Dataset.from_pandas(data, preserve_index=False)
    if not isinstance(data, datasets.Dataset) or not data.num_rows:
        raise DataError(
            f"predictions: expected a file, a data frame, a dict of columns or a datasets.Dataset with rows, got "
            f"{source!r:.80}; pass one of these"
        )
    table = HubTable("predictions", data, revision="")
    cells = (map(repr, row.values.values()) for row in table.read())  # in batches, six times as fast
    return replace(table, revision=hash_texts(chain([data.column_names], cells))), "predictions"


class _Layout(NamedTuple):
    """Columns of a table of predictions."""

    ids: tuple[str, ...]
    number: str | None  # row numbers
    texts: tuple[str, ...]  # premise and hypothesis; empty without them
    gold: str | None
    labels: tuple[str, ...]  # predicted labels, one column per model
    is_model_name: bool  # whether the name of the only label column names the model
    scores: tuple[str, ...]  # one column with lists of scores, or one column per label
    score_labels: tuple[str, ...] | None  # labels of the columns of scores; None for lists
    confidence: str | None  # probability of the predicted label


_NAMED: Final = ("id", "premise", "hypothesis", "label", "prediction", "scores")


def _recognise(table: DataTable, where: str, named: Mapping[str, str]) -> _Layout:
    present = list(table.columns)
    objects = {name for each in present for name in accumulate(each.split(".")[:-1], "{}.{}".format)}
    if unknown := sorted(set(named) - set(_NAMED)):
        raise DataError(f"--columns: expected names for {', '.join(_NAMED)}, got {', '.join(unknown)}; remove it")
    if absent := [each for each in named.values() if each and each not in present]:
        raise DataError(
            f"--columns: expected columns of {where}, got {absent[0]!r}; use one of {', '.join(present[:30])}"
        )
    by_key: dict[str, str] = {}
    for each in present:
        if each not in objects:
            by_key.setdefault(_column_key(each), each)
    used = set(named.values())

    def find(ours: str, usual: Sequence[str]) -> str | None:
        if ours in named:
            return named[ours] or None
        found = next(
            (by_key[key] for each in usual if (key := _column_key(each)) in by_key and by_key[key] not in used), None
        )
        if found is not None:
            used.add(found)
        return found

    label_columns = _find_score_columns([each for each in present if each not in used])
    score_list = None if label_columns else find("scores", _SCORES)
    used.update(label_columns.values())
    prediction = find("prediction", _PREDICTION)
    texts = [find(side, _TEXTS[side]) for side in ("premise", "hypothesis")]
    gold = find("label", _GOLD)
    ids = [named["id"]] if named.get("id") else []
    while "id" not in named and (column := find("id", _IDS)) is not None:
        ids.append(column)
    number = find("", _NUMBERS)
    confidence = find("", _CONFIDENCE) if prediction and not (label_columns or score_list) else None
    labels = [prediction] if prediction else []
    if not (labels or label_columns or score_list):
        label_columns = _find_positive_column([each for each in present if each not in used])
    if not (labels or label_columns or score_list):
        labels = _find_model_columns(table, [each for each in present if each not in used])
    if not (labels or label_columns or score_list):
        raise DataError(
            f"{where}: expected a column of predictions (prediction, pred, predicted_label, …), scores by label, or "
            f"one column of labels per model, got {present[:20]}; pass its name with --columns prediction=… "
            "(scores=… for probabilities of entailment)"
        )
    return _Layout(
        tuple(ids),
        number,
        tuple(each for each in texts if each) if all(texts) else (),
        gold,
        tuple(labels),
        prediction is None,
        tuple(label_columns.values()) or ((score_list,) if score_list else ()),
        tuple(label_columns) or None,
        confidence,
    )


def _find_score_columns(present: Sequence[str]) -> dict[str, str]:
    """Find one column of probabilities or logits per label (`entailment`, `p_entailment`, `neutral_logit`).

    The columns may be fields of an object (`probs.entailment`), if there is only one such object.
    """
    by_object: dict[str, dict[str, str]] = {"": {}}
    for each in present:
        path, _, name = each.rpartition(".")
        word = _SCORE_WORDS.sub("", _column_key(name))
        try:
            by_object.setdefault(path, {}).setdefault(INITIALS.get(word) or resolve_label(word), each)
        except LabelError:
            continue
    complete = {
        path: {label: found[label] for label in space}
        for path, found in by_object.items()
        if (space := next((space for space in LABEL_SPACES if set(space) <= set(found)), ()))
    }
    return complete.get("") or (complete.popitem()[1] if len(complete) == 1 else {})


def _find_positive_column(present: Sequence[str]) -> dict[str, str]:
    """Find the only column of probabilities of a label that determines the other one (`p_entailment`)."""
    keys = {each: _column_key(each) for each in present}
    words = {each: _SCORE_WORDS.sub("", key) for each, key in keys.items()}
    found = [each for each in present if words[each] != keys[each] and words[each] in (ENTAILMENT, CONTRADICTION)]
    return {words[found[0]]: found[0]} if len(found) == 1 else {}


def _find_model_columns(table: DataTable, candidates: Sequence[str]) -> list[str]:
    """Find the columns that contain only names of labels, one column per model."""
    free = [each for each in candidates if not _NEVER_MODELS.search(_column_key(each))]
    values: dict[str, set[str]] = {each: set() for each in free}
    for row in table.read(0, _SAMPLE):
        for each in free:
            values[each].add(_text(row.values.get(each)))
    return [each for each in free if (given := {text for text in values[each] if text}) and all(map(_is_label, given))]


def _is_label(text: str) -> bool:
    try:
        return text.lower() == NONE or bool(resolve_label(text))
    except LabelError:
        return False


def _text(value: Any) -> str:
    """Convert a cell to text: "" for a missing value, and whole numbers without decimals."""
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def _label_text(row: DataRow, name: str) -> str:
    value = get_cell(row, name)
    if isinstance(value, list | dict):
        raise DataError(f"{row.location}: expected a label in the column {name!r}, got {value!r:.60}; correct it")
    return "" if is_missing_label(value) else re.sub(r"(?<=\d)\.0$", "", _text(value))


def _scores(row: DataRow, layout: _Layout) -> list[float]:
    """Read the scores of a row: an empty list without a prediction."""
    names: Sequence[str] = layout.score_labels or ()
    values: Any = [get_cell(row, each) for each in layout.scores]
    if not names:
        [values] = values
        if isinstance(values, str):  # csv
            values = _NUMBER_PATTERN.findall(values)
        if not isinstance(values, Sequence | np.ndarray):
            values = [values]
        names = [layout.scores[0]] * len(values)
    if all(value is None or (isinstance(value, str) and not value) for value in values):
        return []
    return [_number(row, each, value) for each, value in zip(names, values, strict=True)]


_NUMBER_PATTERN: Final = re.compile(r"(?<![\w.:])[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|inf)(?!\w)")
_TOLERANCE: Final = 0.02  # of the sum of rounded probabilities


def _score_matrix(scores: Sequence[Sequence[float]], where: str, table: DataTable) -> NDArray[np.float64]:
    """Build the matrix of probabilities, shape (n, m). Logits are normalized. Rows without a prediction are NaN.

    A single score per row is that of the first of two labels.
    """

    def build_error(row: int, expected: str, got: str) -> DataError:
        return DataError(f"{_locate(table, row, where)}: expected {expected}, got {got}; correct the row")

    width = next((len(each) for each in scores if len(each)), 0)
    if wrong := next((number for number, each in enumerate(scores) if len(each) not in (0, width)), None):
        raise build_error(wrong, f"{width} scores", str(len(scores[wrong])))
    if width not in (1, 2, 3):
        raise DataError(f"{where}: expected one to three scores per row, got {width}; correct the file")
    matrix = np.array([each if len(each) else [np.nan] * width for each in scores], dtype=np.float64)
    known = ~np.isnan(matrix[:, 0])
    if width == 1:  # probabilities or logits of the first of two labels
        is_probability = bool((np.abs(matrix[known] - 0.5) <= 0.5).all())
        matrix = np.hstack([matrix, 1 - matrix if is_probability else np.zeros_like(matrix)])
    elif (np.abs(matrix[known].sum(axis=1) - 100) <= 100 * _TOLERANCE).all() and (matrix[known] >= 0).all():
        matrix /= 100  # percentages
    if len(empty_rows := np.flatnonzero(np.isneginf(matrix).all(axis=1))):
        raise build_error(int(empty_rows[0]), "a finite score for at least one label", "-inf for all")
    is_distribution = (matrix >= 0).all(axis=1) & (np.abs(matrix.sum(axis=1) - 1) <= _TOLERANCE)
    if is_distribution.sum() > known.sum() / 10:  # logits sum to 1 by chance only
        if len(wrong_rows := np.flatnonzero(known & ~is_distribution)):
            got = ", ".join(f"{value:g}" for value in matrix[wrong_rows[0]])
            raise build_error(int(wrong_rows[0]), "probabilities that sum to 1", got)
        return matrix
    from scipy.special import softmax  # slow to import

    probabilities: NDArray[np.float64] = softmax(matrix, axis=1)
    return probabilities


def _number(row: DataRow, name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):  # an integer in JSON may be too large for a float
        number = float("nan")
    if np.isnan(number) or number == np.inf:  # the logarithm of the probability 0 is -inf
        raise DataError(f"{row.location}: expected a number for {name}, got {value!r:.60}; correct that cell")
    return number


def _column_key(name: str) -> str:
    """Convert a column name to a form without case and separators: `predictedLabel` and `Predicted label` are equal."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", normalise_column_name(name))
    return re.sub(r"[\W_]+", "_", spaced.lower()).strip("_")
