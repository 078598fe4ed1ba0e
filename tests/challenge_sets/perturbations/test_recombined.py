"""Tests of recombined claims and documents, and of the arguments that claims exchange."""

import random
from collections import Counter, defaultdict

import pytest

from tests.challenge_sets.perturbations.conftest import build_parse
from unbag.challenge_sets.perturbations.arguments import (
    Argument,
    ArgumentRole,
    find_claim_arguments,
    is_counted_noun_unique,
    is_valid_replacement,
    iter_replacement_arguments,
    replace_argument,
)
from unbag.challenge_sets.perturbations.augmentation import OFFICIAL, sample_generated_pairs
from unbag.challenge_sets.perturbations.content_words import collect_content_stems, expand_stems
from unbag.challenge_sets.perturbations.recombined import (
    EXCHANGES,
    FEW_SENTENCES,
    LONG_EVIDENCE,
    NO_DONOR,
    NOT_ENTAILED,
    OTHER_WORDS,
    REMOVED,
    SIZES,
    SUPPORTED,
    UNREAL,
    build_claim_rows,
    build_sentence_pool,
    create_recombined_generator,
    draw_filler_sentences,
    find_example_exclusion_reason,
    is_single_statement,
    iter_recombined_rows,
    join_sentences,
)
from unbag.challenge_sets.perturbations.vocabulary_split import is_official_sentence
from unbag.data.labels import ENTAILMENT, NEUTRAL, TWO_WAY
from unbag.data.sources import Example

CLAIM = Example("claim", "A man is carrying a ladder.", "A man is carrying a ladder.", "entailment")
OTHERS = [
    "A girl is waving a flag.",
    "A tall boy is carving a pumpkin.",
    "Three dogs are chasing a ball.",
    "A woman is painting a fence.",
    "Several people are sleeping.",
    "A cat is drinking milk.",
    "The horse is jumping.",
    "Two boys are throwing snowballs.",
]


def _build_pairs(*sentences):
    return [Example(f"p{number}", text, text, "neutral") for number, text in enumerate(sentences)]


def _build_rows(parser, sentences, **options):
    """Build the rows of `CLAIM` with documents of some sentences."""
    pool = build_sentence_pool(draw_filler_sentences(_build_pairs(*sentences)), parser)
    return list(iter_recombined_rows([CLAIM], pool, parser, **options))


@pytest.fixture(scope="module")
def real_pool(real_examples, parser):
    return build_sentence_pool(draw_filler_sentences(real_examples), parser)


@pytest.fixture(scope="module")
def real_rows(real_examples, real_pool, parser):
    rows = list(iter_recombined_rows(real_examples, real_pool, parser, sizes=(1, 4, 16)))
    assert len(rows) > 200
    return rows


def test_rows_of_one_claim_equal_manual_example(parser):
    """The documents have two sentences: the evidence, and the source of the exchanged words."""
    rows = _build_rows(parser, [OTHERS[0], *OTHERS[4:6]], sizes=(1, 2))
    assert [(row["id"], TWO_WAY[row["label"]]) for row in rows] == [
        ("claim#1#supported", "entailment"),
        ("claim#1#removed", "not_entailment"),
        ("claim#2#supported", "entailment"),
        ("claim#2#subject", "not_entailment"),
        ("claim#2#removed", "not_entailment"),
    ]
    one, none, supported, exchanged, removed = rows
    assert one["premise"] == CLAIM.premise
    assert none["premise"] in OTHERS
    assert sorted(supported["premise"].replace(". ", ".|").split("|")) == sorted([CLAIM.premise, OTHERS[0]])
    assert exchanged["premise"] == supported["premise"]
    assert exchanged["hypothesis"] == "A girl is carrying a ladder."
    assert (exchanged["replaced"], exchanged["replacement"]) == ("a man", "a girl")
    assert exchanged["donor_id"] == "p0"
    assert {exchanged["donor_position"], exchanged["position"]} == {0, 1}
    assert CLAIM.premise not in removed["premise"]
    assert removed["hypothesis"] == CLAIM.hypothesis


@pytest.mark.parametrize(
    ("example", "reason"),
    [
        (CLAIM._replace(label="not_entailment"), NOT_ENTAILED),
        (CLAIM._replace(hypothesis="A man is carrying a tall ladder."), OTHER_WORDS),
        (CLAIM._replace(premise="Look. A man is carrying a ladder."), LONG_EVIDENCE),
        (CLAIM._replace(premise="A man is about to be carrying a ladder."), UNREAL),
        (CLAIM._replace(hypothesis="A man man is carrying a ladder."), UNREAL),
        (CLAIM, None),
    ],
)
def test_find_exclusion_returns_reason(example, reason):
    assert find_example_exclusion_reason(example) == reason


