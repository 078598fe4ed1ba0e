"""Fixtures of the perturbation tests: manually written parses, and parses of real premises."""

import pyarrow.parquet as pq
import pytest

from unbag.challenge_sets.perturbations.addamod import AdjectiveCounts
from unbag.data.text.parses import Parse

REAL_PREMISES = 600


@pytest.fixture(scope="session")
def real_premises(shared):
    [file] = (shared / "hub" / "datasets" / "stanfordnlp" / "snli" / "plain_text").glob("validation-*.parquet")
    return list(dict.fromkeys(pq.read_table(file)["premise"].to_pylist()))[:REAL_PREMISES]


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
