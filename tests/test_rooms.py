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


def test_a_trainer_says_how_to_run_it_and_what_it_needs():
    assert rooms.scripts("trainers")
    for name in rooms.scripts("trainers"):
        text = (rooms.ROOT / "trainers" / f"{name}.py").read_text()
        assert text.startswith("# /// script\n"), "`hf jobs uv run` reads what it needs there"
        assert rooms.script("trainers", name).RECIPE.name == name
    with pytest.raises(ValueError, match=r"expected one of .*finetune.* in trainers, found 'magic'"):
        rooms.script("trainers", "magic")
