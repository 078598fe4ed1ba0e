"""Corpus of `unbag demo`, included in the package so that the demo runs offline.

The pairs are image captions that a grammar generated; their labels follow from the meaning of the sentences. The word
vectors are based on how often words of the training pairs occur in the same sentence. The SOSwap and AddAmod rows, the
recombined documents and the negation rows are made from the validation pairs and bundled too, because their builders
need a parser, and the SICCK rows because their labels take minutes. `tools/demo_corpus` in the repository makes all of
them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from unbag.data.sources import Example, open_data

SPLITS: Final = ("train", "validation")
"""Splits of the bundled corpus, with 6,000 and 2,400 pairs."""

_FOLDER: Final = Path(__file__).parent
VECTORS: Final = _FOLDER / "demo-vectors.txt.gz"
"""File of word vectors."""
BUILT_SETS: Final = {
    name: _FOLDER / f"demo-{name}.parquet" for name in ("soswap_addamod", "recombined", "negation", "sicck")
}
"""Files of the bundled sets of the validation pairs, by name. They are written by
`challenge_sets.request.export_built_set`."""


def get_demo_file(split: str) -> Path:
    """Locate the demo file that contains the pairs of a split."""
    if split not in SPLITS:
        raise ValueError(f"expected one of the demo splits {', '.join(SPLITS)}, got {split!r}")
    return _FOLDER / f"demo-{split}.jsonl.gz"


def iter_demo_pairs(split: str) -> Iterator[Example]:
    """Iterate over the demo pairs of a split. Each group of three pairs (0-2, 3-5, …) contains all three labels.

    >>> next(iter_demo_pairs("validation")).source_id
    'demo-validation-000000'
    """
    return open_data(get_demo_file(split)).iter_examples()
