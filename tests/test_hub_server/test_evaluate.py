"""Metrics that `evaluate` loads from a Space, and results that it pushes.

The metrics that stay on the machine are here as well: in the environment of the Hub's clients they must work too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from tests.hub_server.accounts import ALICE, ALICE_READS
from tests.hub_server.client_process import runs_in
from tests.hub_server.running import RunningHub

from .callers import alice

# A metric as a Space holds it: the module, and one that it imports.
METRIC = """
import datasets
import evaluate
from .counting import share_of_equals


class PairAccuracy(evaluate.Metric):
    def _info(self):
        if self.config_name not in ("default", "by_genre"):
            raise KeyError(self.config_name)
        features = {"predictions": datasets.Value("int64"), "references": datasets.Value("int64")}
        if self.config_name == "by_genre":
            features["genre"] = datasets.Value("string")
        return evaluate.MetricInfo(
            description="", citation="", inputs_description="", features=datasets.Features(features)
        )

    def _compute(self, predictions, references, genre=None):
        if genre is None:
            return {"accuracy": share_of_equals(predictions, references)}
        pairs = list(zip(genre, predictions, references))
        return {
            name: share_of_equals([p for g, p, _ in pairs if g == name], [r for g, _, r in pairs if g == name])
            for name in sorted(set(genre))
        }
"""
HELPER = """
def share_of_equals(left, right):
    return sum(a == b for a, b in zip(left, right)) / len(left)
"""
CARD = "---\ntitle: pair accuracy\nsdk: gradio\ntags: [evaluate, metric]\n---\n"


def _metric_folder(parent: Path, name: str = "pair_accuracy") -> Path:
    """Write the metric; a folder and the module in it have the same name."""
    folder = parent / name
    folder.mkdir()
    (folder / f"{name}.py").write_text(METRIC)
    (folder / "counting.py").write_text(HELPER)
    (folder / "README.md").write_text(CARD)
    return folder


def _metric_space(repo_id: str, parent: Path, *, private: bool = False) -> None:
    alice().create_repo(repo_id, repo_type="space", space_sdk="gradio", private=private)
    folder = _metric_folder(parent, repo_id.removeprefix("org/"))
    alice().upload_folder(folder_path=folder, repo_id=repo_id, repo_type="space")


@pytest.fixture
def space_id(repo_id: str) -> str:
    """A Space's name is the name of a Python module too: a short one, with no more than letters and underscores."""
    return f"org/metric_{repo_id[-8:]}"


@runs_in("hub_client")
def test_a_metric_loads_from_its_space(space_id: str, tmp_path: Path) -> None:
    import evaluate

    _metric_space(space_id, tmp_path)
    metric = evaluate.load(space_id)
    assert metric.compute(predictions=[1, 0, 1], references=[1, 1, 1]) == {"accuracy": 2 / 3}
    by_genre = evaluate.load(space_id, "by_genre", module_type="metric", revision="main")
    assert by_genre.compute(predictions=[1, 0], references=[1, 1], genre=["a", "b"]) == {"a": 1.0, "b": 0.0}


@runs_in("hub_client")
def test_a_metric_is_looked_for_at_the_tag_of_the_library_first(space_id: str, hub: RunningHub, tmp_path: Path) -> None:
    import evaluate

    _metric_space(space_id, tmp_path)
    evaluate.load(space_id)
    asked = [(request.path, request.status) for request in hub.requests(f"/spaces/{space_id}/resolve/")]
    module = f"{space_id.removeprefix('org/')}.py"
    assert (f"/spaces/{space_id}/resolve/v{evaluate.__version__}/{module}", 404) in asked
    assert (f"/spaces/{space_id}/resolve/main/{module}", 200) in asked


@runs_in("hub_client")
def test_a_metric_loads_at_a_tag(space_id: str, tmp_path: Path) -> None:
    import evaluate

    _metric_space(space_id, tmp_path)
    alice().create_tag(space_id, tag="v1.0.0", repo_type="space")
    module = f"{space_id.removeprefix('org/')}.py"
    alice().upload_file(path_or_fileobj=b"broken", path_in_repo=module, repo_id=space_id, repo_type="space")
    metric = evaluate.load(space_id, revision="1.0.0")
    assert metric.compute(predictions=[1], references=[1]) == {"accuracy": 1.0}


@runs_in("hub_client")
def test_a_missing_metric_is_named(space_id: str) -> None:
    import evaluate

    with pytest.raises(FileNotFoundError, match=f"'{space_id}' doesn't exist on the Hugging Face Hub"):
        evaluate.load(space_id)


