import numpy as np
import pytest

from unbag.scoring.pos_minitree import TAGS, neighbourhoods, numbered, sentence_signature
from unbag.text.minitrees import MiniTrees, Ratios
from unbag.text.tags import Tagger

CAT = (("The", "DET"), ("cat", "NOUN"), ("sees", "VERB"), ("the", "DET"), ("old", "ADJ"), ("dog", "NOUN"))
DOG = (("A", "DET"), ("dog", "NOUN"), ("sleeps", "VERB"))


@pytest.fixture
def trees():
    made = MiniTrees()
    for tagged in (CAT, DOG, ()):
        made.add(tagged)
    return made


def test_a_word_has_the_mean_of_its_occurrences(trees):
    in_cat, in_dog = (neighbourhoods(numbered([tag for _, tag in tagged])) for tagged in (CAT, DOG))
    assert trees.usual(["dog"])[0] == pytest.approx((in_cat[5] + in_dog[1]) / 2)
    assert trees.usual(["the"])[0] == pytest.approx((in_cat[0] + in_cat[3]) / 2)  # "The" is "the"
    assert trees.usual(["unheard-of"]).sum() == 0
    assert "THE" in trees
    assert "unheard-of" not in trees


def test_many_words(trees):
    for i in range(3000):
        trees.add(((f"w{i}", "NOUN"), (f"v{i}", "VERB")))
    assert trees.usual(["w2999"])[0, TAGS.index("VERB")] == 1
    assert trees.usual(["sleeps"])[0, TAGS.index("DET")] == 0.5


def test_permutations_at_once_are_permutations_one_by_one(trees):
    rng = np.random.default_rng(0)
    orders = np.stack([rng.permutation(len(CAT)) for _ in range(20)])
    found = trees.permuted(CAT, orders)
    table = trees.table()
    for order, signature in zip(orders, found, strict=True):
        words, tags = zip(*(CAT[place] for place in order), strict=True)
        assert signature == sentence_signature(words, tags, table)
    assert trees.signature(CAT) == sentence_signature(*zip(*CAT, strict=True), table)
    assert len(set(found)) > 1


class _Tagger:
    def tags(self, sentences):
        known = {"cat": CAT, "dog": DOG, "odd": (("zzz", "NOUN"), ("yyy", "VERB"))}
        return {sentence: known[sentence] for sentence in sentences}


def test_ratios_are_of_the_signatures(trees):
    orders = [np.array([[1, 0, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0]]), np.array([[0, 1, 2]]), np.array([[1, 0]])]
    cat, dog, odd = Ratios(trees, _Tagger()).of(["cat", "dog", "odd"], orders)
    assert cat == pytest.approx(trees.permuted(CAT, orders[0]) / trees.signature(CAT))
    assert dog.tolist() == [1.0]
    assert np.isnan(odd).all()  # none of its words is known


def test_a_sentence_that_is_cut_otherwise_has_no_ratio(trees):
    [found] = Ratios(trees, _Tagger()).of(["dog"], [np.array([[3, 1, 2, 0]])])
    assert np.isnan(found).all()


def test_orders_of_another_sentence_are_refused(trees):
    with pytest.raises(ValueError, match=r"expected orders of 6 words, shape \(q, 6\), found \(1, 3\)"):
        trees.permuted(CAT, np.zeros((1, 3), dtype=np.int64))


def test_a_corpus_is_streamed(shared, tmp_path):
    tagger = Tagger(shared / "hub" / "models" / "spacy" / "en_core_web_sm", cache=tmp_path)
    sentences = ["A man sleeps.", "Two dogs chase a red ball.", "A man sleeps."]
    trees = MiniTrees.of(iter(sentences), tagger)
    by_hand = MiniTrees()
    for sentence in sentences:
        by_hand.add(tagger.tags([sentence])[sentence])
    assert trees.table() == by_hand.table()
    assert trees.usual(["man"])[0, TAGS.index("DET")] == pytest.approx(1 / 3)


def test_the_permuted_sets_texts_can_be_read(shared, tmp_path):
    from unbag.perturb.permutation import Permuter
    from unbag.text.tokens import tokenize

    tagger = Tagger(shared / "hub" / "models" / "spacy" / "en_core_web_sm", cache=tmp_path)
    pair = ["Two dogs, both brown, don't chase the red ball.", "Some animals play with the toy today."]
    sides = Permuter(q=5).pair("a", *map(tokenize, pair))
    for sentence, side in zip(pair, sides, strict=True):
        tagged = tagger.tags([sentence])[sentence]
        orders = side.orders
        assert [text.split() for text in side.texts] == [[tagged[place][0] for place in order] for order in orders]
        assert sorted(orders[0].tolist()) == list(range(len(tagged)))
