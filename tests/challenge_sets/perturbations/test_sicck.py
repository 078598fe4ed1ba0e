import csv
from collections import Counter

import pytest

from benchmarks.sicck_reproduction import (
    ELSE,
    SAME,
    build_official_logical_forms,
    count_annotator_agreement,
    count_by_group,
    count_reproduced_pairs,
)
from unbag.baselines.natlog.models import find_truth_value_models
from unbag.baselines.natlog.relations import Relation
from unbag.challenge_sets.perturbations.sicck import FILE, PAIRS, SEED_PAIRS, SicckPair, assign_folds, read_sicck
from unbag.data.downloads import fetch_pinned_file

HEADER = [
    "Sno", "SICK_id", "Premise", "Hypothesis", "Modifier", "Premise/Hypothesis/Both",
    "Part of Premise/Hypothesis Modified", "Modifier Type", "Ground Truth \n(Total 7)", "CompressedGT\n(4)",
]  # fmt: skip
_PAIR = SicckPair("", "", "", "", "", "", "", "", ())
PLAIN = ["0", "7", "a cat is eating", "an animal is eating", "NONE", "NONE", "NONE", "No Modifiers", "FE", "FE"]


def _write_file(tmp_path, *rows, header=HEADER):
    path = tmp_path / "sicck.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def test_values_are_normalized(tmp_path):
    rows = [
        PLAIN,
        ["1", "7", " a cat", "b\n", "everyone of", "premise", "subject", "Universal", "Negation|Alternation",
         "Contradiction"],
        ["892", "7", "a", "b", "never", "FE", "Verb", "Universal", "RE", "RE"],
        ["3", "7", "a", "b", "an abnormal", "Both", "Object", "Adjectives/Adverbs", "Neutral", "Neutral"],
    ]  # fmt: skip
    found = read_sicck(_write_file(tmp_path, *rows))
    assert [row.modifier for row in found] == ["none", "every one of", "never", "abnormal"]
    assert [row.position for row in found] == ["none", "premise", "both", "both"]
    assert found[1].premise == "a cat"
    assert found[1].relations == (Relation.NEGATION, Relation.ALTERNATION)
    assert [row.four_way for row in found] == ["forward_entailment", "contradiction", "reverse_entailment", "neutral"]
    assert [row.label for row in found] == ["entailment", "contradiction", "neutral", "neutral"]


def test_four_way_label_excluded_by_paper_is_none(tmp_path):
    rows = [[*PLAIN[:8], "Equivalence", "Equivalence"], [*PLAIN[:8], "Cover|FE", "x"]]
    found = read_sicck(_write_file(tmp_path, *rows))
    assert [row.four_way for row in found] == [None, None]
    assert [row.label for row in found] == ["entailment", "neutral"]


def test_official_file_has_known_counts(shared):
    """The counts are those of section 9 of the specification and of Tables 5 and 6 of the paper."""
    path = fetch_pinned_file(FILE, local_copy=shared / "data/sicck/SICCK-Ground-Truth-apr24.csv")  # verifies the hash
    rows = read_sicck(path)
    assert len(rows) == 1304 == PAIRS
    assert len({row.source_id for row in rows}) == SEED_PAIRS == 15
    assert count_by_group(rows) == {
        "type": {"universal": 217, "existential": 303, "negation": 167, "adjective/adverb": 602, "none": 15},
        "part": {"subject": 560, "verb": 220, "object": 509, "none": 15},
    }
    assert Counter(row.four_way for row in rows) == {
        "neutral": 593, "contradiction": 422, "forward_entailment": 259, "reverse_entailment": 30,
    }  # fmt: skip
    assert len({row.id for row in rows}) == len(rows)
    # The card states how many cells are normalized: white space, spelling of modifiers, and case.
    with path.open(encoding="utf-8-sig", newline="") as file:
        raw = list(csv.reader(file))[1:]
    assert sum(cell != cell.strip() for cells in raw for cell in cells[2:4]) == 155
    assert sum(cells[4] != row.modifier != "none" for cells, row in zip(raw, rows, strict=True)) == 125
    assert sum(cell.strip().islower() for cells in raw for cell in cells[5:7]) == 46
    # The authors' column of four-way labels has the label that follows from their relations.
    names = {"FE": "forward_entailment", "RE": "reverse_entailment"}
    published = [names.get(cells[9], cells[9].lower()) for cells in raw]
    assert all(row.four_way in (None, label) for row, label in zip(rows, published, strict=True))


