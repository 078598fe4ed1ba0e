import json
import random

import datasets
import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.fake_hub.client_process import runs_in
from unbag.challenge_sets import loading
from unbag.challenge_sets.failures import EvaluationFailure
from unbag.challenge_sets.request import SetRequest, build_requested_set, export_challenge_set
from unbag.data.labels import LABELS
from unbag.utils.safe_io import DataError

NOUNS = "dog cat man woman boy girl horse bird".split()
VERBS = "runs sleeps sings waits eats drinks jumps reads".split()


def _sample_pairs(n=400, seed=0):
    """Build pairs whose words predict the label better than chance, but not perfectly."""
    rng = random.Random(seed)
    for number in range(n):
        label = rng.choice([*LABELS, *LABELS, "-"]) if number % 20 == 0 else rng.choice(LABELS)
        verb = rng.choice(VERBS[:4] if label == "entailment" else VERBS[2:6] if label == "neutral" else VERBS[3:])
        nouns = rng.sample(NOUNS, 2)
        yield {
            "id": f"p{number}",
            "premise": f"A {nouns[0]} {rng.choice(VERBS)} here.",
            "hypothesis": f"Some {nouns[1]} {verb}.",
            "label": label,
        }


def _write(path, pairs):
    path.write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    return path


@pytest.fixture
def pairs(tmp_path):
    return _write(tmp_path / "pairs.jsonl", _sample_pairs())


@pytest.fixture
def words(tmp_path):
    """Return a text file with a vector per word."""
    path = tmp_path / "words.txt"
    rng = np.random.default_rng(0)
    lines = [f"{word} {' '.join(map(str, rng.normal(size=6).round(3)))}\n" for word in [*NOUNS, *VERBS, "a", "some"]]
    path.write_text("".join(lines))
    return path


def _create_builder(pairs, words, **options):
    cache = pairs.parent / "cache"
    return loading.create_builder("resnli", data=str(pairs), embeddings=str(words), cache_dir=cache, **options)


def _load_splits(pairs, words, **options):
    made = _create_builder(pairs, words, **options)
    loading.load_evaluation_split(made)
    return made.as_dataset()


def _read_labelled_rows(pairs):
    return [row for row in map(json.loads, pairs.read_text().splitlines()) if row["label"] in LABELS]


def test_missing_label_error_names_label(tmp_path, words):
    path = _write(tmp_path / "two.jsonl", [pair for pair in _sample_pairs(60) if pair["label"] in LABELS[:2]])
    complaint = r"two\.jsonl: expected pairs with all three labels, .* got .*\b0 contradiction\b.*choose other sets"
    with pytest.raises(loading.UnsuitablePairsError, match=complaint):
        build_requested_set(SetRequest("resnli", None, {"data": str(path), "embeddings": str(words)}))


def test_resnli_of_fewer_pairs_than_dimensions_is_skipped_in_a_suite(tmp_path, words):
    one_per_label = {pair["label"]: pair for pair in _sample_pairs(60) if pair["label"] in LABELS}
    path = _write(tmp_path / "three.jsonl", one_per_label.values())
    complaint = "got 3 pairs that a linear model on mean embeddings of 6 dimensions classifies without error"
    with pytest.raises(loading.UnsuitablePairsError, match=complaint) as unfit:
        build_requested_set(SetRequest("resnli", None, {"data": str(path), "embeddings": str(words)}))
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


def test_ids_must_be_unique_over_splits(pairs, words):
    made = _create_builder(pairs, words)
    twice = made.open_sources() * 2
    with pytest.raises(DataError, match="expected unique ids over all splits, got 'p1' twice"):
        made.challenge_set.plan_splits(made, twice)


def test_exported_splits_load_with_datasets(pairs, words, tmp_path):
    request = SetRequest("resnli", options={"data": str(pairs), "embeddings": str(words)})
    record = export_challenge_set(request, tmp_path / "resnli")
    loaded = datasets.load_dataset(str(tmp_path / "resnli"), cache_dir=str(tmp_path / "cache"))
    ours = _load_splits(pairs, words)
    assert set(loaded) == {"train", "validation", "test"} == set(record["splits"])
    labelled = len(_read_labelled_rows(pairs))
    for split, rows in loaded.items():
        assert rows.to_list() == ours[split].to_list()
        assert record["splits"][split] == {"examples": len(rows), "rows": len(rows)}
        metadata = json.loads(pq.read_schema(tmp_path / "resnli" / f"{split}.parquet").metadata[b"unbag"])
        excluded = {"unlabelled": 400 - labelled, "in the other splits": labelled - len(rows)}
        assert metadata["data"]["excluded"] == excluded
    assert record["rows"] == sum(map(len, loaded.values())) == labelled
    assert record["data"]["excluded"] == {"unlabelled": 400 - labelled}
    alone = export_challenge_set(request, tmp_path / "resnli.parquet")
    assert alone["rows"] == len(ours["test"]), "a single file has the split that models are evaluated on"
