import numpy as np
import pytest

from unbag.scoring.pos_minitree import TAGS, neighbourhoods, numbered, sentence_signature
from unbag.text.minitrees import MiniTrees, orders_of
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


def test_orders_are_read_off_permuted_texts():
    tagged = (("a", "DET"), ("cat", "NOUN"), ("and", "CCONJ"), ("a", "DET"), ("dog", "NOUN"))
    assert orders_of(tagged, ["dog a cat a and", "a cat and a dog"]).tolist() == [[4, 0, 1, 3, 2], [0, 1, 2, 3, 4]]
    for text in ("a cat and a", "a a a cat dog", "a cat and a dog dog"):
        with pytest.raises(ValueError, match=r"expected the words .* in another order"):
            orders_of(tagged, [text])


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
        orders = orders_of(tagged, side.texts)
        assert sorted(orders[0].tolist()) == list(range(len(tagged)))