@pytest.mark.parametrize(
    ("sentences", "reason"),
    [(OTHERS[4:6], NO_DONOR), (OTHERS[:1], FEW_SENTENCES)],  # no sentence is left in the place of the evidence
)
def test_claims_without_donor_or_sentences_are_counted(parser, sentences, reason):
    counts = Counter()
    assert not _build_rows(parser, sentences, counts=counts)
    assert counts == {f"excluded: {reason}": 1}


def test_documents_omit_paraphrases_and_sizes_above_pool(parser):
    rows = _build_rows(parser, [*OTHERS, "A guy is waiting.", "A man is sleeping."], sizes=(1, 4, 16))
    assert {row["k"] for row in rows} == {1, 4}
    assert not any("guy" in row["premise"] or "man is sleeping" in row["premise"] for row in rows)


def test_join_sentences_ends_each_with_one_mark():
    assert join_sentences(['He says "no."', "A cat!", "A dog "]) == 'He says "no." A cat! A dog.'


def test_pool_does_not_depend_on_order_or_duplicates():
    examples = _build_pairs(*OTHERS)
    drawn = draw_filler_sentences(examples, size=5)
    assert len(drawn) == 5
    shuffled = random.Random(1).sample(examples * 3, 3 * len(examples))
    assert [text for _, text in draw_filler_sentences(shuffled, size=5)] == [text for _, text in drawn]
    assert draw_filler_sentences(examples, size=50)[:5] == drawn, "a larger pool begins with the smaller one"
    assert draw_filler_sentences(examples, seed=1, size=5) != drawn


def test_each_group_has_supported_and_other_claims(real_rows):
    groups = defaultdict(list)
    for row in real_rows:
        groups[row["group"]].append(row)
    for rows in groups.values():
        operations = [row["operation"] for row in rows]
        assert (operations[0], operations[-1]) == (SUPPORTED, REMOVED)
        assert (len(rows) > 2) == (rows[0]["k"] > 1)
        assert len({row["premise"] for row in rows[:-1]}) == 1
        assert [TWO_WAY[row["label"]] for row in rows] == ["entailment"] + ["not_entailment"] * (len(rows) - 1)


def test_documents_have_words_positions_and_donors_of_columns(real_rows, real_examples):
    premises = {example.source_id: join_sentences([example.premise]) for example in real_examples}
    for row in real_rows:
        evidence, document = premises[row["source_id"]], collect_content_stems(row["premise"])
        claim = collect_content_stems(row["hypothesis"])
        assert (evidence in row["premise"]) == (row["operation"] != REMOVED)
        if row["operation"] == REMOVED:
            assert expand_stems(document).isdisjoint(claim), row["id"]
        else:
            assert claim <= document, row["id"]
        if row["operation"] in EXCHANGES:
            donor, new = premises[row["donor_id"]], collect_content_stems(row["replacement"])
            assert donor in row["premise"]
            order = row["premise"].index(donor) < row["premise"].index(evidence)
            assert order == (row["donor_position"] < row["position"])
            assert new <= collect_content_stems(donor)
            assert new.isdisjoint(collect_content_stems(evidence))
            assert claim <= collect_content_stems(evidence) | new


def test_row_depends_only_on_example_pool_and_seed(real_rows, real_examples, real_pool, parser):
    entailed = [example for example in real_examples if example.label == "entailment"][:300][::-1]
    again, other = (
        {row["id"]: row for row in iter_recombined_rows(entailed, real_pool, parser, sizes=(4,), seed=seed)}
        for seed in (13, 14)
    )
    assert again.items() <= {row["id"]: row for row in real_rows}.items()
    assert list(again.values()) != list(other.values())


def test_recombined_pairs_are_rows_of_set(real_examples, parser):
    """A supported claim is entailed. Exchanged claims and removed evidence are neutral."""
    examples = real_examples[:1_700]
    generator = create_recombined_generator(examples, parser)
    usable = (example for example in examples if not is_official_sentence(example.premise))
    pool = build_sentence_pool(draw_filler_sentences(usable), parser)
    counts = Counter()
    for example, result in zip(examples, generator.generate(range(len(examples)), 5), strict=True):
        if isinstance(result, str):
            continue
        [pair] = result
        [claim] = parser.parse([example.hypothesis])
        rows = build_claim_rows(example, claim, pool, sizes=SIZES, seed=5)
        [operation] = [row["operation"] for row in rows if (row["premise"], row["hypothesis"]) == pair[:2]]
        assert pair.label == (ENTAILMENT if operation == SUPPORTED else NEUTRAL)
        counts[operation] += 1
    assert {SUPPORTED, REMOVED, "subject"} <= set(counts)
    assert counts[SUPPORTED] > 3


