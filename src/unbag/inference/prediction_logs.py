"""Sample logs of lm-evaluation-harness and inspect-ai as tables of predictions.

A row has the columns of the logged document or metadata, and `target` and `prediction`. Choices are named by their
text, such as "Neither". `evaluation.prediction_matching` infers their meaning from the targets.
"""

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from unbag.data.labels import CONTRADICTION, ENTAILMENT, NEUTRAL, LabelError, resolve_label
from unbag.data.predictions import NONE
from unbag.data.readers import DataRow, DataTable
from unbag.inference.llm.prompts import Words
from unbag.inference.llm.reading import parse_label
from unbag.utils.hashing import hash_file
from unbag.utils.safe_io import DataError, parse_json, read_limited_bytes, validate_file

INSPECT_ARCHIVE: Final = ".eval"

_WORDS: Final = {
    ENTAILMENT: ("entailment", "entailed", "entails", "Yes", "True"),
    NEUTRAL: ("neutral", "Maybe", "Neither", "Inconclusive"),
    CONTRADICTION: ("contradiction", "contradicted", "contradicts", "No", "False"),
}
_PROMPT: Final = re.compile(
    r"premise:[ \t]*(?P<premise>.+?)\s*\n\s*hypothesis:[ \t]*(?P<hypothesis>.+?)[ \t]*(?:\n|$)",
    re.IGNORECASE | re.DOTALL,
)
_LARGEST: Final = 1 << 30  # bytes of an unpacked log
_LARGEST_JSON: Final = 256 << 20


@dataclass(frozen=True)
class LogTable(DataTable):
    """Table of the samples in a log."""

    revision: str
    rows: Sequence[DataRow]  # with the same columns

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        return list(self.rows[0].values)

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[DataRow]:
        """Iterate over a range of rows."""
        return islice(iter(self.rows), start, stop)


def convert_lm_eval_log(table: DataTable) -> DataTable:
    """Convert a sample log of lm-evaluation-harness (`samples_….jsonl`) to a table of predictions.

    Other tables are returned unchanged. Of several filters of the samples, the one that finds most labels is used.
    """
    if not {"doc", "target"} <= set(table.columns) or not {"filtered_resps", "resps"} & set(table.columns):
        return table
    words = _build_words(str(row.values.get("target")).strip() for row in table.read())
    by_filter: dict[Any, list[DataRow]] = {}
    for row in table.read():
        rows = by_filter.setdefault(row.values.get("filter"), [])
        rows.append(DataRow(len(rows), row.location, _convert_lm_eval_sample(row, words)))
    best = max(by_filter.values(), key=lambda rows: sum(row.values["prediction"] != NONE for row in rows))
    return _build_table(best, table.revision)


def _convert_lm_eval_sample(row: DataRow, words: Words) -> dict[str, Any]:
    values = row.values
    if not isinstance(values.get("doc"), Mapping):
        raise DataError(
            f"{row.location}: expected the logged document, got {values.get('doc')!r:.60}; log samples again"
        )
    answers = _list(values.get("filtered_resps") or values.get("resps"))
    requests = values.get("arguments") or []
    # The last argument of a request is the continuation, which is the text of the choice.
    choices = [str((_list(each) or [""])[-1]).strip() for each in _list(requests)]
    target = str(values["target"]).strip()
    logs = [_read_log_likelihood(each) for each in answers]
    # Multiple-choice tasks log one log-likelihood per choice, and other tasks a generated text.
    if len(logs) == len(choices) > 1 and None not in logs:
        prediction = choices[max(range(len(logs)), key=lambda place: logs[place] or 0.0)]
        target = choices[int(target)] if target.isdecimal() and int(target) < len(choices) else target
    else:
        prediction = _parse_answer(answers[0] if answers else "", words)
    return {
        **_keep_cells(values["doc"]),
        "index": values.get("doc_id", row.number),
        "target": target,
        "prediction": prediction,
    }


def _read_log_likelihood(answer: Any) -> float | None:
    """Read the log-likelihood of a choice, logged as `["-1.5", "False"]`; None for generated text."""
    while isinstance(answer, list) and len(answer) == 1:
        [answer] = answer
    if not isinstance(answer, list) or len(answer) != 2:
        return None
    try:
        return float(answer[0])
    except (TypeError, ValueError):
        return None


