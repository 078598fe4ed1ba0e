"""Tests of publishing a trained model with its results over HTTP."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from huggingface_hub import HfApi, ModelCard, hf_hub_download, parse_eval_result_entries

from tests.factories import SNLI, build_model_record, build_plain_result, run_unbag
from tests.fake_hub.accounts import ALICE
from tests.fake_hub.client_process import runs_in
from tests.fork_server import PYTHON
from unbag.challenge_sets import results
from unbag.challenge_sets.request import SetRequest
from unbag.hub.benchmarks import merge_tasks

pytest.importorskip("torch", reason="needs unbag[models]")

from tests.training.conftest import pairs_path, pretrained  # noqa: F401

ASKED = [("a man runs", "the man is in"), ("a young dog sleeps", "no dog is in"), ("a boy reads", "the boy eats")]
REPO = "org/trained-hex"


@pytest.fixture(scope="module")
def trained_model(pretrained, pairs_path, tmp_path_factory):  # noqa: F811
    """Train a HEX model with results of both heads on its training pairs. Return its folder."""
    from unbag import evaluate
    from unbag.training.recipes import find_recipe
    from unbag.training.run import run

    folder = tmp_path_factory.mktemp("runs") / "hex"
    config = find_recipe("hex")(
        model=str(pretrained),
        corpus=(str(pairs_path),),
        validation=(str(pairs_path),),
        output_dir=folder,
        batch_size=12,
        max_steps=4,
        learning_rate=5e-3,
        warm_start=0.5,
    )
    run(config)
    options = {"trust_labels": True, "shuffled": False, "progress": False}
    asked = [SetRequest(set, options={"data": str(pairs_path)}) for set in ("plain", "swapped")]
    for head in ("plain", "residual"):
        output = folder / "evaluation" / head
        found = evaluate(folder, asked, output_dir=output, head=head, **options)
        # Relabel the results as if they were on SNLI, which these tests do not load.
        on_snli = {name: SNLI[name] for name in ("name", "split", "origin")}
        results.write_results([replace(each, data=each.data | on_snli) for each in found], output / results.FILE)
    return folder


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
    api, commits = HfApi(hub.endpoint, token=ALICE), {}
    for name in ("plain", "swapped"):
        repo = f"org/{name}"
        api.create_repo(repo, repo_type="dataset", exist_ok=True)
        content = merge_tasks(None, name, {"snli-test": "test"})
        done = api.upload_file(path_or_fileobj=content, path_in_repo="eval.yaml", repo_id=repo, repo_type="dataset")
        commits[repo] = done.oid
    return commits


@pytest.fixture(scope="module")
def published_model(hub, trained_model, benchmarks, tmp_path_factory):
    """Publish the model. Return the predictions of its folder."""
    given = [part for head in ("plain", "residual") for part in ("--results", trained_model / "evaluation" / head)]
    command = ["-m", "unbag", "publish", "model", trained_model, "--repo-id", REPO, *given, "--yes", "--json"]
    done = PYTHON.run(*command, env=hub.env(tmp_path_factory.mktemp("publisher_home"), token=ALICE), check=True)
    assert ALICE not in done.stdout + done.stderr
    assert json.loads(done.stdout)[0]["commit"]
    return compute_outputs(str(trained_model))


@runs_in("hub_client")
def test_published_model_has_same_logits_in_transformers(published_model):
    logits, id2label, said = published_model
    assert compute_outputs(REPO) == (logits, id2label, said)
    assert sorted(id2label.values()) == ["contradiction", "entailment", "neutral"]


@runs_in("hub_client")
def test_card_and_results_are_readable_by_clients(published_model, benchmarks):
    card = ModelCard.load(REPO)
    # The training data is a user's file with an unknown license.
    about = {"license": "other", "pipeline_tag": "text-classification", "language": ["en"]}
    assert card.data.to_dict().items() >= about.items()
    of_plain, of_swapped = ["skill", "accuracy"], ["skill", "accuracy", "accuracy", "drop", "agreement"]
    assert [found.metric_type for found in card.data.eval_results] == [*of_plain, *of_swapped]
    files = HfApi().list_repo_files(REPO)
    assert ".eval_results/unbag-plain-snli-validation.yaml" not in files
    path = hf_hub_download(REPO, ".eval_results/unbag-plain-snli-test.yaml")
    [entry] = parse_eval_result_entries(yaml.safe_load(Path(path).read_text()))
    assert (entry.dataset_id, entry.task_id) == ("org/plain", "snli-test")
    assert entry.dataset_revision == benchmarks["org/plain"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", entry.date)
    assert entry.source_url == "https://huggingface.co/datasets/org/plain"
    assert entry.value == card.data.eval_results[0].metric_value
    assert "| hardware | " in card.text
    assert all(example["text"].count(" [SEP] ") <= 1 for example in card.data.widget)
    assert "residual head" in card.text
    assert not [name for name in files if "predictions" in name]


@runs_in("hub_client")
def test_residual_head_is_published(published_model, trained_model):
    import numpy as np

    from unbag.inference.transformer import TransformerPredictor

    pairs = [list(side) for side in zip(*ASKED, strict=True)]
    there, here = (TransformerPredictor.load(name, head="residual").predict(*pairs) for name in (REPO, trained_model))
    assert np.array_equal(there, here)
    assert not np.array_equal(there, TransformerPredictor.load(REPO).predict(*pairs))


@runs_in("hub_client")
def test_unsuitable_results_are_rejected_with_advice(trained_model, repo_id, tmp_path):
    others, own = tmp_path / "results.json", trained_model / "evaluation" / "plain"
    results.write_results([build_plain_result(build_model_record("another/model"))], others)
    rejected = f"expected results of {repo_id}, got results of another/model"
    unpublished = "; publish the model in the folder first (unbag publish model)"
    for arguments, message in (
        (("results", others, "--repo-id", repo_id, "--sets-org", "org"), rejected),
        (("results-dataset", own, "--repo-id", "org", "--model", repo_id), unpublished),
    ):
        done = run_unbag("publish", *arguments)
        assert done.exit_code == 1
        assert str(done.exception).endswith(message)
