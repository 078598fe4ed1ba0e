"""Test that the lexical baseline predicts every permutation of a real pair like the pair."""

import json
from itertools import islice

import pytest

from unbag.baselines.lexical.fitting import LexicalTrainingOptions
from unbag.baselines.lexical.predictors import BASELINES
from unbag.challenge_sets.perturbations.permutation import Permuter
from unbag.challenge_sets.perturbations.permuted import iter_permuted_set_tables
from unbag.data.corpora import CORPORA
from unbag.data.sources import open_data
from unbag.scoring.permutation_acceptance import PermutedRows, permutation_acceptance

Q = 5


@pytest.fixture(scope="module")
def snli(shared):
    def load_examples(split, n):
        corpus = CORPORA["snli"]
        [path] = (shared / "hub" / "datasets" / corpus.hub_id).glob(f"*/{split}-*.parquet")
        return list(islice(open_data(path, labels=corpus.labels).iter_examples(), n))

    return load_examples


@pytest.fixture(scope="module")
def permuted_pairs(snli):
    tables = list(iter_permuted_set_tables(snli("validation", 600), Permuter(Q), min_words=8, language="en"))
    return {name: [cell for table in tables for cell in table[name].to_pylist()] for name in tables[0].column_names}


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["lexical", "hypothesis-only"])
def test_bag_of_words_predicts_the_same_for_permutations(name, snli, permuted_pairs, shared, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    train = tmp_path / "train.jsonl"
    train.write_text(
        "".join(
            json.dumps({"premise": e.premise, "hypothesis": e.hypothesis, "label": e.label}) + "\n"
            for e in snli("train", 800)
        )
    )
    recipe = LexicalTrainingOptions((str(train),), pipeline=str(shared / "hub/models/spacy/en_core_web_sm"), l2=5.0)
    probabilities = BASELINES[name](recipe).predict(permuted_pairs["premise"], permuted_pairs["hypothesis"])
    pairs = probabilities.reshape(-1, Q + 1, 3)
    assert len(pairs) > 150
    assert (pairs == pairs[:, :1]).all(), "the same bits"
    rows = PermutedRows(
        probabilities.argmax(axis=1),
        permuted_pairs["label"],
        permuted_pairs["source_id"],
        permuted_pairs["permutation"],
    )
    scores = permutation_acceptance(rows)
    assert (scores["p_c"].value, scores["n_f"]) == (1, 0)
    assert scores["omega_max"].value == scores["accuracy"].value
