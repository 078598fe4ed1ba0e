"""Tests of special files, and of files that need unlimited time or memory: rejected at once with one line."""

import gzip
import json
import os
import resource
import signal
import stat
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.robustness.conftest import fit_model, read_files_below, run_rejected, sample_inputs, write_pairs
from unbag.baselines.lexical.word_vectors import read_word_vectors
from unbag.challenge_sets import loading
from unbag.challenge_sets.perturbations import corpus_counts
from unbag.challenge_sets.request import SetRequest, build_requested_set
from unbag.data.readers import open_data_file
from unbag.data.sources import MAX_SENTENCE_CHARACTERS, TOO_LONG, open_data
from unbag.utils import safe_io
from unbag.utils.safe_io import DataError

SECONDS = 20  # time limit in seconds for commands that would otherwise wait forever

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


SPECIAL_FILES = {
    "fifo": os.mkfifo,
    "folder": Path.mkdir,
    "zeros": lambda path: path.symlink_to("/dev/zero"),
    "socket": lambda path: os.mknod(path, stat.S_IFSOCK | 0o600),
    "loop": lambda path: path.symlink_to(path),
}
READERS = [
    ("build plain --output out.parquet --data FILE", ".csv"),
    ("build breaking_nli --output out.parquet --data GOOD -o train_data=FILE", ".csv"),
    ("evaluate majority --sets plain --no-lexical-baseline --data FILE", ".csv"),
    ("score --data GOOD --set plain FILE", ".csv"),
    ("train finetune --model org/model --output-dir out --corpus FILE", ".csv"),
    ("lexical fit --output-dir out --train-data FILE", ".csv"),
    ("human-study score FOLDER FILE", ".csv"),
    ("models init esim --output-dir out --corpus GOOD --vectors FILE", ".txt"),
    ("build breaking_nli --output out.parquet --data GOOD -o embeddings=FILE", ".txt"),
    ("models init esim --output-dir out --corpus GOOD --vectors FILE", ".zip"),
    ("build breaking_nli --output out.parquet --official-file FILE", ".zip"),
    ("evaluate --config FILE", ".yaml"),
    ("score --set FILE GOOD", ".parquet"),
    ("score FILE", ".parquet"),
    ("report FILE", ".json"),
    ("compare FILE FILE", ".json"),
    ("check --min plain:accuracy=.1 FILE", ".json"),
    ("publish results-dataset --repo-id org FILE", ".json"),
    ("evaluate --sets plain --data GOOD FILE", ""),
    ("build soswap_addamod --output out.parquet --data GOOD -o pipeline=FILE", ""),
]


@pytest.mark.parametrize(
    ("kind", "command", "ending"), sample_inputs([(kind, *reader) for kind in SPECIAL_FILES for reader in READERS], 15)
)
def test_special_file_is_rejected_at_once(capsys, tmp_path, kind, command, ending):
    (tmp_path / "key.csv").write_text("number,label,drawn_from\n1,neutral,D^c\n")
    path, good = tmp_path / f"given{ending}", write_pairs(tmp_path / "good.csv", 1)
    SPECIAL_FILES[kind](path)
    for name, value in {"FILE": path, "GOOD": good, "FOLDER": tmp_path}.items():
        command = command.replace(name, str(value))
    run_rejected(capsys, *command.split())
    assert read_files_below(Path.cwd()) == []


def test_named_pipe_in_lexical_model_is_rejected(capsys, sixty_pairs):
    folder = fit_model(sixty_pairs)
    (folder / "model.safetensors").unlink()
    os.mkfifo(folder / "model.safetensors")
    run_rejected(capsys, "lexical", "score", "--premise", "A.", "--hypothesis", "B.", "--model", folder)


def peak():
    """Return the peak memory of the process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def write_compressed(path, chunks):
    """Write chunks of bytes to a gzip file or to the only file of a zip archive."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.txt", "w") as file:
            file.writelines(chunks)
    else:
        with gzip.open(path, "wb", compresslevel=1) as file:
            file.writelines(chunks)


@pytest.mark.parametrize("ending", sample_inputs([".csv.gz", ".jsonl.gz", ".tsv.gz", ".txt.gz", ".zip"], 1))
def test_endless_line_needs_no_memory(tmp_path, ending):
    path = tmp_path / f"bomb{ending}"
    write_compressed(path, (b"a" * (1 << 20) for _ in range(300)))
    before = peak()
    read = {".zip": read_word_vectors, ".txt.gz": corpus_counts.read_bigrams}.get(ending, open_data_file)
    with pytest.raises(ValueError, match=rf"{path.name}.*line 1: expected at most {safe_io.LONGEST_LINE:,} bytes"):
        read(path)
    assert peak() - before < 200


