import pytest

from unbag import scripts
from unbag.training.recipes import load_recipes


def test_every_script_folder_is_found_and_documented():
    found = [
        scripts.find_script_folder(kind, name)
        for kind in ("dataset_scripts", "metrics")
        for name in scripts.list_script_folders(kind)
    ]
    assert found
    for folder in found:
        assert (folder / "README.md").read_text().strip()


def test_unknown_script_error_lists_scripts():
    with pytest.raises(ValueError, match=r"metrics: expected one of .*permutation_acceptance.*, got 'accuracy'"):
        scripts.find_script_folder("metrics", "accuracy")


def test_trainer_states_command_and_requirements():
    assert scripts.list_script_files("trainers")
    for name in scripts.list_script_files("trainers"):
        text = (scripts.ROOT / "trainers" / f"{name}.py").read_text()
        assert text.startswith("# /// script\n"), "`hf jobs uv run` reads what it needs there"
    assert set(scripts.list_script_files("trainers")) - {"debias"} < set(load_recipes()), (
        "the recipe of a file has its name"
    )
    with pytest.raises(ValueError, match=r"trainers: expected one of .*finetune.*, got 'magic'"):
        scripts.import_script_file("trainers", "magic")
