import pytest

from unbag.data.text.parses import Parser

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


def test_pipeline_without_parser_raises(tmp_path):
    import spacy

    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(ValueError, match=r"without DEP, POS, TAG, LEMMA \(components: none\)"):
        Parser(tmp_path / "blank", cache=tmp_path)


def test_parses_do_not_depend_on_cached_vocabulary(pipeline, parser, monkeypatch, tmp_path):
    verbs = ("sees", "follows", "chases", "watches", "meets")
    nouns = [f"{colour} {noun}ling" for colour in ("red", "odd") for noun in ("dog", "gos")]
    sentences = [f"The {noun} {verb} a bird." for noun in nouns for verb in verbs]
    kept = list(parser.parse(sentences))
    monkeypatch.setattr("unbag.data.text.tagging._VOCABULARY_SENTENCES", 0)
    monkeypatch.setattr("unbag.data.text.tagging.Annotator.commit_size", 3)
    assert list(Parser(pipeline, cache=tmp_path).parse(sentences)) == kept