def test_recombined_documents_have_no_official_sentence(real_examples, parser, monkeypatch):
    examples = real_examples[:1_700]
    official = set(sorted({example.premise for example in examples})[::2])
    module = "unbag.challenge_sets.perturbations.recombined"
    monkeypatch.setattr(f"{module}.is_official_sentence", official.__contains__)
    generator = create_recombined_generator(examples, parser)
    counts = Counter()
    sentences = [join_sentences([sentence]) for sentence in official if is_single_statement(sentence)]
    for pair in sample_generated_pairs(generator, epoch=0, n_pairs=10, counts=counts):
        assert not any(sentence in pair.premise for sentence in sentences)
    assert counts[OFFICIAL] > 0


SUBJECT, OBJECT, NUMBER = ArgumentRole
VAGUE = "nothing specific besides subject and verb (sits, is outside, does a trick)"
NO_ARGUMENT = "no argument that is a plain noun phrase with a specific noun"


def _build_argument(role, noun, *, verb="", text="", is_plural=False):
    return Argument(role, text or f"a {noun}", noun, verb, is_plural, range(2))


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("A man is carrying a wooden ladder.", [(SUBJECT, "a man", "man"), (OBJECT, "a wooden ladder", "ladder")]),
        ("Two men are standing on a ladder.", [(SUBJECT, "two men", "man"), (NUMBER, "two", "man")]),
    ],
)
def test_claim_has_subject_object_and_number(parse, claim, expected):
    assert [(each.role, each.text, each.noun) for each in find_claim_arguments(parse(claim))] == expected


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("A man is standing on a street.", VAGUE),  # a place that may have another description
        ("A dog is doing a trick.", VAGUE),
        ("A person is performing.", NO_ARGUMENT),  # the subject is not specific either
        ("A men are carrying a ladder.", "a determiner that does not fit its noun"),
        ("A man are carrying a ladder.", "a verb that does not agree with its subject"),
        ("A man is not riding a horse.", "a negation, a question or a modal verb"),
        ("A man is riding his horse.", NO_ARGUMENT),  # the subject with a pronoun is kept
    ],
)
def test_unsuitable_claim_has_exclusion_reason(parse, claim, reason):
    assert find_claim_arguments(parse(claim)) == reason


def _parse_walk(bound, after=""):
    """Parse "A man walks BOUND three blocks AFTER", where all words of the bound depend on the number."""
    before, behind = bound.split(), after.split()
    number = 3 + len(before)
    lines = ["A a DET DT 2 det", "man man NOUN NN 3 nsubj", "walks walk VERB VBZ 3 ROOT"]
    lines += [f"{word} {word} ADV RB {number + 1} advmod" for word in before]
    lines += [f"three three NUM CD {number + 2} nummod", "blocks block NOUN NNS 3 npadvmod"]
    lines += [f"{word} {word} ADV RB {number + 2} advmod" for word in behind]
    return build_parse("\n".join(lines))


@pytest.mark.parametrize(
    ("bound", "after"),
    [
        ("less than", ""),
        ("over", ""),
        ("", "or more"),
        ("", "at most"),
    ],
)
def test_bounded_number_is_not_exchanged(bound, after):
    found = find_claim_arguments(_parse_walk(bound, after))
    # "no" negates the claim, and "more" or "most" refer to the context, so no argument of the claim is exchanged.
    refers = {"no", "more", "most"} & set(f"{bound} {after}".split())
    assert isinstance(found, str) if refers else [each.role for each in found] == [SUBJECT]
    assert NUMBER not in {each.role for each in iter_replacement_arguments(_parse_walk(bound, after))}


def test_number_of_time_period_is_exchanged_only_in_donors():
    parse = _parse_walk("the last")
    found = find_claim_arguments(parse)
    assert isinstance(found, str) or [each.role for each in found] == [SUBJECT]
    assert NUMBER in {each.role for each in iter_replacement_arguments(parse)}


@pytest.mark.parametrize("before", ["", "only"])
def test_number_without_bound_is_exchanged(before):
    assert (NUMBER, "three") in {(each.role, each.text) for each in find_claim_arguments(_parse_walk(before))}


def test_donor_arguments_are_lowercase_plain_phrases(parse):
    def find_arguments(sentence):
        return {(each.role, each.text) for each in iter_replacement_arguments(parse(sentence))}

    assert find_arguments("A young woman is carrying three ladders.") == {
        (SUBJECT, "a young woman"),
        (OBJECT, "three ladders"),
        (NUMBER, "three"),
    }
    assert find_arguments("The girls are holding another flag.") == {(SUBJECT, "the girls")}
    assert find_arguments("A boy is taking a nap.") == {(SUBJECT, "a boy")}, "a nap is not acted on"
    assert find_arguments("A men is holding a flag.") == set(), "the determiner does not fit"


