"""Tests of the builder cache: a set is rebuilt if and only if its inputs change."""

import inspect
import subprocess
import sys
import tracemalloc
from dataclasses import fields
from pathlib import Path

import pytest

from unbag import challenge_sets
from unbag.challenge_sets import loading
from unbag.challenge_sets.builder import compute_builder_hash
from unbag.challenge_sets.pairs import deduplicate

MAY_NAME_FILES = {
    "breaking_nli": {"data", "file", "train_data", "embeddings", "bigrams"},
    "cs_lambda": {"data", "train_data", "lexical", "pipeline"},
    "negation": {"data", "pipeline"},
    "permuted": {"data", "minitrees", "pipeline"},
    "recombined": {"data", "pipeline"},
    "resnli": {"data", "embeddings"},
    "sicck": {"data", "file", "pipeline"},
    "soswap_addamod": {"data", "pipeline"},
}
LISTS = {"train_data", "minitrees", "text"}
OPTIONS = [
    (name, field.name)
    for name in challenge_sets.list_set_names()
    for field in fields(challenge_sets.get_challenge_set(name).get_builder_class().BUILDER_CONFIG_CLASS)
]


def _compute_hash(name, /, **options):
    cls = challenge_sets.get_challenge_set(name).get_builder_class()
    return compute_builder_hash(inspect.getfile(cls), cls.BUILDER_CONFIG_CLASS, options)


def test_changed_file_is_read_again_and_processes_share_cache_entry(tmp_path):
    data, cache = tmp_path / "pairs.csv", tmp_path / "cache"
    found = []
    for n in (3, 4):
        rows = [f"A man sees {i} dogs.,A man sees a dog.,neutral" for i in range(n)]
        data.write_text("\n".join(["premise,hypothesis,label", *rows]) + "\n")
        builder = loading.create_builder("plain", data=data, cache_dir=cache)
        found.append(loading.load_evaluation_split(builder).num_rows)
    assert found == [3, 4]
    made = f"create_builder('plain', data={str(data)!r}, cache_dir={str(cache)!r})"
    code = f"from unbag.challenge_sets.loading import create_builder; print({made}.cache_dir)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(builder.cache_dir)


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_only_file_options_hash_file_contents(tmp_path, monkeypatch, name, option):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "en").mkdir()
    hashes = []
    for content in ("one", "another"):
        (tmp_path / "en/words.txt").write_text(content)
        (tmp_path / "words.txt").write_text(content)
        for value in ("en", "words.txt", Path("en"), Path("words.txt")):
            hashes.append(_compute_hash(name, **{option: [value] if option in LISTS else value}))
    folder, file, *paths = hashes[:4]
    assert paths == [folder, file]
    if option in MAY_NAME_FILES.get(name, {"data"}) | {"text"}:
        assert len(set(hashes)) == 4
    else:
        assert set(hashes) == {_compute_hash(name)}


def test_corpus_and_hub_names_are_not_hashed_as_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "snli").mkdir()
    (tmp_path / "snli/notes.txt").write_text("The corpus of this name is read all the same.")
    default = _compute_hash("cs_lambda")
    assert _compute_hash("cs_lambda", train_data=["snli", "mnli"]) == default
    assert _compute_hash("cs_lambda", lexical="org/words", data="org/pairs", pipeline=None) == default
    assert _compute_hash("cs_lambda", lexical="snli") != default, "a model may be called so"


def test_file_that_replaces_default_is_hashed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = _compute_hash("permuted")
    folder = tmp_path / "spacy/en_core_web_sm"
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text("{}")
    assert _compute_hash("permuted") != before


def test_deduplication_of_many_sentences_needs_little_memory():
    tracemalloc.start()
    n = sum(1 for _ in deduplicate((f"{i} {'long ' * 40}" for i in range(100_000)), str))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert n == 100_000
    assert peak < 15e6, "the sentences alone are 20 MB"
