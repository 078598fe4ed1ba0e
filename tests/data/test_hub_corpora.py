"""Tests of XNLI and two-label tasks with synthetic rows in their format, read over HTTP and built into sets."""

import os
import re

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
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
from unbag.data.sources import open_corpus

SENTENCES = {
    "de": ("Zwei große Hunde laufen heute schnell über das Feld.", "Einige Tiere sind heute draußen auf dem Feld."),
    "sw": (
        "Mbwa wawili wakubwa wanakimbia leo shambani kwa kasi.",
        "Wanyama wengine wako nje leo kwenye shamba kubwa.",
    ),
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
    table = pa.table(columns)
    if names:
        kinds = {name: datasets.Value("string") for name in columns} | {"label": datasets.ClassLabel(names=names)}
        table = datasets.Dataset.from_dict(columns, features=datasets.Features(kinds)).data.table
    pq.write_table(table, repository / config / f"{split}-00000-of-00001.parquet")


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
    for language in ("de", "sw", "vi"):
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
