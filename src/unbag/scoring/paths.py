"""The numbers inside scores by their path: names with a dot between."""

from collections.abc import Iterator, Mapping
from typing import Any

from unbag.scoring.bootstrap import Estimate


def estimates(scores: Any, path: str = "") -> Iterator[tuple[str, Estimate]]:
    """Yield every estimate in some scores with its path.

    An entry of a list goes by its index, or by the first of its own names: `subsets.lambda=0.7.accuracy`.

    >>> half = Estimate(0.5, None, None, 2)
    >>> [path for path, _ in estimates({"accuracy": half, "subsets": [{"lambda": 0.7, "accuracy": half}]})]
    ['accuracy', 'subsets.lambda=0.7.accuracy']
    """
    inner: list[tuple[str, Any]] = []
    if isinstance(scores, Estimate):
        yield path, scores
    elif isinstance(scores, Mapping):
        inner = list(scores.items())
    elif isinstance(scores, list):
        inner = [(_entry(index, value), value) for index, value in enumerate(scores)]
    for name, value in inner:
        yield from estimates(value, f"{path}.{name}" if path else str(name))


def _entry(index: int, value: Any) -> str:
    if not isinstance(value, Mapping):
        return str(index)
    name, first = next(iter(value.items()))
    return f"{name}={first:g}" if isinstance(first, float) else f"{name}={first}"
