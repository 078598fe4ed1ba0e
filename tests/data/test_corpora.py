"""Tests of the base corpora, downloaded over HTTP from a mirror at the pinned revisions."""

import pytest

from tests.fake_hub.client_process import runs_in
from unbag.data.corpora import CORPORA

COUNTS = [
    # corpus, split, rows, unlabelled rows, name of the first label
    ("snli", "validation", 10_000, 158, "neutral"),
    ("snli", "test", 10_000, 176, "neutral"),
    ("mnli", "validation_matched", 9_815, 0, "neutral"),
    ("anli", "dev_r2", 1_000, 0, None),
    ("sick", "test", 4_906, 0, "neutral"),
    ("ocnli", "validation", 3_000, 50, "entailment"),  # its label ids have the order neutral, entailment, contradiction
]


@pytest.mark.parametrize(("name", "split", "rows", "unlabelled", "first"), COUNTS)
@runs_in("shared_hub_client")
def test_rows_are_counted_and_labels_resolved_by_name(name, split, rows, unlabelled, first):
    from unbag.data.corpora import CORPORA
    from unbag.data.sources import open_corpus

    source = open_corpus(CORPORA[name], split)
    assert source.count_rows() == {"rows": rows, "unlabelled": unlabelled, "empty": 0, "labelled": rows - unlabelled}
    if first is not None:
        assert next(source.iter_examples()).label == first
    assert next(source.iter_examples()).source_id.startswith(f"{name}-{split}-")
    assert len(source.revision) == 40


@pytest.mark.parametrize("corpus", CORPORA.values(), ids=lambda corpus: corpus.name)
def test_every_split_has_one_role(corpus):
    roles = [*corpus.train, *corpus.validation, *corpus.test]
    assert sorted(roles) == sorted(corpus.splits)
    assert {split for split in corpus.splits if split.startswith("train")} == set(corpus.train)
    assert corpus.test


@runs_in("shared_hub_client")
def test_changed_content_is_rejected():
    from dataclasses import replace

    import pytest

    from unbag.data.corpora import CORPORA
    from unbag.data.sources import open_corpus
    from unbag.utils.safe_io import DataError

    tampered = replace(CORPORA["sick"], row_hashes={"validation": "0" * 64})
    with pytest.raises(DataError, match=r"split validation: expected rows with sha256 000"):
        open_corpus(tampered, "validation")
    assert open_corpus(tampered, "validation", revision="main").count_rows()["labelled"] == 495


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"hub_id": "nobody/nothing"}, "nobody/nothing .*expected a readable dataset"),
        ({"premise": "first"}, "expected the columns 'first' for the premise, got"),
    ],
)
@runs_in("shared_hub_client")
def test_missing_hub_content_error_names_it(change, words):
    from dataclasses import replace

    import pytest

    from unbag.data.corpora import CORPORA
    from unbag.data.sources import open_corpus
    from unbag.utils.safe_io import DataError

    with pytest.raises(DataError, match=words):
        open_corpus(replace(CORPORA["snli"], **change))


@runs_in("shared_hub_client")
def test_user_dataset_is_read_from_hub():
    import pytest

    from unbag.data.sources import open_data
    from unbag.utils.safe_io import DataError

    labels = ["entailment", "neutral", "contradiction"]
    source = open_data("RobZamp/sick", split="validation", labels=labels)
    assert source.count_rows()["labelled"] == 495
    assert len(source.revision) == 40, "a branch is resolved to the commit it stood at"
    with pytest.raises(DataError, match="expected a split of the dataset"):
        open_data("RobZamp/sick")
    with pytest.raises(DataError, match="nobody/nothing"):
        open_data("nobody/nothing", split="test")
