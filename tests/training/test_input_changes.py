from collections import Counter
from dataclasses import replace

import pytest

from unbag.data.sources import Example
from unbag.training.data import TOO_SHORT, PairDataset, WordShuffler, clear_premises, mix_datasets, permute_words

EXAMPLES = [
    Example("a", "Two old dogs run in the rain.", "Some animals get quite wet.", "entailment"),
    Example("b", "A child paints the garden fence.", "The fence is red and new.", "neutral"),
    Example("c", "Nobody.", "A crowd stands there.", "contradiction"),
    Example("d", "Three men carry a heavy box.", "The men are asleep in bed.", "contradiction"),
]


def build_part(name="own", weight=1.0, examples=EXAMPLES):
    return PairDataset(name, examples, weight, "en", {"excluded": {}})


def count_words(sentence):
    return Counter(sentence.rstrip(".").split())


def test_shuffled_words_change_each_epoch():
    pytest.importorskip("spacy")
    shuffle = WordShuffler("en", seed=3)
    for example in EXAMPLES:
        first, again, next_epoch = shuffle(example, 0), shuffle(example, 0), shuffle(example, 1)
        assert first == again
        assert first._replace(premise="", hypothesis="") == example._replace(premise="", hypothesis="")
        for side in ("premise", "hypothesis"):
            tokens = getattr(first, side).split()
            assert Counter(token for token in tokens if token != ".") == count_words(getattr(example, side))
    assert shuffle(EXAMPLES[0], 0) != next_epoch
    assert any(shuffle(example, 0) != shuffle(example, 1) for example in EXAMPLES)
    assert WordShuffler("en", seed=4)(EXAMPLES[0], 0) != shuffle(EXAMPLES[0], 0)


def test_permuted_moves_every_word_and_drops_short_pairs():
    pytest.importorskip("spacy")
    found = permute_words(build_part(), seed=13)
    assert [example.source_id for example in found.examples] == ["a", "b", "d"]
    assert found.record["excluded"] == {TOO_SHORT: 1}
    for example, original in zip(found.examples, [EXAMPLES[0], EXAMPLES[1], EXAMPLES[3]], strict=True):
        before, after = original.premise.rstrip(".").split(), example.premise.rstrip(" .").split()
        assert count_words(original.premise) == Counter(after)
        assert not any(one == other for one, other in zip(before, after, strict=True))
        assert example.label == original.label


def test_hypothesis_only_removes_premise():
    found = clear_premises(build_part())
    assert {example.premise for example in found.examples} == {""}
    assert [example.hypothesis for example in found.examples] == [example.hypothesis for example in EXAMPLES]


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
