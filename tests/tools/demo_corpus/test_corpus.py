import os
import random
import re
import subprocess
import sys
from collections import Counter
from itertools import combinations, product
from pathlib import Path

import pytest

from tools.demo_corpus.corpus import SPLITS, DemoPair, generate_pairs, generate_scene_pairs
from tools.demo_corpus.scenes import is_sound
from tools.demo_corpus.semantics import are_captions_clear, are_unrelated, entails, label_captions
from tools.demo_corpus.sentences import list_forms, write_sentence
from unbag.data import demo, labels

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def corpus() -> dict[str, list[DemoPair]]:
    """Load the shipped splits, which `test_shipped` compares with the grammar, and generate the third split."""
    shipped = {
        split: [
            DemoPair(pair.source_id, pair.premise, pair.hypothesis, pair.label) for pair in demo.iter_demo_pairs(split)
        ]
        for split in demo.SPLITS
    }
    return {split: shipped.get(split) or list(generate_pairs(split)) for split in SPLITS}


def n_words(sentence: str) -> int:
    return len(re.findall(r"\w+", sentence))


@pytest.mark.nightly
def test_pairs_depend_only_on_seed(corpus: dict[str, list[DemoPair]]):
    assert list(generate_pairs("validation")) == corpus["validation"]
    assert list(generate_pairs("validation", 200)) == corpus["validation"][:200]


@pytest.mark.nightly
def test_hash_seed_has_no_effect(corpus: dict[str, list[DemoPair]]):
    code = (
        "from tools.demo_corpus.corpus import generate_pairs\n"
        "for pair in generate_pairs('test', 60): print(*pair, sep='\\t')"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert [DemoPair(*line.split("\t")) for line in done.stdout.splitlines()] == corpus["test"][:60]


@pytest.mark.nightly
def test_other_seed_gives_other_pairs(corpus: dict[str, list[DemoPair]]):
    other = list(generate_pairs("validation", 300, seed=1))
    assert len(other) == 300
    ours = {(pair.premise, pair.hypothesis) for pair in corpus["validation"]}
    assert not ours & {(pair.premise, pair.hypothesis) for pair in other}


def test_splits_have_known_sizes_and_unique_ids(corpus: dict[str, list[DemoPair]]):
    assert {split: len(pairs) for split, pairs in corpus.items()} == {"train": 6000, "validation": 2400, "test": 1500}
    assert corpus["validation"][123].id == "demo-validation-000123"
    assert len({pair.id for pairs in corpus.values() for pair in pairs}) == sum(SPLITS.values())


def test_pairs_and_premises_are_unique_across_splits(corpus: dict[str, list[DemoPair]]):
    for pairs in corpus.values():
        assert len({(pair.premise, pair.hypothesis) for pair in pairs}) == len(pairs)
        assert all(pair.premise != pair.hypothesis for pair in pairs)
    other_seed = {pair.premise for pair in generate_pairs("train", 1_500, seed=1)}
    train, validation, test = ({pair.premise for pair in corpus[split]} for split in SPLITS)
    assert not train & validation
    assert not train & test
    assert not validation & test
    assert not other_seed & (validation | test)


def test_labels_are_exactly_balanced(corpus: dict[str, list[DemoPair]]):
    for pairs in corpus.values():
        assert Counter(pair.label for pair in pairs) == dict.fromkeys(labels.LABELS, len(pairs) // 3)


def test_label_does_not_depend_on_position(corpus: dict[str, list[DemoPair]]):
    for place in range(3):
        shares = Counter(pair.label for pair in corpus["train"][place::3])
        assert all(0.28 < count / 2_000 < 0.39 for count in shares.values()), shares


def test_most_pairs_are_long_enough_for_permutation(corpus: dict[str, list[DemoPair]]):
    pairs = corpus["validation"]
    long = [pair for pair in pairs if n_words(pair.premise) >= 8 and n_words(pair.hypothesis) >= 8]
    assert len(long) / len(pairs) >= 0.6


def test_length_does_not_reveal_label(corpus: dict[str, list[DemoPair]]):
    mean = {
        name: sum(n_words(p.hypothesis) for p in corpus["train"] if p.label == name) / 2_000 for name in labels.LABELS
    }
    assert max(mean.values()) - min(mean.values()) < 2.5, mean


def test_premises_and_words_are_varied(corpus: dict[str, list[DemoPair]]):
    train = corpus["train"]
    assert len({pair.premise for pair in train}) > 0.98 * len(train)
    assert len({word for pair in train for word in re.findall(r"\w+", pair.premise.lower())}) > 250


def test_label_equals_label_of_meanings():
    for meant in generate_scene_pairs("test", 600, seed=4):
        assert all(is_sound(each.scene) for each in (*meant.premise, meant.hypothesis))
        evidence = meant.premise[meant.evidence]
        assert are_captions_clear(evidence, meant.hypothesis)
        assert label_captions(evidence, meant.hypothesis) == meant.pair.label


def test_captions_of_one_premise_are_unrelated():
    texts = [meant.premise for meant in generate_scene_pairs("test", 300) if len(meant.premise) > 1]
    assert {len(captions) for captions in texts} == {2, 3}
    for captions in texts:
        assert all(are_unrelated(one.scene, other.scene) for one, other in combinations(captions, 2))


def test_negation_occurs_in_premise_and_hypothesis_with_every_label():
    """So a negation does not reveal the label."""
    seen = {
        (meant.pair.label, meant.premise[meant.evidence].is_negated, meant.hypothesis.is_negated)
        for meant in generate_scene_pairs("test", 900)
    }
    assert {("entailment", True, True), ("contradiction", True, False), ("contradiction", False, True)} <= seen
    assert {("neutral", *negated) for negated in product((False, True), repeat=2)} <= seen
    assert not {("entailment", True, False), ("entailment", False, True), ("contradiction", True, True)} & seen


def test_all_forms_of_premise_entail_each_other():
    """The label depends on meaning: an active sentence entails its passive, although the nouns are swapped."""
    rng = random.Random(0)
    passives = 0
    for meant in generate_scene_pairs("train", 150):
        scene = meant.premise[meant.evidence].scene
        said = {form: write_sentence(scene, rng, form, definite=False) for form in list_forms(scene)}
        passives += {"active", "passive"} <= set(said)
        assert len(set(said.values())) == len(said), said
        assert entails(scene, scene)
    assert passives > 50


def test_same_words_occur_with_every_label(corpus: dict[str, list[DemoPair]]):
    grammar = set("a an the is are being by who there with and in wearing".split())

    def bag(sentence: str) -> frozenset[str]:
        return frozenset(re.findall(r"\w+", sentence.lower())) - grammar

    same = Counter(pair.label for pair in corpus["train"] if bag(pair.premise) == bag(pair.hypothesis))
    assert min(same[name] for name in labels.LABELS) >= 15, same


@pytest.mark.parametrize("split", ["dev", "Train", ""])
def test_unknown_split_is_rejected(split: str):
    with pytest.raises(
        ValueError, match=re.escape(f"split: expected one of ['train', 'validation', 'test'], got {split!r}")
    ):
        generate_pairs(split)


def test_negative_number_is_rejected_and_zero_gives_none():
    with pytest.raises(ValueError, match="n: expected at least 0 pairs, got -1"):
        generate_pairs("train", -1)
    assert list(generate_pairs("train", 0)) == []
