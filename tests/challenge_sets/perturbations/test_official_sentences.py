from collections import Counter

import numpy as np
import pytest

from unbag.challenge_sets.perturbations.augmentation import (
    OFFICIAL,
    GeneratedPair,
    PairGenerator,
    sample_generated_pairs,
)
from unbag.challenge_sets.perturbations.vocabulary_split import HASHES, hash_sentences, is_official_sentence


@pytest.mark.nightly
def test_hashes_match_official_files(shared):
    from tools.official_sentences import iter_sentences

    data = shared / "data"
    files = [
        data / "breaking_nli" / "breaking_nli_dataset.zip",
        data / "sicck" / "SICCK-Ground-Truth-apr24.csv",
    ]
    official = sorted(set(iter_sentences(list(map(str, files)))))
    assert np.array_equal(hash_sentences(official), np.fromfile(HASHES, dtype="<u4"))
    assert all(map(is_official_sentence, official))
    assert is_official_sentence(official[0].upper().rstrip(".") + " !")


def test_other_sentences_are_not_official(real_premises):
    assert not any(map(is_official_sentence, real_premises))


def _generate_dogs(order, seed):
    for i in order:
        yield [GeneratedPair(f"A dog number {i}.", "A dog.", "entailment")]


def test_pairs_contain_no_official_sentence(monkeypatch):
    monkeypatch.setattr(
        "unbag.challenge_sets.perturbations.augmentation.is_official_sentence", lambda text: text == "A dog number 1."
    )
    counts = Counter()
    made = list(
        sample_generated_pairs(PairGenerator("three", range(3), _generate_dogs), epoch=0, n_pairs=4, counts=counts)
    )
    assert {pair.premise for pair in made} == {"A dog number 0.", "A dog number 2."}
    assert counts[OFFICIAL] in (1, 2)
