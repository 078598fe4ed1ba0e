"""Tests of SOSwap, and of the rows and training pairs of SOSwap and AddAmod."""

from collections import Counter

import pytest

from tests.challenge_sets.perturbations.conftest import build_parse
from unbag.challenge_sets.perturbations.augmentation import (
    create_addamod_generator,
    create_soswap_generator,
    sample_generated_pairs,
)
from unbag.challenge_sets.perturbations.clauses import ATTACHED, BROKEN, LATER_VERB
from unbag.challenge_sets.perturbations.soswap import SwappedSentence, swap_subject_and_object
from unbag.challenge_sets.perturbations.soswap_addamod import (
    OTHER_WORDS,
    build_soswap_addamod_operators,
    count_adjectives,
    iter_soswap_addamod_rows,
    swap_within_vocabulary_half,
)
from unbag.challenge_sets.perturbations.vocabulary_split import HELD_OUT, TRAINING
from unbag.data.labels import LABELS
from unbag.data.sources import Example, open_data
from unbag.data.text.tokens import tokenize

BE = {"is", "are", "was", "were", "am", "be"}
CASES = [{"he", "him"}, {"she", "her"}, {"they", "them"}, {"i", "me"}, {"we", "us"}]


def test_name_keeps_capital_and_verbs_agree():
    parse = build_parse("""
        Anna  Anna  PROPN NNP 2 compound
        Smith Smith PROPN NNP 3 nsubj
        opens open  VERB  VBZ 3 ROOT
        two   two   NUM   CD  5 nummod
        boxes box   NOUN  NNS 3 dobj
        and   and   CCONJ CC  3 cc
        looks look  VERB  VBZ 3 conj
        +.    .     PUNCT .   3 punct
    """)
    assert swap_subject_and_object(parse).hypothesis == "Two boxes open Anna Smith and look."


@pytest.mark.parametrize(
    "predicate",
    [
        # "Three men seated | there | playing a drum": a participle parsed as past tense.
        ("seated seat VERB VBN 3 ROOT", "there there ADV RB 3 advmod", "a a DET DT 6 det", "drum drum NOUN NN 3 dobj"),
        (
            "started start VERB VBD 3 ROOT",
            *("playing play VERB VBG 3 xcomp", "a a DET DT 6 det", "drum drum NOUN NN 4 dobj"),
        ),
        # "They fetch a ring | chew toy": the object continues.
        (
            "fetch fetch VERB VBP 3 ROOT",
            *("a a DET DT 5 det", "ring ring NOUN NN 3 dobj", "chew chew VERB VB 3 dep"),
        ),
        # "… a cup | and dancing"
        (
            "hold hold VERB VBP 3 ROOT",
            *("a a DET DT 5 det", "cup cup NOUN NN 3 dobj", "and and CCONJ CC 5 cc", "dancing dance VERB VBG 5 conj"),
        ),
    ],
)
def test_soswap_misread_sentence_is_excluded(predicate):
    lines = ["Three three NUM CD 2 nummod", "men man NOUN NNS 3 nsubj", *predicate]
    assert swap_subject_and_object(build_parse("\n".join(lines))) == BROKEN


# Exclusion reasons, each with example sentences for the pipeline.
REFUSED = {
    "Is the man holding a bag?": "a question",
    "Hold the bag.": "an imperative",
    "There is a man with a bag.": "an expletive (there is, here we have)",
    "A bag is carried by a man.": "a passive",
    "The man is a teacher.": "a copula",
    "A man in a hat": "a noun phrase or another fragment without a main verb",
    "Opening a box on the table.": "a verb without a subject",
    "The man, a teacher, opens a box.": "punctuation within a phrase",
    "The man paints himself.": "a reflexive or reciprocal",
    "The man is feeding another man.": "a phrase that refers to the other (another, own)",
    "The man gives her a box.": "an indirect object before the direct one",
    "The man might open a box.": "a modal verb",
    "The man does not open the box.": "a negation",
    "A girl is pushing the girl.": "both phrases have the same words",
    "He picked up a box.": "a pronoun that cannot move",
    "A man holds a orange ladder.": "a determiner that does not fit its noun",
    "The men holds a ladder.": "a verb that does not agree with its subject",
    "The boys swim underwater near a boat.": "objects of prepositions only",
    "The boy is sitting Indian style.": "a verb without an object",
    "The man is holding a child's hand.": "an object that is a part of the body (raise a hand)",
    "Two men are playing chess.": "an object that is not a thing (play a game, take a nap)",
    "The man is holding a baby.": "a verb that may hold in both directions",
    "The child slides down a big slide.": "an object that belongs to a preposition (walks down the road)",
    "The man is sitting reading a book.": LATER_VERB,
    "The man carries a plate with food on it.": ATTACHED,
    "The man is painting ladder.": "a phrase that lacks its determiner",
    "Anna opens a box.": "a first word that may be a name",
    "A girl holds a cup with water in it near a door.": BROKEN,
}


@pytest.mark.parametrize(("premise", "refusal"), REFUSED.items())
def test_soswap_excluded_premise_has_reason(parse, premise, refusal):
    assert swap_subject_and_object(parse(premise)) == refusal


