import json
from pathlib import Path

import datasets
import pyarrow.parquet as pq
import pytest

from tests.fake_hub.client_process import runs_in
from tests.golden import outputs
from unbag.challenge_sets import loading
from unbag.challenge_sets.failures import EvaluationFailure
from unbag.challenge_sets.request import SetRequest, build_requested_set, export_challenge_set
from unbag.data.labels import LABELS
from unbag.utils.safe_io import DataError

PAIRS = Path(outputs.__file__).with_name("pairs.jsonl")
ROWS = [json.loads(line) for line in PAIRS.read_text().splitlines()]
LABELLED = [row for row in ROWS if row["label"] in LABELS]


@pytest.fixture
def words(tmp_path):
    """Return a text file with vectors of eight dimensions."""
    (tmp_path / "words.txt").write_text(outputs.build_word_vectors())
    return str(tmp_path / "words.txt")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [row for row in LABELLED if row["label"] != "contradiction"],
            r"rows\.jsonl: expected pairs with all three labels, .* got .*\b0 contradiction\b.*choose other sets",
        ),
        (
            {row["label"]: row for row in LABELLED}.values(),
            "got 3 pairs that a linear model on mean embeddings of 8 dimensions classifies without error",
        ),
    ],
    ids=["two labels", "fewer pairs than dimensions"],
)
def test_resnli_of_unsuitable_pairs_is_skipped_in_a_suite(tmp_path, words, rows, message):
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(loading.UnsuitablePairsError, match=message) as unfit:
        build_requested_set(SetRequest("resnli", None, {"data": str(tmp_path / "rows.jsonl"), "embeddings": words}))
    assert EvaluationFailure("resnli", unfit.value).is_skipped


@pytest.mark.nightly
@runs_in("shared_hub_client")
def test_sick_is_reordered_from_all_splits(tmp_path):
    from collections import Counter

    from unbag.challenge_sets import loading

    fixture = "nli-fixtures/minilm-l6-snli"
    made = loading.create_builder("resnli", "sick", cache_dir=tmp_path, embeddings=fixture)
    test = loading.load_evaluation_split(made)
    sizes = {name: split.num_examples for name, split in made.info.splits.items()}
    assert sizes == {"train": 4439, "validation": 495, "test": 4906}
    assert sum(len(set(rows["id"])) for rows in made.as_dataset().values()) == 9840
    assert set(Counter(test["partition"]).values()) == {245, 246}
    assert set(test["source_split"]) == {"train", "validation", "test"}
    assert all(row["id"].startswith(f"sick-{row['source_split']}-") for row in test)
    [name, commit] = made.challenge_set.describe_provenance(made)["embeddings"].split("@")
    assert (name, len(commit)) == (fixture, 40)


def test_ids_must_be_unique_over_splits(words):
    made = loading.create_builder("resnli", data=str(PAIRS), embeddings=words)
    twice = made.open_sources() * 2
    with pytest.raises(DataError, match=f"expected unique ids over all splits, got '{ROWS[0]['id']}' twice"):
        made.challenge_set.plan_splits(made, twice)


def test_exported_splits_load_with_datasets(words, tmp_path):
    options = {"data": str(PAIRS), "embeddings": words}
    request = SetRequest("resnli", options=options)
    record = export_challenge_set(request, tmp_path / "resnli")
    loaded = datasets.load_dataset(str(tmp_path / "resnli"), cache_dir=str(tmp_path / "cache"))
    made = loading.create_builder("resnli", **options)
    loading.load_evaluation_split(made)
    ours = made.as_dataset()
    assert set(loaded) == {"train", "validation", "test"} == set(record["splits"])
    unlabelled = {"unlabelled": len(ROWS) - len(LABELLED)}
    for split, rows in loaded.items():
        assert rows.to_list() == ours[split].to_list()
        assert record["splits"][split] == {"examples": len(rows), "rows": len(rows)}
        metadata = json.loads(pq.read_schema(tmp_path / "resnli" / f"{split}.parquet").metadata[b"unbag"])
        assert metadata["data"]["excluded"] == unlabelled | {"in the other splits": len(LABELLED) - len(rows)}
    assert record["rows"] == sum(map(len, loaded.values())) == len(LABELLED)
    assert record["data"]["excluded"] == unlabelled
    alone = export_challenge_set(request, tmp_path / "resnli.parquet")
    assert alone["rows"] == len(ours["test"]), "a single file has the split that models are evaluated on"
