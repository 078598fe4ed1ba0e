"""Results onto a model that is on the Hub already: files of `.eval_results`, and a `model-index` in the card there."""

from collections.abc import Sequence
from typing import Final

from unbag.challenge_sets.results import Result
from unbag.hub import cards, eval_results
from unbag.hub.cards import split_card
from unbag.hub.ownership import is_own_head, select_model_results
from unbag.hub.push import Publication

MESSAGE: Final = "Add results on challenge sets that are held against bags of words"
"""Of the commit; the title by which one's own open pull request is found again."""

_INDEX: Final = "model-index"


def model_results_publication(
    repo: str, results: Sequence[Result], organisation: str, about: eval_results.ResultContext | None = None
) -> Publication:
    """Return what adds results to a model's repository; the rest of its card stays as it is, to the byte.

    Args:
        repo: the model.
        results: among them results of the model; those of others are not looked at.
        organisation: where the challenge sets are published.
        about: as `eval_results.files` takes it.

    Raises:
        ValueError: if none of the results is the model's, or none is of a challenge set's own pairs.
    """
    own = [result for result in select_model_results(repo, results) if is_own_head(result)]
    index = eval_results.build_model_index(own, organisation)
    if not index:
        raise ValueError(
            f"expected results of {repo} on a published challenge set, found only those of pairs of your own or of "
            "another head"
        )
    name = repo.partition("/")[2]

    def card(existing: bytes | None) -> bytes:
        text = (existing or b"").decode()
        merged = eval_results.merge_model_index(split_card(existing)[0].get(_INDEX), name, index)
        return cards.set_entry(text, _INDEX, merged).encode()

    return Publication(
        repo, "model", {"README.md": card, **eval_results.build_eval_results(own, organisation, about)}, MESSAGE
    )
