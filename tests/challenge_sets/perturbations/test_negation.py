from collections import Counter

import pytest

from unbag.challenge_sets.perturbations.negation_operations import (
    FRAMES,
    HYPERNYM,
    NO_CLAIM,
    OPERATIONS,
    RESTATED,
    SHORTENED,
    negation_pairs,
)
from unbag.challenge_sets.perturbations.negation_rows import SCHEMA, negation_tables
from unbag.challenge_sets.perturbations.vocabulary_split import HELD_OUT, TRAINING
from unbag.data.labels import LABELS
from unbag.data.sources import Example
from unbag.data.text.parses import Parser

PREMISES = (
    "A man is riding a horse in a field.",
    "A dog is chasing a ball.",
    "A woman is carrying a red bag.",
    "Two boys are running.",
    "The man is sleeping.",
    "A man is sitting and a woman is standing.",
)
NEGATIONS = ("no ", "there is no ", *(f"{frame} " for frame in FRAMES))


@pytest.fixture(scope="module")
def parser(shared, tmp_path_factory):
    pytest.importorskip("spacy")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield Parser(str(shared / "hub" / "models" / "spacy" / "en_core_web_sm"))


def _rows(parser, premises=PREMISES, **options):
    examples = [Example(str(number), text, text, "entailment") for number, text in enumerate(premises)]
    return [row for table in negation_tables(examples, parser, **options) for row in table.to_pylist()]


def _is_negated(sentence):
    return sentence.lower().startswith(NEGATIONS)


def test_negation_pairs_of_a_claim_have_the_labels_of_the_definition(parser):
    [parse] = parser.parses(["A dog is chasing a ball."])
    pairs = negation_pairs(parse)
    assert Counter(pair.operation for pair in pairs) == {RESTATED: 8, HYPERNYM: 8}
    claim, negated = "A dog is chasing a ball.", "No dog is chasing a ball."
    labels = {(pair.premise, pair.hypothesis): pair.label for pair in pairs}
    assert labels[claim, negated] == labels[negated, claim] == "contradiction"
    assert labels[claim, "An animal is chasing a ball."] == "entailment"
    assert labels["An animal is chasing a ball.", claim] == "neutral"
    frame = next(frame for frame in FRAMES if any(pair.premise.lower().startswith(frame) for pair in pairs))
    not_dog, not_animal = (f"{frame.capitalize()} {subject} is chasing a ball." for subject in ("a dog", "an animal"))
    assert labels[not_animal, not_dog] == "entailment"
    assert labels[not_dog, not_animal] == "neutral"
    assert labels[claim, not_animal] == labels[not_animal, claim] == "contradiction"
    assert labels[claim, f"{frame.capitalize()} no dog is chasing a ball."] == "entailment"


@pytest.mark.parametrize("premise", PREMISES[3:])
def test_negation_pairs_of_counts_definite_subjects_and_coordination_are_none(parser, premise):
    [parse] = parser.parses([premise])
    assert negation_pairs(parse) == NO_CLAIM


@pytest.mark.parametrize("side", ["premise", "hypothesis"])
def test_rows_with_and_without_a_negation_have_equal_shares_of_labels(parser, side):
    rows = _rows(parser)
    assert {row["operation"] for row in rows} == set(OPERATIONS)
    for operation in OPERATIONS:
        counts = {True: Counter(), False: Counter()}
        for row in rows:
            if row["operation"] == operation:
                counts[_is_negated(row[side])][row["label"]] += 1
        shares = [{label: n / part.total() for label, n in part.items()} for part in counts.values()]
        assert shares[0] == shares[1]
        assert counts[True].total() > 0 < counts[False].total()


@pytest.mark.parametrize(("side", "operations"), [("premise", [RESTATED]), ("hypothesis", OPERATIONS)])
def test_one_sentence_alone_is_right_on_at_most_half_of_an_operation(parser, side, operations):
    rows = _rows(parser, PREMISES[:3])
    for operation in operations:
        labels = {}
        of_operation = [row for row in rows if row["operation"] == operation]
        for row in of_operation:
            labels.setdefault((row["source_id"], row[side]), Counter())[row["label"]] += 1
        best = sum(max(counts.values()) for counts in labels.values())
        assert 2 * best == len(of_operation) > 0


def test_mirrors_have_two_labels_and_the_same_sides_negated(parser):
    mirrors = {}
    for row in _rows(parser):
        mirrors.setdefault(row["mirror"], []).append(row)
    assert len(mirrors) > 10
    for first, second in mirrors.values():
        assert first["label"] != second["label"]
        for side in ("premise", "hypothesis"):
            assert _is_negated(first[side]) == _is_negated(second[side])


def test_rows_of_the_two_halves_share_no_frame_and_no_premise(parser):
    halves = [_rows(parser, words=words) for words in (TRAINING, HELD_OUT)]
    sources, frames = [], []
    for rows in halves:
        sources.append({row["source_id"] for row in rows})
        texts = [row[side].lower() for row in rows for side in ("premise", "hypothesis")]
        frames.append({start for start in NEGATIONS if any(text.startswith(start) for text in texts)})
    assert sources[0].isdisjoint(sources[1])
    assert frames[0].isdisjoint(frames[1])


def test_negation_tables_count_premises_and_exclusions(parser):
    counts = Counter()
    rows = _rows(parser, (*PREMISES, PREMISES[0]), counts=counts)
    assert counts["premises"] == len(PREMISES)  # a repeated premise counts once
    assert counts[f"excluded: {NO_CLAIM}"] == 3
    assert sum(counts[operation] for operation in OPERATIONS) == len(rows)
    assert set(rows[0]) == set(SCHEMA.names)
    assert len({row["id"] for row in rows}) == len(rows)
    assert {LABELS[row["label"]] for row in rows if row["operation"] == SHORTENED} == set(LABELS)
