"""Layout of a text file: its encoding, and the delimiter and quoting of a csv or tsv file.

Spreadsheets and annotation tools write many variants of csv. The layout is detected from byte-order mark, first
line and quotation marks. What cannot be detected (an encoding without a byte-order mark) is an option.
"""

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, cast

from unbag.utils.safe_io import LONGEST_LINE, DataError, iter_lines, iter_text_lines

# Documents in one cell may be longer than 131,072 characters, the default limit of the csv reader.
csv.field_size_limit(LONGEST_LINE)

UTF_8: Final = "utf-8"
_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is the first half of this one
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WORKBOOKS: Final = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # xlsx and ods, xls
_SAMPLE: Final = 1 << 16  # bytes that are inspected for line ends and null bytes
_DELIMITERS: Final = ",;\t|"
_SEPARATOR_LINE: Final = re.compile(r'"?sep=(.)"?[,;\t| ]*', re.IGNORECASE)  # first line of Excel's csv files


class TextLayout(NamedTuple):
    """Layout of a text file."""

    encoding: str = UTF_8  # codec
    has_old_line_ends: bool = False  # whether lines end with a carriage return, as on old Macs
    delimiter: str = ","
    is_quoted: bool = True  # whether quotation marks enclose cells, which may then contain delimiters and line breaks
    has_separator_line: bool = False  # whether the first line names the delimiter (`sep=;`)
    has_option: bool = False  # whether the user can set the encoding, so that errors suggest `--encoding`

    def advise(self, codec: str) -> str:
        """Build the advice for text that the encoding cannot decode, but `codec` may."""
        condition = " if it was saved as Windows-1252" if codec == "cp1252" else ""
        if self.has_option:
            return f"pass --encoding {codec}{condition}, or save the file as UTF-8"
        return f"save the file as UTF-8{' (saved as Windows-1252?)' if condition else ''}"


DEFAULT_LAYOUT: Final = TextLayout()


def resolve_encoding(name: str) -> str:
    """Resolve the name of a text encoding to the name of its codec.

    >>> resolve_encoding("UTF8"), resolve_encoding("Windows-1252"), resolve_encoding("ansi")
    ('utf-8', 'cp1252', 'cp1252')
    """
    if name.strip().lower() == "ansi":  # the name in Windows programs
        return "cp1252"
    try:
        codec = codecs.lookup(name).name
        "".encode(codec)  # codecs such as base64 do not encode text
    except (LookupError, ValueError, TypeError):
        raise DataError(f"--encoding: expected a text encoding such as cp1252 or utf-16, got {name!r}") from None
    return UTF_8 if codec in ("utf-8-sig", "ascii") else codec


def detect_text_layout(
    path: Path, extension: str, encoding: str | None = None, *, has_option: bool = False
) -> TextLayout:
    """Detect the layout of a text file, which may be compressed (`.gz`). `extension` is the one before `.gz`."""
    sample = _read_sample(path)
    marked = next((codec for mark, codec in _BYTE_ORDER_MARKS if sample.startswith(mark)), None)
    codec = marked or (resolve_encoding(encoding) if encoding else UTF_8)
    has_old_line_ends = b"\r" in sample and b"\n" not in sample
    layout = TextLayout(codec, has_old_line_ends=has_old_line_ends, has_option=has_option)
    if sample.startswith(_WORKBOOKS):
        raise DataError(f"{path}: expected text, got a workbook or another binary file; save the sheet as csv")
    # UTF-16: most letters of European languages have a null byte, the second of each pair in little-endian order.
    first, second = (sample[start::2].count(0) / max(1, len(sample) // 2) for start in (0, 1))
    if codec == UTF_8 and max(first, second) > 0.4 and min(first, second) < 0.1:
        raise DataError(
            f"{path}: expected UTF-8, got null bytes, as in UTF-16 without a byte-order mark; "
            + layout.advise("utf-16-le" if second > first else "utf-16-be")
        )
    return _detect_cells(path, layout, extension) if extension in (".csv", ".tsv") else layout


def iter_decoded_lines(path: Path, layout: TextLayout) -> Iterator[tuple[int, str]]:
    """Iterate over line numbers (from 1) and decoded lines. Errors name the line."""
    # Otherwise, the bytes of the file can be split into lines before they are decoded, so that errors name a byte.
    if layout.encoding != UTF_8 or layout.has_old_line_ends:
        number = 0
        try:
            for number, text in iter_text_lines(path, layout.encoding):
                yield number, text.removeprefix("\ufeff") if number == 1 else text
        except UnicodeError as error:
            raise DataError(
                f"{path}, line {number + 1} or later: expected text in {layout.encoding}, got an error "
                f"({error}); {layout.advise('NAME')}"
            ) from None
        return
    for number, line in iter_lines(path):
        try:
            yield number, line.decode("utf-8-sig" if number == 1 else UTF_8)
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path}, line {number}: expected UTF-8, got the byte 0x{line[error.start]:02x} at column "
                f"{error.start + 1}; {layout.advise('cp1252')}"
            ) from None


