"""Hub collection of all repositories published by `unbag publish all`: sets, metrics, results and leaderboard."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from unbag.hub.push import HubUpload, explain_hub_errors
from unbag.utils.hub import read_from_hub
from unbag.utils.redaction import redact
from unbag.utils.retries import TRIES, call_with_retries

if TYPE_CHECKING:
    from huggingface_hub import Collection

TITLE: Final = "unbag: NLI challenge sets and metrics"
_DESCRIPTION: Final = (
    # At most 150 characters.
    "Challenge sets that test whether models use sentence structure, their metrics, and results of models."
)
_KIND: Final = "collection"


@dataclass(frozen=True)
class CollectionPlan:
    """Planned changes to a Hub collection.

    Attributes:
        namespace: User or organization that owns the collection.
        slug: Id of the existing collection; None if there is none yet.
        url: URL of the collection; None if there is none yet.
        added: Type and id of each repository to add, in order.
        n_present: Number of repositories that are already in the collection.
    """

    namespace: str
    slug: str | None
    url: str | None
    added: tuple[tuple[str, str], ...]
    n_present: int

    @property
    def is_empty(self) -> bool:
        """Whether the collection is already up to date."""
        return self.slug is not None and not self.added


def plan_collection(namespace: str, uploads: Sequence[HubUpload]) -> CollectionPlan:
    """Plan how to add published repositories to an organization's collection, without writing anything.

    Items added by other people and repositories of earlier publications are kept.

    Raises:
        HubError: If the Hub fails or cannot be reached.
    """
    with explain_hub_errors(namespace, _KIND):
        found = read_from_hub(
            f"the collections of {namespace}", lambda: _find(namespace), tries=TRIES, retry_connection_errors=True
        )
    wanted = [(upload.kind, upload.repo) for upload in uploads]
    present = {(item.item_type, item.item_id) for item in found.items} if found else set()
    return CollectionPlan(
        namespace,
        found.slug if found else None,
        redact(found.url) if found else None,
        tuple(item for item in wanted if item not in present),
        sum(item in present for item in wanted),
    )


def publish_collection(plan: CollectionPlan, *, private: bool = False) -> str:
    """Create the collection if necessary, add missing items, and return the collection's URL.

    Repeated calls add no duplicates: the Hub rejects an item that is already present, which counts as success.

    Args:
        plan: Change to make.
        private: Whether a new collection is private.

    Raises:
        HubError: If the Hub rejects the change or cannot be reached. Items that were already added are kept.
    """
    from huggingface_hub import HfApi

    api = HfApi()

    def create() -> Any:
        return api.create_collection(
            TITLE, namespace=plan.namespace, description=_DESCRIPTION, private=private, exists_ok=True
        )

    with explain_hub_errors(plan.namespace, _KIND):
        slug, url = plan.slug, plan.url
        if slug is None:
            created = call_with_retries(create)
            slug, url = created.slug, redact(created.url)
        for kind, repo in plan.added:
            _add(api, slug, kind, repo)
    return str(url)


def _add(api: Any, slug: str, kind: str, repo: str) -> None:
    # A separate function, so that the retried call refers to its own item.
    call_with_retries(lambda: api.add_collection_item(slug, item_id=repo, item_type=kind, exists_ok=True))


def _find(namespace: str) -> "Collection | None":
    """Fetch unbag's collection by title, with all items. Listings contain only the first items of a collection."""
    from huggingface_hub import HfApi

    api = HfApi()
    for each in api.list_collections(owner=namespace):
        if each.title == TITLE:
            return api.get_collection(each.slug)
    return None
