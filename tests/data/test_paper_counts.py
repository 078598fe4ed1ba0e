"""Tests of the number of usable examples per corpus against Table 7 of Sinha et al. (2021)."""

import unicodedata

import pytest

from unbag.data.corpora import CORPORA
from unbag.data.sources import open_data
from unbag.data.text.tokens import tokenize

# The available rows, those with at least 8 words, and the count of the paper. SNLI is complete and agrees exactly. MNLI
# matched is complete and differs by 6, ANLI by 3 to 12 (1,198 of 1,200 rows of r3 are available).
COUNTS = [
    ("snli", "validation", 3697, 3697),
    ("snli", "test", 3671, 3671),
    ("mnli", "validation_matched", 6649, 6655),
    ("anli", "dev_r1", 753, 756),
    ("anli", "dev_r2", 705, 709),
    ("anli", "dev_r3", 742, 754),
    ("ocnli", "validation", 748, None),  # no published count
]


def _examples(shared, corpus, split):
    [path] = (shared / "hub" / "datasets" / corpus.hub_id).glob(f"*/{split}-*.parquet")
    columns = {"premise": corpus.premise, "hypothesis": corpus.hypothesis, "label": corpus.label, "id": ""}
    return open_data(path, columns=columns, labels=corpus.labels).iter_examples()


@pytest.mark.parametrize(
    ("name", "split", "used", "published"),
    [pytest.param(*each, marks=() if each[1] == "dev_r1" else pytest.mark.nightly) for each in COUNTS],
)
def test_number_of_usable_examples_equals_paper(shared, name, split, used, published):
    corpus = CORPORA[name]
    lengths = [
        min(tokenize(text, corpus.language).length for text in (example.premise, example.hypothesis))
        for example in _examples(shared, corpus, split)
    ]
    assert sum(length >= 8 for length in lengths) == used
    if published is not None:
        assert abs(used - published) <= 0.02 * published


def test_number_of_usable_chinese_examples_in_characters(shared):
    """Count the characters that are neither white space nor punctuation in Unicode."""
    lengths = [
        min(
            sum(not (character.isspace() or unicodedata.category(character).startswith("P")) for character in text)
            for text in (example.premise, example.hypothesis)
        )
        for example in _examples(shared, CORPORA["ocnli"], "validation")
    ]
    assert sum(length >= 8 for length in lengths) == 2455
