"""Write the hashes of the official sets' sentences that `unbag.challenge_sets.perturbations.vocabulary_split` ships.

`python -m tools.official_sentences breaking_nli_dataset.zip SICCK-Ground-Truth-apr24.csv`, with the authors' files.
"""

import sys
from collections.abc import Iterator

from unbag.challenge_sets import loading
from unbag.challenge_sets.perturbations.vocabulary_split import HASHES, hash_sentences
from unbag.utils.files import atomic_write

_SETS = ("breaking_nli", "sicck")


def sentences(files: list[str]) -> Iterator[str]:
    """Yield the sentences of the sets, each from its file."""
    for name, file in zip(_SETS, files, strict=True):
        rows = loading.load(name, "official", file=file)
        for side in ("premise", "hypothesis"):
            yield from rows[side]


def main(files: list[str]) -> None:
    """Write them."""
    with atomic_write(HASHES) as tmp:
        tmp.write_bytes(hash_sentences(sentences(files)).tobytes())


if __name__ == "__main__":
    main(sys.argv[1:])
