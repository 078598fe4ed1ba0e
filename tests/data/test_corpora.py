"""Tests of the base corpora: real ones at pinned revisions, and others with synthetic rows in their format."""

import os
import re
from dataclasses import replace

import datasets
import pytest

from tests.fake_hub.client_process import ClientProcess, runs_in
from tests.fake_hub.running import running_hub
from unbag.api import evaluate
from unbag.challenge_sets import loading
from unbag.challenge_sets.failures import EvaluationFailure
from unbag.challenge_sets.request import SetRequest, build_requested_set, create_validated_builder
from unbag.cli.options import PairOptions, build_selected_requests
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


SENTENCES = {
    "de": ("Zwei große Hunde laufen heute schnell über das Feld.", "Einige Tiere sind heute draußen auf dem Feld."),
    "vi": ("Hai con chó lớn đang chạy nhanh trên cánh đồng.", "Một số con vật đang ở ngoài trời hôm nay."),
    "th": ("สุนัขสองตัวกำลังวิ่งอยู่ในทุ่งนา", "มีสัตว์อยู่ข้างนอก"),
}
RTE = ("Two big dogs run quickly over the wide field today.", "Some animals are out in the field today.")
TWO_WAY_CORPORA = ("rte", "qnli", "scitail", "paws")


def _write_hub_repository(folder, hub_id, config, split, columns, names=None):
    """Write rows in the layout of a Hub repository."""
    repository = folder / "datasets" / hub_id
    (repository / config).mkdir(parents=True)
    card = f"  - config_name: {config}\n    data_files:\n    - split: {split}\n      path: {config}/{split}-*\n"
    path = repository / "README.md"
    path.write_text((path.read_text().removesuffix("---\n") if path.exists() else "---\nconfigs:\n") + card + "---\n")
    rows = datasets.Dataset.from_dict(columns)
    rows = rows.cast_column("label", datasets.ClassLabel(names=names)) if names else rows
    rows.to_parquet(repository / config / f"{split}-00000-of-00001.parquet")


@pytest.fixture(scope="module")
def corpora_client(tmp_path_factory):
    """Return a process whose clients use a Hub with a few synthetic rows of each corpus."""
    folder = tmp_path_factory.mktemp("mirror")
    for language, (premise, hypothesis) in SENTENCES.items():
        columns = {"premise": [premise] * 4, "hypothesis": [hypothesis] * 4, "label": [0, 1, 2, -1]}
        _write_hub_repository(folder, "facebook/xnli", language, "test", columns, list(LABELS))
    first, second = ([side] * 3 for side in RTE)
    labels, two = {"label": [0, 1, -1]}, ["entailment", "not_entailment"]
    for hub_id, config, split, columns, names in (
        ("nyu-mll/glue", "rte", "validation", {"sentence1": first, "sentence2": second} | labels, two),
        ("nyu-mll/glue", "qnli", "validation", {"question": second, "sentence": first} | labels, two),
        ("google-research-datasets/paws", "labeled_final", "test",
         {"sentence1": first, "sentence2": second, "label": [1, 0, -1]}, ["0", "1"]),
        ("allenai/scitail", "snli_format", "test",
         {"sentence1": first, "sentence2": second, "gold_label": ["entailment", "neutral", "-"],
          "annotator_labels": [["entailment"], ["neutral"], []]}, None),
        ("pietrolesci/nli_fever", "default", "dev", {"premise": second, "hypothesis": first, "label": [0, 2, 1]}, None),
    ):  # fmt: skip
        _write_hub_repository(folder, hub_id, config, split, columns, names)
    with running_hub(mount=folder) as hub:
        home = tmp_path_factory.mktemp("wider_home")
        with ClientProcess(hub.env(home) | {"UNBAG_CACHE": str(home / "unbag")}) as client:
            yield client