def decode_text(path: Path, content: bytes, layout: TextLayout) -> str:
    """Decode the whole content of a file. An error names the line."""
    try:
        return content.decode(layout.encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path}, line {line}: expected {layout.encoding}, got the byte 0x{content[error.start]:02x}; "
            f"{layout.advise('cp1252')}"
        ) from None


def _read_sample(path: Path) -> bytes:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        try:
            return cast("io.BufferedIOBase", file).read(_SAMPLE)
        except (EOFError, OSError, zlib.error):  # the reader of the lines names the damaged line
            return b""


def _detect_cells(path: Path, layout: TextLayout, extension: str) -> TextLayout:
    """Detect delimiter and quoting from the first line that is not empty, and from the quotation marks of the file."""
    try:
        for number, line in iter_decoded_lines(path, layout):
            text = line.strip("\r\n")
            if number == 1 and (named := _SEPARATOR_LINE.fullmatch(text)):
                layout = layout._replace(delimiter=named[1], has_separator_line=True)
                break
            if text:
                layout = layout._replace(delimiter=_detect_delimiter(text, extension))
                break
    except DataError:  # the reader of the rows reports the line
        return layout
    if layout.delimiter != "\t":
        return layout
    quoted = _find_quoting(path, layout)
    return layout._replace(is_quoted=extension == ".csv" if quoted is None else quoted)


def _detect_delimiter(header: str, extension: str) -> str:
    """Find the delimiter that splits a header into most cells. For equal numbers, prefer the usual one.

    >>> _detect_delimiter("premise;hypothesis;label", ".csv"), _detect_delimiter("premise,hypothesis,a;b", ".csv")
    (';', ',')
    """
    usual = "\t" if extension == ".tsv" else ","

    def count(delimiter: str) -> int:
        try:
            # An open quotation mark continues in the next line.
            return len(next(csv.reader([header], delimiter=delimiter), []))
        except csv.Error:
            return 0

    return max(usual + _DELIMITERS, key=count)


def _find_quoting(path: Path, layout: TextLayout) -> bool | None:
    """Find out whether quotation marks enclose the cells of a tab-separated file. Return None if both are possible."""
    raw: list[str] = []

    def lines() -> Iterator[str]:
        for number, line in iter_decoded_lines(path, layout):
            if number > 1 or not layout.has_separator_line:
                raw.append(line.rstrip("\r\n"))
                yield line

    try:
        # Spreadsheets enclose cells that contain tabs, line breaks, commas or quotation marks, and double the inner
        # marks. In files such as those of SNLI, a quotation mark is part of the sentence.
        if not any(line.startswith('"') or '\t"' in line for line in lines()):
            return None
        raw.clear()
        n, is_enclosed, has_bare_comma, has_comma, has_needless = 0, False, False, False, False
        for record in csv.reader(lines(), delimiter="\t", strict=True):
            physical = [line.split("\t") for line in raw if line]
            raw.clear()
            if not record:
                continue
            n = n or len(record)
            if len(record) != n:
                return False
            if any(len(cells) != n for cells in physical):
                is_enclosed = True  # only enclosed tabs or line breaks explain the number of cells
                continue
            if len(physical) > 1:
                return False  # each line is a complete row without quoting
            [cells] = physical
            inner = [cell[1:-1] for cell in cells if cell.startswith('"')]
            is_enclosed |= len(inner) == n or any('""' in cell for cell in inner)
            has_comma |= any("," in cell for cell in inner)
            has_needless |= any("," not in cell and '"' not in cell for cell in inner)
            has_bare_comma |= any("," in cell for cell in cells if not cell.startswith('"'))
    except csv.Error:
        return False
    except DataError:  # the reader of the rows reports the line
        return None
    return True if is_enclosed or (has_comma and not has_bare_comma and not has_needless) else None


def normalise_column_name(name: str) -> str:
    r"""Remove white space and byte-order marks around a column name.

    >>> normalise_column_name(" Document\xa0")
    'Document'
    """
    return name.strip("\ufeff").strip()


def fit_cells(cells: Sequence[str], header: Sequence[str]) -> Sequence[str]:
    """Remove empty cells behind the last column, and add those of nameless columns and empty rows.

    Spreadsheets write empty columns and rows. Cells with text are neither added nor removed.

    >>> fit_cells(["a", "b", "", ""], ["x", "y"]), fit_cells(["a"], ["x", ""]), fit_cells([" "], ["x", "y"])
    (['a', 'b'], ['a', ''], [' ', ''])
    """
    n = len(header)
    if not any(cell.strip() for cell in cells[n:]):
        cells = cells[:n]
    is_empty = not any(cell.strip() for cell in cells)
    return [*cells, *[""] * (n - len(cells))] if is_empty or not any(header[len(cells) :]) else cells
