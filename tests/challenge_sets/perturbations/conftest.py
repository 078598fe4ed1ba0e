"""Fixtures of the perturbation tests: manually written parses, and examples, premises and parses of SNLI."""

import pyarrow.parquet as pq
import pytest

from unbag.challenge_sets.perturbations.addamod import AdjectiveCounts
from unbag.data.labels import LABELS
from unbag.data.sources import Example
from unbag.data.text.parses import Parse


@pytest.fixture(scope="session")
def snli_validation(shared):
    [file] = (shared / "hub" / "datasets" / "stanfordnlp" / "snli" / "plain_text").glob("validation-*.parquet")
    return file


@pytest.fixture(scope="session")
def real_examples(snli_validation):
    rows = pq.read_table(snli_validation).slice(0, 3_000).to_pylist()
    return [
        Example(f"snli-{number}", row["premise"], row["hypothesis"], LABELS[row["label"]])
        for number, row in enumerate(rows)
        if row["label"] >= 0
    ]


@pytest.fixture(scope="session")
def real_premises(real_examples):
    return list(dict.fromkeys(example.premise for example in real_examples))[:600]


@pytest.fixture(scope="session")
def real_parses(parser, real_premises):
    return list(parser.parse(real_premises))


@pytest.fixture(scope="session")
def real_adjectives(real_parses):
    return AdjectiveCounts(real_parses)


@pytest.fixture
def parse(parser):
    """Return a function that parses one sentence."""
    return lambda sentence: next(iter(parser.parse([sentence])))


def build_parse(text):
    """Build a parse from lines with word, lemma, POS, tag, head and dependency.

    A leading + joins a word to the previous one. Heads are counted from 1, and the root is its own head.
    """
    rows = [line.split() for line in text.strip().splitlines()]
    words, lemmas, pos, tags, heads, deps = zip(*rows, strict=True)
    return Parse(
        words=tuple(word.removeprefix("+") for word in words),
        spaces=tuple(not following.startswith("+") for following in [*words[1:], "+"]),
        lemmas=lemmas,
        pos=pos,
        tags=tags,
        heads=tuple(int(head) - 1 for head in heads),
        deps=deps,
    )
