"""Tests of the readers of other people's files: damaged content is read, or rejected with one line.

`sample_files.zip` contains valid files per reader (`READER/sound…`), files that must be rejected (`READER/rejected-…`),
and inputs that once caused errors.
"""

import json
import shutil
import tempfile
import zipfile
from functools import reduce
from itertools import count
from operator import getitem
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.robustness.conftest import ALL
from unbag.baselines.lexical.model import LexicalModel, locate_lexical_model
from unbag.baselines.lexical.word_vectors import read_word_vectors
from unbag.challenge_sets import results
from unbag.challenge_sets.request import read_exported_set
from unbag.data.sources import open_data
from unbag.evaluation import human_study, report_examples
from unbag.inference.prediction_files import read_published_predictions
from unbag.training.record import read_training_record

with zipfile.ZipFile(Path(__file__).with_name("sample_files.zip")) as archive:
    SAMPLES = {name: archive.read(name) for name in archive.namelist()}


def read_pairs(path):
    return list(open_data(path).iter_examples())


def read_sheet(path):
    (path.parent / human_study.KEY).write_text("number,id,label,drawn_from\n0,a,neutral,D^c\n1,b,neutral,D^f\n")
    return human_study.score_annotation_sheet(path.parent, path)


def read_lexical_model(path):
    for name, other in (("config.json", "lexical.json"), ("model.safetensors", "lexical.safetensors")):
        if path.name != name:
            (path.parent / name).write_bytes(SAMPLES[f"{other}/sound"])
    return LexicalModel.load(locate_lexical_model(path.parent))


READERS = {
    "rows.csv": ("pairs.csv", read_pairs),
    "rows.tsv": ("pairs.tsv", read_pairs),
    "rows.jsonl": ("pairs.jsonl", read_pairs),
    "rows.parquet": ("pairs.parquet", read_pairs),
    "rows.csv.gz": ("pairs.csv.gz", read_pairs),
    "predictions.csv": ("answers.csv", read_published_predictions),
    "predictions.jsonl": ("answers.jsonl", read_published_predictions),
    "predictions.parquet": ("answers.parquet", read_published_predictions),
    "set.parquet": ("set.parquet", read_exported_set),
    "vectors.txt": ("words.txt", read_word_vectors),
    "vectors.txt.gz": ("words.txt.gz", read_word_vectors),
    "vectors.vec": ("words.vec", read_word_vectors),
    "vectors.zip": ("words.zip", read_word_vectors),
    "results.json": (results.FILE, results.read_results),
    "examples.json": (report_examples.FILE, report_examples.read_selections),
    "training.json": ("training.json", lambda path: read_training_record(path.parent)),
    "sheet.csv": ("sheet.csv", read_sheet),
    "lexical.json": ("config.json", read_lexical_model),
    "lexical.safetensors": ("model.safetensors", read_lexical_model),
}
INPUTS = settings(max_examples=2000 if ALL else 25, derandomize=not ALL, database=None)
_number = count()


@pytest.fixture(scope="module")
def folder():
    """Return a folder in memory, which avoids many files on the disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name)


def read(name, content, folder):
    """Return the value, or the error message if the content is rejected. Other exceptions fail the test."""
    file, reader = READERS[name]
    path = folder / str(next(_number)) / file  # a new name each time, since readers may cache by name
    path.parent.mkdir()
    path.write_bytes(content)
    try:
        return reader(path)
    except UnicodeError:
        raise
    except (ValueError, OSError) as error:
        message = str(error)
    finally:
        shutil.rmtree(path.parent)
    assert message.strip()
    assert "\n" not in message
    return message


@pytest.mark.parametrize("sample", SAMPLES)
def test_sample_file_is_read_or_rejected(sample, folder):
    reader, _, kind = sample.partition("/")
    found = read(reader, SAMPLES[sample], folder)
    if kind.startswith("sound"):
        assert found, "a valid file is not empty"
        assert not isinstance(found, str), found
    if kind.startswith("rejected"):
        assert READERS[reader][0] in found, "the message names the file"
        assert len(found) < 1000


REPLACEMENTS = (
    b"",
    b"<!doctype html><html><body>Sign in</body></html>",
    b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n",
    b"[" * 100_000,
    b"PK\x03\x04" + bytes(60),
)


@st.composite
def damaged_contents(draw, content):
    """Draw content with a few missing, repeated, zeroed, flipped or inserted parts, or other content."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from(REPLACEMENTS) | st.binary(max_size=400))
    for _ in range(draw(st.integers(1, 3))):
        start, stop = sorted(draw(st.tuples(*[st.integers(0, len(content))] * 2)))
        before, part, after = content[:start], content[start:stop], content[stop:]
        flipped = bytes(byte ^ draw(st.sampled_from([1, 4, 32, 128])) for byte in part[:1]) + part[1:]
        parts = (b"", part + part, bytes(len(part)), flipped, draw(st.binary(max_size=30)) + part)
        content = before + draw(st.sampled_from(parts)) + (after if draw(st.booleans()) else b"")
    return content


@pytest.mark.parametrize("name", READERS)
def test_damaged_file_is_read_or_rejected(name, folder):
    @INPUTS
    @given(damaged_contents(SAMPLES[f"{name}/sound"]))
    def check(content):
        read(name, content, folder)

    check()


VALUES = (None, True, -1, 1.5, 1e999, float("nan"), 10**30, "", "x", "\x1b[31m", "\ud800", "x" * 3000)
VALUES += ([], [None], [[]], {}, {"x": {}}, [1, "a", None], {"": None})


def list_paths(value, path=()):
    """Yield the paths of all parts of a JSON value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*path, key)
        yield from list_paths(part, (*path, key))


def changed_records(text):
    """Build a strategy of JSON records with another value in one place, or without it."""

    def change(path, value, is_deleted):
        record = json.loads(text)
        *above, last = path
        inner = reduce(getitem, above, record)
        inner[last] = value
        if is_deleted:
            del inner[last]
        return json.dumps(record)

    paths = st.sampled_from(list(list_paths(json.loads(text))))
    return st.builds(change, paths, st.sampled_from(VALUES), st.booleans())


@pytest.mark.parametrize("name", [name for name in READERS if name.endswith(".json")])
def test_record_with_other_values_is_read_or_rejected(name, folder):
    @INPUTS
    @given(changed_records(SAMPLES[f"{name}/sound"].decode()))
    def check(record):
        read(name, record.encode(), folder)

    check()
