"""Tests of the negation pairs: an independent reader proves the labels, order-blind models score at most one half."""

import re
from collections import Counter, defaultdict
from functools import cache
from itertools import product

import pytest

from unbag.baselines.natlog.labeler import NatlogLabeler
from unbag.challenge_sets.perturbations.augmentation import get_proved_label, sample_generated_pairs
from unbag.challenge_sets.perturbations.negation import (
    CONTRACTED,
    NO,
    NOBODY,
    NOT,
    NOT_TRUE,
    TEMPLATES,
    THERE_IS_NO,
    build_negations,
    create_negated_generator,
    find_simple_clause,
    iter_negation_rows,
    iter_shortened_parses,
)
from unbag.challenge_sets.perturbations.negation_operations import (
    NO_CLAIM,
    OPERATIONS,
    OTHER_WORDS,
    build_negation_pairs,
)
from unbag.challenge_sets.perturbations.negation_words import (
    ADJECTIVES,
    DISTRACTOR_SENTENCES,
    PERSON_ANTONYMS,
    PERSON_PREFIXES,
    THING_ANTONYMS,
    THING_PREFIXES,
)
from unbag.challenge_sets.perturbations.vocabulary_split import HELD_OUT, TRAINING, get_vocabulary_half
from unbag.data.labels import CONTRADICTION, ENTAILMENT, NEUTRAL
from unbag.data.sources import Example

CLAIMS = (
    "The man is sleeping in a tent.",
    "The women were sleeping in a tent.",
    "The museum has been closed by the city.",
    "These villages will be connected to the network.",
)
"""Claims that take every operation, or every one but `hypernym`."""
OTHERS = (
    "A dog chased a ball in the garden.",
    "It was important to the lawyer.",
    "Three boys are running across the street.",
)
NO_CLAIMS = (
    "A man sings and a woman dances.",
    "The man is not sleeping in a tent.",
    "Is the man sleeping in a tent?",
    "When it rains, the man is sleeping in a tent.",
    "Every man is sleeping in a tent.",
    "The man was only sleeping in a tent.",
)


@pytest.fixture(scope="module")
def pairs(parser):
    """Return the pairs of all claims with several seeds, so that every word list is used."""
    parses = list(parser.parse([*CLAIMS, *OTHERS]))
    return [pair for parse in parses for seed in range(12) for pair in build_negation_pairs(parse, seed=seed)]


# A reader that shares no code with the operations. It splits a premise into statements, and enumerates all situations
# in which they are true.

_FRAME = re.compile(r"It is (not |)(?:true|the case|false|a fact|untrue|correct) that ")
_DETERMINER = re.compile(
    r"(No|Some of the|Some|Every|All of the|Not all of the|None of the|Not all|All|Not every|Not a single"
    r"|At least one|At most \w+|More than \w+) "
)
_NUMBERS = dict(zip("two three four five six".split(), range(2, 7), strict=True))
_OPPOSITES = {
    (each.stated, each.opposite) for each in (*PERSON_PREFIXES, *THING_PREFIXES, *PERSON_ANTONYMS, *THING_ANTONYMS)
}


def _split_statements(text):
    """Split a premise into statements without full stops."""
    if text.startswith("Although "):
        return text.removeprefix("Although ").rstrip(".").split(", ")
    parts = []
    for sentence in text.rstrip(".").split(". "):
        clause = re.fullmatch(r"(.+?),? (?:who|which) ((?:is|are|was|were|has|have|had) [^,]+?), (.+)", sentence)
        parts += [f"{clause[1]} {clause[2]}", f"{clause[1]} {clause[3]}"] if clause else [sentence]
    return parts


def _parse_literal(statement):
    """Parse a statement as (atom, truth value)."""
    truth = True
    if frame := _FRAME.match(statement):
        truth ^= bool(frame[1]) or "false" in frame[0] or "untrue" in frame[0]
        statement = statement[frame.end() :]
    words = statement.lower().rstrip(".").split()
    return " ".join(word for word in words if word != "not"), truth ^ ("not" in words)


