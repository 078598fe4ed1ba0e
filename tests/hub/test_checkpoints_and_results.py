"""Tests of publishing over HTTP: two trained models, results of another user's model, and a results dataset."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tests.fake_hub.accounts import ALICE, BOB
from tests.fake_hub.client_process import connect_as_alice, runs_in
from tests.fake_hub.running import RunningHub
from tests.fork_server import PYTHON
from tests.hub.synthetic_results import SNLI, build_model_record, build_plain_result, build_swapped_result
from unbag.challenge_sets import results
from unbag.challenge_sets.request import SetRequest
from unbag.hub.benchmarks import merge_tasks

pytest.importorskip("torch", reason="needs unbag[models]")

from tests.inference.conftest import make_model, tiny_bert  # noqa: F401  (fixtures)
from tests.training.conftest import pairs_path, pretrained  # noqa: F401

ASKED = [("a man runs", "the man is in"), ("a young dog sleeps", "no dog is in"), ("a boy reads", "the boy eats")]
OTHER_CARD = "---\nlicense: mit  # ours\ntags: ['nli']\n---\n# Theirs\n"


def run_publish(hub: RunningHub, home: Path, token: str, *arguments: object):
    """Run one publish command in a separate process."""
    done = PYTHON.run("-m", "unbag", "publish", *arguments, "--yes", "--json", env=hub.env(home, token=token))
    assert token not in done.stdout + done.stderr
    return done


def publish(hub: RunningHub, home: Path, token: str, *arguments: object) -> dict:
    """Run one publish command and parse its output."""
    done = run_publish(hub, home, token, *arguments)
    assert done.returncode == 0, done.stderr
    [record] = json.loads(done.stdout)
    return record


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("publisher_home")


@pytest.fixture(scope="module")
def trained_models(pretrained, pairs_path, tmp_path_factory):  # noqa: F811
    """Train two models (fine-tuned and HEX) with results on their training pairs. Return their folders."""
    from unbag import evaluate, scripts
    from unbag.training.run import run

    folders = {}
    for name in ("finetune", "hex"):
        recipe = scripts.import_script_file("trainers", name).RECIPE
        folder = tmp_path_factory.mktemp("runs") / name
        own = {"warm_start": 0.5} if name == "hex" else {}
        config = recipe.config(
            model=str(pretrained),
            corpus=(str(pairs_path),),
            validation=(str(pairs_path),),
            output_dir=folder,
            batch_size=12,
            max_steps=12,
            learning_rate=5e-3,
            **own,
        )
        run(recipe, config)
        for head in ("plain", "residual")[: 1 + (name == "hex")]:
            asked = [SetRequest(set, options={"data": str(pairs_path)}) for set in ("plain", "swapped")]
            found = evaluate(folder, asked, output_dir=folder / "evaluation" / head, trust_labels=True, head=head)
            # Relabel the results as if they were on SNLI, which these tests do not load.
            results.write_results(
                [
                    replace(each, data=each.data | {name: SNLI[name] for name in ("name", "split", "origin")})
                    for each in found
                ],
                folder / "evaluation" / head / results.FILE,
            )
        folders[name] = folder
    return folders


def compute_outputs(source):
    """Return the logits of a folder or a Hub id, and the predictions of a pipeline."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

    tokenizer = AutoTokenizer.from_pretrained(source)
    network = AutoModelForSequenceClassification.from_pretrained(source).eval()
    with torch.no_grad():
        logits = network(**tokenizer(*map(list, zip(*ASKED, strict=True)), padding=True, return_tensors="pt")).logits
    classify = pipeline("text-classification", model=source, top_k=None)
    pairs = [{"text": premise, "text_pair": hypothesis} for premise, hypothesis in ASKED]
    return logits.tolist(), network.config.id2label, classify(pairs)


@pytest.fixture(scope="module")
def benchmarks(hub):
    """Publish two benchmark datasets whose cards do not record the rows. Return their commits."""
    from huggingface_hub import HfApi

    api, commits = HfApi(hub.endpoint, token=ALICE), {}
    for name in ("plain", "swapped"):
        repo = f"org/{name}"
        api.create_repo(repo, repo_type="dataset", exist_ok=True)
        content = merge_tasks(None, name, {"snli-test": "test"})
        done = api.upload_file(path_or_fileobj=content, path_in_repo="eval.yaml", repo_id=repo, repo_type="dataset")
        commits[repo] = done.oid
    return commits


@pytest.fixture(scope="module")
def published_models(hub, home, trained_models, benchmarks):
    """Publish both models. Return the predictions of the folders by repository id."""
    found = {}
    for name, folder in trained_models.items():
        given = [part for head in sorted((folder / "evaluation").iterdir()) for part in ("--results", head)]
        found[name] = f"org/trained-{name}"
        done = publish(hub, home, ALICE, "model", folder, "--repo-id", found[name], *given)
        assert done["commit"]
    return {repo: compute_outputs(str(trained_models[name])) for name, repo in found.items()}


@runs_in("hub_client")
def test_published_model_has_same_logits_in_transformers(published_models):
    for repo, (logits, id2label, said) in published_models.items():
        assert compute_outputs(repo) == (logits, id2label, said)
        assert sorted(id2label.values()) == ["contradiction", "entailment", "neutral"]