@runs_in("corpora_client")
def test_pairs_and_labels_are_read_by_name():
    for name in TWO_WAY_CORPORA:
        source = open_corpus(CORPORA[name])
        assert source.count_rows() == {"rows": 3, "unlabelled": 1, "empty": 0, "labelled": 2}, name
        assert [example[1:4] for example in source.iter_examples()] == [
            (*RTE, "entailment"),
            (*RTE, "not_entailment"),
        ], name
        assert source.revision == CORPORA[name].revision
    votes = [example.annotators for example in open_corpus(CORPORA["scitail"]).iter_examples()]
    assert votes == [("entailment",), ("not_entailment",)]
    fever = open_corpus(CORPORA["fever"])
    assert [example.label for example in fever.iter_examples()] == ["entailment", "contradiction", "neutral"]
    assert next(fever.iter_examples())[1:3] == RTE
    german = open_corpus(CORPORA["xnli_de"], "test")
    assert [example.label for example in german.iter_examples()] == list(LABELS)
    assert german.language == "de"


@pytest.mark.nightly
@runs_in("corpora_client")
def test_languages_with_known_words_are_permuted():
    for language in ("de", "vi"):
        rows = build_requested_set(SetRequest("permuted", f"xnli_{language}-test", {"q": 2})).rows
        assert len(rows) == 3 * (1 + 2), language
        original, permuted = SENTENCES[language][0], rows["premise"][1]
        assert original != permuted
        assert sorted(re.findall(r"\w+", original.lower())) == sorted(re.findall(r"\w+", permuted.lower()))
    for name in ("plain", "swapped"):
        built = build_requested_set(SetRequest(name, "xnli_th-test"))
        assert len(built.rows) == {"plain": 3, "swapped": 5}[name]
        assert built.language == "th"
    for name in ("permuted", "cs_lambda"):
        with pytest.raises(ValueError, match="got Thai; use the sets plain") as error:
            build_requested_set(SetRequest(name, "xnli_th-test"))
        assert "\n" not in str(error.value)


@runs_in("corpora_client")
def test_two_labels_are_scored_on_entailment_or_not(tmp_path):
    os.chdir(tmp_path)
    for corpus, answer in (*(("rte", label) for label in LABELS), ("scitail", "entailment")):
        report = evaluate(
            lambda premises, hypotheses, answer=answer: [answer] * len(premises),
            ["plain", "permuted"],
            corpus=corpus,
            options={"q": 2},
            lexical_baseline=False,
            progress=False,
        )
        plain, permuted = report.results
        # one pair of each label, for both kinds of negative predictions, also with annotator labels
        assert plain.scores["accuracy"].value == 0.5, answer
        assert permuted.data["excluded"] == {"unlabelled": 1}
    rows = loading.load("plain", "rte-validation")
    assert rows.features["label"].names == ["entailment", "not_entailment"]


@pytest.mark.parametrize("given", [{"official_file": "folder"}, {"set_option": ["file=folder"]}])
@pytest.mark.parametrize("names", [None, ["sicck", "plain"]])
def test_corpus_all_with_file_adds_official_pairs_once(given, names):
    without, found = (
        build_selected_requests(PairOptions(corpus=["all"], **each), names, full=False, on_failure=pytest.fail)
        for each in ({}, given)
    )
    official = [request for request in found if "file" in request.options]
    assert without == [request for request in found if request not in official]
    expected = [name for name in ("breaking_nli", "sicck") if name in (names or [name])]
    assert [request.name for request in official] == expected
    assert all((request.config, request.options["file"]) == ("official", "folder") for request in official)


@pytest.mark.parametrize(
    ("name", "config", "said"),
    [
        ("swapped", "rte-validation", "requires contradictions, but rte has only"),
        ("breaking_nli", "rte-validation", "requires contradictions, but rte has only"),
        ("sicck", "ocnli-validation", "does not support Chinese"),
        ("recombined", "xnli_de-test", "does not support German, the language of xnli_de; expected one of"),
        ("resnli", "ocnli", "embeddings: expected embeddings for the language 'zh'"),
    ],
)
def test_unsuitable_corpus_is_skipped_without_failure(name, config, said):
    with pytest.raises(loading.UnsuitablePairsError, match=said) as unfit:
        create_validated_builder(SetRequest(name, config))
    assert "\n" not in str(unfit.value)
    assert EvaluationFailure(name, unfit.value).is_skipped
