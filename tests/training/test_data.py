"""Tests of the training data: files, sampling, changes of the pairs, the pairs of each epoch, and `--augment`."""

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.factories import write_pairs, write_table
from tests.fake_hub.client_process import runs_in
from unbag.challenge_sets.perturbations.augmentation import parse_pair_kind
from unbag.data.sources import Example
from unbag.training import augmented
from unbag.training.augmented import PairAugmenter
from unbag.training.config import AUGMENT_KINDS, TrainConfig
from unbag.training.data import (
    PairDataset,
    PermutedPairs,
    load_training_data,
    mix_datasets,
    permute_words,
    shuffle_words,
)

ROWS = [
    (f"The person number {n} waits.", hypothesis, label)
    for n in range(100)
    for hypothesis, label in (("Someone waits.", "entailment"), ("Someone runs.", "contradiction"), ("So?", "-"))
]
COLUMNS = ("premise=first", "hypothesis=second", "label=gold")


def load_data(*corpora, **options):
    return load_training_data(
        TrainConfig(model="unused", output_dir=Path("unused"), corpus=tuple(map(str, corpora)), **options)
    )


@pytest.fixture
def rows(tmp_path):
    return write_pairs(tmp_path / "rows.csv", ROWS)


def test_file_without_validation_data_holds_out_premises(rows):
    data = load_data(rows)
    [part], [held_out] = data.training, data.held_out
    trained, out = ({example.premise for example in each.examples} for each in (part, held_out))
    assert not trained & out
    assert len(trained | out) == 100
    assert 1 <= len(out) <= 12  # the expected number is five of a hundred
    assert part.record["rows"] == 300
    assert part.record["excluded"] == {"unlabelled": 100, "held out": len(held_out.examples)}
    # Does not depend on the seed, so that seeds are compared on the same pairs.
    assert load_data(rows, seed=99).held_out[0].examples == held_out.examples


def test_sampled_pairs_depend_only_on_seed_and_ids(rows):
    drawn = load_data(rows, max_examples=50, validation=(str(rows),), max_validation_examples=20)
    assert len(drawn.training[0].examples) == 50
    assert len(drawn.held_out[0].examples) == 20
    assert drawn.training[0].record["excluded"] == {"unlabelled": 100, "not drawn": 150}
    again = load_data(rows, max_examples=50)
    other = load_data(rows, max_examples=50, seed=14)
    assert again.build_record() == load_data(rows, max_examples=50).build_record()
    assert other.training[0].examples != again.training[0].examples
    with pytest.raises(ValueError, match="expected at least 5,000 training pairs to sample from, got 200"):
        load_data(rows, max_examples=5000, validation=(str(rows),))


@pytest.fixture
def two_label_pairs(tmp_path):
    """Return a file of pairs with two labels, and their three-way labels."""
    labels = ("supported", "unsupported")
    rows = [
        {"document": f"Door {n} is {('open', 'shut')[n % 2]}.", "claim": "The door is open.", "label": labels[n % 2]}
        | {"annotator_labels": [labels[n % 2], "unsupported"]}
        for n in range(40)
    ]
    return write_table(tmp_path / "claims.jsonl", rows)


def test_two_labels_option_reads_not_entailment_as_neutral(rows, two_label_pairs):
    data = load_data(f"{rows}=2", two_label_pairs, validation=(str(two_label_pairs),), not_entailment_as="neutral")
    three, two = data.training
    assert Counter(example.label for example in two.examples) == {"entailment": 20, "neutral": 20}
    assert {example.annotators for example in two.examples} == {("entailment", "neutral"), ("neutral", "neutral")}
    assert Counter(example.label for example in three.examples) == {"entailment": 100, "contradiction": 100}
    assert data.held_out[0].examples == two.examples


@pytest.mark.nightly
@runs_in("shared_hub_client")
def test_test_split_is_never_used_for_validation():
    """Splits have roles: OCNLI's validation split is its test data, and so are MNLI's mismatched pairs."""
    record = load_data("snli=2", "mnli", "sick", "ocnli").build_record()
    assert {part["name"]: part["splits"] for part in record["held_out"]} == {
        "snli": ["validation"],
        "mnli": ["validation_matched"],
        "sick": ["validation"],
        "ocnli": ["train"],
    }
    assert [part["weight"] for part in record["training"]] == [2.0, 1.0, 1.0, 1.0]
    assert record["training"][0]["pairs"] == 22_588


