"""Hub collection of all repositories published by `unbag publish all`: sets, metrics, results and leaderboard."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from unbag.hub.push import HubUpload, explain_hub_errors
from unbag.utils.hub import read_from_hub
from unbag.utils.redaction import redact
from unbag.utils.retries import TRIES, call_with_retries

if TYPE_CHECKING:
    from huggingface_hub import Collection, HfApi

TITLE: Final = "unbag: NLI challenge sets and metrics"
_DESCRIPTION: Final = (
    # At most 150 characters.
    "Challenge sets that test whether models use sentence structure, their metrics, and results of models."
)


def update_collection(
    namespace: str, uploads: Sequence[HubUpload], *, write: bool, private: bool = False
) -> tuple[str | None, list[HubUpload]]:
    """Add missing repositories to the collection of an organization, or only compute the change.

    The collection is created if necessary. Items added by other people are kept. Returns the URL of the collection
    (None if it does not exist yet) and the added repositories.

    Raises:
        HubError: If the Hub rejects the change or cannot be reached. Items that were already added are kept.
    """
    from huggingface_hub import HfApi

    api = HfApi()
    with explain_hub_errors(namespace, "collection"):
        found = read_from_hub(
            f"the collections of {namespace}", lambda: _find(api, namespace), tries=TRIES, retry_connection_errors=True
        )
        present = {(item.item_type, item.item_id) for item in found.items} if found else set()
        added = [upload for upload in uploads if (upload.kind, upload.repo) not in present]
        if write and found is None:
            found = call_with_retries(
                lambda: api.create_collection(
                    TITLE, namespace=namespace, description=_DESCRIPTION, private=private, exists_ok=True
                )
            )
        if write and found is not None:
            for upload in added:
                # If a response was lost, the retry finds the item.
                add = partial(api.add_collection_item, found.slug, upload.repo, upload.kind, exists_ok=True)
                call_with_retries(add)
    return redact(found.url) if found else None, added


def _find(api: "HfApi", namespace: str) -> "Collection | None":
    """Fetch unbag's collection by title, with all items. Listings contain only the first items of a collection."""
    slugs = [each.slug for each in api.list_collections(owner=namespace) if each.title == TITLE]
    return api.get_collection(slugs[0]) if slugs else None
