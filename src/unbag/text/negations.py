"""Words that deny."""

from typing import Final

NEGATIONS: Final = frozenset("no not n't n’t never neither nor hardly barely nobody none nothing cannot".split())
"""Lower case, as spaCy cuts them (do + n't)."""
