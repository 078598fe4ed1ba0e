"""Tests on a local Ray cluster: sets, chunks and results equal those of a single process, and work is reused."""

import contextlib
import json
import logging
import shutil
import time
from itertools import islice

import pytest

pytest.importorskip("ray", reason="needs unbag[ray]")
pytest.importorskip("torch", reason="needs unbag[models]")

import pyarrow as pa
import pyarrow.parquet as pq

import unbag
from tests import factories
from tests.inference.fixtures import PAIRS
from unbag import cli
from unbag.challenge_sets.request import SetRequest, export_challenge_set
from unbag.cli.app import run
from unbag.data import demo
from unbag.evaluation.model_loading import load_predictor
from unbag.evaluation.ray.building import build_set_on_cluster
from unbag.evaluation.ray.predicting import RayEngine
from unbag.inference.loading import ModelError
from unbag.inference.runner import predict_rows
from unbag.utils.safe_io import DataError

pytestmark = pytest.mark.nightly

N = 1_700  # number of pairs of a set: four spans, so four parts
_SECONDS_TO_START = 240


@pytest.fixture(scope="module", autouse=True)
def _use_two_processors():
    """Start a cluster with two CPUs. It is stopped after this file, because other tests fork processes."""
    import ray
    from ray._private import services

    from unbag.evaluation.ray.cluster import restore_sigterm_handler

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_worker_niceness", "0")  # a lower priority would starve the workers while other tests run
        patch.setattr(services, "get_node", _extend_timeout(services.get_node))
        with restore_sigterm_handler():
            ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        yield
        ray.shutdown()


def _extend_timeout(get_node):
    """Return a version of Ray's node check that waits minutes instead of 30 seconds, since other tests are running."""

    def wait(*arguments):
        deadline = time.monotonic() + _SECONDS_TO_START
        while time.monotonic() < deadline:
            with contextlib.suppress(RuntimeError):  # raised while the node is not up yet
                return get_node(*arguments)
            time.sleep(0.2)
        return get_node(*arguments)

    return wait


def build_demo_rows():
    return [[f"p{i}", *pair[1:4]] for i, pair in enumerate(islice(demo.iter_demo_pairs("train"), N))]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("pairs") / "pairs.parquet", build_demo_rows())


def write_pairs(path, rows):
    return factories.write_table(path, rows, ["id", "premise", "hypothesis", "label"])


def build_request(pairs, name="permuted", **options):
    return SetRequest(name, options={"data": str(pairs), **({"q": 2} if name == "permuted" else {}), **options})


def read_rows(folder, split="data"):
    return pa.concat_tables([pq.read_table(path) for path in sorted(folder.glob(f"{split}*.parquet"))])


@pytest.mark.parametrize("name", ["permuted", "swapped", "resnli"])
def test_rows_and_record_equal_local_build(name, pairs, tmp_path):
    vectors = {"embeddings": str(demo.VECTORS)} if name == "resnli" else {}
    asked = build_request(pairs, name, **vectors)
    own = export_challenge_set(asked, tmp_path / "own")
    made = build_set_on_cluster(asked, tmp_path / "ray")
    assert made == own
    assert json.loads((tmp_path / "ray/record.json").read_text()) == own
    for split in own["splits"]:
        assert read_rows(tmp_path / "ray", split).equals(read_rows(tmp_path / "own", split))
        assert len(list((tmp_path / "ray").glob(f"{split}-*-of-00004.parquet"))) == 4


def test_stopped_build_creates_only_missing_parts(pairs, tmp_path):
    first = build_set_on_cluster(build_request(pairs), tmp_path)
    files = sorted(tmp_path.glob("*.parquet"))
    before = [(path.read_bytes(), path.stat().st_mtime_ns) for path in files]
    files[1].unlink()
    files[2].write_bytes(files[2].read_bytes()[:1000])
    assert build_set_on_cluster(build_request(pairs), tmp_path) == first
    after = [(path.read_bytes(), path.stat().st_mtime_ns) for path in files]
    assert [content for content, _ in after] == [content for content, _ in before]
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False, False, True]


def test_parts_of_other_options_are_rebuilt(pairs, tmp_path):
    build_set_on_cluster(build_request(pairs), tmp_path)
    other = build_set_on_cluster(build_request(pairs, seed=5), tmp_path)
    assert other == export_challenge_set(build_request(pairs, seed=5), tmp_path / "own")
    with pytest.raises(ValueError, match=r"expected no files of other sets, got data-00000-of-00004\.parquet"):
        build_set_on_cluster(build_request(write_pairs(tmp_path / "few.parquet", build_demo_rows()[:30])), tmp_path)


def test_duplicate_id_in_other_part_is_rejected(tmp_path):
    rows = build_demo_rows()
    twice = write_pairs(tmp_path / "twice.parquet", [*rows, rows[3]])
    with pytest.raises(DataError, match="expected unique ids, got 'p3' twice"):
        build_set_on_cluster(build_request(twice), tmp_path / "ray")


@pytest.fixture(scope="module")
def rows():
    from datasets import Dataset

    some = [(f"{i}", f"{i}", *PAIRS[i % len(PAIRS)]) for i in range(5_000)]
    names = ("id", "source_id", "premise", "hypothesis")
    return Dataset.from_dict(dict(zip(names, zip(*some, strict=True), strict=True)))


def read_files(predictions):
    """Read the files of predictions. Only the chunks are equal in different runs."""
    files = [path for path in predictions.folder.path.rglob("*") if path.is_file()]
    return {path.name: path.read_bytes() if path.name.startswith("part-") else b"" for path in files}


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
    assert read_files(made) == read_files(local_predictions)
    assert told[0] == (made.reused, 5_000)
    assert told[-1] == (5_000, 5_000)


@pytest.fixture
def length_predictor(tmp_path, monkeypatch):
    """Return the name of a predictor function in the working directory, which loads quickly."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ratios.py").write_text(
        "def answer(premises, hypotheses):\n"
        "    lengths = [(len(p), len(h)) for p, h in zip(premises, hypotheses)]\n"
        "    return [[p / (p + h), 0.0, h / (p + h)] for p, h in lengths]\n"
    )
    return "ratios:answer"


def test_folder_local_to_each_node_is_rejected(length_predictor, rows, pairs):
    """An in-memory file system differs between processes."""
    with pytest.raises(ValueError, match="got memory://set, which does not contain the file data-00000-of-00004"):
        build_set_on_cluster(build_request(pairs), "memory://set")
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
    factories.write_pairs(tmp_path / "pairs.csv", [(*pair, "neutral") for pair in PAIRS[:5]])
    asked = ["evaluate", length_predictor, "--sets", "swapped", "--data", "pairs.csv", "--trust-labels"]
    for out, more in (("own", ()), ("ray", ("--engine", "ray"))):
        assert run(cli.app, [*asked, "--no-lexical-baseline", "--output-dir", out, *more]) == 0, capsys.readouterr().err
    local_predictions, ray = (json.loads((tmp_path / out / "results.json").read_text()) for out in ("own", "ray"))
    assert ray == {**local_predictions, **{name: ray[name] for name in ray if name not in local_predictions}}
    how = {"data": "pairs.csv", "trust_labels": True, "lexical_baseline": False, "progress": False, "engine": "ray"}
    unbag.evaluate(length_predictor, "swapped", output_dir=tmp_path / "python", **how)
    python = json.loads((tmp_path / "python" / "results.json").read_text())
    assert [result["scores"] for result in python["results"]] == [result["scores"] for result in ray["results"]]
