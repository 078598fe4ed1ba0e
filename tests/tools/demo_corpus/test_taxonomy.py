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
    with pytest.raises(ValueError, match=re.escape("expected disjoint concepts, got ['chimera'] below two of (")):
        Taxonomy({"lion": (), "goat": (), "chimera": ("lion", "goat")}, [("lion", "goat")])


def test_unknown_parent_is_rejected():
    with pytest.raises(ValueError, match="expected an entry for 'animal', the parent of 'dog', got none"):
        Taxonomy({"dog": ("animal",)}, [])


def test_unknown_group_member_is_rejected():
    with pytest.raises(ValueError, match=re.escape("expected concepts with an entry, got ['cat']")):
        Taxonomy({"dog": ()}, [("dog", "cat")])


def test_cycle_is_rejected():
    with pytest.raises(ValueError, match="expected no cycle, got a < b < a"):
        Taxonomy({"a": ("b",), "b": ("a",)}, [])
