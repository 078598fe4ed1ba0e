"""Where the rows of a text file begin, so that several processes can each read a part of it.

The file is passed over once, line by line and without parsing. Where a line of csv has quotation marks, the csv reader
itself says where the row ends, since a quoted cell may hold ends of lines; so a part begins at a row in any case.
"""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from unbag.utils.safe_io import lines


class Start(NamedTuple):
    """Where a row begins: its number from 0, how many lines are before it, and how many bytes."""

    row: int
    lines: int
    bytes: int


def csv_delimiter(path: Path) -> str:
    """Return what separates the cells of a csv file: a semicolon where its header has that and no comma.

    Spreadsheets write semicolons in languages whose numbers have a decimal comma.

    Raises:
        DataError: if the file cannot be read.
    """
    for number, line in lines(path):
        if not _is_blank_record(number, line):
            try:
                cells = next(csv.reader([_text(number, line)]), [])
            except csv.Error:  # a damaged header, which `text_rows` reports with its line
                break
            return ";" if len(cells) == 1 and ";" in cells[0] else ","
    return ","


def jsonl_starts(path: Path, every: int) -> Iterator[Start]:
    """Yield where each `every`th row of a jsonl file begins, but not the first.

    Raises:
        DataError: if the file cannot be read, or a line is too long.
    """
    return _starts(path, every, _is_blank_json, header=False, quotes=False)


def separated_starts(path: Path, every: int, *, quotes: bool) -> Iterator[Start]:
    """Yield where each `every`th row behind the header of a csv or tsv file begins, but not the first.

    It ends early at what is no csv: who reads on from the last start is told what is wrong there.

    Args:
        path: the file, as `jsonl_starts` takes it.
        every: how many rows lie between two starts.
        quotes: whether a quotation mark begins a cell in which a line may end; it is a character like others in a tsv.

    Raises:
        DataError: see `jsonl_starts`.
    """
    return _starts(path, every, _is_blank_record, header=True, quotes=quotes)


def _starts(
    path: Path, every: int, is_blank: Callable[[int, bytes], bool], *, header: bool, quotes: bool
) -> Iterator[Start]:
    stream = lines(path)
    row = -1 if header else 0
    done = 0  # bytes
    delimiter = csv_delimiter(path) if quotes else ","
    for number, line in stream:
        if not is_blank(number, line):
            if row > 0 and row % every == 0:
                yield Start(row, number - 1, done)
            row += 1
            if quotes and b'"' in line:
                try:
                    done += _bytes_behind(_text(number, line), stream, delimiter)
                except csv.Error:
                    return
        done += len(line)


def _bytes_behind(line: str, following: Iterator[tuple[int, bytes]], delimiter: str) -> int:
    """Take the lines that belong to the row that a line begins, and return how many bytes they have."""
    taken = 0

    def row() -> Iterator[str]:
        nonlocal taken
        yield line
        for number, more in following:
            taken += len(more)
            yield _text(number, more)

    next(csv.reader(row(), delimiter=delimiter, strict=True))
    return taken


def _is_blank_json(number: int, line: bytes) -> bool:
    """Tell whether a line has nothing but white space, as the reader of jsonl files sees it."""
    if line.startswith(b"{"):  # at once, for there are millions
        return False
    return not _text(number, line).strip()


def _text(number: int, line: bytes) -> str:
    """Return a line as it is read, but that what is not UTF-8 passes: whoever reads the row says what is wrong."""
    return line.decode("utf-8-sig" if number == 1 else "utf-8", errors="replace")


def _is_blank_record(number: int, line: bytes) -> bool:
    """Tell whether a line has nothing, as the reader of csv files sees it."""
    return not line.strip(b"\r\n")
