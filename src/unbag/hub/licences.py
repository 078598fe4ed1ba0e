"""The licence of what is made from several sources: of a set or of a model.

The result keeps every demand of its sources. One source's licence is taken if it meets the demands of all the others.
If none does (share-alike beside non-commercial, say), or if a source's terms are not known, no single licence is
claimed: it is `OTHER`, and the card lists the sources' terms, which all hold.
"""

import re
from collections.abc import Sequence
from typing import Final

from unbag.utils.advice import first_fitting

_CONDITIONS: Final = {"by": "attribution", "sa": "share-alike", "nc": "no commercial use", "nd": "no derivatives"}
_ID: Final = re.compile(r"[a-z0-9][a-z0-9.+-]*")


def licence_conditions(licence: str) -> frozenset[str]:
    """Return what a Creative Commons licence demands; nothing of any other.

    >>> sorted(licence_conditions("cc-by-nc-sa-3.0"))
    ['attribution', 'no commercial use', 'share-alike']
    """
    family, *parts = licence.lower().split("-")
    return frozenset(_CONDITIONS[part] for part in parts if part in _CONDITIONS) if family == "cc" else frozenset()


def is_laxer(licence: str, inherited: str) -> bool:
    """Tell whether a licence drops a condition of another.

    >>> is_laxer("mit", "cc-by-sa-4.0"), is_laxer("cc-by-nc-sa-4.0", "cc-by-sa-4.0")
    (True, False)
    """
    return bool(licence_conditions(inherited) - licence_conditions(licence))


def choose_licence(name: str, inherited: str, requested: str | None) -> str:
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
        lost = sorted(licence_conditions(inherited) - licence_conditions(requested))
        drops = f", which drops its {' and '.join(lost)}" if lost else ""
        raise ValueError(
            f"{name} hands its licence {inherited} down to what is made of it; found --license {requested}{drops}. "
            "Leave --license out"
        )
    return inherited


OTHER: Final = "other"
"""The Hub's name for terms that are none of those it knows by name."""

_PERMISSIVE: Final = frozenset({"apache-2.0", "mit", "bsd-2-clause", "bsd-3-clause", "isc", "cc0-1.0", "unlicense"})


def inherited_licence(licences: Sequence[str | None]) -> str:
    """Return the licence of what is made of sources with these licences, the Hub's names for them; None is unknown.

    >>> inherited_licence(["apache-2.0", "cc-by-sa-4.0"]), inherited_licence(["mit", "cc-by-nc-4.0", "cc-by-nc-sa-3.0"])
    ('cc-by-sa-4.0', 'cc-by-nc-sa-3.0')
    >>> inherited_licence(["cc-by-sa-4.0", "cc-by-nc-4.0"]), inherited_licence(["mit", None]), inherited_licence(["mit", "apache-2.0"])
    ('other', 'other', 'mit')
    """
    known = [licence for licence in dict.fromkeys(licences) if licence is not None and _can_be_passed_on(licence)]
    if not licences or len(known) < len(set(licences)):
        return OTHER
    # Of those that meet all demands the one that adds least; among equals the first.
    fitting = [licence for licence in known if all(_meets_conditions(licence, other) for other in known)]
    return min(fitting, key=lambda licence: len(licence_conditions(licence)), default=OTHER)


def _can_be_passed_on(licence: str) -> bool:
    """Tell whether it is known what a licence demands, and that things may be made of what is under it."""
    return licence in _PERMISSIVE or (
        licence.startswith("cc-by-") and "no derivatives" not in licence_conditions(licence)
    )


def _meets_conditions(licence: str, other: str) -> bool:
    """Tell whether what is under `other` may be part of what is under `licence`."""
    if "share-alike" in licence_conditions(other):  # under no other licence
        return licence == other
    return licence_conditions(other) <= licence_conditions(licence)


def fetch_model_licence(repo: str, revision: str | None = None) -> str | None:
    """Return the licence that a model's card names; None if there is no such model, or its card names none.

    Raises:
        HubError: if the Hub does not say.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    from unbag.hub.push import explain_hub_errors
    from unbag.utils.hub import hub_read
    from unbag.utils.retries import TRIES

    with explain_hub_errors(repo, "model"):
        try:
            info = hub_read(f"model {repo}", lambda: HfApi().model_info(repo, revision=revision), tries=TRIES)
        except (RepositoryNotFoundError, RevisionNotFoundError):
            return None
    named = info.card_data.get("license") if info.card_data else None
    return named if isinstance(named, str) else None
