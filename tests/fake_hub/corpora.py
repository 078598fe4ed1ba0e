"""The revisions at which unbag loads its corpora, for a mounted mirror of them."""

from __future__ import annotations

import re
from pathlib import Path

from tests.fake_hub.keys import RepoKey
from unbag.data.corpora import CORPORA

PINS = {
    ("dataset", corpus.hub_id): corpus.revision
    for corpus in CORPORA.values()
    if re.fullmatch("[0-9a-f]{40}", corpus.revision)
}
REFS = {
    ("dataset", corpus.hub_id): [corpus.revision]
    for corpus in CORPORA.values()
    if ("dataset", corpus.hub_id) not in PINS
}


def list_mirrored_corpora(root: Path) -> tuple[dict[tuple[str, str], str], dict[tuple[str, str], list[str]]]:
    """Return the pins and refs of the corpora that a folder contains."""
    pins = {key: sha for key, sha in PINS.items() if (root / RepoKey(*key).folder).is_dir()}
    return pins, {key: names for key, names in REFS.items() if (root / RepoKey(*key).folder).is_dir()}
