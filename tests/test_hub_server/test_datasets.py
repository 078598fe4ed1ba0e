"""Data sets that `datasets` pushes and loads."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.hub_server.accounts import ALICE, ALICE_READS
from tests.hub_server.client_process import ClientProcess, runs_in
from tests.hub_server.running import RunningHub, running_hub

from .callers import alice, without_waiting

if TYPE_CHECKING:
    from datasets import Dataset


def _pairs(count: int, first_id: int = 0) -> Dataset:
    """Rows with every kind of column that our sets have."""
    from datasets import ClassLabel, Dataset, Features, List, Value

    features = Features(
        id=Value("int64"),
        premise=Value("string"),
        label=ClassLabel(names=["entailment", "neutral", "contradiction"]),
        tags=List(Value("string")),
    )
    rows = {
        "id": list(range(first_id, first_id + count)),
        "premise": [f"premise {number}" for number in range(count)],
        "label": [number % 3 for number in range(count)],
        "tags": [["a", "b"][: number % 3] for number in range(count)],
    }
    return Dataset.from_dict(rows, features=features)


def _push_two_configs(repo_id: str) -> None:
    """`easy`, the default, with train and test; `hard`, in a folder of its own, with train in three files."""
    from datasets import DatasetDict

    easy = DatasetDict(train=_pairs(30), test=_pairs(9))
    hard = DatasetDict(train=_pairs(12, first_id=100), validation=_pairs(6, first_id=200))
    easy.push_to_hub(repo_id, config_name="easy", set_default=True, token=ALICE)
    hard.push_to_hub(
        repo_id, config_name="hard", data_dir="hard", num_shards={"train": 3, "validation": 1}, token=ALICE
    )


@runs_in("hub_client")
def test_pushed_configs_come_back_with_their_features(repo_id: str, tmp_path: Path) -> None:
    from datasets import load_dataset

    _push_two_configs(repo_id)
    easy = load_dataset(repo_id, cache_dir=tmp_path)
    assert {split: rows.num_rows for split, rows in easy.items()} == {"train": 30, "test": 9}
    assert easy["test"].features == _pairs(1).features
    assert easy["train"].to_list() == _pairs(30).to_list()
    hard = load_dataset(repo_id, "hard", cache_dir=tmp_path, verification_mode="all_checks")
    assert list(hard["train"]["id"]) == list(range(100, 112))
    assert load_dataset(repo_id, "hard", split="train[:50%]", cache_dir=tmp_path).num_rows == 6


@runs_in("hub_client")
def test_configs_and_splits_can_be_asked_for(repo_id: str) -> None:
    from datasets import get_dataset_config_names, get_dataset_split_names

    _push_two_configs(repo_id)
    assert get_dataset_config_names(repo_id) == ["easy", "hard"]
    assert get_dataset_split_names(repo_id, "hard") == ["train", "validation"]


@runs_in("hub_client")
def test_rows_can_be_streamed(repo_id: str) -> None:
    from datasets import load_dataset

    _push_two_configs(repo_id)
    stream = load_dataset(repo_id, "hard", split="train", streaming=True)
    assert stream.num_shards == 3
    assert [row["id"] for row in stream] == list(range(100, 112))
    assert next(iter(load_dataset(repo_id, split="test", streaming=True).skip(2)))["premise"] == "premise 2"


@runs_in("hub_client")
def test_loading_asks_nobody_else(repo_id: str, hub: RunningHub, tmp_path: Path) -> None:
    from datasets import load_dataset

    before = len(hub.requests())
    _push_two_configs(repo_id)
    load_dataset(repo_id, cache_dir=tmp_path)
    requests = hub.requests()[before:]
    assert len(requests) > 20
    assert not [request for request in requests if request.is_for_elsewhere or request.token_in_url]


@runs_in("hub_client")
def test_what_does_not_exist_is_named(repo_id: str, tmp_path: Path) -> None:
    from datasets import load_dataset
    from datasets.exceptions import DatasetNotFoundError

    _push_two_configs(repo_id)
    with pytest.raises(ValueError, match=r"'none' not found. Available: \['easy', 'hard'\]"):
        load_dataset(repo_id, "none", cache_dir=tmp_path)
    with pytest.raises(DatasetNotFoundError, match=f"'{repo_id}_none' doesn't exist"):
        load_dataset(f"{repo_id}_none", cache_dir=tmp_path)
    with pytest.raises(DatasetNotFoundError, match="Revision 'none' doesn't exist"):
        load_dataset(repo_id, revision="none", cache_dir=tmp_path)


@runs_in("hub_client")
def test_an_older_revision_stays_loadable(repo_id: str, tmp_path: Path) -> None:
    from datasets import load_dataset

    _pairs(5).push_to_hub(repo_id, token=ALICE)
    sha = alice().dataset_info(repo_id).sha
    alice().create_tag(repo_id, tag="v1", repo_type="dataset")
    _pairs(8).push_to_hub(repo_id, token=ALICE)
    assert load_dataset(repo_id, split="train", cache_dir=tmp_path).num_rows == 8
    for revision in (sha, "v1"):
        assert load_dataset(repo_id, split="train", revision=revision, cache_dir=tmp_path).num_rows == 5


@runs_in("hub_client")
def test_a_push_keeps_the_other_configs(repo_id: str, tmp_path: Path) -> None:
    from datasets import load_dataset

    _push_two_configs(repo_id)
    _pairs(4).push_to_hub(repo_id, config_name="single", split="dev", token=ALICE)
    assert load_dataset(repo_id, "single", cache_dir=tmp_path)["dev"].num_rows == 4
    assert load_dataset(repo_id, "hard", cache_dir=tmp_path)["train"].num_rows == 12


@runs_in("hub_client")
def test_the_default_config_can_be_set_in_the_card(repo_id: str, tmp_path: Path) -> None:
    from datasets import load_dataset
    from huggingface_hub import DatasetCard

    _push_two_configs(repo_id)
    card = DatasetCard.load(repo_id)
    for config in card.data["configs"]:
        config["default"] = config["config_name"] == "hard"
    card.push_to_hub(repo_id, repo_type="dataset", token=ALICE)
    assert load_dataset(repo_id, split="train", cache_dir=tmp_path).num_rows == 12


@runs_in("hub_client")
def test_a_private_set_needs_a_token(repo_id: str, tmp_path: Path) -> None:
    from datasets import load_dataset
    from datasets.exceptions import DatasetNotFoundError

    _pairs(3).push_to_hub(repo_id, private=True, token=ALICE)
    with pytest.raises(DatasetNotFoundError):
        load_dataset(repo_id, cache_dir=tmp_path, token=False)
    assert load_dataset(repo_id, split="train", cache_dir=tmp_path, token=ALICE_READS).num_rows == 3
    assert len(list(load_dataset(repo_id, split="train", streaming=True, token=ALICE_READS))) == 3


CARD = """---
configs:
- config_name: one
  default: true
  data_files:
  - split: train
    path: data/train.jsonl
