import sqlite3

import pytest

from unbag.data.text.tagging import Tagger


@pytest.fixture(scope="module")
def pipeline(shared):
    return shared / "hub" / "models" / "spacy" / "en_core_web_sm"


def test_words_have_universal_tags(pipeline, tmp_path):
    [tagged] = Tagger(pipeline, cache=tmp_path).tag(["Two dogs  chase a red ball."]).values()
    assert tagged == (
        ("Two", "NUM"),
        ("dogs", "NOUN"),
        ("chase", "VERB"),
        ("a", "DET"),
        ("red", "ADJ"),
        ("ball", "NOUN"),
        (".", "PUNCT"),
    )


def test_fine_tags_are_those_of_pipeline(pipeline, tmp_path):
    tagger = Tagger(pipeline, cache=tmp_path)
    [tagged] = tagger.tag_fine_grained(["There are  two dogs."]).values()
    assert tagged == (("There", "EX"), ("are", "VBP"), ("two", "CD"), ("dogs", "NNS"), (".", "."))
    assert {"EX", "VBP", "NNS"} <= tagger.fine


def test_sentence_is_tagged_once_for_both_tag_sets(pipeline, tmp_path, monkeypatch):
    sentences = ["A man sleeps.", "A woman runs.", "A man sleeps."]
    tagger = Tagger(pipeline, cache=tmp_path)
    first, fine = tagger.tag(sentences), tagger.tag_fine_grained(sentences)
    assert set(first) == set(fine) == set(sentences)
    again = Tagger(pipeline, cache=tmp_path)
    asked = []
    monkeypatch.setattr(again._nlp, "pipe", lambda new, **_: asked.extend(new) or iter(()))
    assert (again.tag(sentences), again.tag_fine_grained(sentences)) == (first, fine)
    assert asked == []


def test_fine_tags_are_same_without_attribute_ruler(pipeline, tmp_path):
    sentences = ["There are  two dogs.", "Do n't you see her \n run ?", " ", "The running man was seen, wasn't he?"]
    complete, fast = Tagger(pipeline, cache=tmp_path / "complete"), Tagger(pipeline, cache=tmp_path / "fast")
    universal = complete.tag(sentences)
    assert fast._skipped_for_fine == ["attribute_ruler"]
    assert fast.tag_fine_grained(sentences) == complete.tag_fine_grained(sentences)
    assert fast.tag(sentences) == universal
    assert fast._nlp.pipe_names == complete._nlp.pipe_names


def test_attribute_ruler_that_sets_fine_tags_is_used(pipeline, tmp_path):
    import spacy

    own = spacy.load(pipeline)
    own.get_pipe("attribute_ruler").add(patterns=[[{"LOWER": "dogs"}]], attrs={"TAG": "NN"})
    own.to_disk(tmp_path / "own")
    tagger = Tagger(tmp_path / "own", cache=tmp_path / "cache")
    [tagged] = tagger.tag_fine_grained(["Two dogs run."]).values()
    assert ("dogs", "NN") in tagged


def test_each_pipeline_has_separate_cache(pipeline, tmp_path, monkeypatch):
    Tagger(pipeline, cache=tmp_path).tag(["A man sleeps."])
    monkeypatch.setattr("unbag.data.text.tagging.version", lambda package: "99")
    Tagger(pipeline, cache=tmp_path).tag(["A dog runs."])
    files = list(tmp_path.glob("*.sqlite"))
    assert len(files) == 2
    assert all(sqlite3.connect(file).execute("SELECT count(*) FROM tagged").fetchone() == (1,) for file in files)


def test_unknown_pipeline_raises(tmp_path):
    pytest.importorskip("spacy")
    with pytest.raises(ValueError, match=r"expected an installed spaCy pipeline.*'no_such_pipeline'"):
        Tagger("no_such_pipeline", cache=tmp_path)