def open_inspect_log(path: Path) -> DataTable | None:
    """Open a log of inspect-ai (`.eval`, or `.json` with samples). Returns None for another file.

    Of several epochs, the first one is used.
    """
    if path.suffix == INSPECT_ARCHIVE:
        samples = _read_archive(validate_file(path))
    elif path.suffix == ".json" and (content := read_limited_bytes(path, _LARGEST_JSON)) is not None:
        try:
            log = parse_json(content.decode("utf-8-sig"))
        except ValueError:  # the reader of json files reports the error
            return None
        if not isinstance(log, dict) or "eval" not in log or not isinstance(log.get("samples"), list):
            return None
        samples = log["samples"]
    else:
        return None
    words = _build_words(_find_target(sample) for sample in samples if isinstance(sample, dict))
    rows = [
        DataRow(number, f"{path}, sample {number}", _convert_inspect_sample(sample, words))
        for number, sample in enumerate(samples)
        if isinstance(sample, dict) and sample.get("epoch", 1) == 1
    ]
    if not rows:
        raise DataError(f"{path}: expected samples, got none; run `inspect eval --log-samples` to store them")
    return _build_table(rows, hash_file(path))


def _read_archive(path: Path) -> list[Any]:
    try:
        with zipfile.ZipFile(path) as archive:
            files = [each for each in archive.infolist() if re.fullmatch(r"samples/[^/]+\.json", each.filename)]
            # Sizes are compared before unpacking, since a small archive can unpack to any size.
            if sum(each.file_size for each in files) > _LARGEST:
                raise DataError(
                    f"{path}: expected at most {_LARGEST:,} bytes of samples, got more; convert it to jsonl"
                )
            return [parse_json(archive.read(each).decode()) for each in files]
    # zipfile raises NotImplementedError for an unknown compression, and RuntimeError for an encrypted file.
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        raise DataError(
            f"{path}: expected a log of inspect-ai, got an error ({error}); convert it with "
            "`inspect log convert --to json`"
        ) from None


def _find_target(sample: Mapping[str, Any]) -> str:
    target = sample.get("target")
    return str((target[0] if isinstance(target, list) and target else target) or "").strip()


def _convert_inspect_sample(sample: Mapping[str, Any], words: Words) -> dict[str, Any]:
    choices = [str(each) for each in _list(sample.get("choices"))]
    words = {each: (chr(65 + n),) for n, each in enumerate(choices)} or words
    scores = _list(sample.get("scores"))
    answer = scores[0].get("answer") if scores and isinstance(scores[0], Mapping) else None
    if answer in (None, ""):
        answer = _find_completion(sample.get("output"))
    kept = _keep_cells(sample.get("metadata"))
    text = _find_input(sample.get("input"))
    if found := _PROMPT.search(text):
        kept = found.groupdict() | kept
    # Some tasks store the premise in the metadata, and give the hypothesis as the input.
    elif "premise" in kept:
        kept.setdefault("hypothesis", text)
    return {
        **kept,
        "id": sample.get("id"),
        "target": _name_choice(_find_target(sample), words),
        "prediction": _name_choice(answer, words),
    }


def _find_input(content: Any) -> str:
    """Find the text of the last message of a prompt."""
    if isinstance(content, list) and content and isinstance(content[-1], Mapping):
        content = content[-1].get("content", "")
    if isinstance(content, list):
        content = "\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return str(content or "")


def _find_completion(output: Any) -> str:
    if not isinstance(output, Mapping):
        return ""
    choice = next(iter(_list(output.get("choices"))), None)
    message = choice.get("message") if isinstance(choice, Mapping) else ""
    return str(output.get("completion") or "") or _find_input([message])


def _list(value: Any) -> list[Any]:
    """Convert a list or the values of an object to a list; an empty list for other values."""
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple) else []


def _keep_cells(values: Any) -> dict[str, Any]:
    """Select the columns with texts and numbers, without the label, which is the target."""
    cells = values.items() if isinstance(values, Mapping) else ()
    return {name: value for name, value in cells if isinstance(value, str | int | float) and name != "label"}


def _build_words(targets: Iterable[str]) -> Words:
    """Collect the targets of a log, which are the words of its answers. Samples without a target have no word."""
    return {each: (each,) for each in targets if each}


def _name_choice(answer: Any, words: Words) -> str:
    """Convert an answer to the text of a choice, or to a label; `none` if it is neither."""
    text = str(answer or "").strip()
    return text if text.isdecimal() else _parse_answer(text, words)


def _parse_answer(answer: Any, words: Words) -> str:
    """Find the label in a generated answer, or else one of the words of the log; `none` if it has none."""
    while isinstance(answer, list) and answer:
        answer = answer[0]
    text = str(answer).strip()
    try:
        return resolve_label(text.strip(" .*\"'"))
    except LabelError:
        return parse_label(text, _WORDS) or parse_label(text, words) or NONE


def _build_table(rows: Sequence[DataRow], revision: str) -> LogTable:
    columns = dict.fromkeys(name for row in rows for name in row.values)
    return LogTable(revision, [row._replace(values=columns | dict(row.values)) for row in rows])
