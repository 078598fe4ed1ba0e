"""Tests of the file of a results dataset: merged rows and rejected input."""

import io
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.hub.synthetic_results import SNLI, build_model_record, build_plain_result, build_swapped_result
from unbag.hub.cards import split_card
from unbag.hub.results_dataset import FILE, SCHEMA, build_result_rows, build_results_dataset_upload, merge_result_rows


def table(content):
    return pq.read_table(io.BytesIO(content))


def test_result_has_row_per_metric():
    found = build_result_rows([build_swapped_result()])
    assert [row["metric"] for row in found] == ["skill", "accuracy_before", "accuracy_after", "drop", "agreement"]
    assert [row["is_score"] for row in found] == [True, False, False, False, False]
    after = found[2]
    assert (after["value"], after["low"], after["high"], after["n"]) == build_swapped_result().scores["accuracy_after"]
    about = {"model": "org/model", "set": "swapped", "config": "snli-test", "head": "plain"}
    assert after.items() >= about.items()
    assert set(after) == set(SCHEMA.names)


def test_merge_replaces_rows_with_same_key_in_any_order_of_publishers():
    ours = build_result_rows([build_plain_result(), build_swapped_result()])
    theirs = build_result_rows([build_plain_result(build_model_record("other/model"))])
    both = merge_result_rows(theirs, merge_result_rows(ours, None))
    assert both == merge_result_rows(ours, merge_result_rows(theirs, None))
    assert table(both).num_rows == 9
    assert merge_result_rows(ours, both) is both
    changed = build_plain_result(seed=2)
    assert changed.scores["accuracy"] != build_plain_result().scores["accuracy"]
    rows = table(merge_result_rows(build_result_rows([changed]), both)).to_pylist()
    assert len(rows) == 9
    assert changed.scores["accuracy"].value in [row["value"] for row in rows if row["model"] == "org/model"]


def test_merge_result_rows_with_other_columns_raises():
    file = io.BytesIO()
    pq.write_table(pa.table({"a": [1]}), file)
    with pytest.raises(ValueError, match="got a; check that the repository is a results dataset"):
        merge_result_rows(build_result_rows([build_plain_result()]), file.getvalue())


def test_results_publication_without_published_results_raises():
    own = replace(build_plain_result(), data={**SNLI, "name": "pairs.csv", "origin": "pairs.csv"})
    with pytest.raises(ValueError, match="got only results on user-provided pairs"):
        build_results_dataset_upload("org/results", [own])
    with pytest.raises(
        ValueError,
        match=r"expected the Hub id of the model in the folder .*, got none; publish the model and pass its Hub id",
    ):
        build_results_dataset_upload(
            "org/results", [build_plain_result(build_model_record("runs/a", "sha256:0", model="folder"))]
        )


def test_existing_card_gets_only_configs_entry():
    card = build_results_dataset_upload("org/results", [build_plain_result()]).files["README.md"]
    fresh = card(None).decode()
    assert 'load_dataset("org/results", split="train")' in fresh
    assert all(f"`{name}`" in fresh for name in SCHEMA.names)
    assert card(fresh.encode()) == fresh.encode()
    told = card(b"---\nlicense: mit\n---\nOurs\n").decode()
    assert told.startswith("---\nlicense: mit\nconfigs:\n")
    assert told.endswith("---\nOurs\n")
    assert split_card(told.encode())[0]["configs"] == split_card(fresh.encode())[0]["configs"]
    assert split_card(told.encode())[0]["configs"][0]["data_files"][0]["path"] == FILE
