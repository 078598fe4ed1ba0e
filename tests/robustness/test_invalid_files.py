"""Tests of special files, and of files that need unlimited time or memory: rejected at once with one line."""

import gzip
import json
import os
import resource
import signal
import socket
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.robustness.command import read_files_below, run_command, run_rejected, sample_inputs
from unbag.baselines.lexical.word_vectors import read_word_vectors
from unbag.challenge_sets import loading
from unbag.challenge_sets.perturbations import corpus_counts
from unbag.challenge_sets.request import SetRequest, build_requested_set
from unbag.data.labels import LABELS
from unbag.data.readers import open_data_file
from unbag.data.sources import MAX_SENTENCE_CHARACTERS, TOO_LONG, open_data
from unbag.utils import safe_io
from unbag.utils.safe_io import DataError

SECONDS = 20  # time limit in seconds for commands that would otherwise wait forever
HEADER = "premise,hypothesis,label\n"
PAIR = "A man runs.,A man moves.,entailment\n"

pytestmark = pytest.mark.usefixtures("empty_working_dir")


@pytest.fixture(autouse=True)
def _no_waiting():
    def late(*_):
        raise AssertionError(f"no answer within {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def fifo(path):
    os.mkfifo(path)


def folder(path):
    path.mkdir()


def zeros(path):
    path.symlink_to("/dev/zero")


def unix_socket(path):
    with socket.socket(socket.AF_UNIX) as bound:
        here = Path.cwd()
        os.chdir(path.parent)  # the path of a socket has at most 107 bytes
        bound.bind(path.name)
        os.chdir(here)


def loop(path):
    path.symlink_to(path)


NO_FILES = (fifo, folder, zeros, unix_socket, loop)

PAIRS = (
    ("build", "plain", "--output", "out.parquet", "--data"),
    ("build", "breaking_nli", "--output", "out.parquet", "--data", "GOOD", "-o", "train_data=FILE"),
    ("evaluate", "majority", "--sets", "plain", "--no-lexical-baseline", "--data"),
    ("score", "--data", "GOOD", "--set", "plain", "FILE"),
    ("train", "finetune", "--model", "org/model", "--output-dir", "out", "--corpus"),
    ("lexical", "fit", "--output-dir", "out", "--train-data"),
    ("human-study", "score", "KEY", "FILE"),
)
NAMED = {
    ".csv": PAIRS,
    ".txt": (
        ("models", "init", "esim", "--output-dir", "out", "--corpus", "GOOD", "--vectors"),
        ("build", "breaking_nli", "--output", "out.parquet", "--data", "GOOD", "-o", "embeddings=FILE"),
    ),
    ".zip": (
        ("models", "init", "esim", "--output-dir", "out", "--corpus", "GOOD", "--vectors"),
        ("build", "breaking_nli", "--output", "out.parquet", "--official-file"),
    ),
    ".yaml": (("evaluate", "--config"),),
    ".parquet": (("score", "--set", "FILE", "GOOD"), ("score", "FILE")),
    ".json": (
        ("report",),
        ("compare", "FILE", "FILE"),
        ("check", "--min", "plain:accuracy=.1"),
        ("publish", "results-dataset", "--repo-id", "org"),
    ),
    "": (
        ("evaluate", "--sets", "plain", "--data", "GOOD"),
        ("build", "soswap_addamod", "--output", "out.parquet", "--data", "GOOD", "-o", "pipeline=FILE"),
    ),
}
CASES = [(make, ending, command) for make in NO_FILES for ending, commands in NAMED.items() for command in commands]


def called(each):
    return each.__name__ if callable(each) else each if isinstance(each, str) else " ".join(each)


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "good.csv"
    path.write_text(HEADER + PAIR)
    return path


def command_of(command, path, good):
    """Return a command with inserted file names. By default, the path is the last argument."""
    words = [
        word.replace("FILE", str(path)).replace("GOOD", str(good)).replace("KEY", str(good.parent)) for word in command
    ]
    return words if words != [*command] and any("FILE" in word for word in command) else [*words, str(path)]


@pytest.mark.parametrize(("make", "ending", "command"), sample_inputs(CASES, 15), ids=called)
def test_special_file_is_rejected_at_once(capsys, tmp_path, good, make, ending, command):
    (tmp_path / "key.csv").write_text("number,label,drawn_from\n1,neutral,D^c\n")
    path = tmp_path / f"given{ending}"
    make(path)
    run_rejected(capsys, *command_of(command, path, good))
    assert not [name for name in read_files_below(Path.cwd()) if name != "here"]


def test_named_pipe_in_lexical_model_is_rejected(capsys, tmp_path, good):
    good.write_text(HEADER + PAIR + "".join(f"A {n}.,B {n}.,{label}\n" for n in range(9) for label in LABELS))
    fit = "lexical fit --pipeline all --l2 1 --train-data".split()
    run_command(capsys, *fit, good, "--output-dir", tmp_path / "model")
    (tmp_path / "model" / "model.safetensors").unlink()
    os.mkfifo(tmp_path / "model" / "model.safetensors")
    run_rejected(capsys, "lexical", "score", "--premise", "A.", "--hypothesis", "B.", "--model", tmp_path / "model")


LINE = '{"premise": "A.", "hypothesis": "B.", "label": "neutral"}\n'


def test_table_with_too_many_columns_is_rejected(capsys, tmp_path):
    path = tmp_path / "columns.parquet"
    pq.write_table(pa.table({str(n): [0] for n in range(10_001)}), path)
    err = run_rejected(capsys, "build", "plain", "--data", path, "--output", "out.parquet")
    assert path.name in err.replace("\n", "")
    assert len(err) < 3000
    assert read_files_below(Path.cwd()) == []


def peak():
    """Return the peak memory of the process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


@pytest.mark.parametrize("ending", sample_inputs([".csv.gz", ".jsonl.gz", ".tsv.gz", ".txt.gz", ".zip"], 1))
def test_endless_line_needs_no_memory(tmp_path, ending):
    path = tmp_path / f"bomb{ending}"
    size = 300 << 20
    if ending == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.txt", "w") as file:
            for _ in range(size >> 20):
                file.write(b"a" * (1 << 20))
    else:
        with gzip.open(path, "wb", compresslevel=1) as packed:
            for _ in range(size >> 20):
                packed.write(b"a" * (1 << 20))
    before = peak()
    read = {".zip": read_word_vectors, ".txt.gz": corpus_counts.read_bigrams}.get(ending, open_data_file)
    with pytest.raises(ValueError, match=rf"{path.name}.*line 1: expected at most {safe_io.LONGEST_LINE:,} bytes"):
        read(path)
    assert peak() - before < 200


def test_compression_bomb_is_rejected(tmp_path, monkeypatch):
    monkeypatch.setattr(safe_io, "GIGABYTE", 1 << 20)
    path = tmp_path / "pairs.jsonl.gz"
    path.write_bytes(gzip.compress(LINE.encode() + (b" " * 9999 + b"\n") * 3000))
    with pytest.raises(DataError, match=r"expected at most 200 times .* bytes"):
        open_data(path).count_rows()


def shared_texts(rows, *, characters=1 << 20):
    """Return a table whose rows share one long sentence, which Parquet stores once."""
    one = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["x" * characters])
    label = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["neutral"])
    return pa.table({"premise": one, "hypothesis": one, "label": label})


BOMBS = {
    "texts": (lambda: shared_texts(100_000), r"expected a decompressed size of at most 200 × [\d,]+ bytes"),
    "cells": (
        lambda: shared_texts(10, characters=MAX_SENTENCE_CHARACTERS << 11),
        r"at most 16,777,216 bytes per cell, got 2",
    ),
    "nulls": (
        lambda: pa.table(dict.fromkeys(("premise", "hypothesis", "label"), pa.nulls(500_000))),
        r"at most 200 ×",
    ),
    "lists": (
        lambda: pa.table({"x": pa.ListArray.from_arrays([0, 900_000], pa.array([1] * 900_000))}),
        r"at most 200 ×",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_small_parquet_file_of_endless_rows_needs_no_memory(tmp_path, monkeypatch, name):
    make, message = BOMBS[name]
    if name in ("nulls", "lists"):  # these files would take seconds to write
        monkeypatch.setattr("unbag.data.parquet.GIGABYTE", 1 << 20)
    path = tmp_path / "pairs.parquet"
    pq.write_table(make(), path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 1 << 20
    before = peak()
    with pytest.raises(DataError, match=message):
        open_data(path).count_rows()
    assert peak() - before < 300


def test_parquet_lists_of_texts_are_read_across_row_groups(tmp_path):
    path = tmp_path / "pairs.parquet"
    row = {"premise": "A man sleeps.", "hypothesis": "A man is awake.", "label": "contradiction", "votes": ["c", "n"]}
    pq.write_table(pa.Table.from_pylist([row] * 50), path, row_group_size=7)
    assert len(list(open_data(path).iter_examples())) == 50


def test_parquet_rows_with_shared_long_text_are_read(tmp_path):
    path = tmp_path / "pairs.parquet"
    pq.write_table(shared_texts(1000, characters=MAX_SENTENCE_CHARACTERS), path, store_schema=False)
    assert len(list(open_data(path).iter_examples())) == 1000
    assert next(open_data(path).iter_examples()).premise == "x" * MAX_SENTENCE_CHARACTERS


@pytest.mark.parametrize("ending", [".txt.gz", ".zip"])
def test_word_vector_compression_bomb_is_rejected(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(safe_io, "GIGABYTE", 1 << 16)
    lines = b"a 1 2\n" * 100_000
    path = tmp_path / f"bomb{ending}"
    if ending == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.txt", lines)
    else:
        path.write_bytes(gzip.compress(lines))
    with pytest.raises(
        ValueError, match=rf"bomb{ending}.*line \d+: expected at most 200 times the file size of [\d,]+ bytes"
    ):
        read_word_vectors(path)


ENDLESS = {
    "one word": "x",
    "words": "The old man sees a big dog in the park and ",
    "letters": "a ",
    "marks": ". ",
    "nouns": "man ",
    "clauses": "A man sees a dog that ",
}


@pytest.fixture(scope="module")
def long_pairs(tmp_path_factory):
    """Return a file of pairs with up to a million characters, the maximum length."""
    path = tmp_path_factory.mktemp("long") / "pairs.jsonl"
    rows = []
    for text in ENDLESS.values():
        for length in (1_000_000, MAX_SENTENCE_CHARACTERS + 1):
            long = (text * length)[:length]
            rows += [(long, "A man runs."), ("A man runs.", long)]
    rows += [("The old man sees a dog in the park.", "A man sees a dog.")] * 3
    sides = [{"premise": premise, "hypothesis": hypothesis, "label": "entailment"} for premise, hypothesis in rows]
    path.write_text("".join(f"{json.dumps(side)}\n" for side in sides))
    return path


@pytest.mark.parametrize("name", ["permuted", "recombined"])
def test_long_sentences_are_excluded_and_counted(long_pairs, pipeline, name):
    options = {"pipeline": pipeline} if name == "recombined" else {"min_words": 2}
    try:
        built = build_requested_set(SetRequest(name, options={"data": str(long_pairs), **options}))
    except loading.UnsuitablePairsError:  # too few pairs remain
        assert open_data(long_pairs).count_rows()[TOO_LONG] == 4 * len(ENDLESS)
    else:
        assert built.data["excluded"][TOO_LONG] == 4 * len(ENDLESS)
