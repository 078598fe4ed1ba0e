"""The default suite: all challenge sets, with as many examples as a small model answers in minutes on a laptop.

An example is drawn with everything made from it, all permutations say, by the seed and its id alone (`built`), so the
sample depends neither on the number of processes nor on what else is evaluated.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from unbag import sets
from unbag.corpora import CORPORA
from unbag.request import Request

SAMPLES: Final[Mapping[str, int]] = {
    "plain": 2000,
    "swapped": 1000,
    "breaking_nli": 2000,
    "sicck": 100,  # seeds, of which the authors' pairs have fifteen: all of them
    "soswap_addamod": 1000,
    "cs_lambda": 3000,  # few have words that mislead
    "resnli": 2000,  # a hundred in each partition
    "permuted": 300,  # times 101 rows
}
"""Source examples drawn from each set, in the order of evaluation: what is cheap to make and to ask comes first."""

DEFAULT_SAMPLE: Final = 1000
"""Source examples drawn from a set that is not among `SAMPLES`."""

_LEXICAL: Final[Mapping[str, Any]] = {"training": ("snli",), "pairs": 20_000}
"""What the lexical model of CS_λ is fitted to in the suite: tagging a million sentences would take the longest."""


def names() -> list[str]:
    """Return the names of all challenge sets in the order of evaluation."""
    known = sets.names()
    return [*(name for name in SAMPLES if name in known), *(name for name in known if name not in SAMPLES)]


def request(name: str) -> Request:
    """Return the request for all of a set as it is by default."""
    config, options = sets.config_name(name, None, None, {})
    return Request(name, config, options)


def sampled(request: Request) -> Request:
    """Return a request for the suite's sample of what another one asks for; what that one says itself stays."""
    options = dict(request.options)
    if request.name == "cs_lambda" and not {*_LEXICAL, "lexical"} & set(options) and _is_english_corpus(request):
        options |= _LEXICAL
    examples = SAMPLES.get(request.name, DEFAULT_SAMPLE) if request.examples is None else request.examples
    return replace(request, options=options, examples=examples)


def requests() -> list[Request]:
    """Return the default suite."""
    return [sampled(request(name)) for name in names()]


def _is_english_corpus(request: Request) -> bool:
    corpus = CORPORA.get((request.config or "").split("-")[0])
    return corpus is not None and corpus.language == "en"
