import sqlite3

import pytest

from unbag.data.text.tagging import Tagger


@pytest.fixture(scope="module")
def pipeline(shared):
    return shared / "hub" / "models" / "spacy" / "en_core_web_sm"


def test_words_are_tagged(pipeline, tmp_path):
    [tagged] = Tagger(pipeline, cache=tmp_path).tags(["Two dogs  chase a red ball."]).values()
    assert tagged == (
        ("Two", "NUM"),
        ("dogs", "NOUN"),
        ("chase", "VERB"),
        ("a", "DET"),
        ("red", "ADJ"),
        ("ball", "NOUN"),
        (".", "PUNCT"),
    )


def test_fine_tags_are_the_pipelines_own(pipeline, tmp_path):
    tagger = Tagger(pipeline, cache=tmp_path)
    [tagged] = tagger.fine_tags(["There are  two dogs."]).values()
    assert tagged == (("There", "EX"), ("are", "VBP"), ("two", "CD"), ("dogs", "NNS"), (".", "."))
    assert {"EX", "VBP", "NNS"} <= tagger.fine


def test_a_sentence_is_tagged_once_ever_for_both_kinds_of_tags(pipeline, tmp_path, monkeypatch):
    sentences = ["A man sleeps.", "A woman runs.", "A man sleeps."]
    tagger = Tagger(pipeline, cache=tmp_path)
    first, fine = tagger.tags(sentences), tagger.fine_tags(sentences)
    assert set(first) == set(fine) == set(sentences)
    again = Tagger(pipeline, cache=tmp_path)
    asked = []
    monkeypatch.setattr(again._nlp, "pipe", lambda new, **_: asked.extend(new) or iter(()))
    assert (again.tags(sentences), again.fine_tags(sentences)) == (first, fine)
    assert asked == []


def test_more_sentences_than_a_query_takes(pipeline, tmp_path):
    sentences = [f"The dog has {n} balls." for n in range(1200)]
    tagger = Tagger(pipeline, cache=tmp_path)
    assert tagger.tags(sentences) == tagger.tags(sentences)
    assert len(tagger.tags(sentences)) == 1200


def test_another_pipeline_has_a_cache_of_its_own(pipeline, tmp_path, monkeypatch):
    Tagger(pipeline, cache=tmp_path).tags(["A man sleeps."])
    monkeypatch.setattr("unbag.data.text.tagging.version", lambda package: "99")
    Tagger(pipeline, cache=tmp_path).tags(["A dog runs."])
    files = list(tmp_path.glob("*.sqlite"))
    assert len(files) == 2
    assert all(sqlite3.connect(file).execute("SELECT count(*) FROM tagged").fetchone() == (1,) for file in files)


def test_tagger_unknown_pipeline_raises(tmp_path):
    pytest.importorskip("spacy")
    with pytest.raises(ValueError, match=r"expected an installed spaCy pipeline.*'no_such_pipeline'"):
        Tagger("no_such_pipeline", cache=tmp_path)
