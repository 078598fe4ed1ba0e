"""Tests of reading rows from files in place, without loading more of a file than requested."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unbag.evaluation.ray.building import META, PartitionedRows, read_metadata
from unbag.utils.safe_io import DataError
from unbag.utils.storage import StorageFolder


@pytest.mark.parametrize("kind", ["a path", "memory"])
def test_metadata_and_column_reads_are_partial(kind, tmp_path, monkeypatch):
    folder = StorageFolder(tmp_path if kind == "a path" else f"memory://{tmp_path.name}/rows")
    for name, texts in (("a", ["x", "y", "x"]), ("b", ["z"])):
        table = pa.table({"id": texts, "premise": texts}).replace_schema_metadata({META: json.dumps({"key": name})})
        buffer = pa.BufferOutputStream()
        pq.write_table(table, buffer, write_page_checksum=True)
        folder.write(name, buffer.getvalue().to_pybytes())
    folder.write("damaged", b"PAR1")
    monkeypatch.setattr(StorageFolder, "read", lambda *_: pytest.fail("a whole file was read"))
    rows = PartitionedRows(folder, ["a", "b"])
    assert (len(rows), rows.column_names) == (4, ["id", "premise"])
    assert rows.unique("premise") == ["x", "y", "z"]
    assert [read_metadata(folder, name) for name in ("a", "b", "damaged", "none")] == [
        {"key": "a"},
        {"key": "b"},
        None,
        None,
    ]
    with pytest.raises(DataError, match="damaged: expected a readable file"):
        list(PartitionedRows(folder, ["damaged"]).iter(10))
