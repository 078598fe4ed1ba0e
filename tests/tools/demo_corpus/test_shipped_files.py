import gzip
from itertools import islice

import numpy as np
import pytest

from tools.demo_corpus.__main__ import iter_files, main
from tools.demo_corpus.corpus import generate_pairs
from unbag.baselines.lexical import embeddings
from unbag.data import demo


@pytest.mark.nightly
def test_shipped_files_equal_tool_output():
    made = dict(iter_files())
    assert set(made) == {*map(demo.get_demo_file, demo.SPLITS), demo.VECTORS}
    for path, text in made.items():
        assert gzip.decompress(path.read_bytes()).decode() == text, f"{path.name}: run `python -m tools.demo_corpus`"


def test_same_content_gives_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr("tools.demo_corpus.__main__.iter_files", lambda: [(tmp_path / "a.gz", "one\ntwo\n")])
    written = []
    for now in (1e9, 2e9):
        monkeypatch.setattr("time.time", lambda now=now: now)
        main()
        written.append((tmp_path / "a.gz").read_bytes())
    assert written[0] == written[1]
    assert gzip.decompress(written[0]) == b"one\ntwo\n"


@pytest.mark.parametrize("split", demo.SPLITS)
@pytest.mark.parametrize("n", [100, pytest.param(None, marks=pytest.mark.nightly)])
def test_shipped_pairs_equal_grammar_output(split, n):
    read = [
        (pair.source_id, pair.premise, pair.hypothesis, pair.label) for pair in islice(demo.iter_demo_pairs(split), n)
    ]
    assert read == list(map(tuple, islice(generate_pairs(split), n)))


def test_words_in_same_contexts_have_similar_vectors():
    table = embeddings.load_embeddings(str(demo.VECTORS))
    dog, puppy, red = (
        vector / np.linalg.norm(vector) for vector in table.compute_means([("dog",), ("puppy",), ("red",)])
    )
    assert dog @ puppy > dog @ red
    pairs = [(pair.premise, pair.hypothesis) for pair in demo.iter_demo_pairs("train")]
    assert not table.count_tokens(pairs).unknown.any()