def _determine_label(truths):
    """Determine the label from the truth of the hypothesis in all situations in which the premise is true."""
    return ENTAILMENT if all(truths) else NEUTRAL if any(truths) else CONTRADICTION


def _infer_label(premise, hypothesis):
    """Determine the label of a pair from all situations in which the statements of the premise are true."""
    known, (atom, truth) = [_parse_literal(each) for each in _split_statements(premise)], _parse_literal(hypothesis)
    atoms = sorted({atom, *(each for each, _ in known)})
    exclusive = [
        (one, other)
        for one, other in product(atoms, atoms)
        if any(one.endswith(f" {a}") and other == one.removesuffix(a) + b for a, b in _OPPOSITES)
    ]
    fitting = [
        world
        for values in product([False, True], repeat=len(atoms))
        if all((world := dict(zip(atoms, values, strict=True)))[a] == t for a, t in known)
        and not any(world[one] and world[other] for one, other in exclusive)
    ]
    assert fitting, premise
    return _determine_label([world[atom] == truth for world in fitting])


def _parse_quantified(statement, nouns):
    """Parse a statement as (determiner, whether the noun is the narrow one, predicate, whether it contains *not*)."""
    determiner = _DETERMINER.match(statement)
    rest = statement[determiner.end() :].rstrip(".")
    noun = max((each for each in nouns if rest.startswith(f"{each} ")), key=len)
    predicate = rest.removeprefix(noun).strip()
    return determiner[1], noun, predicate.replace(" not ", " "), " not " in predicate


def _is_true(determiner, inside, outside):
    """Evaluate a determiner, given how many of the noun are inside and outside the predicate."""
    words = determiner.split()
    if determiner in ("No", "None of the", "Not a single"):
        return inside == 0
    if determiner in ("Every", "All", "All of the"):
        return outside == 0
    if determiner in ("Not every", "Not all", "Not all of the"):
        return outside > 0
    if determiner in ("Some", "Some of the", "At least one"):
        return inside > 0
    return inside <= _NUMBERS[words[2]] if words[:2] == ["At", "most"] else inside > _NUMBERS[words[2]]


@cache
def _iter_situations():
    """Generate counts of narrow things inside and outside the predicate (at least one), and of other wide things."""
    return [each for each in product(range(8), range(2), range(8), range(2)) if each[0] + each[1]]


def _infer_quantified_label(premise, hypothesis, nouns, narrow):
    determiner, noun, predicate, is_negated = _parse_quantified(hypothesis, nouns)
    statements = [_parse_quantified(each, nouns) for each in _split_statements(premise)]
    about = [each for each in statements if each[2] == predicate]
    assert len(statements) == 2
    assert len(about) == 1

    def holds(world, determiner, noun, is_negated):
        inside, outside = world[0] + (noun not in narrow) * world[2], world[1] + (noun not in narrow) * world[3]
        return _is_true(determiner, *((outside, inside) if is_negated else (inside, outside)))

    fitting = [w for w in _iter_situations() if all(holds(w, d, n, neg) for d, n, _, neg in about)]
    assert fitting
    return _determine_label([holds(world, determiner, noun, is_negated) for world in fitting])


_SUBJECTS = ("man", "women", "museum", "villages", "dog", "boys")


