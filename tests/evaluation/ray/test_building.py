"""Tests of building sets on a cluster: rows and records equal those of `unbag build`, and finished parts are reused."""

import json
from itertools import islice

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unbag.challenge_sets.request import SetRequest, export_challenge_set
from unbag.data import demo
from unbag.evaluation.ray.building import build_set_on_cluster
from unbag.utils.safe_io import DataError

pytestmark = pytest.mark.nightly

N = 1_700  # number of pairs: four spans, so four parts


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("pairs") / "pairs.parquet", build_demo_rows())


def build_demo_rows():
    return [[f"p{i}", *pair[1:4]] for i, pair in enumerate(islice(demo.iter_demo_pairs("train"), N))]


def write_pairs(path, rows):
    columns = dict(zip(["id", "premise", "hypothesis", "label"], zip(*rows, strict=True), strict=True))
    pq.write_table(pa.table(columns), path)
    return path


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
    with pytest.raises(DataError, match="expected unique ids, got 'p3' twice"):
        build_set_on_cluster(build_request(write_pairs(tmp_path / "twice.parquet", [*rows, rows[3]])), tmp_path / "ray")


def test_folder_local_to_each_node_is_rejected(pairs):
    """An in-memory file system differs between processes."""
    with pytest.raises(ValueError, match="got memory://set, which does not contain the file data-00000-of-00004"):
        build_set_on_cluster(build_request(pairs), "memory://set")
