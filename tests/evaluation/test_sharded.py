"""Tests of evaluations shared by unconnected processes, local and remote: results equal those of one process."""

import json

import pytest

import unbag
from tests.cli.test_options import run_unbag as command
from tests.evaluation.test_evaluator import set_request  # noqa: F401  a few pairs of ours
from unbag.challenge_sets import results
from unbag.challenge_sets.request import SetRequest, build_requested_set
from unbag.evaluation.evaluator import evaluate_all
from unbag.evaluation.sharded import score_sharded_predictions
from unbag.inference.prediction_store import StoreError
from unbag.inference.shards import LeaseManager, Shard, predict_shard
from unbag.utils.storage import StorageFolder

LABELS = ["entailment", "neutral", "contradiction"]


@pytest.fixture(autouse=True)
def _isolated_cache(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")


def predict_coin(premises, hypotheses):
    return [LABELS[(len(p) * 7 + len(h)) % 3] for p, h in zip(premises, hypotheses, strict=True)]


@pytest.fixture
def requests(set_request):  # noqa: F811
    data = {"data": set_request.options["data"]}
    return [SetRequest("plain", options=data), set_request]


@pytest.fixture
def expected(requests, tmp_path):
    unbag.evaluate(predict_coin, requests, output_dir=tmp_path / "one", lexical_baseline=False, progress=False)
    return (tmp_path / "one" / "results.json").read_bytes()


def evaluate_shard(requests, out, which="0/2"):
    return unbag.evaluate(predict_coin, requests, output_dir=out, shard=which, lexical_baseline=False, progress=False)


@pytest.mark.parametrize("kind", ["a path", "memory"])
def test_shards_write_same_files_as_one_process(tmp_path, kind, requests, expected):
    out = str(tmp_path / "shared") if kind == "a path" else f"memory://{tmp_path.name}/shared"
    report = evaluate_shard(requests, out)
    assert [result.set for result in report] == ["plain", "permuted"]
    folder = StorageFolder(out)
    assert folder.read("results.json") == expected
    assert {"examples.json", "results.json"} <= set(folder.list_names())
    stored = ["00-plain.labels.parquet", "00-plain.parquet", "01-permuted.labels.parquet", "01-permuted.parquet"]
    assert (folder / "samples").list_names() == stored
    assert len((folder / "predictions" / "tasks").list_names()) == 2


def test_shard_predictions_are_scored_without_model(tmp_path, requests, expected, monkeypatch):
    evaluate_shard(requests, tmp_path / "shared")
    monkeypatch.setattr("unbag.inference.runner.PredictionJob.predict", lambda *_: pytest.fail("a model was asked"))
    outcome = score_sharded_predictions(StorageFolder(tmp_path / "shared" / "predictions"), tmp_path / "again")
    assert len(outcome.results) == 2
    assert (tmp_path / "again" / "results.json").read_bytes() == expected


def test_incomplete_tasks_name_missing_chunks(tmp_path, requests, expected):
    evaluate_shard(requests, tmp_path / "shared")
    predictions = StorageFolder(tmp_path / "shared" / "predictions")
    key = json.loads((predictions / "tasks").read("000-001.json"))["key"]
    (predictions / key).remove("part-00000.parquet")
    with pytest.raises(StoreError, match=r"expected all 1 chunks, got 1 missing \(0\); rerun a shard"):
        score_sharded_predictions(predictions, output_dir=tmp_path / "again")
    outcome = score_sharded_predictions(predictions, output_dir=tmp_path / "again", keep_going=True)
    [plain], failures = outcome.results, outcome.skipped
    assert plain.set == "plain"
    assert [(each.set, each.model) for each in failures] == [("permuted", "predict_coin")]
    _, skipped = results.read_results_with_skipped(tmp_path / "again" / "results.json")
    assert [each.set for each in skipped] == ["permuted"]
    evaluate_shard(requests, tmp_path / "shared", "1/2")
    assert (tmp_path / "shared" / "results.json").read_bytes() == expected


def test_scoring_shard_predicts_damaged_chunk_again(tmp_path, requests, expected):
    evaluate_shard(requests, tmp_path / "shared")
    file = min((tmp_path / "shared").glob("predictions/*/part-00000.parquet"))
    file.write_bytes(file.read_bytes()[:-100])
    (tmp_path / "shared" / "results.json").unlink()
    evaluate_shard(requests, tmp_path / "shared")
    assert (tmp_path / "shared" / "results.json").read_bytes() == expected


def test_only_one_shard_scores(tmp_path, requests):
    claims = StorageFolder(tmp_path / "shared" / "predictions" / "claims")
    with LeaseManager(claims, "shard 1/2") as other:
        assert other.take("scoring")
        assert evaluate_shard(requests, tmp_path / "shared").results == []
    assert not (tmp_path / "shared" / "results.json").exists()
    assert len(evaluate_shard(requests, tmp_path / "shared")) == 2


def test_other_command_in_folder_has_separate_tasks(tmp_path, requests):
    evaluate_shard(requests, tmp_path / "shared")
    assert [result.set for result in evaluate_shard(requests[1:], tmp_path / "shared")] == ["permuted"]
    assert (StorageFolder(tmp_path / "shared") / "predictions" / "tasks").list_names() == ["000-000.json"]


def test_failed_set_is_skipped_once(tmp_path, requests, monkeypatch):
    evaluate_shard(requests, tmp_path / "shared")
    failures = []

    def again():
        out = tmp_path / "shared"
        asked = {"shard": Shard(0, 2), "lexical_baseline": False, "keep_going": True}
        outcome = evaluate_all([predict_coin], requests, output_dir=out, **asked)
        failures[:] = outcome.skipped
        _, skipped = results.read_results_with_skipped(out / "results.json")
        assert [(each.set, each.model) for each in skipped] == [(each.set, each.model) for each in failures]
        return [result.set for result in outcome.results]

    with monkeypatch.context() as patch:
        patch.setattr(
            "unbag.evaluation.evaluator.build_requested_set",
            lambda request: build_requested_set(request) if request.name == "plain" else 1 / 0,
        )
        assert again() == ["plain"]
    assert [each.set for each in failures] == ["permuted"], "its task is still there, and not scored"
    real = predict_shard

    def fails(work, *args, **options):
        return real(work, *args, **options) if work.store.rows in (49, 245) else 1 / 0  # the plain set and its control

    with monkeypatch.context() as patch:
        patch.setattr("unbag.evaluation.sharded.predict_shard", fails)
        assert len(again()) == 1
    assert len(failures) == 1


def test_address_with_trailing_slash_is_the_same_folder(tmp_path, requests):
    out = f"memory://{tmp_path.name}/run"
    evaluate_shard(requests, f"{out}/")
    assert len((StorageFolder(out) / "predictions" / "tasks").list_names()) == 2
    done = command("score", "--run-dir", f"{out}/", "--output-dir", str(tmp_path / "scored"))
    assert done.exit_code == 0, done.output


def test_unsharable_evaluation_is_rejected(tmp_path, requests, monkeypatch):
    with pytest.raises(ValueError, match="output_dir: expected a folder or URL that all shards share"):
        unbag.evaluate(predict_coin, requests, shard="0/2")
    with pytest.raises(ValueError, match="expected a shard as i/n"):
        evaluate_shard(requests, tmp_path / "shared", "2/2")
    names = {}
    # a function without a source file
    exec("def made(premises, hypotheses):\n    return ['neutral'] * len(premises)", names)
    with pytest.raises(ValueError, match="expected a model that every process can identify"):
        unbag.evaluate(
            names["made"], requests, output_dir=tmp_path / "x", shard="0/2", lexical_baseline=False, progress=False
        )
    with pytest.raises(ValueError, match="got a folder without task files"):
        score_sharded_predictions(StorageFolder(tmp_path / "nothing"), output_dir=tmp_path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["evaluate", "majority", "--shard", "3/3"], "expected a shard as i/n"),
        (["evaluate", "majority", "--output-dir", "nosuch://x/y"], "nosuch"),
        (
            ["score", "--run-dir", "x", "--set", "plain"],
            "--run-dir: cannot be combined with FILE, --set, --threshold or source pairs",
        ),
        (
            ["score", "--run-dir", "x", "--no-lexical-baseline"],
            "--no-lexical-baseline: cannot be combined with --run-dir",
        ),
        (["score"], "expected FILE or --run-dir, got neither"),
        (["score", "--run-dir", "nowhere"], "got a folder without task files"),
        (["report", "runs", "--output", "s3://bucket/report.html"], "expected a local path"),
    ],
)
def test_command_error_is_one_line(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = command(*words)
    assert done.exit_code != 0
    assert said in " ".join((done.output + str(done.exception)).replace("│", " ").split())


def test_set_is_built_to_address(tmp_path, set_request):  # noqa: F811
    data = set_request.options["data"]
    for place in (f"memory://{tmp_path.name}/set.parquet", str(tmp_path / "set.parquet")):
        done = command("build", "permuted", "--data", data, "--output", place)
        assert done.exit_code == 0, done.output
        assert f"{place}: 48 examples" in " ".join(done.output.split())
    assert StorageFolder(f"memory://{tmp_path.name}").read("set.parquet") == (tmp_path / "set.parquet").read_bytes()


def test_damaged_task_error_names_file(tmp_path, requests):
    evaluate_shard(requests, tmp_path / "shared")
    predictions = StorageFolder(tmp_path / "shared" / "predictions")
    task = json.loads((predictions / "tasks").read("000-000.json"))
    for spoilt in (
        b"{",
        b"[]",
        json.dumps({**task, "key": "../../elsewhere"}).encode(),
        json.dumps({"key": 1}).encode(),
    ):
        (predictions / "tasks").write("000-000.json", spoilt)
        with pytest.raises(ValueError, match=r"000-000\.json: expected a task"):
            score_sharded_predictions(predictions, output_dir=tmp_path / "again")
    later = {**task, "further": 1, "request": {**task["request"], "further": 1}}
    (predictions / "tasks").write("000-000.json", json.dumps(later).encode())
    assert len(score_sharded_predictions(predictions, output_dir=tmp_path / "again").results) == 2
    (predictions / "tasks").write("000-000.json", json.dumps({**task, "schema": 4}).encode())
    with pytest.raises(ValueError, match="with version 3, got version 4; rerun the shards"):
        score_sharded_predictions(predictions, output_dir=tmp_path / "again")
