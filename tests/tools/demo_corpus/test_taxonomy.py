import re

import pytest

from tools.demo_corpus.taxonomy import Taxonomy


def test_exclusion_holds_for_all_that_lies_below():
    animals = Taxonomy({"dog": (), "cat": (), "puppy": ("dog",), "kitten": ("cat",), "young": ()}, [("dog", "cat")])
    assert animals.excludes("puppy", "kitten")
    assert animals.excludes("kitten", "dog")
    assert not animals.excludes("puppy", "dog")
    assert not animals.excludes("puppy", "young")


def test_a_concept_under_two_that_exclude_each_other_is_refused():
    with pytest.raises(ValueError, match=re.escape("expected disjoint concepts, got ['chimera'] below two of (")):
        Taxonomy({"lion": (), "goat": (), "chimera": ("lion", "goat")}, [("lion", "goat")])


def test_an_unknown_parent_is_refused():
    with pytest.raises(ValueError, match="expected an entry for 'animal', the parent of 'dog', got none"):
        Taxonomy({"dog": ("animal",)}, [])


def test_an_unknown_member_of_a_group_is_refused():
    with pytest.raises(ValueError, match=re.escape("expected concepts with an entry, got ['cat']")):
        Taxonomy({"dog": ()}, [("dog", "cat")])


def test_a_circle_is_refused():
    with pytest.raises(ValueError, match="expected no cycle, got a < b < a"):
        Taxonomy({"a": ("b",), "b": ("a",)}, [])
