from unbag.baselines.natlog.labeler import NatlogResult
from unbag.baselines.natlog.relations import Relation
from unbag.challenge_sets.perturbations.augmentation import (
    MAY_FOLLOW,
    NO_PROOF,
    NOT_SYMMETRIC,
    create_reversed_generator,
    create_swapped_generator,
    get_proved_label,
    sample_generated_pairs,
)
from unbag.data.sources import Example

PAIRS = [
    Example("a", "A man sleeps in a bed.", "A man is awake.", "contradiction"),
    Example("b", "A man reads.", "A tall man reads a letter.", "neutral"),
    Example("c", "An old man in a hat reads a letter.", "A man is at home.", "neutral"),
    Example("d", "A poodle barks.", "A dog barks.", "entailment"),
]


def test_swapped_pairs_keep_only_symmetric_labels(parser):
    made = list(create_swapped_generator(PAIRS, parser).generate([0, 1, 2, 3], seed=1))
    assert made == [
        [("A man is awake.", "A man sleeps in a bed.", "contradiction")],
        MAY_FOLLOW,
        [("A man is at home.", "An old man in a hat reads a letter.", "neutral")],
        NOT_SYMMETRIC,
    ]
    assert list(create_swapped_generator(PAIRS, parser).generate([3, 0], seed=2)) == [made[3], made[0]]


class FixedLabeler:
    """A labeller with fixed verdicts that counts its calls."""

    def __init__(self, relations):
        self.relations, self.asked = relations, 0

    def iter_verdicts(self, premises, hypotheses):
        for pair in zip(premises, hypotheses, strict=True):
            self.asked += 1
            relation = self.relations.get(pair)
            yield NatlogResult(None, relation)


def test_reversed_pairs_require_proof_in_both_orders():
    forward, independence = Relation.FORWARD_ENTAILMENT, Relation.INDEPENDENCE
    known = {(pair.premise, pair.hypothesis): forward for pair in PAIRS}  # as d is labelled, unlike the others
    known |= {(pair.hypothesis, pair.premise): forward.converse for pair in PAIRS}
    labeller = FixedLabeler(known)
    maker = create_reversed_generator(PAIRS, labeller)
    expected = [NO_PROOF, NO_PROOF, NO_PROOF, [("A dog barks.", "A poodle barks.", "neutral")]]
    assert list(maker.generate(range(4), seed=1)) == expected
    assert labeller.asked == 5  # the reverse order only for d
    assert list(maker.generate([3, 2], seed=2)) == expected[:1:-1]
    assert labeller.asked == 5
    known["A dog barks.", "A poodle barks."] = independence
    assert list(create_reversed_generator(PAIRS, FixedLabeler(known)).generate([3], seed=1)) == [NO_PROOF]


def test_proved_label_of_independence_is_none():
    labels = {relation: get_proved_label(NatlogResult("neutral", relation)) for relation in Relation}
    assert labels.pop(Relation.INDEPENDENCE) is None
    assert {relation for relation, label in labels.items() if label == "neutral"} == {
        Relation.REVERSE_ENTAILMENT,
        Relation.COVER,
    }
    assert None not in labels.values()
    assert get_proved_label(NatlogResult(None, None)) is None


def test_real_reversed_pairs_have_proved_labels(parser, wordnet):
    from unbag.baselines.natlog.labeler import NatlogLabeler

    labeller = NatlogLabeler(parser, wordnet, wordnet.identity)
    kinds = [PAIRS[3], Example("e", "A dog is not barking.", "A dog is barking.", "contradiction")]
    assert [
        pair[1:4]
        for pair in sorted(sample_generated_pairs(create_reversed_generator(kinds, labeller), epoch=0, n_pairs=2))
    ] == [
        ("A dog barks.", "A poodle barks.", "neutral"),
        ("A dog is barking.", "A dog is not barking.", "contradiction"),
    ]
