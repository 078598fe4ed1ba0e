"""Text as LaTeX takes it, with any engine and no package: what is special escaped, our letters as formulas."""

import re
import unicodedata
from typing import Final

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
    "[": "{[}",  # behind the end of a row it would be an argument
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
"""Those that the oldest encoding of fonts can put on a letter."""
_INDEXED: Final = re.compile(
    r"(?<![\w./-])(?P<base>Ω|P|H|F|D|CS)(?P<kind>[_^])(?P<index>\w+(?:\.\d+)?)"
)  # Ω_max, P^c, CS_0.7
_MINUS: Final = re.compile(r"(?<![\w.)-])-(?=\.?\d)")


def text(value: str) -> str:
    r"""Return text that is shown as it is; a letter that engines of eight bits lack by its number.

    >>> print(text("50 % of a_b & 中"))
    50 \% of a\_b \& \texttt{U+4E2D}
    """
    return _escaped(" ".join(value.split()))


def numbers_and_labels(value: str) -> str:
    r"""Return a cell of ours: indices of labels and signs of numbers as formulas, all else as `text`.

    >>> print(numbers_and_labels("P^c, Ω_max: -0.1 [-0.2, 0.0]"))
    $P^{\mathrm{c}}$, $\Omega_{\mathrm{max}}$: $-$0.1 {[}$-$0.2, 0.0{]}
    """
    parts, end = [], 0
    value = " ".join(value.split())
    for found in re.finditer(f"{_INDEXED.pattern}|{_MINUS.pattern}", value):
        parts.append(_escaped(value[end : found.start()]))
        parts.append("$-$" if found["base"] is None else _formula(found))
        end = found.end()
    return "".join([*parts, _escaped(value[end:])])


def _escaped(value: str) -> str:
    return "".join(map(_character, value)).replace("--", "-{}-")  # which would be a dash


def _formula(found: re.Match[str]) -> str:
    base = _FORMULAS.get(found["base"], found["base"] if len(found["base"]) == 1 else rf"\mathrm{{{found['base']}}}")
    index = found["index"].replace("_", r"\_")
    letters = "".join(f"{_FORMULAS[one]} " if one in _FORMULAS else one for one in index)
    return f"${base}{found['kind']}{{\\mathrm{{{letters.strip()}}}}}$"


def _character(one: str) -> str:
    if one in _FORMULAS:
        return f"${_FORMULAS[one]}$"
    if one in _SPECIAL:
        return _SPECIAL[one]
    parts = unicodedata.normalize("NFD", one)
    letter, accents = parts[0], parts[1:]
    if letter.isascii() and letter.isprintable() and len(accents) < 2 and _ACCENTS.issuperset(accents):
        return one
    return rf"\texttt{{U+{ord(one):04X}}}"
