"""The demonstration and its bundled corpus, so that the whole flow can be tried offline.

The pairs are captions of ours: a grammar wrote them, and their labels follow from what the sentences mean. The table of
word vectors says how often words of the training pairs stand in one sentence. The SOSwap and AddAmod rows and the
recombined documents are built from the validation pairs in advance, because their builders need a parser.
`tools/demo_corpus` in the repository makes all of them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from unbag.data.sources import Example, open_data

SPLITS: Final = ("train", "validation")
"""The splits of the bundled corpus, of 6,000 and 1,500 pairs."""

_FOLDER: Final = Path(__file__).parent
VECTORS: Final = _FOLDER / "demo-vectors.txt.gz"
"""The table of word vectors."""
SOSWAP_ADDAMOD: Final = _FOLDER / "demo-soswap_addamod.parquet"
"""The SOSwap and AddAmod set of the validation pairs, as `challenge_sets.request.export` writes it."""
RECOMBINED: Final = _FOLDER / "demo-recombined.parquet"
"""The recombined set of the validation pairs, written in the same way."""


def file(split: str) -> Path:
    """Return the file with the pairs of a split.

    Raises:
        ValueError: if there is no such split.
    """
    if split not in SPLITS:
        raise ValueError(f"expected one of the demonstration's splits {', '.join(SPLITS)}, found {split!r}")
    return _FOLDER / f"demo-{split}.jsonl.gz"


def pairs(split: str) -> Iterator[Example]:
    """Return the pairs of a split. The labels of each three in a row (0-2, 3-5, …) are the three.

    Raises:
        ValueError: if there is no such split.

    >>> next(pairs("validation")).source_id
    'demo-validation-000000'
    """
    return open_data(file(split)).examples()
