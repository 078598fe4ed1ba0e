import pytest
from hypothesis import given
from hypothesis import strategies as st

from unbag.baselines.lexical import words as lexical_words
from unbag.baselines.lexical.words import (
    ALL,
    BY_TYPE,
    PIPELINES,
    AllWordsSelector,
    TypeWordSelector,
    build_model_word_selector,
    build_word_selector,
    find_most_frequent_tag,
)
from unbag.data.text.tagging import Tagger

pytest.importorskip("spacy")

PIECES = ["dogs", "x-wed", "id", "don't", "cannot", "8am", "(well)", "U.S.", "it's", "-", "sun-lit", "Wed,", "gonna."]


class _SuffixTagger:
    """A stub tagger for tokens such as "dog_NN", whose suffix is the tag."""

    identity = "a test"
    fine = lexical_words.PENN

    def __init__(self, *_):
        pass

    def tag_fine_grained(self, sentences):
        return {text: tuple(tuple(token.split("_")) for token in text.split()) for text in sentences}


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6), st.randoms())
def test_permuted_sentence_has_same_words(pieces, random):
    """The tokens are permuted and joined by spaces as in `permuted`, then tokenized again."""
    from unbag.data.text.tokens import tokenize

    sentence = " ".join(pieces)
    tokens = list(tokenize(sentence).texts)
    random.shuffle(tokens)
    reader = AllWordsSelector("en")
    assert set(reader.select_words([" ".join(tokens)]).values()) == set(reader.select_words([sentence]).values())


def test_word_has_its_most_frequent_tag(monkeypatch):
    monkeypatch.setattr(lexical_words, "Tagger", _SuffixTagger)
    reader = TypeWordSelector("any", "en")
    # "like" is a preposition twice and a verb once. "Left" is an adjective once and a verb once; both are content
    # words.
    reader.count_tags(["a_DT dog_NN like_IN this_DT", "cats_NNS like_VBP like_IN", "the_DT Left_JJ left_VBD not_RB"])
    sentence = "They like the left dog, not a mouse."
    assert reader.select_words([sentence]) == {sentence: ("dog", "left", "not")}, "a word without a tag does not count"
    reader.count_tags(["I_PRP like_VBP", "I_PRP like_VBP"])
    assert reader.select_words(["I like it"]) == {"I like it": ("like",)}


def test_repeated_sentences_are_counted_each_time(monkeypatch):
    monkeypatch.setattr(lexical_words, "Tagger", _SuffixTagger)
    reader = TypeWordSelector("any", "en")
    reader.count_tags(["run_NN", "run_IN", "run_IN"])
    assert reader.select_words(["run"]) == {"run": ()}


def test_tied_tags_are_ordered_alphabetically():
    assert find_most_frequent_tag({"VB": 2, "IN": 2, "NN": 1}) == "IN"


def test_type_model_needs_no_tagger(monkeypatch):
    monkeypatch.setattr(lexical_words, "Tagger", None)
    record = {"tags": BY_TYPE, "pipeline": "any", "language": "en"}
    assert build_model_word_selector(record).select_words(["The dog."]) == {"The dog.": ("dog", "the")}
    assert isinstance(build_model_word_selector({"tags": None, "pipeline": ALL, "language": "en"}), AllWordsSelector)


def test_pipeline_without_penn_tags_raises(monkeypatch):
    monkeypatch.setattr(lexical_words, "Tagger", type("Other", (_SuffixTagger,), {"fine": frozenset({"NN", "VERB"})}))
    with pytest.raises(ValueError, match=r"Penn Treebank tags for English, got 'mine' without EX, JJ.*'all'"):
        build_word_selector("mine", "en")


def test_word_selector_with_invalid_options_raises():
    with pytest.raises(
        ValueError, match=r"tags='type': expected English pairs, got the language 'zh'; use tags in context"
    ):
        TypeWordSelector("any", "zh")
    with pytest.raises(ValueError, match="got 'usual'"):
        build_word_selector(None, "en", "usual")


def test_words_of_figure_2_are_selected(shared, tmp_path, monkeypatch):
    """All words that are features in Figure 2 of Nie et al. are content words for the tagger."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    pipeline = str(shared / "hub/models/spacy/en_core_web_sm")
    assert Tagger(pipeline).fine >= lexical_words.PENN
    sentences = [
        "Two people are sitting in a station.",
        "A couple of people are inside and not standing.",
        "A group of people prepare hot air balloons for takeoff.",
        "There are hot air balloons on the ground and air.",
    ]
    read = build_word_selector(pipeline, "en").select_words(sentences)
    first, second, third, fourth = (read[sentence] for sentence in sentences)
    assert "sitting" in first
    assert {"not", "standing"} <= set(second)
    assert {"hot", "balloons"} <= set(third)
    assert {"there", "hot", "balloons"} <= set(fourth)


def test_default_words_of_language_without_pipeline_are_all_words():
    assert PIPELINES["de"] == ALL
    selector = build_word_selector(None, "de")
    assert selector.identity == build_word_selector(ALL, "de").identity
    assert selector.select_words(["Ein Mann schläft."]) == {"Ein Mann schläft.": ("ein", "mann", "schläft")}
