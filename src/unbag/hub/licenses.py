"""Licenses of sets and models that are derived from several sources.

The derived license preserves the conditions of all sources. It is the license of a source that meets the conditions of
all other sources. If there is none (for example for share-alike and non-commercial sources), or if the terms of a
source are unknown, the license is `OTHER`. The card then lists the terms of all sources, which all apply.
"""

import re
from collections.abc import Sequence
from typing import Final

from unbag.hub.push import explain_hub_errors
from unbag.utils.hub import read_from_hub
from unbag.utils.retries import TRIES

_CONDITIONS: Final = {"by": "attribution", "sa": "share-alike", "nc": "no commercial use", "nd": "no derivatives"}


def parse_license_conditions(license: str) -> frozenset[str]:
    """Parse the conditions of a Creative Commons license. Returns an empty set for any other license.

    >>> sorted(parse_license_conditions("cc-by-nc-sa-3.0"))
    ['attribution', 'no commercial use', 'share-alike']
    """
    family, *parts = license.lower().split("-")
    return frozenset(_CONDITIONS[part] for part in parts if part in _CONDITIONS) if family == "cc" else frozenset()


def is_less_restrictive(license: str, inherited_license: str) -> bool:
    """Check whether a license lacks a condition of an inherited license.

    >>> is_less_restrictive("mit", "cc-by-sa-4.0"), is_less_restrictive("cc-by-nc-sa-4.0", "cc-by-sa-4.0")
    (True, False)
    """
    return bool(parse_license_conditions(inherited_license) - parse_license_conditions(license))


def choose_license(name: str, inherited_license: str, requested_license: str | None) -> str:
    """Choose the license of published data from the requested license and that of the source (empty if unknown)."""
    if not inherited_license:
        if not requested_license:
            raise ValueError(
                f"{name}: expected a license, got none; if you may publish these pairs, pass the license with `unbag "
                "publish dataset --license`, such as --license cc-by-4.0"
            )
        if not re.fullmatch(r"[a-z0-9][a-z0-9.+-]*", requested_license):
            raise ValueError(
                f"--license: expected a Hub license id such as cc-by-4.0 or mit, got {requested_license!r}; correct it"
            )
        return requested_license
    if requested_license and requested_license != inherited_license:
        lost = sorted(parse_license_conditions(inherited_license) - parse_license_conditions(requested_license))
        drops = f", which drops {' and '.join(lost)}" if lost else ""
        raise ValueError(
            f"--license: expected {inherited_license}, the license inherited from {name}, got "
            f"{requested_license}{drops}; remove --license"
        )
    return inherited_license


OTHER: Final = "other"
"""License id of the Hub for terms without an id."""

# A work that contains material under one of these may have any license.
_PERMISSIVE: Final = frozenset({"apache-2.0", "mit", "bsd-2-clause", "bsd-3-clause", "isc", "cc0-1.0", "unlicense"})


def derive_license(licenses: Sequence[str | None]) -> str:
    """Choose the license of a work derived from sources with the given licenses (Hub ids; None if unknown).

    >>> derive_license(["apache-2.0", "cc-by-sa-4.0"]), derive_license(["mit", "cc-by-nc-4.0", "cc-by-nc-sa-3.0"])
    ('cc-by-sa-4.0', 'cc-by-nc-sa-3.0')
    >>> derive_license(["cc-by-sa-4.0", "cc-by-nc-4.0"]), derive_license(["mit", None])
    ('other', 'other')
    >>> derive_license(["mit", "apache-2.0"])
    'mit'
    """
    # Licenses with known conditions that permit derivative works.
    usable = [
        license
        for license in dict.fromkeys(filter(None, licenses))
        if license in _PERMISSIVE
        or (license.startswith("cc-by-") and "no derivatives" not in parse_license_conditions(license))
    ]
    if not licenses or len(usable) < len(set(licenses)):
        # One source of unknown terms makes the terms of the whole unknown.
        return OTHER
    # Among the licenses that meet all conditions, the first with the fewest conditions is chosen.
    candidates = [license for license in usable if all(_meets_conditions(license, other) for other in usable)]
    return min(candidates, key=lambda license: len(parse_license_conditions(license)), default=OTHER)


def _meets_conditions(license: str, other: str) -> bool:
    """Check whether a work under `license` may contain material under `other`."""
    if "share-alike" in parse_license_conditions(other):  # share-alike requires the same license
        return license == other
    return parse_license_conditions(other) <= parse_license_conditions(license)


def fetch_model_license(repo: str, revision: str | None = None) -> str | None:
    """Fetch the license in a model's card; None if there is no such model or no license."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    with explain_hub_errors(repo, "model"):
        try:
            info = read_from_hub(f"model {repo}", lambda: HfApi().model_info(repo, revision=revision), tries=TRIES)
        except (RepositoryNotFoundError, RevisionNotFoundError):
            return None
    license = info.card_data.get("license") if info.card_data else None
    return license if isinstance(license, str) else None
