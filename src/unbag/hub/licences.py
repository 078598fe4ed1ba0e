"""Which licence a set may be published under: that of what it is made from, and no laxer one."""

import re
from typing import Final

from unbag.utils.advice import first_fitting

_CONDITIONS: Final = {"by": "attribution", "sa": "share-alike", "nc": "no commercial use", "nd": "no derivatives"}
_ID: Final = re.compile(r"[a-z0-9][a-z0-9.+-]*")


def conditions(licence: str) -> frozenset[str]:
    """Return what a Creative Commons licence demands; nothing of any other.

    >>> sorted(conditions("cc-by-nc-sa-3.0"))
    ['attribution', 'no commercial use', 'share-alike']
    """
    family, *parts = licence.lower().split("-")
    return frozenset(_CONDITIONS[part] for part in parts if part in _CONDITIONS) if family == "cc" else frozenset()


def is_laxer(licence: str, inherited: str) -> bool:
    """Tell whether a licence drops a condition of another.

    >>> is_laxer("mit", "cc-by-sa-4.0"), is_laxer("cc-by-nc-sa-4.0", "cc-by-sa-4.0")
    (True, False)
    """
    return bool(conditions(inherited) - conditions(licence))


def licence_of(name: str, inherited: str, requested: str | None) -> str:
    """Return the licence to publish something under.

    Args:
        name: what it is made from, for the message.
        inherited: its licence; nothing where only its owner knows.
        requested: the licence that was asked for, if any.

    Raises:
        ValueError: if another licence than the inherited one is asked for, or none is known.
    """
    if not inherited:
        if not requested:
            raise ValueError(
                f"{name}: nothing says which licence these pairs have; if they are yours to publish, "
                + first_fitting(
                    "name it with --license, e.g. --license cc-by-4.0",
                    "publish them with `unbag publish dataset --license`",
                )
            )
        if not _ID.fullmatch(requested):
            raise ValueError(f"expected a licence by its id on the Hub, such as cc-by-4.0 or mit; found {requested!r}")
        return requested
    if requested and requested != inherited:
        lost = sorted(conditions(inherited) - conditions(requested))
        drops = f", which drops its {' and '.join(lost)}" if lost else ""
        raise ValueError(
            f"{name} hands its licence {inherited} down to what is made of it; found --license {requested}{drops}. "
            "Leave --license out"
        )
    return inherited