SEEDS = [f"seed {i % 7}" for i in range(100)]


def _assign_folds(seeds, n_folds, **options):
    return assign_folds([_PAIR._replace(source_id=f"sick-{seed}") for seed in seeds], n_folds, **options)


def test_contiguous_folds_are_blocks_of_rows_sorted_by_seed():
    # By hand: seed b comes first, with rows 0, 2, 3, 6, then a with rows 1, 4, 5. The blocks have 3, 2 and 2 rows.
    assert _assign_folds(list("babbaab"), 3) == [0, 1, 0, 0, 2, 2, 1]


def test_spread_folds_divide_each_seed_evenly():
    found = _assign_folds(SEEDS, 5, method="spread")
    assert Counter(found) == dict.fromkeys(range(5), 20)
    for name in set(SEEDS):
        sizes = Counter(fold for fold, seed in zip(found, SEEDS, strict=True) if seed == name)
        assert max(sizes.values()) - min(sizes.get(fold, 0) for fold in range(5)) <= 1


def test_whole_seed_folds_keep_seeds_together():
    found = _assign_folds(SEEDS, 5, method="whole_seeds")
    assert set(found) == set(range(5))
    by_seed = {seed: {fold for fold, other in zip(found, SEEDS, strict=True) if other == seed} for seed in SEEDS}
    assert all(len(there) == 1 for there in by_seed.values())


def test_assign_folds_depends_on_seed():
    for folding in ("spread", "whole_seeds"):
        assert _assign_folds(SEEDS, 5, method=folding) == _assign_folds(SEEDS, 5, method=folding)
        assert _assign_folds(SEEDS, 5, method=folding) != _assign_folds(SEEDS, 5, method=folding, seed=14)


@pytest.fixture(scope="module")
def rows(shared):
    return read_sicck(shared / "data/sicck/SICCK-Ground-Truth-apr24.csv")


def test_annotator_agreement_equals_card(rows):
    """A regression test. The readings were fixed before the comparison with the labels."""
    found = count_annotator_agreement(rows)
    assert found["n"] == 1304
    assert (found["seven_way"], found["four_way"]) == (1085, 1159)


def test_most_frequent_disagreements_equal_card(rows):
    found = count_annotator_agreement(rows)["disagreements"]
    assert sum(found.values()) == 1304 - 1159
    assert [(tuple(name), n) for name, n in found.most_common(8)] == [
        (("subject", "adjective", "one", "neutral", "contradiction"), 10),
        (("subject", "not every", "one", "neutral", "reverse_entailment"), 9),
        (("object", "all but", "one", "forward_entailment", "neutral"), 9),
        (("verb", "not", "one", "neutral", "reverse_entailment"), 8),
        (("object", "adjective", "one", "contradiction", "neutral"), 7),
        (("object", "adjective", "both", "neutral", "forward_entailment"), 6),
        (("verb", "never", "one", "contradiction", "neutral"), 5),
        (("object", "no", "one", "contradiction", "neutral"), 5),
    ]


def test_reproduced_official_pairs_equal_card(rows):
    found = count_reproduced_pairs(rows)
    assert found.total() == 1289
    assert found[SAME] == 888
    assert found[ELSE] == 4


@pytest.mark.nightly
@pytest.mark.slow
def test_higher_bound_does_not_change_occurring_shapes(rows):
    shapes = set(build_official_logical_forms(rows))
    assert len(shapes) > 100
    for shape in shapes:
        bound = 6 if max(_iter_numbers(shape)) == 1 else 7
        assert set(find_truth_value_models(shape)) == set(find_truth_value_models(shape, bound)), shape


def _iter_numbers(shape):
    for clause in (shape.premise, shape.hypothesis):
        yield clause.subject.number
        if clause.object is not None:
            yield clause.object.number
