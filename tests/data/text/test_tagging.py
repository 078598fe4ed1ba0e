"""Tests of tagging and parsing with spaCy, and of their caches."""

import json
import os
import sqlite3
import subprocess
import sys
from functools import partial

import pytest

from unbag.baselines.lexical.fitting import LexicalTrainingOptions, fit_or_load_lexical_model
from unbag.data import demo
from unbag.data.text import tagging
from unbag.data.text.entities import EntityRecognizer
from unbag.data.text.parses import Parser
from unbag.data.text.tagging import Tagger, precompute_annotations
from unbag.utils import parallel


def test_words_have_universal_tags(pipeline, tmp_path):
    [tagged] = Tagger(pipeline, cache=tmp_path).tag(["Two dogs  chase a red ball."]).values()
    words, tags = zip(*tagged, strict=True)
    assert words == ("Two", "dogs", "chase", "a", "red", "ball", ".")
    assert tags == ("NUM", "NOUN", "VERB", "DET", "ADJ", "NOUN", "PUNCT")


def test_fine_tags_are_same_without_attribute_ruler(pipeline, tmp_path):
    sentences = ["There are  two dogs.", "Do n't you see her \n run ?", " ", "The running man was seen, wasn't he?"]
    complete, fast = Tagger(pipeline, cache=tmp_path / "complete"), Tagger(pipeline, cache=tmp_path / "fast")
    universal = complete.tag(sentences)
    assert fast._skipped_for_fine == ["attribute_ruler"]
    assert fast.tag(sentences, is_fine=True) == complete.tag(sentences, is_fine=True)
    assert fast.tag(sentences) == universal
    assert fast._nlp.pipe_names == complete._nlp.pipe_names


def test_attribute_ruler_that_sets_fine_tags_is_used(pipeline, tmp_path):
    import spacy

    own = spacy.load(pipeline)
    own.get_pipe("attribute_ruler").add(patterns=[[{"LOWER": "dogs"}]], attrs={"TAG": "NN"})
    own.to_disk(tmp_path / "own")
    tagger = Tagger(tmp_path / "own", cache=tmp_path / "cache")
    [tagged] = tagger.tag(["Two dogs run."], is_fine=True).values()
    assert ("dogs", "NN") in tagged


def test_each_pipeline_has_separate_cache(pipeline, tmp_path, monkeypatch):
    Tagger(pipeline, cache=tmp_path).tag(["A man sleeps."])
    monkeypatch.setattr("unbag.data.text.tagging.version", lambda package: "99")
    Tagger(pipeline, cache=tmp_path).tag(["A dog runs."])
    files = list(tmp_path.glob("*.sqlite"))
    assert len(files) == 2
    assert all(sqlite3.connect(file).execute("SELECT count(*) FROM tagged").fetchone() == (1,) for file in files)


@pytest.mark.parametrize(
    ("annotator", "message"),
    [
        (Parser, r"without DEP, POS, TAG, LEMMA \(components: none\)"),
        (EntityRecognizer, "^entities: expected a spaCy pipeline with the component ner, got"),
    ],
)
def test_pipeline_without_component_raises(tmp_path, annotator, message):
    import spacy

    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(ValueError, match=message):
        annotator(tmp_path / "blank", cache=tmp_path)


def test_unknown_pipeline_raises(tmp_path):
    with pytest.raises(ValueError, match=r"expected an installed spaCy pipeline.*'no_such_pipeline'"):
        Tagger("no_such_pipeline", cache=tmp_path)


def test_tag_ahead_fills_cache(pipeline, tmp_path, monkeypatch):
    monkeypatch.setattr(tagging.Tagger, "commit_size", 7)
    sentences = [text for example in list(demo.iter_demo_pairs("train"))[:40] for text in example[1:3]]
    alone = Tagger(pipeline, cache=tmp_path / "alone")
    with parallel.set_num_proc(2):
        precompute_annotations(partial(Tagger, pipeline, cache=tmp_path / "ahead"), Tagger.tag, iter(sentences))
    afterwards = Tagger(pipeline, cache=tmp_path / "ahead")
    asked = []
    monkeypatch.setattr(afterwards._nlp, "pipe", lambda new, **_: asked.extend(new) or iter(()))
    assert afterwards.tag(sentences, is_fine=True) == alone.tag(sentences, is_fine=True)
    assert afterwards.tag(sentences) == alone.tag(sentences)
    assert asked == []


@pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot fork safely")
def test_annotation_in_script_without_main_guard_runs_once(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import builtins, functools, multiprocessing\n"
        "multiprocessing.set_start_method('forkserver', force=True)\n"  # the default of Python 3.14
        "from unbag.data.text.tagging import precompute_annotations\n"
        "from unbag.utils import parallel\n"
        "with parallel.set_num_proc(2):\n"
        "    precompute_annotations(functools.partial(getattr, builtins, 'print'), map, ['A dog.'])\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "A dog.\n"


@pytest.mark.nightly
def test_model_fitted_by_several_processes_has_same_bits(pipeline, tmp_path, monkeypatch):
    monkeypatch.setattr(tagging.Tagger, "commit_size", 50)
    train = (str(demo.get_demo_file("train")),)
    recipe = LexicalTrainingOptions(train, pipeline=str(pipeline), tags="type", max_train_pairs=150, l2=1.0)
    models = []
    for num_proc, passes in ((1, 2), (2, 3)):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / f"{num_proc}"))
        told = []
        with parallel.set_num_proc(num_proc):
            folder = fit_or_load_lexical_model(recipe, progress=lambda *each, told=told: told.append(each))
        models.append({file.name: file.read_bytes() for file in folder.iterdir()})
        assert told[-1] == (150 * passes, 150 * passes)
    assert models[0] == models[1]
    assert json.loads(models[0]["config.json"])["record"]["pairs"] == 150


