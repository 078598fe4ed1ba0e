"""Tests of the base corpora, downloaded over HTTP from a mirror at the pinned revisions."""

from dataclasses import replace

import pytest

from tests.fake_hub.client_process import runs_in
from unbag.data.corpora import CORPORA
from unbag.data.labels import LABELS
from unbag.data.sources import open_corpus, open_data
from unbag.data.text.tokens import tokenize
from unbag.utils.safe_io import DataError


@pytest.mark.parametrize(
    ("name", "split", "rows", "unlabelled", "first"),
    [
        ("snli", "validation", 10_000, 158, "neutral"),
        ("snli", "test", 10_000, 176, "neutral"),
        ("mnli", "validation_matched", 9_815, 0, "neutral"),
        ("anli", "dev_r2", 1_000, 0, None),
        ("sick", "test", 4_906, 0, "neutral"),
        ("ocnli", "validation", 3_000, 50, "entailment"),  # its label ids are in the order neutral, entailment, …
    ],
)
@runs_in("shared_hub_client")
def test_rows_are_counted_and_labels_resolved_by_name(name, split, rows, unlabelled, first):
    source = open_corpus(CORPORA[name], split)
    assert source.count_rows() == {"rows": rows, "unlabelled": unlabelled, "empty": 0, "labelled": rows - unlabelled}
    example = next(source.iter_examples())
    assert first in (None, example.label)
    assert example.source_id.startswith(f"{name}-{split}-")
    assert len(source.revision) == 40


@pytest.mark.parametrize("corpus", CORPORA.values(), ids=lambda corpus: corpus.name)
def test_every_split_has_one_role(corpus):
    roles = [*corpus.train, *corpus.validation, *corpus.test]
    assert sorted(roles) == sorted(corpus.splits)
    assert {split for split in corpus.splits if split.startswith("train")} == set(corpus.train)
    assert corpus.test


@runs_in("shared_hub_client")
def test_changed_content_is_rejected():
    tampered = replace(CORPORA["sick"], row_hashes={"validation": "0" * 64})
    with pytest.raises(DataError, match=r"split validation: expected rows with sha256 000"):
        open_corpus(tampered, "validation")
    assert open_corpus(tampered, "validation", revision="main").count_rows()["labelled"] == 495
    for change, words in (
        ({"hub_id": "nobody/nothing"}, "nobody/nothing .*expected a readable dataset"),
        ({"premise": "first"}, "expected the columns 'first' for the premise, got"),
    ):
        with pytest.raises(DataError, match=words):
            open_corpus(replace(CORPORA["snli"], **change))


@runs_in("shared_hub_client")
def test_user_dataset_is_read_from_hub():
    source = open_data("RobZamp/sick", split="validation", labels=LABELS)
    assert source.count_rows()["labelled"] == 495
    assert len(source.revision) == 40, "a branch is resolved to the commit it stood at"
    with pytest.raises(DataError, match="expected a split of the dataset"):
        open_data("RobZamp/sick")
    with pytest.raises(DataError, match="nobody/nothing"):
        open_data("nobody/nothing", split="test")


# The available rows, those with at least 8 words, and the count of the paper. SNLI is complete and agrees exactly. MNLI
# matched is complete and differs by 6, ANLI by 3 to 12 (1,198 of 1,200 rows of r3 are available).
USABLE = [
    ("snli", "validation", 3697, 3697),
    ("snli", "test", 3671, 3671),
    ("mnli", "validation_matched", 6649, 6655),
    ("anli", "dev_r1", 753, 756),
    ("anli", "dev_r2", 705, 709),
    ("anli", "dev_r3", 742, 754),
    ("ocnli", "validation", 748, None),  # no published count
]


@pytest.mark.parametrize(
    ("name", "split", "used", "published"),
    [pytest.param(*each, marks=() if each[1] == "dev_r1" else pytest.mark.nightly) for each in USABLE],
)
def test_number_of_usable_examples_equals_paper(shared, name, split, used, published):
    corpus = CORPORA[name]
    [path] = (shared / "hub" / "datasets" / corpus.hub_id).glob(f"*/{split}-*.parquet")
    columns = {"premise": corpus.premise, "hypothesis": corpus.hypothesis, "label": corpus.label, "id": ""}
    lengths = [
        min(tokenize(text, corpus.language).length for text in (example.premise, example.hypothesis))
        for example in open_data(path, columns=columns, labels=corpus.labels).iter_examples()
    ]
    assert sum(length >= 8 for length in lengths) == used
    if published is not None:
        assert abs(used - published) <= 0.02 * published
