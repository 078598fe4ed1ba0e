"""Licences of sets and models that are derived from several sources.

The derived licence keeps the conditions of all sources. It is the licence of one source, if that meets the conditions
of all others. If no licence does (share-alike and non-commercial, for example), or if the terms of a source are
unknown, the licence is `OTHER`. The card then lists the terms of every source, and all of them apply.
"""

import re
from collections.abc import Sequence
from typing import Final

from unbag.utils.advice import first_fitting

_CONDITIONS: Final = {"by": "attribution", "sa": "share-alike", "nc": "no commercial use", "nd": "no derivatives"}
_ID: Final = re.compile(r"[a-z0-9][a-z0-9.+-]*")


def licence_conditions(licence: str) -> frozenset[str]:
    """Parse the conditions of a Creative Commons licence; empty for any other licence.

    >>> sorted(licence_conditions("cc-by-nc-sa-3.0"))
    ['attribution', 'no commercial use', 'share-alike']
    """
    family, *parts = licence.lower().split("-")
    return frozenset(_CONDITIONS[part] for part in parts if part in _CONDITIONS) if family == "cc" else frozenset()


def is_laxer(licence: str, inherited: str) -> bool:
    """Check whether a licence drops a condition of an inherited licence.

    >>> is_laxer("mit", "cc-by-sa-4.0"), is_laxer("cc-by-nc-sa-4.0", "cc-by-sa-4.0")
    (True, False)
    """
    return bool(licence_conditions(inherited) - licence_conditions(licence))


def choose_licence(name: str, inherited: str, requested: str | None) -> str:
    """Choose the licence of a publication.

    Args:
        name: Name of the source, for error messages.
        inherited: Licence of the source; empty for a user's own data.
        requested: Licence that the user requested, or None.

    Raises:
        ValueError: If the requested licence differs from the inherited one, or no licence is known.
    """
    if not inherited:
        if not requested:
            raise ValueError(
                f"{name}: expected a licence, got none; if you may publish these pairs, "
                + first_fitting(
                    "name it with --license, e.g. --license cc-by-4.0",
                    "publish them with `unbag publish dataset --license`",
                )
            )
        if not _ID.fullmatch(requested):
            raise ValueError(
                f"--license: expected a licence id of the Hub, such as cc-by-4.0 or mit, got {requested!r}"
            )
        return requested
    if requested and requested != inherited:
        lost = sorted(licence_conditions(inherited) - licence_conditions(requested))
        drops = f", which drops {' and '.join(lost)}" if lost else ""
        raise ValueError(
            f"--license: expected {inherited}, the licence inherited from {name}, got {requested}{drops}; "
            "omit --license"
        )
    return inherited


OTHER: Final = "other"
"""The Hub's licence id for terms without an id."""

_PERMISSIVE: Final = frozenset({"apache-2.0", "mit", "bsd-2-clause", "bsd-3-clause", "isc", "cc0-1.0", "unlicense"})


def inherited_licence(licences: Sequence[str | None]) -> str:
    """Choose the licence of a work derived from sources with these licences (Hub ids; None if unknown).

    >>> inherited_licence(["apache-2.0", "cc-by-sa-4.0"]), inherited_licence(["mit", "cc-by-nc-4.0", "cc-by-nc-sa-3.0"])
    ('cc-by-sa-4.0', 'cc-by-nc-sa-3.0')
    >>> inherited_licence(["cc-by-sa-4.0", "cc-by-nc-4.0"]), inherited_licence(["mit", None])
    ('other', 'other')
    >>> inherited_licence(["mit", "apache-2.0"])
    'mit'
    """
    usable = [licence for licence in dict.fromkeys(licences) if licence is not None and _can_be_passed_on(licence)]
    if not licences or len(usable) < len(set(licences)):
        return OTHER
    # Among the licences that meet all conditions, the one with the fewest conditions; ties go to the first.
    candidates = [licence for licence in usable if all(_meets_conditions(licence, other) for other in usable)]
    return min(candidates, key=lambda licence: len(licence_conditions(licence)), default=OTHER)


def _can_be_passed_on(licence: str) -> bool:
    """Check whether the conditions of a licence are known and it permits derivatives."""
    return licence in _PERMISSIVE or (
        licence.startswith("cc-by-") and "no derivatives" not in licence_conditions(licence)
    )


def _meets_conditions(licence: str, other: str) -> bool:
    """Check whether material under `other` may be part of a work under `licence`."""
    if "share-alike" in licence_conditions(other):  # share-alike requires the same licence
        return licence == other
    return licence_conditions(other) <= licence_conditions(licence)


def fetch_model_licence(repo: str, revision: str | None = None) -> str | None:
    """Fetch the licence in a model's card; None if there is no such model, or its card names no licence.

    Raises:
        HubError: If the Hub fails or cannot be reached.
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
    licence = info.card_data.get("license") if info.card_data else None
    return licence if isinstance(licence, str) else None