@pytest.mark.parametrize(
    ("premise", "hypothesis"),
    [
        (
            "A tall man in a blue coat is pushing two bikes down the street.",
            "Two bikes are pushing a tall man in a blue coat down the street.",
        ),
        ("The woman who lives here feeds a dog.", "A dog feeds the woman who lives here."),
        ("He is feeding them.", "They are feeding him."),
        ("Men stand and carry a bus.", "A bus stands and carries men."),
        ("She is trying to open the box.", "The box is trying to open her."),
        ("The man sleeps while a dog eats his shoes.", "The man sleeps while his shoes eat a dog."),
        ("An Asian chef makes the soup", "The soup makes an Asian chef"),
        ('"A man opens a box."', '"A box opens a man."'),
        (
            "The two men stand near a bus and appear to watch a film.",
            "A film stands near a bus and appears to watch the two men.",
        ),
        # A phrase that may modify the verb or the object stays in place.
        ("The dog carries a ball in its mouth.", "A ball carries the dog in its mouth."),
        # One subject that the parser splits in two.
        (
            "A man in a black jacket and blue jeans is holding a coffee cup.",
            "A coffee cup is holding a man in a black jacket and blue jeans.",
        ),
        ("A woman chases away two geese.", "Two geese chase away a woman."),
    ],
)
def test_swapped_sentences_equal_manual_examples(parse, premise, hypothesis):
    assert swap_subject_and_object(parse(premise)).hypothesis == hypothesis


def test_swap_names_phrases_and_words(parse):
    assert swap_subject_and_object(parse("A girl sits and reads books.")) == SwappedSentence(
        "Books sit and read a girl.", "A girl", "books", repaired=True, lemmas=("read", "girl", "book")
    )


def test_swap_keeps_words_except_inflection_and_capitals(real_parses):
    """In real premises, only the number of a verb and the case of a pronoun may change."""
    swaps = [(str(parse), swap_subject_and_object(parse)) for parse in real_parses]
    swaps = [(premise, swap) for premise, swap in swaps if isinstance(swap, SwappedSentence)]
    assert len(swaps) > len(real_parses) / 10
    for premise, swap in swaps:
        before, after = (Counter(tokenize(text.lower()).texts) for text in (premise, swap.hypothesis))
        lost, won = before - after, after - before
        assert bool(lost) == swap.repaired
        stems = [sorted(map(_strip_inflection, words.elements())) for words in (lost, won)]
        assert stems[0] == stems[1], (premise, swap)


def _strip_inflection(word):
    for case in CASES:
        if word in case:
            return min(case)
    if word in BE:
        return "be"
    word = {"has": "have"}.get(word, word)
    # A crude stem: carries and carry, watches and watch are equal.
    return word.removesuffix("s").removesuffix("e").removesuffix("i").removesuffix("y")


def build_clause(*tail, verb="chases chase", before=()):
    """Build the parse of "A dog chases a cat" with tokens before and after. Heads of the tail are relative to the
    clause.
    """
    article = "a a" if before else "A a"
    clause = [f"{article} DET DT 2 det", "dog dog NOUN NN 3 nsubj", f"{verb} VERB VBZ 3 ROOT"]
    clause += ["a a DET DT 5 det", "cat cat NOUN NN 3 dobj", *tail]
    lines = [line.split() for line in clause]
    moved = [" ".join([*line[:4], str(int(line[4]) + len(before)), line[5]]) for line in lines]
    return build_parse("\n".join([*before, *moved]))


STOP = "+. . PUNCT . 3 punct"
COMMA = "+, , PUNCT , 3 punct"


@pytest.mark.parametrize(
    ("parse", "reason"),
    [
        (build_clause('+" " PUNCT \'\' 3 punct', STOP), "a quotation"),
        (build_clause("more more ADV RBR 3 advmod", "than than ADP IN 6 prep", "birds bird NOUN NNS 7 pobj", STOP),
         "a comparison (more than)"),
        (build_clause(STOP, verb="has have"), "an object that is not a thing (play a game, take a nap)"),
        (build_clause(STOP, verb="promises promise"), "an indirect object before the direct one"),
        (build_clause(COMMA, "the the DET DT 8 det", "pet pet NOUN NN 3 npadvmod", STOP), BROKEN),
        (build_clause("+-significantly significantly ADV RB 3 advmod", STOP), BROKEN),
        (build_clause(STOP, before=["Printed print VERB VBN 4 advcl"]), BROKEN),
        (build_clause(STOP, before=["Gate gate PROPN NNP 4 npadvmod"]), BROKEN),
        # "… a cat, and ultimately a bird": the parser misses that the last noun is part of the object.
        (build_clause(COMMA, "and and CCONJ CC 3 cc", "ultimately ultimately ADV RB 3 advmod", "a a DET DT 10 det",
                      "bird bird NOUN NN 3 conj", STOP), BROKEN),
    ],
)  # fmt: skip
def test_written_text_excludes_sentences_that_captions_keep(parse, reason):
    assert isinstance(swap_subject_and_object(parse), SwappedSentence)
    assert swap_subject_and_object(parse, is_written_text=True) == reason


@pytest.mark.parametrize(
    "tail",
    [
        ("in in ADP IN 3 prep", "May May PROPN NNP 6 pobj", STOP),
        (COMMA, "and and CCONJ CC 3 cc", "runs run VERB VBZ 3 conj", STOP),
    ],
)
def test_written_text_swaps_plain_clauses_like_captions(tail):
    parse = build_clause(*tail, before=("Then then ADV RB 4 advmod",))
    swap = swap_subject_and_object(parse)
    assert isinstance(swap, SwappedSentence)
    assert swap_subject_and_object(parse, is_written_text=True) == swap


def test_swap_requires_words_of_requested_half(parse):
    swap = swap_subject_and_object(parse("A man is chasing a dog."))
    in_half = [swap_within_vocabulary_half(parse("A man is chasing a dog."), half) for half in (TRAINING, HELD_OUT)]
    assert in_half == [swap, OTHER_WORDS]


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
