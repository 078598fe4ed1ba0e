from collections import Counter

import pytest

from unbag.challenge_sets.perturbations.augmentation import (
    create_addamod_generator,
    create_soswap_generator,
    sample_generated_pairs,
)
from unbag.challenge_sets.perturbations.soswap_addamod import (
    build_soswap_addamod_operators,
    count_adjectives,
    iter_soswap_addamod_rows,
)
from unbag.data.labels import LABELS
from unbag.data.sources import Example, open_data

PREMISES = [
    "A man is pushing a red car.",
    "The dog sleeps.",
    "Two boys are painting a red house near a red car.",
    "A man is pushing a red car.",
    "A red dog is near a car and a house.",
    "A red dog is chasing a man with a car.",
]
EXAMPLES = [Example(f"p-{i}", text, "A red man sees a red house.", "neutral") for i, text in enumerate(PREMISES)]


@pytest.fixture(scope="module")
def adjectives(parser):
    return count_adjectives(
        [*EXAMPLES, Example("x", "The red man has a red hat.", "A red house is red.", "neutral")], parser
    )


def _build_rows(parser, counts=None, **options):
    return list(iter_soswap_addamod_rows(EXAMPLES, parser, build_soswap_addamod_operators(**options), counts))


def test_each_distinct_premise_is_used_once_per_kind(parser, adjectives):
    counts = Counter()
    rows = _build_rows(parser, adjectives=adjectives, counts=counts)
    assert [row["id"] for row in rows if row["kind"] == "soswap"] == ["p-0#soswap", "p-2#soswap", "p-5#soswap"]
    assert counts["premises"] == 5
    assert len({row["id"] for row in rows}) == len(rows) == counts["soswap"] + counts["addamod"]
    for kind in ("soswap", "addamod"):
        assert sum(n for name, n in counts.items() if name.startswith(kind)) == 5


def test_single_kind_has_same_rows_as_both(parser, adjectives):
    both = _build_rows(parser, adjectives=adjectives)
    for kind in ("soswap", "addamod"):
        assert _build_rows(parser, adjectives=adjectives, kind=kind) == [row for row in both if row["kind"] == kind]


def test_repeated_sentence_is_counted_once(parser):
    once, often = (count_adjectives(EXAMPLES[:2] * times, parser) for times in (1, 5))
    assert once.find_shared("car", "house", 1) == often.find_shared("car", "house", 1) == {"red": 1}


@pytest.mark.nightly
@pytest.mark.slow
def test_number_of_snli_swaps_equals_card(snli_validation, parser):
    """The card states 380 swaps (the paper has 971). Other parser versions may parse a few sentences differently."""
    counts = Counter()
    examples = open_data(snli_validation, labels=LABELS).iter_examples()
    rows = iter_soswap_addamod_rows(examples, parser, build_soswap_addamod_operators("soswap"), counts)
    assert len(list(rows)) == counts["soswap"]
    assert counts["premises"] == 3319 == sum(n for name, n in counts.items() if name.startswith("soswap"))
    assert counts["soswap"] == pytest.approx(380, abs=10)


@pytest.mark.parametrize(("kind", "label"), [("soswap", "contradiction"), ("addamod", "neutral")])
def test_sample_epoch_depends_on_seed_and_epoch(parser, real_premises, real_adjectives, kind, label):
    def sample_pairs(number, seed=13, pairs=40):
        maker = (
            create_soswap_generator(real_premises, parser)
            if kind == "soswap"
            else create_addamod_generator(real_premises, parser, adjectives=real_adjectives)
        )
        return list(sample_generated_pairs(maker, epoch=number, n_pairs=pairs, seed=seed))

    first = sample_pairs(1)
    assert len(first) == len({example.source_id for example in first}) == 40
    once = [example for example in first if example.source_id.endswith(".0")]  # before premises are repeated
    assert len({(example.premise, example.hypothesis) for example in once}) == len(once) >= 15
    assert {example.label for example in first} == {label}
    assert first[:25] == sample_pairs(1, pairs=25)
    assert first not in (sample_pairs(2), sample_pairs(1, seed=14))


class CountingParser:
    """A parser that lists the sentences that it parses."""

    def __init__(self, parser):
        self.parser, self.parsed = parser, []

    def parse(self, sentences):
        for sentence in sentences:
            self.parsed.append(sentence)
            yield from self.parser.parse([sentence])


def test_sample_epoch_is_lazy(real_premises, parser):
    """Premises beyond the requested pairs are neither parsed nor looked up in the cache."""
    counting = CountingParser(parser)
    pairs = sample_generated_pairs(create_soswap_generator(real_premises, counting), epoch=0, n_pairs=1000)
    assert not counting.parsed
    *_, last = [next(pairs) for _ in range(10)]
    assert len(set(counting.parsed)) == len(counting.parsed) < len(real_premises) / 2
    assert last.premise == counting.parsed[-1]


def test_sample_epoch_repeats_few_premises_and_parses_unsuitable_ones_once(parser):
    counting = CountingParser(parser)
    generator = create_soswap_generator([*dict.fromkeys(PREMISES)], counting)
    made = list(sample_generated_pairs(generator, epoch=0, n_pairs=8))
    assert len({example.source_id for example in made}) == 8
    assert Counter(Counter(example.premise for example in made).values()) == {3: 2, 2: 1}
    assert counting.parsed.count("The dog sleeps.") == 1


def test_sample_epoch_without_pairs_raises(parser):
    with pytest.raises(ValueError, match="pairs of the kind 'soswap', got 1 unsuitable premises or pairs"):
        list(sample_generated_pairs(create_soswap_generator(["The dog sleeps."], parser), epoch=0, n_pairs=1))