def test_labels_equal_independent_reader(pairs):
    checked = Counter()
    distractors = {each.inflect_noun(is_plural=many) for each in DISTRACTOR_SENTENCES for many in (False, True)}
    above = {"person", "people", "animal"}
    plain = {*distractors, *_SUBJECTS}
    modified = {f"{adjective} {noun}" for adjective in ADJECTIVES for noun in plain}
    for pair in pairs:
        if pair.operation in ("quantifier", "hypernym", "modifier"):
            # The narrow noun is the noun itself for `hypernym`, and the noun with an adjective otherwise.
            narrow = plain if pair.operation == "hypernym" else modified
            label = _infer_quantified_label(pair.premise, pair.hypothesis, plain | modified | above, narrow)
        else:
            label = _infer_label(pair.premise, pair.hypothesis)
        entails = label == ENTAILMENT
        assert entails == (pair.label == ENTAILMENT), pair
        assert pair.three_way in (label, None), pair
        assert (pair.three_way is None) == (pair.operation == "prefix" and pair.mirror == 0 and not entails)
        checked[pair.operation, entails] += 1
    assert set(checked) == set(product(OPERATIONS, (False, True)))
    assert min(checked.values()) >= 12


def test_mirrors_hide_labels_from_bags_of_words_and_from_premises(pairs):
    """The two premises of a mirror have the same words, and each premise entails half of its hypotheses."""
    assert len(pairs) > 500
    for entailed, other in zip(pairs[::2], pairs[1::2], strict=True):
        assert entailed.hypothesis == other.hypothesis
        assert (entailed.label, other.label) == ("entailment", "not_entailment")
        assert _count_words(entailed.premise) == _count_words(other.premise)
        assert entailed.premise != other.premise
    labels = defaultdict(Counter)
    for pair in set(pairs):
        labels[pair.operation, pair.premise][pair.label] += 1
    assert all(counts["entailment"] == counts["not_entailment"] for counts in labels.values())


def _count_words(text):
    return Counter(re.findall(r"[\w-]+|[.,]", text.lower()))


def test_missing_full_stop_does_not_change_pairs(parse):
    given, bare = (build_negation_pairs(parse(text)) for text in (CLAIMS[0], CLAIMS[0].removesuffix(".")))
    assert {(pair.operation, pair.mirror) for pair in given} == {(pair.operation, pair.mirror) for pair in bare}
    assert all(pair.premise.endswith(".") for pair in bare)


def test_indefinite_subject_has_no_double_negation(parse):
    operations = {pair.operation for pair in build_negation_pairs(parse("A man is sleeping in a tent."))}
    assert operations == set(OPERATIONS) - {"double"}


def test_pronoun_claim_precedes_distractor_claim(parse):
    parsed = parse("It was important to the lawyer.")
    premises = [pair.premise for seed in range(20) for pair in build_negation_pairs(parsed, seed=seed)]
    assert all(premise.startswith("It ") for premise in premises)


def test_halves_share_no_premise_noun_or_negation(parser):
    halves = {}
    for words in (TRAINING, HELD_OUT):
        counts = Counter()
        halves[words] = _build_rows(parser, [*CLAIMS, *OTHERS], words=words, counts=counts)
        assert counts[f"excluded: {OTHER_WORDS}"] > 0
        assert {get_vocabulary_half(row["negation"]) for row in halves[words]} == {words}
    first, second = ({row["premise"] for row in rows} for rows in halves.values())
    assert first.isdisjoint(second)
    for each in DISTRACTOR_SENTENCES:
        pattern = rf"{each.noun}s? (is|are|was|were) {each.place}"
        used = {words for words, rows in halves.items() if any(re.search(pattern, row["premise"]) for row in rows)}
        assert used <= {get_vocabulary_half(each.noun)}


def test_negation_counts_include_premises_operations_and_exclusions(parser):
    counts = Counter()
    rows = _build_rows(parser, [*CLAIMS, *NO_CLAIMS, CLAIMS[0]], counts=counts)
    assert counts["premises"] == len(CLAIMS) + len(NO_CLAIMS), "a repeated premise counts once"
    assert counts["claims"] == len(CLAIMS)
    assert counts[f"excluded: {NO_CLAIM}"] == len(NO_CLAIMS)
    assert sum(counts[operation] for operation in OPERATIONS) == len(rows) == len({row["id"] for row in rows})
    assert set(Counter(row["mirror"] for row in rows).values()) == {2}


