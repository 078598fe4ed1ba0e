"""Tests of the metadata in README.md, through `huggingface_hub`."""

from __future__ import annotations

import huggingface_hub
import pytest

from tests.fake_hub.accounts import ALICE
from tests.fake_hub.client_process import runs_in
from tests.test_fake_hub.callers import connect_as_alice

pytestmark = pytest.mark.skipif(
    huggingface_hub.__version__.startswith("1."), reason="has cards checked by huggingface.co, whatever the endpoint"
)


@runs_in("hub_client")
def test_model_card_results_round_trip(repo_id: str) -> None:
    from huggingface_hub import EvalResult, ModelCard, ModelCardData

    result = EvalResult(
        task_type="text-classification",
        dataset_type="org/set",
        dataset_name="a set",
        metric_type="accuracy",
        metric_value=0.5,
    )
    connect_as_alice().create_repo(repo_id)
    card = ModelCard.from_template(ModelCardData(license="mit", model_name="m", eval_results=[result]), model_id="m")
    card.validate()
    card.push_to_hub(repo_id, token=ALICE)
    assert ModelCard.load(repo_id).data.eval_results == [result]
    assert connect_as_alice().model_info(repo_id).card_data.license == "mit"


@runs_in("hub_client")
def test_metadata_update_keeps_card_text(repo_id: str) -> None:
    from huggingface_hub import ModelCard, metadata_update

    connect_as_alice().create_repo(repo_id)
    ModelCard("---\nlicense: mit\n---\n# Text\n").push_to_hub(repo_id, token=ALICE)
    metadata_update(repo_id, {"tags": ["nli"]}, token=ALICE)
    card = ModelCard.load(repo_id)
    assert (card.data.license, card.data.tags) == ("mit", ["nli"])
    assert "# Text" in card.text


@runs_in("hub_client")
def test_dataset_card_round_trips(repo_id: str) -> None:
    from huggingface_hub import DatasetCard

    connect_as_alice().create_repo(repo_id, repo_type="dataset")
    DatasetCard("---\nlicense: cc-by-4.0\n---\n").push_to_hub(repo_id, repo_type="dataset", token=ALICE)
    assert connect_as_alice().dataset_info(repo_id).card_data.license == "cc-by-4.0"


@runs_in("hub_client")
def test_invalid_metadata_is_rejected_before_commit(repo_id: str) -> None:
    connect_as_alice().create_repo(repo_id)
    with pytest.raises(ValueError, match=r"Invalid YAML in README\.md"):
        connect_as_alice().upload_file(path_or_fileobj=b"---\na: [\n---\n", path_in_repo="README.md", repo_id=repo_id)
    assert connect_as_alice().list_repo_files(repo_id) == [".gitattributes"]


@runs_in("hub_client")
def test_unstructured_dataset_configs_are_rejected(repo_id: str) -> None:
    connect_as_alice().create_repo(repo_id, repo_type="dataset")
    card = b"---\nconfigs: default\n---\n"
    with pytest.raises(ValueError, match='"configs" must be an array or an object'):
        connect_as_alice().upload_file(
            path_or_fileobj=card, path_in_repo="README.md", repo_id=repo_id, repo_type="dataset"
        )


@runs_in("hub_client")
def test_date_in_metadata_becomes_string(repo_id: str) -> None:
    connect_as_alice().create_repo(repo_id)
    connect_as_alice().upload_file(
        path_or_fileobj=b"---\nmade: 2026-01-31\n---\n", path_in_repo="README.md", repo_id=repo_id
    )
    assert connect_as_alice().model_info(repo_id).card_data["made"] == "2026-01-31"
