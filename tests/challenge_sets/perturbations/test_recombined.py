import random
from collections import Counter, defaultdict

import pyarrow.parquet as pq
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
from unbag.data.labels import ENTAILMENT, LABELS, NEUTRAL, TWO_WAY
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


def _build_rows(parser, examples, sentences, **options):
    pool = build_sentence_pool(draw_filler_sentences(sentences), parser)
    return list(iter_recombined_rows(examples, pool, parser, **options))


@pytest.fixture(scope="module")
def real_examples(shared):
    [file] = (shared / "hub" / "datasets" / "stanfordnlp" / "snli" / "plain_text").glob("validation-*.parquet")
    rows = pq.read_table(file).slice(0, 3_000).to_pylist()
    return [
        Example(f"snli-{number}", row["premise"], row["hypothesis"], LABELS[row["label"]])
        for number, row in enumerate(rows)
        if row["label"] >= 0
    ]


@pytest.fixture(scope="module")
def real_pool(real_examples, parser):
    return build_sentence_pool(draw_filler_sentences(real_examples), parser)


def _build_real_rows(examples, pool, parser, **options):
    return list(iter_recombined_rows(examples, pool, parser, **options))


@pytest.fixture(scope="module")
def real_rows(real_examples, real_pool, parser):
    rows = _build_real_rows(real_examples, real_pool, parser, sizes=(1, 4, 16))
    assert len(rows) > 200
    return rows


