"""Tests of the pairs that `--augment` adds, and of their independence from the process."""

import json
import os
import subprocess
import sys

import pytest

from tests.training.conftest import write_pairs
from unbag.challenge_sets.perturbations.augmentation import parse_pair_group, parse_pair_kind
from unbag.data.labels import LABELS
from unbag.data.sources import Example
from unbag.inference.loading import load_classifier_for_training
from unbag.training import augmented
from unbag.training.augmented import PairAugmenter
from unbag.training.config import AUGMENT_KINDS
from unbag.training.data import PairDataset
from unbag.training.dataset import BatchSampler, PairEncoder, TrainingPairs

# man, dog, boy, black, white, old, red, push and chase belong to the training vocabulary.
PAIRS = [
    ("A man is pushing a red car.", "A man is pushing a car.", "entailment"),
    ("A boy is chasing a dog in a park.", "A boy is chasing a dog.", "entailment"),
    ("A black dog is near a white car and a boy.", "The boy is asleep on a chair.", "contradiction"),
    ("A white dog sees a black boy near a black car.", "A white boy has a white car.", "neutral"),
    ("A red dog and a red car are near a red boy in a hat.", "A man is at home.", "neutral"),
    ("A white boy pushes a white car.", "A white boy runs.", "contradiction"),
    ("A boy is near a car.", "An old dog barks.", "neutral"),
    ("A boy in a red hat is chasing two cats.", "Two cats are with a boy.", "neutral"),
    ("A dog is near a car.", "A white dog and a black dog are near a black car.", "neutral"),
    ("A car is near a dog in a park.", "A dog is near a car.", "entailment"),
    # Sentences that fill the documents of `recombined`, and words for the claims.
    ("A woman is pulling a sled.", "A woman is at work.", "neutral"),
    ("A girl is pushing a cart up a hill.", "A girl sleeps.", "contradiction"),
    ("Two nurses are eating apples.", "The nurses are hungry.", "neutral"),
    ("A waiter carries plates across the room.", "A waiter sleeps.", "contradiction"),
]
EXAMPLES = [Example(f"own-{i}", *pair) for i, pair in enumerate(PAIRS)]


@pytest.fixture(scope="module")
def build_epoch(parser, wordnet):
    """Return a function that builds the pairs of an epoch."""

    def build_epoch(kinds=AUGMENT_KINDS, epoch=0, seed=13, words="training"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(augmented, "Parser", lambda: parser)
            added = PairAugmenter([_build_part()], pairs=dict.fromkeys(kinds, 6), words=words, seed=seed)
        return added(epoch), added

    return build_epoch


def _build_part():
    return PairDataset("own", EXAMPLES, 1.0, "en", {"excluded": {}})


@pytest.mark.nightly
def test_each_kind_adds_pairs_and_is_counted(build_epoch):
    pairs, added = build_epoch()
    numbers = dict.fromkeys(AUGMENT_KINDS, 6) | {"contrast": 4}  # contrast groups have four pairs
    assert [parse_pair_kind(pair.source_id) for pair in pairs] == [
        kind for kind, n in numbers.items() for _ in range(n)
    ]
    record = added.build_record()
    assert record["words"] == "training"
    assert list(record["first_epoch"]) == list(AUGMENT_KINDS)
    for kind, counted in record["first_epoch"].items():
        own = [pair for pair in pairs if parse_pair_kind(pair.source_id) == kind]
        labels = [pair.label for pair in own]
        assert counted["pairs"] == numbers[kind]
        assert counted["labels"] == {label: labels.count(label) for label in sorted(set(labels))}
        assert counted["different"] == len({pair[1:3] for pair in own})
    assert set(added.identity) == {"parser", "wordnet"}


def test_pairs_depend_on_seed_and_epoch(build_epoch):
    kinds = ("swapped", "negated", "substituted")
    first, added = build_epoch(kinds)
    record = added.build_record()
    assert build_epoch(kinds)[0] == first == added(0)
    assert added(1) != first
    assert added.build_record() == record, "of the first epoch"
    assert build_epoch(kinds, seed=14)[0] != first


SCRIPT = """
import json, sys
from unbag.data.sources import Example
from unbag.data.text.parses import Parser
from unbag.training import augmented
from unbag.training.data import PairDataset
pipeline, pairs, kinds = sys.argv[1], *map(json.loads, sys.argv[2:])
augmented.Parser = lambda: Parser(pipeline)
part = PairDataset("own", [Example(*pair) for pair in pairs], 1.0, "en", {})
added = augmented.PairAugmenter([part], pairs=dict.fromkeys(kinds, 6), words="training", seed=13)
print(json.dumps(added(1)))
"""


@pytest.mark.nightly
@pytest.mark.slow
def test_other_process_builds_same_pairs(build_epoch, pipeline):
    """The hash seed, and so the order of sets, differs."""
    arguments = [pipeline, json.dumps([pair[:4] for pair in EXAMPLES]), json.dumps(AUGMENT_KINDS)]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert [tuple(pair)[:4] for pair in json.loads(done.stdout)] == [pair[:4] for pair in build_epoch(epoch=1)[0]]


def test_run_record_contains_augmentation(finetune, parser, tmp_path, monkeypatch):
    monkeypatch.setattr(augmented, "Parser", lambda: parser)
    file = write_pairs(tmp_path / "own.csv", [tuple(f'"{text}"' for text in pair) for pair in PAIRS])
    kinds, batches = ("swapped=0.5", "soswap=9", "negation=7"), "stratified"
    record, _ = finetune(corpus=(str(file),), max_steps=4, batch_size=8, augment=kinds, augment_batches=batches)
    assert record["pairs_per_epoch"] == len(PAIRS) + 7 + 9 + 6, "no part of a group"
    assert record["augmentation"]["first_epoch"]["negation"]["labels"]["entailment"] == 3
    assert record["config"]["augment_batches"] == "stratified"
    assert record["augmentation"]["first_epoch"]["soswap"]["labels"] == {"contradiction": 9}
    assert record["augmentation"]["first_epoch"]["swapped"]["pairs"] == 7
    assert record["parser"] == parser.identity
    assert "wordnet" not in record


@pytest.mark.parametrize("stratified", [False, True])
def test_batches_of_several_processes_equal_single_process(pretrained, stratified):
    """Each process takes a part of each batch, and no group of added pairs is in two batches."""
    added = [Example(f"{i}#negation#0.0#{j}", PAIRS[i][0], "A dog.", "neutral") for i in range(6) for j in range(2)]
    encoder = PairEncoder.from_classifier(
        load_classifier_for_training(str(pretrained), revision=None, label_map=None, seed=1)
    )
    pairs = TrainingPairs([_build_part()], encoder, LABELS, seed=1, augmenter=lambda _: added)

    def batches(parts):
        rows = list(BatchSampler(pairs, 8, seed=1, n_parts=parts, stratified=stratified))
        return [rows[start : start + 8] for start in range(0, len(rows), 8)]

    one, two = batches(1), batches(2)
    assert list(map(sorted, one)) == list(map(sorted, two))
    assert one[0] != two[0], "the order within a batch differs"
    groups = [{parse_pair_group(pairs.examples[row].source_id) for row in batch} - {None} for batch in one]
    assert sum(map(len, groups)) == 6, "no group is in two batches"