- config_name: two
  data_files:
  - split: test
    path: data/t*.jsonl
---
"""


@runs_in("hub_client")
def test_plain_files_are_read_as_the_card_says(repo_id: str, hub: RunningHub, tmp_path: Path) -> None:
    from datasets import load_dataset

    folder, cache = tmp_path / "set", tmp_path / "cache"
    (folder / "data").mkdir(parents=True)
    (folder / "README.md").write_text(CARD)
    (folder / "data/train.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
    (folder / "data/test.jsonl").write_text('{"a": 3}\n')
    alice().create_repo(repo_id, repo_type="dataset")
    alice().upload_folder(folder_path=folder, repo_id=repo_id, repo_type="dataset")
    assert list(load_dataset(repo_id, split="train", cache_dir=cache)["a"]) == [1, 2]
    assert load_dataset(repo_id, "two", split="test", cache_dir=cache).num_rows == 3
    assert len(list(load_dataset(repo_id, "one", split="train", streaming=True))) == 2
    assert load_dataset(str(folder), "two", split="test", cache_dir=cache).num_rows == 3
    for url in (
        f"hf://datasets/{repo_id}/data/train.jsonl",
        f"{hub.endpoint}/datasets/{repo_id}/resolve/main/data/train.jsonl",
    ):
        assert load_dataset("json", data_files={"train": url}, split="train", cache_dir=cache).num_rows == 2


@runs_in("hub_client")
def test_a_push_that_meets_another_is_refused(repo_id: str, hub: RunningHub) -> None:
    from huggingface_hub.errors import HfHubHTTPError

    from tests.hub_server.faults import Fault

    _pairs(3).push_to_hub(repo_id, token=ALICE)
    conflict = Fault(path=f"/{repo_id}/commit/", status=412, body="A commit has happened since.")
    with hub.broken_by(conflict), pytest.raises(HfHubHTTPError, match="A commit has happened since"):
        _pairs(4).push_to_hub(repo_id, config_name="other", token=ALICE)


@runs_in("hub_client")
def test_a_loaded_set_stays_loadable_offline(repo_id: str, hub: RunningHub, tmp_path: Path) -> None:
    import subprocess
    import sys

    from datasets import load_dataset

    _push_two_configs(repo_id)
    load_dataset(repo_id, "hard", cache_dir=tmp_path)
    before = len(hub.requests(repo_id))
    program = f"""
from datasets import load_dataset
print(load_dataset({repo_id!r}, "hard", cache_dir={str(tmp_path)!r})["train"].num_rows)
"""
    environment = hub.env(tmp_path / "home") | {"HF_HUB_OFFLINE": "1"}
    offline = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert offline.stdout == "12\n", offline.stderr
    assert len(hub.requests(repo_id)) == before


def test_a_loaded_set_survives_the_end_of_the_hub(repo_id: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        with running_hub() as hub:
            client = stack.enter_context(ClientProcess(hub.env(tmp_path / "home")))
            client.run(_push_and_load, repo_id=repo_id, cache=tmp_path)
        client.run(_load_without_hub, repo_id=repo_id, cache=tmp_path)


def _push_and_load(repo_id: str, cache: Path) -> None:
    from datasets import load_dataset

    _pairs(5).push_to_hub(repo_id, token=ALICE)
    assert load_dataset(repo_id, split="train", cache_dir=cache).num_rows == 5


def _load_without_hub(repo_id: str, cache: Path) -> None:
    from datasets import load_dataset

    with without_waiting():
        assert load_dataset(repo_id, split="train", cache_dir=cache).num_rows == 5
