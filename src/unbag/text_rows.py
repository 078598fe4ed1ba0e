"""Rows out of csv, tsv and jsonl files, from the first on or from where some later one begins."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

from unbag.row import Row, named_twice, require_few, require_once
from unbag.row_starts import Start, csv_delimiter
from unbag.utils.safe_io import DataError, lines, parsed_json

FIRST: Final = Start(0, 0, 0)
"""The beginning of a file."""


def read_csv(path: Path, start: Start = FIRST) -> Iterator[Row]:
    """Yield the rows of a csv file, from a start on; its cells are separated by commas, or by semicolons.

    Raises:
        DataError: at the first line that is none, naming it.
    """
    return _read_separated(path, csv_delimiter(path), csv.QUOTE_MINIMAL, start)


def read_tsv(path: Path, start: Start = FIRST) -> Iterator[Row]:
    """Yield the rows of a tsv file, from a start on.

    They are as NLI's are written (SNLI, HANS): a quotation mark is a character of the sentence.

    Raises:
        DataError: see `read_csv`.
    """
    return _read_separated(path, "\t", csv.QUOTE_NONE, start)


def read_jsonl(path: Path, start: Start = FIRST) -> Iterator[Row]:
    """Yield the rows of a jsonl file, from a start on.

    Raises:
        DataError: see `read_csv`.
    """
    decode = json.JSONDecoder(object_pairs_hook=_object).decode
    filled = ((number, text) for number, text in _lines(path, start) if text.strip())
    for row_number, (line_number, line) in enumerate(filled, start=start.row):
        place = f"{path}, line {line_number}"
        try:
            values = parsed_json(line, decode)
        except json.JSONDecodeError as error:
            raise DataError(f"{place}: not JSON ({error})") from None
        except ValueError as error:
            raise DataError(f"{place}: {error}") from None
        if not isinstance(values, dict):
            raise DataError(f"{place}: expected one JSON object a line, found {type(values).__name__}")
        require_few(values, place)
        yield Row(row_number, place, values)


def _lines(path: Path, start: Start = FIRST) -> Iterator[tuple[int, str]]:
    """Yield line numbers from 1 and lines, decoded one by one so that a broken one can be named."""
    for number, line in lines(path, start=start.bytes, before=start.lines):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path}, line {number}: not UTF-8 (byte 0x{line[error.start]:02x} at column {error.start + 1}); "
                "save the file as UTF-8"
            ) from None
        yield number, text


def _read_separated(path: Path, delimiter: str, quoting: Literal[0, 3], start: Start) -> Iterator[Row]:
    def reader_from(begin: Start) -> Any:
        texts = (line for _, line in _lines(path, begin))
        return csv.reader(texts, delimiter=delimiter, quoting=quoting, strict=True)

    reader, before = reader_from(FIRST), 0
    try:
        header = next(reader, None)
        if header is None:
            return
        require_once(header, path)
        if start.row:
            reader, before = reader_from(start), start.lines
        for number, cells in enumerate((row for row in reader if row), start=start.row):
            place = f"{path}, line {before + reader.line_num}"
            if len(cells) != len(header):
                raise DataError(f"{place}: expected {len(header)} cells ({', '.join(header)}), found {len(cells)}")
            yield Row(number, place, dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise DataError(f"{path}, line {before + reader.line_num}: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs) and (twice := named_twice([name for name, _ in pairs])):
        raise ValueError(twice)
    return values
