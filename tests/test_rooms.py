import pytest

from unbag import rooms


def test_every_room_is_found_and_documented():
    found = [rooms.folder(room, name) for room in ("dataset_scripts", "metrics") for name in rooms.names(room)]
    assert found
    for folder in found:
        assert (folder / "README.md").read_text().strip()


def test_a_thing_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(ValueError, match=r"expected one of .*permutation_acceptance.* in metrics, found 'accuracy'"):
        rooms.folder("metrics", "accuracy")
