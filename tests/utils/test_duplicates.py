import random

import pytest
from datasets import Dataset

from unbag.data.columns import count_distinct
from unbag.utils import duplicates
from unbag.utils.duplicates import has_possible_duplicates, open_digest_file


def _files(folder, parts):
    paths = []
    for number, texts in enumerate(parts):
        paths.append(folder / str(number))
        with open_digest_file(paths[-1]) as add:
            for text in texts:
                add(text)
    return paths


def test_duplicate_is_found_at_any_position(tmp_path, monkeypatch):
    monkeypatch.setattr(duplicates, "_BATCH", 3)
    for seed in range(30):
        rng = random.Random(seed)
        parts = [[f"ä-{rng.randrange(200)}" for _ in range(rng.randrange(8))] for _ in range(3)]
        texts = [text for part in parts for text in part]
        assert has_possible_duplicates(_files(tmp_path, parts)) == (len(set(texts)) < len(texts)), seed


@pytest.mark.parametrize("apart", [False, True])
def test_distinct_values_are_counted_in_any_order(monkeypatch, apart):
    monkeypatch.setattr("unbag.data.columns.ROWS_PER_TABLE", 4)
    for n in (1, 3, 4, 5, 23):
        texts = [f"x{i // 3}" for i in range(n)] + (["x0"] if apart else [])
        assert count_distinct(Dataset.from_dict({"a": texts}), "a") == len(set(texts))