@runs_in("hub_client")
def test_card_and_results_are_readable_by_clients(published_models, benchmarks):
    from huggingface_hub import HfApi, ModelCard, hf_hub_download, parse_eval_result_entries

    for repo in published_models:
        card = ModelCard.load(repo)
        # The training data is a user's file with an unknown license.
        assert (card.data.license, card.data.pipeline_tag, card.data.language) == (
            "other",
            "text-classification",
            ["en"],
        )
        assert [found.metric_type for found in card.data.eval_results] == [
            *("skill", "accuracy"),
            *("skill", "accuracy", "accuracy", "drop", "agreement"),
        ]
        files = HfApi().list_repo_files(repo)
        assert ".eval_results/unbag-plain-snli-validation.yaml" not in files
        path = hf_hub_download(repo, ".eval_results/unbag-plain-snli-test.yaml")
        [entry] = parse_eval_result_entries(yaml.safe_load(Path(path).read_text()))
        assert (entry.dataset_id, entry.task_id) == ("org/plain", "snli-test")
        assert entry.dataset_revision == benchmarks["org/plain"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", entry.date)
        assert entry.source_url == "https://huggingface.co/datasets/org/plain"
        assert entry.value == card.data.eval_results[0].metric_value
        assert "| hardware | " in card.text
        assert all(example["text"].count(" [SEP] ") <= 1 for example in card.data.widget)
        assert "residual head" in card.text or "hex" not in repo
        assert not [name for name in files if "predictions" in name]


@runs_in("hub_client")
def test_residual_head_is_published(published_models, trained_models):
    import numpy as np

    from unbag.inference.transformer import TransformerPredictor

    pairs = [list(side) for side in zip(*ASKED, strict=True)]
    [repo] = [repo for repo in published_models if "hex" in repo]
    there, here = (
        TransformerPredictor.load(name, head="residual").predict(*pairs) for name in (repo, trained_models["hex"])
    )
    assert np.array_equal(there, here)
    assert not np.array_equal(there, TransformerPredictor.load(repo).predict(*pairs))


@pytest.mark.nightly
def test_unchanged_model_makes_no_commit(hub, home, trained_models, published_models):
    given = ("--results", trained_models["finetune"] / "evaluation" / "plain")
    done = publish(hub, home, ALICE, "model", trained_models["finetune"], "--repo-id", "org/trained-finetune", *given)
    assert done["commit"] is None


@pytest.mark.nightly
def test_results_of_other_user_update_one_pull_request(hub, hub_client, home, benchmarks, repo_id, tmp_path):
    hub_client.run(_create_other_model, repo_id=repo_id)
    asked = ("--repo-id", repo_id, "--sets-org", "org", "--pull-request")
    results.write_results(
        [build_plain_result(build_model_record(repo_id)), build_plain_result(build_model_record("another/model"))],
        tmp_path / "first.json",
    )
    results.write_results([build_swapped_result(build_model_record(repo_id))], tmp_path / "second.json")
    first = publish(hub, home, BOB, "results", tmp_path / "first.json", *asked)
    again = publish(hub, home, BOB, "results", tmp_path / "first.json", *asked)
    more = publish(hub, home, BOB, "results", tmp_path / "second.json", *asked)
    assert sorted(first["added"]) == [".eval_results/unbag-plain-snli-test.yaml"]
    assert again["commit"] is None
    assert sorted(more["added"]) == [".eval_results/unbag-swapped-snli-test.yaml"]
    assert first["url"] == again["url"] == more["url"]
    hub_client.run(_check_the_proposal, repo_id=repo_id)


def _create_other_model(repo_id):
    connect_as_alice().create_repo(repo_id)
    connect_as_alice().upload_file(path_or_fileobj=OTHER_CARD.encode(), path_in_repo="README.md", repo_id=repo_id)


def _check_the_proposal(repo_id):
    from huggingface_hub import ModelCard

    [proposal] = connect_as_alice().get_repo_discussions(repo_id)
    assert proposal.is_pull_request
    read = {
        revision: Path(connect_as_alice().hf_hub_download(repo_id, "README.md", revision=revision)).read_text()
        for revision in ("main", "refs/pr/1")
    }
    assert read["main"] == OTHER_CARD
    head, body = OTHER_CARD.split("---\n# Theirs")
    assert read["refs/pr/1"].startswith(f"{head}model-index:\n")
    assert read["refs/pr/1"].endswith(f"---\n# Theirs{body}")
    index = ModelCard(read["refs/pr/1"]).data.eval_results
    assert {found.dataset_type for found in index} == {"org/plain", "org/swapped"}
    assert len(index) == 7


def test_results_of_other_model_are_rejected(hub, home, repo_id, tmp_path):
    results.write_results([build_plain_result(build_model_record("another/model"))], tmp_path / "results.json")
    asked = ("results", tmp_path / "results.json", "--repo-id", repo_id, "--sets-org", "org")
    done = run_publish(hub, home, ALICE, *asked)
    assert done.returncode == 1
    assert done.stderr.strip() == f"unbag: expected results of {repo_id}, got results of another/model"


def test_results_of_unpublished_model_are_rejected_with_advice(hub, home, trained_models, repo_id):
    given = (trained_models["finetune"] / "evaluation" / "plain", "--repo-id", "org", "--model", repo_id)
    done = run_publish(hub, home, ALICE, "results-dataset", *given)
    assert done.returncode == 1
    assert done.stderr.strip().endswith("; publish the model in the folder first (unbag publish model)")
