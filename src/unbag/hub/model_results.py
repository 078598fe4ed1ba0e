"""Publishing of results in an existing model repository: `.eval_results` files and the card's `model-index`."""

from collections.abc import Sequence
from typing import Final

from unbag.challenge_sets.results import Result
from unbag.hub import cards, eval_results
from unbag.hub.cards import split_card
from unbag.hub.ownership import is_standard_head, select_model_results
from unbag.hub.push import Publication

MESSAGE: Final = "Add results on challenge sets that test whether models use sentence structure"
"""Commit message, and title that identifies the user's open pull request."""

_INDEX: Final = "model-index"


def build_model_results_publication(
    repo: str, results: Sequence[Result], organization: str, about: eval_results.ResultContext | None = None
) -> Publication:
    """Build the publication that adds results to a model repository. The rest of the card is unchanged.

    Args:
        repo: Model repository, `organization/name`.
        results: Results to add; those of other models are ignored.
        organization: Organization that publishes the challenge sets.
        about: Context of the results, see `eval_results.build_eval_results`.

    Raises:
        ValueError: If there are no results of the model, or none on the published pairs of a challenge set.
    """
    own = [result for result in select_model_results(repo, results) if is_standard_head(result)]
    index = eval_results.build_model_index(own, organization)
    if not index:
        raise ValueError(
            f"{repo}: expected results of the model on a published challenge set, got only results on user-provided "
            "pairs or of another head"
        )
    name = repo.partition("/")[2]

    def card(existing: bytes | None) -> bytes:
        text = (existing or b"").decode()
        merged = eval_results.merge_model_index(split_card(existing)[0].get(_INDEX), name, index)
        return cards.set_entry(text, _INDEX, merged).encode()

    return Publication(
        repo, "model", {"README.md": card, **eval_results.build_eval_results(own, organization, about)}, MESSAGE
    )
