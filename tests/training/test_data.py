"""Tests of the training data: files, sampling, and changes of the pairs."""

import json
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.fork_server import PYTHON
from unbag.data.sources import Example
from unbag.training.config import TrainConfig
from unbag.training.data import (
    PairDataset,
    load_training_data,
    mix_datasets,
    permute_words,
    shuffle_words,
)

ROWS = "premise,hypothesis,label\n" + "".join(
    f"The person number {n} waits.,{hypothesis},{label}\n"
    for n in range(100)
    for hypothesis, label in (("Someone waits.", "entailment"), ("Someone runs.", "contradiction"), ("So?", "-"))
)


def load_data(*corpora, **options):
    return load_training_data(
        TrainConfig(model="unused", output_dir=Path("unused"), corpus=tuple(map(str, corpora)), **options)
    )


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(ROWS)
    return path


def test_unlabelled_rows_are_dropped_and_counted(rows):
    data = load_data(rows, validation=(str(rows),))
    [part], [held_out] = data.training, data.held_out
    assert part.record["rows"] == 300
    assert part.record["excluded"] == {"unlabelled": 100}
    assert len(part.examples) == len(held_out.examples) == 200


def test_file_without_validation_data_holds_out_premises(rows):
    data = load_data(rows)
    [part], [held_out] = data.training, data.held_out
    trained, out = ({example.premise for example in each.examples} for each in (part, held_out))
    assert not trained & out
    assert len(trained | out) == 100
    assert 1 <= len(out) <= 12  # the expected number is five of a hundred
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
    path = tmp_path / "claims.jsonl"
    labels = ("supported", "unsupported")
    rows = [
        {"document": f"Door {n} is {('open', 'shut')[n % 2]}.", "claim": "The door is open.", "label": labels[n % 2]}
        | {"annotator_labels": [labels[n % 2], "unsupported"]}
        for n in range(40)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_two_labels_option_reads_not_entailment_as_neutral(rows, two_label_pairs):
    data = load_data(f"{rows}=2", two_label_pairs, validation=(str(two_label_pairs),), not_entailment_as="neutral")
    three, two = data.training
    assert Counter(example.label for example in two.examples) == {"entailment": 20, "neutral": 20}
    assert {example.annotators for example in two.examples} == {("entailment", "neutral"), ("neutral", "neutral")}
    assert Counter(example.label for example in three.examples) == {"entailment": 100, "contradiction": 100}
    assert data.held_out[0].examples == two.examples


def test_two_labels_without_option_names_option(two_label_pairs, monkeypatch):
    monkeypatch.setattr("unbag.training.data.open_corpus", lambda *_: pytest.fail("a corpus is read"))
    for name in ("scitail", str(two_label_pairs)):
        for corpus, validation in ((["snli", name], []), (["snli"], [name])):
            with pytest.raises(
                ValueError, match=r"got two labels \(entailment, not_entailment\); .*--not-entailment-as n"
            ):
                load_data(*corpus, validation=validation)


@pytest.mark.nightly
def test_test_split_is_never_used_for_validation(shared_hub, tmp_path):
    """Splits have roles: OCNLI's validation split is its test data, and so are MNLI's mismatched pairs."""
    code = (
        "import json\n"
        "from tests.training.test_data import load_data\n"
        "print(json.dumps(load_data('snli=2', 'mnli', 'sick', 'ocnli').build_record()))\n"
    )
    done = PYTHON.run("-c", code, env=shared_hub.env(tmp_path), check=True)
    record = json.loads(done.stdout)
    splits = {part["name"]: part["splits"] for part in record["held_out"]}
    assert splits == {
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
    path = tmp_path / "renamed.csv"
    ids = {"contradiction": 0, "entailment": 1}
    lines = [line.rsplit(",", 1) for line in ROWS.splitlines()[1:]]
    path.write_text("first,second,gold\n" + "".join(f"{text},{ids[label]}\n" for text, label in lines if label in ids))
    return path


def test_named_columns_and_labels_give_same_pairs(rows, renamed_columns):
    columns = ("premise=first", "hypothesis=second", "label=gold")
    labels = ("contradiction", "entailment", "neutral")
    named = load_data(renamed_columns, validation=(str(renamed_columns),), columns=columns, labels=labels)
    for ours, theirs in zip(load_data(rows, validation=(str(rows),)).training, named.training, strict=True):
        assert [(e.premise, e.hypothesis, e.label) for e in ours.examples] == [
            (e.premise, e.hypothesis, e.label) for e in theirs.examples
        ]


@pytest.mark.parametrize(
    ("columns", "labels", "reason"),
    [
        ((), (), "expected a column for the premise"),
        (("premise=nope",), (), r"the premise \('nope'\)"),
        (("premise=first", "hypothesis=second", "label=gold"), (), "look up the meaning of the ids"),
    ],
)
def test_wrong_columns_are_rejected_before_reading_corpora(renamed_columns, monkeypatch, columns, labels, reason):
    monkeypatch.setattr("unbag.training.data.open_corpus", lambda *_: pytest.fail("a corpus is read"))
    for corpus, validation in ((["snli", str(renamed_columns)], []), (["snli"], [str(renamed_columns)])):
        with pytest.raises(ValueError, match=reason):
            load_data(*corpus, validation=validation, columns=columns, labels=labels)


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
    shuffle = partial(shuffle_words, language="en", seed=3)
    for example in EXAMPLES:
        first, again, next_epoch = shuffle(example, 0), shuffle(example, 0), shuffle(example, 1)
        assert first == again
        assert first._replace(premise="", hypothesis="") == example._replace(premise="", hypothesis="")
        for side in ("premise", "hypothesis"):
            tokens = getattr(first, side).split()
            assert Counter(token for token in tokens if token != ".") == count_words(getattr(example, side))
    assert shuffle(EXAMPLES[0], 0) != next_epoch
    assert any(shuffle(example, 0) != shuffle(example, 1) for example in EXAMPLES)
    assert shuffle_words(EXAMPLES[0], 0, language="en", seed=4) != shuffle(EXAMPLES[0], 0)


def test_permuted_moves_every_word_and_drops_short_pairs():
    found = permute_words(build_part(), seed=13)
    assert [example.source_id for example in found.examples] == ["a", "b", "d"]
    assert found.record["excluded"] == {"too short to permute": 1}
    for example, original in zip(found.examples, [EXAMPLES[0], EXAMPLES[1], EXAMPLES[3]], strict=True):
        before, after = original.premise.rstrip(".").split(), example.premise.rstrip(" .").split()
        assert count_words(original.premise) == Counter(after)
        assert not any(one == other for one, other in zip(before, after, strict=True))
        assert example.label == original.label


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