@pytest.mark.parametrize(
    ("name", "lines", "read"),
    [
        ("bomb.txt.gz", b"a 1 2\n" * 100_000, read_word_vectors),
        ("bomb.zip", b"a 1 2\n" * 100_000, read_word_vectors),
        (
            "bomb.jsonl.gz",
            b'{"premise": "A.", "hypothesis": "B.", "label": "neutral"}\n' + (b" " * 9999 + b"\n") * 3000,
            lambda path: open_data(path).count_rows(),
        ),
    ],
)
def test_compression_bomb_is_rejected(tmp_path, monkeypatch, name, lines, read):
    monkeypatch.setattr(safe_io, "GIGABYTE", 1 << 16)
    write_compressed(tmp_path / name, [lines])
    with pytest.raises(ValueError, match=rf"{name}.*line \d+: expected at most 200 times the file size of [\d,]+ byt"):
        read(tmp_path / name)


def shared_texts(rows, characters):
    """Return a table whose rows share one long sentence, which Parquet stores once."""
    one = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["x" * characters])
    label = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["neutral"])
    return pa.table({"premise": one, "hypothesis": one, "label": label})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: shared_texts(100_000, 1 << 20), r"expected a decompressed size of at most 200 × [\d,]+ bytes"),
        (lambda: shared_texts(10, MAX_SENTENCE_CHARACTERS << 11), r"at most 16,777,216 bytes per cell, got 2"),
        (lambda: pa.table(dict.fromkeys(("premise", "hypothesis", "label"), pa.nulls(500_000))), r"at most 200 ×"),
        (lambda: pa.table({"x": pa.ListArray.from_arrays([0, 900_000], pa.array([1] * 900_000))}), r"at most 200 ×"),
        (lambda: pa.table({str(n): [0] for n in range(10_001)}), r"at most 10,000 columns, got 10,001"),
    ],
    ids=["texts", "cells", "nulls", "lists", "columns"],
)
def test_small_parquet_file_of_endless_rows_needs_no_memory(tmp_path, monkeypatch, make, message, request):
    if "nulls" in request.node.name or "lists" in request.node.name:  # large files would take seconds to write
        monkeypatch.setattr("unbag.data.parquet.GIGABYTE", 1 << 20)
    path = tmp_path / "pairs.parquet"
    pq.write_table(make(), path, compression="zstd", store_schema=False)
    before = peak()
    with pytest.raises(DataError, match=rf"pairs\.parquet.*{message}") as error:
        open_data(path).count_rows()
    assert len(str(error.value)) < 1000
    assert peak() - before < 300


def test_parquet_lists_of_texts_are_read_across_row_groups(tmp_path):
    path = tmp_path / "pairs.parquet"
    row = {"premise": "A man sleeps.", "hypothesis": "A man is awake.", "label": "contradiction", "votes": ["c", "n"]}
    pq.write_table(pa.Table.from_pylist([row] * 50), path, row_group_size=7)
    assert len(list(open_data(path).iter_examples())) == 50


def test_parquet_rows_with_shared_long_text_are_read(tmp_path):
    path = tmp_path / "pairs.parquet"
    pq.write_table(shared_texts(1000, MAX_SENTENCE_CHARACTERS), path, store_schema=False)
    examples = list(open_data(path).iter_examples())
    assert len(examples) == 1000
    assert examples[0].premise == "x" * MAX_SENTENCE_CHARACTERS


@pytest.fixture(scope="module")
def long_pairs(tmp_path_factory):
    """Return a file of pairs with sentences longer than the limit, and the number of these pairs."""
    rows = [("The old man sees a dog in the park.", "A man sees a dog.")] * 3
    for text in ("x", "The old man sees a big dog in the park and ", "a ", ". ", "man ", "A man sees a dog that "):
        for length in (1_000_000, MAX_SENTENCE_CHARACTERS + 1):
            long = (text * length)[:length]
            rows += [(long, "A man runs."), ("A man runs.", long)]
    path = tmp_path_factory.mktemp("long") / "pairs.jsonl"
    sides = [{"premise": premise, "hypothesis": hypothesis, "label": "entailment"} for premise, hypothesis in rows]
    path.write_text("".join(f"{json.dumps(side)}\n" for side in sides))
    return path, len(rows) - 3


@pytest.mark.parametrize("name", ["permuted", "recombined"])
def test_long_sentences_are_excluded_and_counted(long_pairs, pipeline, name):
    path, n = long_pairs
    options = {"pipeline": pipeline} if name == "recombined" else {"min_words": 2}
    try:
        excluded = build_requested_set(SetRequest(name, options={"data": str(path), **options})).data["excluded"]
    except loading.UnsuitablePairsError:  # too few pairs remain
        excluded = open_data(path).count_rows()
    assert excluded[TOO_LONG] == n
