"""The default suite: all challenge sets, with as many examples as a small model answers in minutes on a laptop.

An example is drawn with everything made from it, all permutations say, by the seed and its id alone (`request`), so the
sample depends neither on the number of processes nor on what else is evaluated.
"""

from dataclasses import replace

from unbag import challenge_sets
from unbag.challenge_sets import loading
from unbag.challenge_sets.request import Request
from unbag.data.corpora import CORPORA


def names() -> list[str]:
    """Return the names of all challenge sets in the order of evaluation: what is cheap to make and to ask first."""
    return [each.name for each in challenge_sets.in_evaluation_order()]


def request(name: str) -> Request:
    """Return the request for all of a set as it is by default."""
    config, options = loading.config_name(name, None, None, {})
    return Request(name, config, options)


def sampled(request: Request) -> Request:
    """Return a request for the suite's sample of what another one asks for; what that one says itself stays."""
    described = challenge_sets.get(request.name)
    options = dict(request.options)
    explicit = {*described.sample_options, *described.sample_options_unless} & set(options)
    if not explicit and _is_english_corpus(request):
        options |= described.sample_options
    max_examples = described.sample if request.max_examples is None else request.max_examples
    return replace(request, options=options, max_examples=max_examples)


def _is_english_corpus(request: Request) -> bool:
    corpus = CORPORA.get((request.config or "").split("-")[0])
    return corpus is not None and corpus.language == "en"