def _exit(annotator, sentences):
    os._exit(1)


def test_killed_annotation_process_error_names_num_proc():
    with (
        parallel.set_num_proc(2),
        pytest.raises(ValueError, match=r"--num-proc: expected all tagging or parsing processes to finish"),
    ):
        tagging.precompute_annotations(object, _exit, ["A dog."] * 9)


SENTENCE = "A man's T-shirt  has two\nholes, hasn't it?"


def test_parse_equals_spacy_for_each_token(pipeline, parser):
    import spacy

    [parse] = parser.parse([SENTENCE])
    doc = spacy.load(pipeline)(SENTENCE)
    for i, token in enumerate(doc):
        found = (parse.words[i], parse.lemmas[i], parse.tags[i], parse.heads[i], parse.deps[i])
        assert found == (token.text, token.lemma_, token.tag_, token.head.i, token.dep_)
        assert parse.subtree(i) == [below.i for below in token.subtree]
        assert parse.children(i) == [child.i for child in token.children]
    assert str(parse) == SENTENCE
    assert parse.text(1, 3) == "man's"


def test_parses_keep_order_and_are_cached(pipeline, tmp_path, monkeypatch):
    sentences = ["A man sleeps.", SENTENCE, "A man sleeps.", ""]
    first = list(Parser(pipeline, cache=tmp_path).parse(sentences))
    assert [str(parse) for parse in first] == sentences
    again = Parser(pipeline, cache=tmp_path)
    asked = []
    monkeypatch.setattr(again._nlp, "pipe", lambda new, **_: asked.extend(new) or iter(()))
    assert list(again.parse(sentences)) == first
    assert asked == []


def _record_pipeline_calls(parser, monkeypatch):
    """Record the sentences that a pipeline only tags, and those that it parses, in two lists."""
    tagged, parsed = [], []
    pipe = parser._nlp.pipe

    def watched(texts, **how):
        for doc in pipe(texts, **how):
            (parsed if len(doc) and doc.has_annotation("DEP") else tagged).append(doc.text)
            yield doc

    monkeypatch.setattr(parser._nlp, "pipe", watched)
    return tagged, parsed


def test_parses_with_parses_only_tagged_sentences(pipeline, tmp_path, monkeypatch):
    red, man, old = sentences = ["A red dog runs.", "A man sleeps.", "Two old men see a man."]
    full = dict(zip(sentences, Parser(pipeline, cache=tmp_path / "full").parse(sentences), strict=True))
    parser = Parser(pipeline, cache=tmp_path / "tagged")
    tagged, parsed = _record_pipeline_calls(parser, monkeypatch)
    again = [red, man, old, "", red, man]
    assert list(parser.parse(again, tag="JJ")) == [full[red], full[old], full[red]]
    assert (tagged, parsed) == ([red, man, old, ""], [red, old])
    assert list(parser.parse(again, tag="JJ")) == [full[red], full[old], full[red]]
    assert list(parser.parse(again, tag="RB")) == []
    assert (tagged, parsed) == ([red, man, old, ""], [red, old])
    assert list(parser.parse(again, tag="DT")) == [full[text] for text in (red, man, old, red, man)]
    assert parsed == [red, old, man]
    assert list(parser.parse(sentences)) == [full[red], full[man], full[old]]
    assert parsed == [red, old, man]
    assert list(map(str, parser.parse(again))) == again


def test_parses_with_missing_tagger_parses_all_sentences(pipeline, tmp_path, monkeypatch):
    parser = Parser(pipeline, cache=tmp_path)
    parser._nlp.rename_pipe("tagger", "fine_tags")
    _, parsed = _record_pipeline_calls(parser, monkeypatch)
    sentences = ["A red dog runs.", "A man sleeps."]
    assert [str(parse) for parse in parser.parse(sentences, tag="JJ")] == ["A red dog runs."]
    assert set(parsed) == set(sentences)


def test_parses_do_not_depend_on_cached_vocabulary(pipeline, parser, monkeypatch, tmp_path):
    verbs = ("sees", "follows", "chases", "watches", "meets")
    nouns = [f"{colour} {noun}ling" for colour in ("red", "odd") for noun in ("dog", "gos")]
    sentences = [f"The {noun} {verb} a bird." for noun in nouns for verb in verbs]
    kept = list(parser.parse(sentences))
    monkeypatch.setattr("unbag.data.text.tagging._VOCABULARY_SENTENCES", 0)
    monkeypatch.setattr("unbag.data.text.tagging.Annotator.commit_size", 3)
    assert list(Parser(pipeline, cache=tmp_path).parse(sentences)) == kept
