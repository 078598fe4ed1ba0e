import inspect
import json
import re
import sys
from dataclasses import replace
from importlib.metadata import version

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from unbag import challenge_sets
from unbag.challenge_sets import builder, loading
from unbag.challenge_sets.builder import compute_builder_hash
from unbag.challenge_sets.request import SetRequest, build_requested_set
from unbag.cli import app
from unbag.data.text import tokens
from unbag.data.text.tokens import tokenize

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
def pairs(write_pairs):
    return write_pairs(PAIRS)


def _load(pairs, **options):
    return loading.load("permuted", data=pairs, **{"q": 4, **options})


def test_example_gives_original_and_q_permutations(pairs):
    rows = _load(pairs)
    assert rows["permutation"][:] == [-1, 0, 1, 2, 3] * 2
    assert rows["source_id"][:] == ["pairs-0"] * 5 + ["pairs-2"] * 5
    assert (rows[0]["premise"], rows[0]["hypothesis"]) == PAIRS[0][:2]
    assert rows.features["label"].int2str(rows["label"][:]) == ["neutral"] * 5 + ["entailment"] * 5
    assert len(set(rows["id"][:])) == 10


def test_minitree_overlap_is_computed_on_request(pairs, pipeline):
    assert set(_load(pairs)["premise_minitree"]) == {None}
    rows = _load(pairs, minitrees=[pairs], pipeline=pipeline)
    in_order = {row["source_id"]: row["premise_minitree"] for row in rows if row["permutation"] < 0}
    assert all(0.5 < overlap <= 1 for overlap in in_order.values())
    permuted = [(row["premise_minitree"], in_order[row["source_id"]]) for row in rows if row["permutation"] >= 0]
    # the overlap counts come from the sentences themselves
    assert np.mean([above / below for above, below in permuted]) < 1
    assert rows.to_list() == _load(pairs, minitrees=[pairs], pipeline=pipeline, num_proc=2).to_list()
    by_text = _load(pairs, minitrees=[pairs], pipeline=pipeline, minitree_by="text")
    assert by_text["premise_minitree"][:] != rows["premise_minitree"][:]


def test_examples_dropped_in_mode_are_counted_and_reported(write_pairs, tmp_path):
    few_orders = [  # a run of int(.75 × 8) = 6 words and two others: 8 orders per sentence, 64 pairs
        ("Two young dogs chase a very red ball", "Some small animals play with a toy today", "neutral"),
        ("Three old women wait for the last bus", "The women are waiting for a bus now", "neutral"),
    ]
    enough = (
        "Two young dogs chase a red ball in the green park near here",
        "Some small animals play with a toy outside of their house today",
        "neutral",
    )
    data = write_pairs([*few_orders, enough, ("A dog", "It runs", "neutral")])
    request = SetRequest("permuted", options={"data": data, "q": 70})
    assert build_requested_set(request).data["excluded"] == {"too short to permute": 1}
    reasons = {"too short to permute": 1, "with fewer than 70 different permutations": 2}
    clumped = replace(request, options={**request.options, "mode": "clumped_75"})
    assert build_requested_set(clumped).data["excluded"] == reasons
    # The command reads the counts from the cache.
    out = tmp_path / "set.parquet"
    options = ["-o", "mode=clumped_75", "-o", "q=70"]
    built = CliRunner().invoke(app, ["build", "permuted", "--data", data, *options, "--output", str(out)])
    assert built.exit_code == 0
    excluded = "1 too short to permute, 2 with fewer than 70 different permutations"
    told = f"1 examples, 71 rows; source: 4 rows; excluded {excluded}"
    assert told in " ".join(built.output.split())
    assert json.loads(pq.read_schema(out).metadata[b"unbag"])["data"]["excluded"] == reasons


@pytest.fixture
def chinese(write_pairs):
    pair = "他昨天在图书馆里看书，没有回家吃晚饭。", "他昨天没有去图书馆，他在家里睡觉，没吃饭。"
    return write_pairs([(*pair, "neutral")])


def test_record_contains_chinese_tokenizer(chinese):
    request = SetRequest("permuted", options={"data": chinese, "language": "zh", "q": 2})
    tokenizer = f"spaCy {version('spacy')}, blank zh, rjieba {version('rjieba')}"
    assert build_requested_set(request).config["tokenizer"] == tokenizer
    by_character = build_requested_set(replace(request, options={**request.options, "characters": True})).config
    assert by_character["characters"] is True
    assert "tokenizer" not in by_character


def test_segmenter_version_is_part_of_cache_key(monkeypatch):
    cls = challenge_sets.get_challenge_set("permuted").get_builder_class()
    options = inspect.getfile(cls), cls.BUILDER_CONFIG_CLASS, {}
    before = compute_builder_hash(*options)
    assert compute_builder_hash(*options) == before
    monkeypatch.setattr(builder, "version", lambda name: "0.43" if name == "rjieba" else version(name))
    assert compute_builder_hash(*options) != before


def test_missing_segmenter_error_names_extra(chinese, monkeypatch):
    monkeypatch.setitem(sys.modules, "rjieba", None)
    tokens._tokenizer.cache_clear()
    tokenize.cache_clear()
    with pytest.raises(ImportError, match=re.escape("requires rjieba: pip install 'unbag[zh]'")):
        _load(chinese, language="zh")
    assert len(_load(chinese, language="zh", characters=True)) == 5
