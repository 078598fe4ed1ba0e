"""Export of tables as Markdown, LaTeX, CSV and JSON, for every command that prints metrics.

The LaTeX text compiles with any engine, and requires only the package booktabs: special characters are escaped, and
Greek letters are written as formulas.

pandas does not write these tables: `to_markdown` requires tabulate and leaves `|` in cells as it is, `to_latex` has
neither groups of rows nor formulas, `to_csv` writes missing integers as floats, and the import takes 0.7 s.
"""

import csv
import io
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

_SPECIAL: Final = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\`{}",
    "[": "{[}",  # LaTeX parses a bracket after `\\` at the end of a row as an argument
    "]": "{]}",
    "–": r"\textendash{}",
    "…": r"\dots{}",
    "’": "'",
}
_FORMULAS: Final = {
    "Ω": r"\Omega",
    "λ": r"\lambda",
    "≥": r"\geq",
    "≤": r"\leq",
    "−": "-",
    "±": r"\pm",
    "×": r"\times",
    "·": r"\cdot",
    "→": r"\rightarrow",
    "↑": r"\uparrow",
    "↓": r"\downarrow",
    "′": "'",
    "τ": r"\tau",
    "β": r"\beta",
}
_ACCENTS: Final = frozenset("\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327")
"""Accents that the font encoding OT1 can combine with a letter."""
# Ω_max, P^c, CS_0.7
_INDEXED: Final = re.compile(
    r"(?<![\w./-])(?P<base>Ω|P|H|F|D|CS)(?P<kind>[_^])(?P<index>\w+(?:\.\d+)?)|(?<![\w.)-])-(?=\.?\d)"
)
"""Symbols with an index, and minus signs, which become formulas."""


def escape_latex(value: str) -> str:
    r"""Escape text for LaTeX. Characters that 8-bit engines do not support are replaced by their code points.

    >>> print(escape_latex("50 % of a_b & 中"))
    50 \% of a\_b \& \texttt{U+4E2D}
    """
    parts = []
    for one in re.sub(r"\s+", " ", value):
        decomposed = unicodedata.normalize("NFD", one)
        letter, accents = decomposed[0], decomposed[1:]
        is_supported = letter.isascii() and letter.isprintable() and len(accents) < 2 and _ACCENTS.issuperset(accents)
        formula = f"${_FORMULAS[one]}$" if one in _FORMULAS else None
        parts.append(formula or _SPECIAL.get(one) or (one if is_supported else rf"\texttt{{U+{ord(one):04X}}}"))
    return "".join(parts).replace("--", "-{}-")  # LaTeX turns `--` into a dash


def format_latex_cell(value: str) -> str:
    r"""Format a table cell for LaTeX. Minus signs and subscripts, as in Ω_max, become formulas.

    >>> print(format_latex_cell("P^c, Ω_max: -0.1 [-0.2, 0.0]"))
    $P^{\mathrm{c}}$, $\Omega_{\mathrm{max}}$: $-$0.1 {[}$-$0.2, 0.0{]}
    """
    parts, end = [], 0
    value = " ".join(value.split())
    for match in _INDEXED.finditer(value):
        parts.append(escape_latex(value[end : match.start()]))
        end = match.end()
        if (base := match["base"]) is None:
            parts.append("$-$")
            continue
        symbol = _FORMULAS.get(base, base if len(base) == 1 else rf"\mathrm{{{base}}}")
        letters = "".join(f"{_FORMULAS[one]} " if one in _FORMULAS else one for one in match["index"])
        index = letters.strip().replace("_", r"\_")
        parts.append(f"${symbol}{match['kind']}{{\\mathrm{{{index}}}}}$")
    return "".join([*parts, escape_latex(value[end:])])


Format = Literal["md", "csv", "latex", "json"]

_MARKS: Final = re.compile(r"[\\|*`<]|(?<!\w)_|_(?!\w)")  # an underscore inside a word does not start emphasis


@dataclass(frozen=True)
class GroupedTable:
    """A table of formatted cells whose rows are arranged in groups."""

    title: str
    columns: tuple[str, ...]
    groups: Sequence[Sequence[tuple[str, ...]]]
    n_text_columns: int = 1  # number of leading text columns; the others contain numbers
    n_last_text_columns: int = 0
    names: frozenset[int] = frozenset()  # indices of columns with names, which are escaped without formulas
    notes: tuple[str, ...] = ()

    def has_numbers(self, column: int) -> bool:
        """Check whether the column with the given index contains numbers."""
        return self.n_text_columns <= column < len(self.columns) - self.n_last_text_columns


@dataclass(frozen=True)
class ExportedTable:
    """The tables and values that a command prints, which can be exported to all formats."""

    tables: Sequence[GroupedTable]  # for Markdown and LaTeX
    records: Sequence[Mapping[str, Any]]  # for CSV: one per metric value, all with the same keys
    as_json: Any

    def text(self, form: Format) -> str:
        """Format the output as Markdown, LaTeX, CSV or JSON text, with a final newline."""
        if form == "json":
            return json.dumps(self.as_json, ensure_ascii=False) + "\n"
        if form == "csv":
            return _csv(self.records)
        return "\n".join(map(_markdown if form == "md" else _latex, self.tables))


def _csv(records: Sequence[Mapping[str, Any]]) -> str:
    """Format records as CSV: bools as `true` or `false`, None as an empty cell, numbers in full precision."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")  # the default is \r\n
    writer.writerow(records[0] if records else ())
    for record in records:
        writer.writerow([str(value).lower() if isinstance(value, bool) else value for value in record.values()])
    return file.getvalue()


def _markdown(table: GroupedTable) -> str:
    rules = ["---:" if table.has_numbers(column) else "---" for column in range(len(table.columns))]
    rows = [table.columns, *(row for group in table.groups for row in group)]
    lines = [f"| {' | '.join(map(_marked, row))} |" for row in rows]
    lines.insert(1, f"|{'|'.join(rules)}|")
    parts = [f"**{_marked(table.title)}**", "\n".join(lines), *map(_marked, table.notes)]
    return "\n\n".join(parts) + "\n"


def _marked(text: str) -> str:
    r"""Escape text for Markdown.

    >>> print(_marked("a|b_c_d *e*"))
    a\|b_c_d \*e\*
    """
    return _MARKS.sub(lambda match: f"\\{match.group()}", " ".join(text.split()))


def _latex(table: GroupedTable) -> str:
    """Format a table as LaTeX with booktabs rules."""
    kinds = "".join("r" if table.has_numbers(column) else "l" for column in range(len(table.columns)))

    def cells(row: Sequence[str]) -> str:
        escaped = (
            escape_latex(cell) if column in table.names else format_latex_cell(cell) for column, cell in enumerate(row)
        )
        return f"{' & '.join(escaped)} \\\\"

    body = "\n\\addlinespace\n".join("\n".join(map(cells, group)) for group in table.groups)
    lines = [
        "% requires \\usepackage{booktabs}",
        "\\begin{table}",
        "\\centering",
        "\\small",
        f"\\caption{{{escape_latex(table.title)}}}",
        f"\\begin{{tabular}}{{@{{}}{kinds}@{{}}}}",
        "\\toprule",
        f"{' & '.join(map(escape_latex, table.columns))} \\\\",
        "\\midrule",
        *([body] if body else []),
        "\\bottomrule",
        "\\end{tabular}",
        *(f"\\par\\smallskip {format_latex_cell(note)}" for note in table.notes),
        "\\end{table}",
    ]
    return "\n".join(lines) + "\n"