def test_rows_of_one_claim_equal_manual_example(parser):
    """The documents have two sentences: the evidence, and the source of the exchanged words."""
    rows = _build_rows(parser, [CLAIM], _build_pairs(OTHERS[0], *OTHERS[4:6]), sizes=(1, 2))
    assert [row["id"] for row in rows] == [
        "claim#1#supported",
        "claim#1#removed",
        "claim#2#supported",
        "claim#2#subject",
        "claim#2#removed",
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
    assert [TWO_WAY[row["label"]] == "entailment" for row in rows] == [True, False, True, False, False]


@pytest.mark.parametrize(
    ("example", "reason"),
    [
        (CLAIM._replace(label="neutral"), NOT_ENTAILED),
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


def test_claims_without_donor_or_sentences_are_counted(parser):
    counts = Counter()
    assert not _build_rows(parser, [CLAIM], _build_pairs(*OTHERS[4:6]), counts=counts)
    assert counts == {f"excluded: {NO_DONOR}": 1}
    counts = Counter()
    assert not _build_rows(parser, [CLAIM], _build_pairs(OTHERS[0]), counts=counts), (
        "no sentence is left in the place of the evidence"
    )
    assert counts == {f"excluded: {FEW_SENTENCES}": 1}


def test_documents_larger_than_pool_are_skipped(parser):
    rows = _build_rows(parser, [CLAIM], _build_pairs(*OTHERS), sizes=(1, 4, 16))
    assert {row["k"] for row in rows} == {1, 4}


def test_paraphrase_of_claim_is_in_no_document(parser):
    rows = _build_rows(parser, [CLAIM], _build_pairs(*OTHERS, "A guy is waiting.", "A man is sleeping."), sizes=(4,))
    assert rows
    assert not any("guy" in row["premise"] or "man is sleeping" in row["premise"] for row in rows)


@pytest.mark.parametrize(
    ("sentences", "document"),
    [
        (["A dog ", "A cat."], "A dog. A cat."),
        (['He says "no."', "A cat!"], 'He says "no." A cat!'),
    ],
)
def test_join_sentences_ends_each_with_one_mark(sentences, document):
    assert join_sentences(sentences) == document


def test_pool_does_not_depend_on_order_or_duplicates():
    examples = _build_pairs(*OTHERS)
    drawn = draw_filler_sentences(examples, size=5)
    assert len(drawn) == 5
    shuffled = examples * 3
    random.Random(1).shuffle(shuffled)
    assert [text for _, text in draw_filler_sentences(shuffled, size=5)] == [text for _, text in drawn]
    assert draw_filler_sentences(examples, size=50)[:5] == drawn, "a larger pool begins with the smaller one"
    assert [text for _, text in draw_filler_sentences(examples, seed=1, size=5)] != [text for _, text in drawn]


def test_each_group_has_supported_and_other_claims(real_rows):
    groups = defaultdict(list)
    for row in real_rows:
        groups[row["group"]].append(row)
    for rows in groups.values():
        operations = [row["operation"] for row in rows]
        assert operations[0] == SUPPORTED
        assert operations[-1] == REMOVED
        assert (len(rows) > 2) == (rows[0]["k"] > 1)
        assert len({row["premise"] for row in rows[:-1]}) == 1
        assert [TWO_WAY[row["label"]] for row in rows] == ["entailment"] + ["not_entailment"] * (len(rows) - 1)


def test_document_contains_claim_words_unless_evidence_is_removed(real_rows):
    for row in real_rows:
        claim, document = collect_content_stems(row["hypothesis"]), collect_content_stems(row["premise"])
        if row["operation"] == REMOVED:
            assert expand_stems(document).isdisjoint(claim), row["id"]
        else:
            assert claim <= document, row["id"]


def test_evidence_and_donor_positions_match_columns(real_rows, real_examples):
    premises = {example.source_id: join_sentences([example.premise]) for example in real_examples}
    for row in real_rows:
        evidence = premises[row["source_id"]]
        assert (evidence in row["premise"]) == (row["operation"] != REMOVED)
        if row["operation"] in EXCHANGES:
            donor = premises[row["donor_id"]]
            assert donor in row["premise"]
            order = row["premise"].index(donor) < row["premise"].index(evidence)
            assert order == (row["donor_position"] < row["position"])
            assert collect_content_stems(row["replacement"]) <= collect_content_stems(donor)
            assert collect_content_stems(row["replacement"]).isdisjoint(collect_content_stems(evidence))
            assert collect_content_stems(row["hypothesis"]) <= collect_content_stems(evidence) | collect_content_stems(
                row["replacement"]
            )


def test_row_depends_only_on_example_and_pool(real_rows, real_examples, real_pool, parser):
    """Other examples, their order and their distribution to processes have no effect, but the seed does."""
    shuffled = list(real_examples)
    random.Random(3).shuffle(shuffled)
    halves = [shuffled[: len(shuffled) // 2], shuffled[len(shuffled) // 2 :]]
    found = {row["id"]: row for half in halves for row in _build_real_rows(half, real_pool, parser, sizes=(1, 4, 16))}
    assert found == {row["id"]: row for row in real_rows}
    few = [example for example in real_examples if example.label == "entailment"][:300]
    [again, other] = [_build_real_rows(few, real_pool, parser, sizes=(4,), seed=seed) for seed in (13, 14)]
    assert {row["id"]: row for row in again}.items() <= found.items()
    assert [row["premise"] for row in again] != [row["premise"] for row in other]


@pytest.fixture(scope="module")
def examples(shared, real_premises):
    [file] = (shared / "hub" / "datasets" / "stanfordnlp" / "snli" / "plain_text").glob("validation-*.parquet")
    rows = pq.read_table(file).slice(0, 3 * len(real_premises)).to_pylist()
    return [
        Example(str(i), row["premise"], row["hypothesis"], LABELS[row["label"]])
        for i, row in enumerate(rows)
        if row["label"] >= 0 and row["premise"] in set(real_premises)
    ]


@pytest.fixture(scope="module")
def generator(examples, parser):
    return create_recombined_generator(examples, parser)


def test_recombined_pairs_are_rows_of_set(generator, examples, parser):
    """A supported claim is entailed. Exchanged claims and removed evidence are neutral."""
    seed = 5
    usable = (example for example in examples if not is_official_sentence(example.premise))
    pool = build_sentence_pool(draw_filler_sentences(usable), parser)
    made = list(generator.generate(range(len(examples)), seed))
    assert len(made) == len(examples)
    counts = Counter()
    for example, result in zip(examples, made, strict=True):
        if isinstance(result, str):
            continue
        [pair] = result
        [claim] = parser.parse([example.hypothesis])
        rows = build_claim_rows(example, claim, pool, sizes=SIZES, seed=seed)
        [row] = [row for row in rows if (row["premise"], row["hypothesis"]) == pair[:2]]
        assert pair.label == (ENTAILMENT if row["operation"] == "supported" else NEUTRAL)
        assert (join_sentences([example.premise]) in pair.premise) == (row["operation"] != "removed")
        counts[row["operation"]] += 1
    assert {"supported", "removed", "subject"} <= set(counts)
    assert counts["supported"] > 3


def test_recombined_pairs_depend_on_epoch_and_seed(generator):
    first = [pair[1:3] for pair in sample_generated_pairs(generator, epoch=0, n_pairs=12, seed=1)]
    assert first == [pair[1:3] for pair in sample_generated_pairs(generator, epoch=0, n_pairs=12, seed=1)]
    assert first != [pair[1:3] for pair in sample_generated_pairs(generator, epoch=1, n_pairs=12, seed=1)]
    assert first != [pair[1:3] for pair in sample_generated_pairs(generator, epoch=0, n_pairs=12, seed=2)]


def test_recombined_documents_have_no_official_sentence(examples, parser, monkeypatch):
    official = set(sorted({example.premise for example in examples})[::2])
    module = "unbag.challenge_sets.perturbations.recombined"
    monkeypatch.setattr(f"{module}.is_official_sentence", official.__contains__)
    generator = create_recombined_generator(examples, parser)
    counts = Counter()
    for pair in sample_generated_pairs(generator, epoch=0, n_pairs=10, counts=counts):
        assert not any(
            join_sentences([sentence]) in pair.premise for sentence in official if is_single_statement(sentence)
        )
    assert counts[OFFICIAL] > 0