@pytest.mark.parametrize(
    ("old", "new", "fits"),
    [
        ("man", "woman", True),
        ("woman", "girl", False),  # a young woman can be called a girl
        ("child", "boy", False),
        ("man", "person", False),
        ("man", "chef", False),  # a man can be a chef
        ("chef", "soldier", True),
        ("dog", "cat", True),
        ("dog", "animal", False),
        ("dog", "man", False),  # a different kind of subject
        ("car", "boat", False),  # boats do not do everything that cars do
        ("ladder", "flag", False),  # things that do not act
    ],
)
def test_can_replace_accepts_mutually_exclusive_subjects(old, new, fits):
    assert is_valid_replacement(_build_argument(SUBJECT, old), _build_argument(SUBJECT, new)) is fits


def test_can_replace_requires_same_grammatical_number():
    assert not is_valid_replacement(_build_argument(SUBJECT, "man"), _build_argument(SUBJECT, "woman", is_plural=True))


@pytest.mark.parametrize(
    ("verb", "old", "new", "objects", "fits"),
    [
        ("carry", "ladder", "flag", {("carry", "flag")}, True),
        ("carry", "ladder", "flag", {("wave", "flag")}, False),  # the verb never occurs with this object
        ("carry", "bicycle", "bike", {("carry", "bike")}, False),
        ("play", "guitar", "piano", (), True),  # the verb takes any instrument
        ("carry", "guitar", "piano", (), False),
        ("wear", "hat", "shirt", (), False),  # most people wear one
        ("wear", "hat", "red shirt", (), True),
    ],
)
def test_can_replace_accepts_exclusive_objects_of_same_verb(verb, old, new, objects, fits):
    replacement = _build_argument(OBJECT, new.split()[-1], text=f"a {new}")
    assert is_valid_replacement(_build_argument(OBJECT, old, verb=verb), replacement, set(objects)) is fits


@pytest.mark.parametrize(("old", "new", "fits"), [("two", "three", True), ("three", "two", False), ("2", "five", True)])
def test_can_replace_requires_larger_number(old, new, fits):
    numbers = [_build_argument(NUMBER, noun, text=text, is_plural=True) for noun, text in (("man", old), ("dog", new))]
    assert is_valid_replacement(*numbers) is fits


@pytest.mark.parametrize(
    ("sentence", "once"),
    [
        ("Two men carry a ladder.", True),
        ("Two men carry a ladder, and another follows.", False),
        ("A ladder.", False),
    ],
)
def test_is_counted_once_rejects_further_members(sentence, once):
    assert is_counted_noun_unique(sentence, _build_argument(NUMBER, "man", text="two")) is once


@pytest.mark.parametrize(
    ("claim", "donor", "role", "expected"),
    [
        ("A man is carrying a ladder.", "The girl is sleeping.", SUBJECT, "The girl is carrying a ladder."),
        ("a man is carrying a ladder", "The girl is sleeping.", SUBJECT, "the girl is carrying a ladder"),
        ("A man is carrying a ladder.", "A boy is waving a flag.", OBJECT, "A man is carrying a flag."),
        ("Two men are carrying a ladder.", "Four dogs are sleeping.", NUMBER, "Four men are carrying a ladder."),
    ],
)
def test_exchange_argument_changes_only_argument(parse, claim, donor, role, expected):
    parsed = parse(claim)
    [old] = [each for each in find_claim_arguments(parsed) if each.role is role]
    [new] = [each for each in iter_replacement_arguments(parse(donor)) if each.role is role]
    assert replace_argument(parsed, old, new) == expected


def test_exchange_argument_capitalizes_word_for_initial_digit():
    parse = build_parse("2 2 NUM CD 2 nummod\ndogs dog NOUN NNS 3 nsubj\nrun run VERB VBP 3 ROOT")
    old, new = (_build_argument(NUMBER, "dog", text=text, is_plural=True) for text in ("2", "four"))
    assert replace_argument(parse, old._replace(span=range(1)), new) == "Four dogs run"


def test_implied_stems_include_hypernyms_but_not_hyponyms():
    pairs = (("girl", "child"), ("poodle", "dog"), ("road", "street"), ("two", "2"), ("child", "girl"))
    implied = [collect_content_stems(above) <= expand_stems(collect_content_stems(word)) for word, above in pairs]
    assert implied == [True, True, True, True, False]