@pytest.fixture
def renamed_columns(tmp_path):
    """Return a file of pairs with other column names and another order of label ids."""
    ids = {"contradiction": 0, "entailment": 1}
    rows = [(*texts, ids[label]) for *texts, label in ROWS if label in ids]
    return write_table(tmp_path / "renamed.csv", rows, ["first", "second", "gold"])


def test_named_columns_and_labels_give_same_pairs(rows, renamed_columns):
    labels = ("contradiction", "entailment", "neutral")
    own = load_data(rows, validation=(str(rows),))
    named = load_data(renamed_columns, validation=(str(renamed_columns),), columns=COLUMNS, labels=labels)
    ours, theirs = ([each[1:4] for each in data.training[0].examples] for data in (own, named))
    assert ours == theirs


@pytest.mark.usefixtures("two_label_pairs", "renamed_columns")
@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        *(
            (name, {}, r"got two labels \(entailment, not_entailment\); .*--not-entailment-as n")
            for name in ("scitail", "claims.jsonl")
        ),
        ("renamed.csv", {}, "expected a column for the premise"),
        ("renamed.csv", {"columns": ("premise=nope",)}, r"the premise \('nope'\)"),
        ("renamed.csv", {"columns": COLUMNS}, "look up the meaning of the ids"),
    ],
)
def test_unusable_data_is_rejected_before_reading_corpora(tmp_path, monkeypatch, name, options, reason):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("unbag.training.data.open_corpus", lambda *_: pytest.fail("a corpus is read"))
    for corpus, validation in ((["snli", name], ()), (["snli"], (name,))):
        with pytest.raises(ValueError, match=reason):
            load_data(*corpus, validation=validation, **options)


EXAMPLES = [
    Example("a", "Two old dogs run in the rain.", "Some animals get quite wet.", "entailment"),
    Example("b", "A child paints the garden fence.", "The fence is red and new.", "neutral"),
    Example("c", "Nobody.", "A crowd stands there.", "contradiction"),
    Example("d", "Three men carry a heavy box.", "The men are asleep in bed.", "contradiction"),
]


def build_part(name="own", weight=1.0, examples=EXAMPLES):
    return PairDataset(name, examples, weight, "en", {"excluded": {}})


def count_words(sentence):
    return Counter(sentence.rstrip(" .").split())


def test_shuffled_words_change_each_epoch():
    shuffle = partial(shuffle_words, language="en", seed=3)
    for example in EXAMPLES:
        first = shuffle(example, 0)
        assert first == shuffle(example, 0)
        assert first._replace(premise="", hypothesis="") == example._replace(premise="", hypothesis="")
        for side in ("premise", "hypothesis"):
            assert count_words(getattr(first, side).replace(".", "")) == count_words(getattr(example, side))
    assert any(shuffle(example, 0) != shuffle(example, 1) for example in EXAMPLES)
    assert shuffle_words(EXAMPLES[0], 0, language="en", seed=4) != shuffle(EXAMPLES[0], 0)


def test_permuted_keeps_words_and_drops_short_pairs():
    found = permute_words(build_part(), seed=13)
    assert [example.source_id for example in found.examples] == ["a", "b", "d"]
    assert found.record["excluded"] == {"too short to permute": 1}
    for example, original in zip(found.examples, [EXAMPLES[0], EXAMPLES[1], EXAMPLES[3]], strict=True):
        assert example[1:3] != original[1:3]
        assert count_words(example.premise) == count_words(original.premise)
        assert example.label == original.label


def test_permuted_copies_change_per_epoch_and_short_pairs_have_none():
    def permute(examples, epoch=0, *, permutations=2, seed=1, language="en"):
        build = PermutedPairs(permutations, seed=seed, language=language)
        return [build(example, epoch) for example in examples]

    every = permute(EXAMPLES, 3)
    assert [len(set(copies)) for copies in every] == [2, 2, 0, 2]
    assert permute(EXAMPLES[1:2], 3) == every[1:2], "other pairs have no influence"
    assert len({pair for epoch in range(4) for pair in permute(EXAMPLES[:1], epoch)[0]}) == 8
    assert permute(EXAMPLES, 3, seed=2) != every
    # Of two words there is one other order.
    two_words = [Example("a", "a dog", "a cat", "neutral")]
    assert list(map(len, permute(two_words) + permute(two_words, permutations=1))) == [0, 1]
    [[(premise, _)]] = permute([Example("a", "他在看书。", "他在睡觉。", "neutral")], permutations=1, language="zh")
    assert premise != "他在看书。"
    assert sorted(premise) == sorted("他在看书。")


