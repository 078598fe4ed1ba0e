import random
from collections import Counter, defaultdict

import pytest

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
