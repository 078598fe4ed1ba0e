"""Default suite: a sample of every challenge set, which a small model evaluates in minutes on a laptop.

A source example is drawn together with all rows made from it, e.g. all permutations. The draw depends only on the seed
and the example's id (`build_suite_request`), not on the number of processes or the other sets of the run.
"""

from dataclasses import replace

from unbag import challenge_sets
from unbag.challenge_sets import loading
from unbag.challenge_sets.request import SetRequest
from unbag.data.corpora import CORPORA


def list_suite_sets(*, from_text: bool = False) -> list[str]:
    """List the names of all challenge sets in evaluation order, cheap sets first.

    Args:
        from_text: Whether to list only the sets that can be made from a text.
    """
    if from_text:
        return challenge_sets.list_text_set_names()
    return [each.name for each in challenge_sets.list_challenge_sets()]


def build_suite_request(name: str) -> SetRequest:
    """Build a request for the complete set (no sampling) with default options."""
    config, options = loading.resolve_config(name, None, None, {})
    return SetRequest(name, config, options)


def apply_suite_sample(request: SetRequest) -> SetRequest:
    """Add the sample size and options of the suite to a request. Values set in the request take precedence."""
    challenge_set = challenge_sets.get_challenge_set(request.name)
    options = dict(request.options)
    explicit = {*challenge_set.sample_options, *challenge_set.sample_options_unless} & set(options)
    language = challenge_set.sample_options_language
    if not explicit and language in ("", _language_of_corpus(request)):
        options |= challenge_set.sample_options
    max_examples = challenge_set.sample if request.max_examples is None else request.max_examples
    return replace(request, options=options, max_examples=max_examples)


def _language_of_corpus(request: SetRequest) -> str | None:
    """Look up the language of the corpus; None for data of the user's own."""
    corpus = CORPORA.get((request.config or "").split("-")[0])
    return None if corpus is None else corpus.language
