import pytest

from unbag.evaluation.model_loading import validate_model
from unbag.inference.hub_files import compute_folder_revision


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "2_Dense").mkdir()
    for name in ("config.json", "model.safetensors", "README.md", "2_Dense/config.json"):
        (tmp_path / name).write_text("1")
    return tmp_path


MAY_CHANGE_PREDICTIONS = (
    *("bpe.codes", "spiece.spm", "qwen.tiktoken", "dict.txt", "modules.json", "config_sentence_transformers.json"),
    *("chat_template.jinja", "2_Dense/config.json", "2_Dense/model.safetensors", "head.pt"),
)


@pytest.mark.parametrize("name", [*MAY_CHANGE_PREDICTIONS, "README.md", "training.json", "checksums.json"])
def test_folder_revision_changes_with_files_that_may_change_predictions(folder, name):
    before = compute_folder_revision(folder)
    (folder / name).write_text("2")
    assert (compute_folder_revision(folder) != before) == (name in MAY_CHANGE_PREDICTIONS)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("model.onnx", "copy config.json and the tokenizer files"),
        ("adapter_config.json", "merge the adapter"),
        ("notes.txt", "pass a folder written by save_pretrained"),
    ],
)
def test_folder_without_config_names_what_it_needs(tmp_path, name, advice):
    (tmp_path / name).touch()
    with pytest.raises(ValueError, match=advice):
        validate_model(tmp_path)