@runs_in("hub_client")
def test_a_private_metric_needs_a_token(space_id: str, tmp_path: Path) -> None:
    import evaluate
    from datasets import DownloadConfig

    _metric_space(space_id, tmp_path, private=True)
    with pytest.raises(FileNotFoundError):
        evaluate.load(space_id)
    metric = evaluate.load(space_id, download_config=DownloadConfig(token=ALICE_READS))
    assert metric.compute(predictions=[1], references=[1]) == {"accuracy": 1.0}


@runs_in("hub_client")
def test_metrics_are_listed_by_the_tag_of_their_card(space_id: str, tmp_path: Path) -> None:
    import evaluate

    _metric_space(space_id, tmp_path)
    assert space_id in evaluate.list_evaluation_modules("metric")
    assert space_id not in evaluate.list_evaluation_modules("comparison")


@runs_in("hub_client")
def test_a_pushed_result_stands_in_the_model_card(repo_id: str) -> None:
    import evaluate
    from huggingface_hub import ModelCard
    from huggingface_hub.errors import RepositoryNotFoundError

    alice().create_repo(repo_id)
    alice().create_repo(repo_id, repo_type="dataset")
    result = {
        "dataset_type": repo_id,
        "dataset_name": "a set",
        "task_type": "text-classification",
        "metric_type": "accuracy",
        "metric_name": "Accuracy",
    }
    with mock.patch.dict(os.environ, HF_TOKEN=ALICE):  # `evaluate` has no parameter for it
        evaluate.push_to_hub(model_id=repo_id, metric_value=0.5, **result)
        with pytest.raises(ValueError, match="Set `overwrite=True`"):
            evaluate.push_to_hub(model_id=repo_id, metric_value=0.7, **result)
        evaluate.push_to_hub(model_id=repo_id, metric_value=0.7, overwrite=True, **result)
        with pytest.raises(RepositoryNotFoundError):
            evaluate.push_to_hub(model_id=f"{repo_id}_none", metric_value=0.7, **result)
    [stored] = ModelCard.load(repo_id).data.eval_results
    assert (stored.dataset_type, stored.metric_type, stored.metric_value) == (repo_id, "accuracy", 0.7)


@runs_in("hub_client")
def test_a_local_metric_takes_batches_of_several_kinds(tmp_path: Path) -> None:
    import evaluate
    import numpy as np
    import torch

    metric = evaluate.load(str(_metric_folder(tmp_path)))
    for make in (list, np.array, torch.tensor):
        metric.add_batch(predictions=make([1, 2]), references=make([1, 1]))
        metric.add(prediction=1, reference=1)
        assert metric.compute() == {"accuracy": 2 / 3}


@runs_in("hub_client")
def test_a_local_metric_refuses_wrong_input(tmp_path: Path) -> None:
    import evaluate

    folder = str(_metric_folder(tmp_path))
    with pytest.raises(ValueError, match="Mismatch in the number"):
        evaluate.load(folder).compute(predictions=[1, 0], references=[1])
    with pytest.raises(ValueError, match="genre"):
        evaluate.load(folder, "by_genre").compute(predictions=[1], references=[1])
    with pytest.raises(KeyError, match="none"):
        evaluate.load(folder, "none")


@runs_in("hub_client")
def test_local_metrics_combine(tmp_path: Path) -> None:
    import evaluate

    folder = str(_metric_folder(tmp_path))
    both = evaluate.combine([folder, folder])
    both.add_batch(predictions=[1, 0], references=[1, 1])
    assert both.compute() == {"pair_accuracy_0_accuracy": 0.5, "pair_accuracy_1_accuracy": 0.5}


@runs_in("hub_client")
def test_a_local_metric_gathers_from_two_processes(hub: RunningHub, tmp_path: Path) -> None:
    import evaluate

    shared = {"path": str(_metric_folder(tmp_path)), "num_process": 2, "experiment_id": "e", "cache_dir": str(tmp_path)}
    program = f"""
import evaluate
metric = evaluate.load(**{shared!r}, process_id=1)
metric.add_batch(predictions=[1, 1], references=[1, 1])
assert metric.compute() is None
"""
    second = subprocess.Popen([sys.executable, "-c", program], env=hub.env(tmp_path / "home"))
    metric = evaluate.load(**shared, process_id=0)
    metric.add_batch(predictions=[0, 0], references=[1, 1])
    assert metric.compute() == {"accuracy": 0.5}
    assert second.wait(timeout=60) == 0


@runs_in("hub_client")
def test_results_are_saved_with_their_circumstances(tmp_path: Path) -> None:
    import evaluate

    evaluate.save(tmp_path / "result.json", accuracy=0.5)
    saved = json.loads((tmp_path / "result.json").read_text())
    assert saved["accuracy"] == 0.5
    assert saved["_evaluate_version"] == evaluate.__version__
