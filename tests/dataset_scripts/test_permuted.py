import json
import re

import numpy as np
import pytest

from unbag import sets
from unbag.corpora import CORPORA
from unbag.labels import LABELS
from unbag.perturb.permutation import MODES, Permuter
from unbag.rows import DataError
from unbag.text.tokens import tokenize

PAIRS = [
    (
        "Two young dogs chase a red ball in the green park.",
        "Some small animals play with a toy outside today.",
        "neutral",
    ),
    ("A man sleeps.", "A man is awake.", "contradiction"),  # too short
    ("Three old women in blue coats wait for the bus.", "The women are waiting for a bus to come.", "entailment"),
    ("A boy in a yellow hat throws a stick far away.", "A boy throws nothing at all to his dog.", "-"),  # unlabelled
]


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.jsonl"
    keys = ("id", "premise", "hypothesis", "label")
    rows = [dict(zip(keys, (f"p{i}", *pair), strict=True)) for i, pair in enumerate(PAIRS)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _load(pairs, **options):
    return sets.load("permuted", data=str(pairs), cache_dir=pairs.parent / "cache", **{"q": 4, **options})


def test_each_used_example_gives_its_original_and_q_permutations(pairs):
    rows = _load(pairs)
    assert rows["permutation"][:] == [-1, 0, 1, 2, 3] * 2
    assert rows["source_id"][:] == ["p0"] * 5 + ["p2"] * 5
    assert (rows[0]["premise"], rows[0]["hypothesis"]) == PAIRS[0][:2]
    assert rows.features["label"].names == list(LABELS)
    assert rows.features["label"].int2str(rows["label"][:]) == ["neutral"] * 5 + ["entailment"] * 5
    assert len(set(rows["id"][:])) == 10


def test_the_rows_are_what_the_operator_makes(pairs):
    row = _load(pairs)[3]
    expected = Permuter(q=4).one("p0", tokenize(PAIRS[0][0]), tokenize(PAIRS[0][1]), 2)
    assert (row["premise"], row["hypothesis"]) == expected


def test_an_original_has_bleu_one_and_its_length(pairs):
    row = _load(pairs)[5]
    assert {value for name, value in row.items() if "bleu" in name} == {1.0}
    assert (row["premise_words"], row["hypothesis_words"]) == (10, 9)


def test_mini_trees_are_counted_where_asked_for(pairs, shared, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "tags"))
    assert set(_load(pairs)["premise_minitree"]) == {None}
    pipeline = str(shared / "hub/models/spacy/en_core_web_sm")
    rows = _load(pairs, minitrees=[str(pairs)], pipeline=pipeline)
    in_order = {row["source_id"]: row["premise_minitree"] for row in rows if row["permutation"] < 0}
    assert all(0.5 < overlap <= 1 for overlap in in_order.values())
    permuted = [(row["premise_minitree"], in_order[row["source_id"]]) for row in rows if row["permutation"] >= 0]
    assert np.mean([above / below for above, below in permuted]) < 1  # the sentences themselves are what was counted
    assert rows.to_list() == _load(pairs, minitrees=[str(pairs)], pipeline=pipeline, num_proc=2).to_list()
    by_text = _load(pairs, minitrees=[str(pairs)], pipeline=pipeline, minitree_by="text")
    assert by_text["premise_minitree"][:] != rows["premise_minitree"][:]


def test_min_words_lets_shorter_sentences_in(pairs):
    assert set(_load(pairs, min_words=3, q=2)["source_id"][:]) == {"p0", "p1", "p2"}


def test_streaming_and_processes_change_nothing(pairs):
    rows = _load(pairs).to_list()
    assert list(_load(pairs, streaming=True)) == rows
    assert _load(pairs, num_proc=2, seed=13).to_list() == rows


def test_what_was_built_is_not_reused_for_other_data(pairs):
    before = _load(pairs)["source_id"][:]
    lines = pairs.read_text().splitlines(keepends=True)
    pairs.write_text("".join(lines[:1]))
    assert before != _load(pairs)["source_id"][:]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"q": 0}, "q = 0"),
        ({"mode": "backwards"}, "'backwards'"),
        ({"min_words": 1}, "min_words of at least 2, found 1"),
        ({"minitree_by": "both"}, "one of the definitions code, text, found 'both'"),
    ],
)
def test_options_that_cannot_be_are_refused(pairs, options, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        _load(pairs, **options)


def test_an_unknown_option_is_named_with_those_there_are(pairs):
    with pytest.raises(ValueError, match=r"no option 'quantity'.*min_words"):
        _load(pairs, quantity=3)


def test_a_broken_row_is_named_through_the_builder(pairs):
    pairs.write_text(pairs.read_text() + '{"premise": "A", "hypothesis": "B", "label": "maybe"}\n')
    with pytest.raises(DataError, match=re.escape("pairs.jsonl, line 5: expected the columns 'id'")):
        _load(pairs)


def test_there_is_a_config_for_every_corpus_split_and_mode():
    configs = sets.builder("permuted", "snli").builder_configs
    for corpus in CORPORA.values():
        for split in corpus.splits:
            for mode in MODES:
                name = f"{corpus.name}-{split}" + ("" if mode == "both" else f"-{mode}")
                config = configs[name]
                assert (config.corpus, config.source_split, config.mode) == (corpus.name, split, mode)
    assert len(configs) == sum(len(corpus.splits) for corpus in CORPORA.values()) * len(MODES)


def test_an_unknown_config_is_named_with_those_there_are():
    with pytest.raises(ValueError, match=r"no config 'snli-dev'.*snli-validation, "):
        sets.builder("permuted", "snli-dev")


def test_an_unknown_set_is_named_with_those_there_are():
    with pytest.raises(ValueError, match=r"expected a challenge set of .*permuted.*, found 'shuffled'"):
        sets.load("shuffled", "snli")
