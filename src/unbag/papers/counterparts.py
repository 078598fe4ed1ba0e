"""The papers' models beside ours: which published figure is the counterpart of which of our measures."""

from typing import Final, NamedTuple

from unbag import papers

_CORPUS: Final = "corpus"


class Published(NamedTuple):
    """A published figure.

    Attributes:
        model: what was measured, by the table's keys: "ESIM", "ESIM, MultiNLI + SNLI".
        value: a share of 1.
        source: paper and table.
    """

    model: str
    value: float
    source: str


class _Column(NamedTuple):
    paper: str
    table: str
    name: str
    corpus: str = ""  # ours, of all rows, with or without a split, where the table has no such key


_COUNTERPARTS: Final[dict[tuple[str, str], tuple[_Column, ...]]] = {
    **{
        ("permuted", ours): (
            _Column("Sinha et al. 2021", "2", theirs),
            _Column("Sinha et al. 2021", "3", theirs, "ocnli validation"),
        )
        for ours, theirs in {
            "accuracy": "A",
            "omega_max": "Ω_max",
            "omega_rand": "Ω_rand",
            "p_c": "P^c",
            "p_f": "P^f",
        }.items()
    },
    **{
        ("cs_lambda", ours): (_Column("Nie et al. 2019", "5", theirs),)
        for ours, theirs in {"0": "whole", "0.5": "CS_0.5", "0.6": "CS_0.6", "0.7": "CS_0.7"}.items()
    },
    ("plain", "accuracy"): (_Column("Nie et al. 2019", "3", "original"), _Column("ReSNLI 2019", "2", "accuracy")),
    ("resnli", "accuracy"): (_Column("ReSNLI 2019", "3", "ReSNLI", "snli"),),
    ("swapped", "accuracy_before"): (_Column("ReSNLI 2019", "1", "before", "snli"),),
    ("swapped", "accuracy_after"): (_Column("ReSNLI 2019", "1", "after", "snli"),),
    ("soswap_addamod", "soswap"): (_Column("Nie et al. 2019", "2", "SOSwap C", "snli"),),
    ("soswap_addamod", "addamod"): (_Column("Nie et al. 2019", "2", "AddAmod N", "snli"),),
    ("breaking_nli", "accuracy"): (_Column("Glockner et al. 2018", "3", "Breaking NLI", "official"),),
    **{
        ("sicck", ours): (_Column("Akoju et al. 2023", "8", theirs, "official"),)
        for ours, theirs in {"f1": "F1", "precision": "precision", "recall": "recall", "accuracy": "accuracy"}.items()
    },
}


def beside(name: str, measure: str, corpus: str) -> list[Published]:
    """Return the published figures of a measure, in the order of the papers.

    Args:
        name: the challenge set.
        measure: as the set's scores name it; λ for CS_λ, the kind of pair for SOSwap and AddAmod.
        corpus: what our figure was measured on, e.g. `snli validation`. Only figures on the same corpus are
            counterparts, and on the same split where a table tells splits apart.
    """
    found = []
    for column in _COUNTERPARTS.get((name, measure), ()):
        table = papers.table(column.paper, column.table)
        for row, value in zip(table.rows, table.shares(column.name), strict=True):
            said = {key: cell for key, cell in zip(table.keys, row, strict=False) if cell is not None}
            measured_on = table.corpora.get(str(said.pop(_CORPUS, "")), column.corpus)
            if value is None or not measured_on or not f"{corpus} ".startswith(f"{measured_on} "):
                continue
            found.append(Published(", ".join(map(str, said.values())), value, table.source))
    return found
