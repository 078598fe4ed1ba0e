"""The revisions that unbag reads its corpora at: a mirror of them, mounted, answers at these."""

from __future__ import annotations

import re

from unbag.corpora import CORPORA

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