def _build_rows(parser, premises, **options):
    examples = [Example(str(number), text, text, "entailment") for number, text in enumerate(premises)]
    return list(iter_negation_rows(examples, parser, **options))


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (
            "A man is riding his horse.",
            {
                NOT: "A man is not riding his horse.",
                CONTRACTED: "A man isn't riding his horse.",
                NO: "No man is riding his horse.",
                THERE_IS_NO: "There is no man riding his horse.",
                NOT_TRUE: "It is not true that a man is riding his horse.",
            },  # "nobody" would leave the pronoun without a noun
        ),
        (
            "Two women carry bags",
            {
                NOT: "Two women do not carry bags",
                CONTRACTED: "Two women don't carry bags",
                NO: "No women carry bags",
                NOBODY: "Nobody carries bags",
                NOT_TRUE: "It is not true that two women carry bags",
            },
        ),
        (
            "His dog is in the garden.",
            {
                NOT: "His dog is not in the garden.",
                CONTRACTED: "His dog isn't in the garden.",
                NOT_TRUE: "It is not true that his dog is in the garden.",
            },
        ),
    ],
)
def test_each_template_negates_sentence(parse, sentence, expected):
    assert build_negations(find_simple_clause(parse(sentence))) == expected


@pytest.mark.parametrize(
    "sentence",
    [
        *("A man with a hat.", "No man is riding a horse.", "A man rides while a dog barks.", "Is a man riding?"),
        *("There is a man on a horse.", "Dog runs in snow.", "A man was riding a horse.", ""),
    ],
)
def test_plain_clause_other_sentences_are_none(parse, sentence):
    assert find_simple_clause(parse(sentence)) is None


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (
            "A young man is riding a horse in a field.",
            ["A man is riding a horse in a field.", "A young man is riding a horse."],
        ),
        ("An old dog quickly eats a bone", ["A dog quickly eats a bone", "An old dog eats a bone"]),
        ("A man is looking at a hot dog.", []),  # an object of "look at", and a compound noun
        ("Two boys sit on a bench.", []),  # "sit" says more than the remaining sentence
        ("A martial artist rides a bike.", []),  # a martial artist is no artist
    ],
)
def test_shortenings_remove_optional_modifiers(parse, sentence, expected):
    assert [str(each) for each in iter_shortened_parses(parse(sentence))] == expected


def test_negated_pairs_have_proved_labels_that_negations_do_not_reveal(parser, wordnet, real_premises):
    labeller = NatlogLabeler(parser, wordnet, wordnet.identity)
    labels_by_side = defaultdict(set)
    for words in (TRAINING, HELD_OUT):
        generator = create_negated_generator(real_premises, parser, labeller, words=words)
        pairs = list(sample_generated_pairs(generator, epoch=0, n_pairs=60))
        labels = [pair.label for pair in pairs]
        assert min(map(labels.count, ("entailment", "neutral", "contradiction"))) >= 10
        verdicts = labeller.iter_verdicts([pair.premise for pair in pairs], [pair.hypothesis for pair in pairs])
        assert [get_proved_label(verdict) for verdict in verdicts] == labels
        for pair in pairs:
            assert {get_vocabulary_half(name) for name in _templates(f"{pair.premise} {pair.hypothesis}")} == {words}
            side = tuple(re.search(r"\b(no|not|nobody)\b|n't", text.lower()) is not None for text in pair[1:3])
            labels_by_side[side].add(pair.label)
    assert labels_by_side == {  # by whether the premise and the hypothesis have a negation
        (True, False): {"contradiction", "neutral"},
        (False, True): {"contradiction", "neutral"},
        (True, True): {"entailment", "neutral"},
    }


def _templates(text):
    text = f" {text.lower()} "
    for template in TEMPLATES:
        if (f" {template} " in text or (template == CONTRACTED and "n't " in text)) and not (
            (template == NOT and NOT_TRUE in text) or (template == NO and " there are no" in text)
        ):
            yield template
    if " there are no" in text:
        yield THERE_IS_NO
