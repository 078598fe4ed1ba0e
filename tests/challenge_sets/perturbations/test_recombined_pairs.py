"""Tests of the training pairs of the recombined set, which have three labels."""

from collections import Counter

import pyarrow.parquet as pq
import pytest

from unbag.challenge_sets.perturbations.augmentation import OFFICIAL, sample_generated_pairs
from unbag.challenge_sets.perturbations.recombined import (
    SIZES,
    build_claim_rows,
    build_sentence_pool,
    create_recombined_generator,
    draw_filler_sentences,
    is_single_statement,
    join_sentences,
)
from unbag.challenge_sets.perturbations.vocabulary_split import is_official_sentence
from unbag.data.labels import ENTAILMENT, LABELS, NEUTRAL
from unbag.data.sources import Example


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
