"""Write the hashes of the official sets' sentences for `unbag.challenge_sets.perturbations.vocabulary_split`.

Usage: `python -m tools.official_sentences breaking_nli_dataset.zip SICCK-Ground-Truth-apr24.csv` (the authors' files).
"""

import sys
from collections.abc import Iterator

from unbag.challenge_sets import loading
from unbag.challenge_sets.perturbations.vocabulary_split import HASHES, hash_sentences
from unbag.utils.files import atomic_write

_SETS = ("breaking_nli", "sicck")


def iter_sentences(files: list[str]) -> Iterator[str]:
    """Iterate over the sentences in the files of the official sets."""
    for name, file in zip(_SETS, files, strict=True):
        rows = loading.load(name, "official", file=file)
        for side in ("premise", "hypothesis"):
            yield from rows[side]


def main(files: list[str]) -> None:
    """Write the hashes of all sentences."""
    with atomic_write(HASHES) as tmp:
        tmp.write_bytes(hash_sentences(iter_sentences(files)).tobytes())


if __name__ == "__main__":
    main(sys.argv[1:])