def test_weights_set_frequency_of_pairs():
    other = [replaced._replace(source_id=f"o{replaced.source_id}") for replaced in EXAMPLES]
    parts = [
        build_part(weight=2.5),
        build_part("other", 0.5, other),
        build_part("once", 1.0, [EXAMPLES[1]._replace(source_id="z")]),
    ]
    epochs = [[example.source_id for example in mix_datasets(parts, seed=1, epoch=epoch)] for epoch in range(20)]
    for ids in epochs:
        assert len(ids) == len(set(ids)) == 2 * 4 + 2 + 2 + 1
        counts = Counter(name.split("#")[0] for name in ids)
        assert all(counts[name] in (2, 3) for name in "abcd")
        assert sum(counts[name] for name in "abcd") == 10
        assert sum(counts[f"o{name}"] for name in "abcd") == 2
        assert counts["z"] == 1
    assert len({tuple(ids) for ids in epochs}) > 5, "each epoch draws its own"
    assert mix_datasets(parts, seed=1, epoch=3) == mix_datasets(parts, seed=1, epoch=3)
    assert mix_datasets([replace(parts[0], weight=1.0)], seed=1, epoch=0) == EXAMPLES


# man, dog, boy, black, white, old, red, push and chase belong to the training vocabulary.
SENTENCES = [
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


def build_augmenter(parser, kinds=AUGMENT_KINDS, seed=13):
    part = build_part(examples=[Example(f"own-{i}", *pair) for i, pair in enumerate(SENTENCES)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(augmented, "Parser", lambda: parser)
        return PairAugmenter([part], pairs=dict.fromkeys(kinds, 6), words="training", seed=seed)


SCRIPT = """
import json, sys
from tests.training.test_data import build_augmenter
from unbag.data.text.parses import Parser
print(json.dumps(build_augmenter(Parser(sys.argv[1]))(0)))
"""


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.usefixtures("wordnet")
def test_each_kind_adds_same_pairs_in_every_process_and_is_counted(parser, pipeline):
    added = build_augmenter(parser)
    pairs = added(0)
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
    # In another process, the hash seed differs, and so does the order of sets.
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, pipeline],
        env={**os.environ, "PYTHONHASHSEED": "7"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert [tuple(pair[:4]) for pair in json.loads(done.stdout)] == [pair[:4] for pair in pairs]


@pytest.mark.usefixtures("wordnet")
def test_pairs_depend_on_seed_and_epoch(parser):
    kinds = ("swapped", "negated", "substituted")
    added = build_augmenter(parser, kinds)
    first, record = added(0), added.build_record()
    assert build_augmenter(parser, kinds)(0) == first == added(0)
    assert added(1) != first
    assert added.build_record() == record, "of the first epoch"
    assert build_augmenter(parser, kinds, seed=14)(0) != first


def test_run_record_contains_augmentation(finetune, parser, tmp_path, monkeypatch):
    monkeypatch.setattr(augmented, "Parser", lambda: parser)
    file = write_pairs(tmp_path / "own.csv", SENTENCES)
    kinds, batches = ("swapped=0.5", "soswap=9", "negation=7"), "stratified"
    record, _ = finetune(corpus=(str(file),), max_steps=4, batch_size=8, augment=kinds, augment_batches=batches)
    assert record["pairs_per_epoch"] == len(SENTENCES) + 7 + 9 + 6, "no part of a group"
    assert record["augmentation"]["first_epoch"]["negation"]["labels"]["entailment"] == 3
    assert record["config"]["augment_batches"] == "stratified"
    assert record["augmentation"]["first_epoch"]["soswap"]["labels"] == {"contradiction": 9}
    assert record["augmentation"]["first_epoch"]["swapped"]["pairs"] == 7
    assert record["parser"] == parser.identity
    assert "wordnet" not in record
