"""Tests of predicting on a cluster: chunks and results equal those of a single process bit for bit."""

import json
import shutil

import pytest

import unbag
from tests.inference.fixtures import PAIRS
from unbag import cli
from unbag.challenge_sets import results
from unbag.cli.app import run
from unbag.evaluation.model_loading import load_predictor
from unbag.evaluation.ray.predicting import RayEngine
from unbag.inference.loading import ModelError
from unbag.inference.runner import predict_rows

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def rows():
    from datasets import Dataset

    some = [(f"{i}", f"{i}", *PAIRS[i % len(PAIRS)]) for i in range(5_000)]
    return Dataset.from_dict(
        dict(zip(("id", "source_id", "premise", "hypothesis"), zip(*some, strict=True), strict=True))
    )


def list_files(folder):
    return {path.name for path in folder.rglob("*") if path.is_file()}


def read_chunks(predictions):
    return {path.name: path.read_bytes() for path in predictions.folder.path.glob("part-*.parquet")}


def test_predicted_missing_chunks_equal_single_process(tiny_bert, rows, tmp_path):
    local_predictions = predict_rows(rows, load_predictor(tiny_bert)[0], tmp_path / "own")
    folder, told = shutil.copytree(local_predictions.folder.path, tmp_path / local_predictions.folder.path.name), []
    for part in (0, 3):
        (folder / f"part-0000{part}.parquet").unlink()
    with RayEngine() as engine:
        predictor, name = engine.load_predictor(str(tiny_bert))
        made = engine.predict_rows(rows, predictor, tmp_path, progress=lambda done, total: told.append((done, total)))
    assert name == str(tiny_bert)
    assert made.folder.path == folder
    assert made.reused == 5_000 - 2 * 1_024
    assert read_chunks(made) == read_chunks(local_predictions)
    assert list_files(made.folder.path) == list_files(local_predictions.folder.path)
    assert told[0] == (made.reused, 5_000)
    assert told[-1] == (5_000, 5_000)


@pytest.fixture
def length_predictor(tmp_path, monkeypatch):
    """Return the name of a predictor function in the working directory, which loads quickly."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lengths.py").write_text(
        "def answer(premises, hypotheses):\n"
        "    lengths = [(len(p), len(h)) for p, h in zip(premises, hypotheses)]\n"
        "    return [[p / (p + h), 0.0, h / (p + h)] for p, h in lengths]\n"
    )
    return "lengths:answer"


def test_folder_invisible_to_node_is_rejected(length_predictor, rows):
    """An in-memory file system differs between processes."""
    with (
        RayEngine() as engine,
        pytest.raises(ValueError, match="expected a folder that all nodes can access, got memory://"),
    ):
        engine.predict_rows(rows, engine.load_predictor(length_predictor)[0], "memory://predictions")


def test_predict_lost_actor_is_replaced(rows, tmp_path, monkeypatch):
    """The process of the actor ends during its first chunk."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fragile.py").write_text(
        "import os\n"
        "def predict(premises, hypotheses):\n"
        "    try:\n"
        "        os.close(os.open('lost', os.O_CREAT | os.O_EXCL))\n"
        "    except FileExistsError:\n"
        "        return ['neutral'] * len(premises)\n"
        "    os._exit(9)\n"
    )
    with RayEngine() as engine:
        predictor, _ = engine.load_predictor("fragile:predict")
        made = engine.predict_rows(rows.select(range(600)), predictor, tmp_path / "out")
    assert (tmp_path / "lost").exists()
    assert made.load_probabilities(["neutral"]).tolist() == [[1.0]] * 600


def test_predictor_of_invalid_model_fails_at_once(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with RayEngine() as engine:
        with pytest.raises(ModelError) as local_predictions:
            load_predictor(str(tmp_path))
        with pytest.raises(ModelError) as there:
            engine.load_predictor(str(tmp_path))
        assert str(there.value) == str(local_predictions.value)
        with pytest.raises(ValueError, match=r"expected a local model, got .*; omit --engine"):
            engine.load_predictor("endpoint:name", base_url="http://127.0.0.1:9/v1")
        with pytest.raises(ValueError, match="expected the name of a model"):
            engine.load_predictor(lambda premises, hypotheses: ["neutral"] * len(premises))


def test_command_results_equal_single_process(length_predictor, tmp_path, capsys):
    (tmp_path / "pairs.csv").write_text(
        "premise,hypothesis,label\n" + "".join(f"{p},{h},neutral\n" for p, h in PAIRS[:5])
    )
    asked = ["evaluate", length_predictor, "--sets", "swapped", "--data", "pairs.csv", "--trust-labels"]
    for out, more in (("own", ()), ("ray", ("--engine", "ray"))):
        assert run(cli.app, [*asked, "--no-lexical-baseline", "--output-dir", out, *more]) == 0, capsys.readouterr().err
    local_predictions, ray = (json.loads((tmp_path / out / "results.json").read_text()) for out in ("own", "ray"))
    assert [result["scores"] for result in ray["results"]] == [
        result["scores"] for result in local_predictions["results"]
    ]
    assert ray == {**local_predictions, **{name: ray[name] for name in ray if name not in local_predictions}}
    how = {"data": "pairs.csv", "trust_labels": True, "lexical_baseline": False, "progress": False, "engine": "ray"}
    report = unbag.evaluate(length_predictor, "swapped", output_dir=tmp_path / "python", **how)
    assert [result.scores for result in report] == [
        result.scores for result in results.read_results(tmp_path / "own" / "results.json")
    ]
