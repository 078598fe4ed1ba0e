"""Tests of the builder cache: a set is rebuilt if and only if its inputs change."""

import inspect
import subprocess
import sys
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


def _write_pairs(path, n):
    rows = [f"A man sees {i} dogs.,A man sees a dog.,neutral" for i in range(n)]
    path.write_text("\n".join(["premise,hypothesis,label", *rows]) + "\n")
    return path


def _compute_hash(name, /, **options):
    cls = challenge_sets.get_challenge_set(name).get_builder_class()
    return compute_builder_hash(inspect.getfile(cls), cls.BUILDER_CONFIG_CLASS, options)


@pytest.mark.parametrize("kind", [str, Path])
def test_changed_file_is_read_again(tmp_path, kind):
    found = []
    for n in (3, 4, 5):
        data = kind(_write_pairs(tmp_path / "pairs.csv", n))
        found.append(loading.load("plain", data=data, cache_dir=tmp_path / "cache").num_rows)
    assert found == [3, 4, 5]


def test_all_processes_share_cache_entry(tmp_path):
    data = _write_pairs(tmp_path / "pairs.csv", 3)
    cache = tmp_path / "cache"
    made = f"sets.create_builder('plain', data=Path({str(data)!r}), language='en', cache_dir=Path({str(cache)!r}))"
    # The second process must not find the cache of the first.
    imports = "from pathlib import Path; from unbag.challenge_sets import loading as sets"
    code = f"{imports}; x = {made}; sets.load_evaluation_split(x); print(x.cache_dir)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout != ""


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
    assert _compute_hash("cs_lambda", train_data=["snli", "mnli"]) == _compute_hash("cs_lambda")
    assert _compute_hash("cs_lambda", lexical="org/words", data="org/pairs", pipeline=None) == _compute_hash(
        "cs_lambda"
    )
    assert _compute_hash("cs_lambda", lexical="snli") != _compute_hash("cs_lambda"), "a model may be called so"


def test_file_that_replaces_default_is_hashed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = _compute_hash("permuted")
    folder = tmp_path / "spacy/en_core_web_sm"
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text("{}")
    assert _compute_hash("permuted") != before


def test_first_item_of_each_sentence_is_kept():
    items = [("A dog runs.", 0), ("A cat runs.", 1), ("A dog runs.", 2), ("a dog runs.", 3), ("A cat runs.", 4)]
    assert [number for _, number in deduplicate(items, lambda item: item[0])] == [0, 1, 3]


def test_hundred_thousand_sentences_need_little_memory():
    code = (
        "import tracemalloc; from unbag.challenge_sets.pairs import deduplicate\n"
        "tracemalloc.start()\n"
        "n = sum(1 for _ in deduplicate((f'{i} {\"long \" * 40}' for i in range(100_000)), str))\n"
        "print(n, tracemalloc.get_traced_memory()[1])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    n, peak = map(int, done.stdout.split())
    assert n == 100_000
    assert peak < 15e6, "the sentences alone are 20 MB"
