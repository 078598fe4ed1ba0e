import re

import pytest

from tools.demo_corpus.taxonomy import Taxonomy


def test_exclusion_extends_to_all_hyponyms():
    animals = Taxonomy({"dog": (), "cat": (), "puppy": ("dog",), "kitten": ("cat",), "young": ()}, [("dog", "cat")])
    assert animals.excludes("puppy", "kitten")
    assert animals.excludes("kitten", "dog")
    assert not animals.excludes("puppy", "dog")
    assert not animals.excludes("puppy", "young")


def test_concept_under_exclusive_parents_is_rejected():
    with pytest.raises(ValueError, match=re.escape("['chimera'] fall under 'lion'")):
        Taxonomy({"lion": (), "goat": (), "chimera": ("lion", "goat")}, [("lion", "goat")])


def test_unknown_parent_is_rejected():
    with pytest.raises(ValueError, match="'dog' has the parent 'animal', which has no entry"):
        Taxonomy({"dog": ("animal",)}, [])


def test_unknown_group_member_is_rejected():
    with pytest.raises(ValueError, match=re.escape("an exclusive group names ['cat'], which have no entry")):
        Taxonomy({"dog": ()}, [("dog", "cat")])


def test_cycle_is_rejected():
    with pytest.raises(ValueError, match="lies above itself: a < b < a"):
        Taxonomy({"a": ("b",), "b": ("a",)}, [])
