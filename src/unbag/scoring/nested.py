"""The numbers inside scores by one name each: a path with dots between its parts, or flat, as `evaluate` has them."""

from collections.abc import Iterator, Mapping
from typing import Any

from unbag.scoring.bootstrap import Estimate, to_json


def estimates(scores: Any, path: str = "") -> Iterator[tuple[str, Estimate]]:
    """Yield every estimate in some scores with its path.

    An entry of a list goes by its index, or by the first of its own names: `subsets.lambda=0.7.accuracy`.

    >>> half = Estimate(0.5, None, None, 2)
    >>> [path for path, _ in estimates({"accuracy": half, "subsets": [{"lambda": 0.7, "accuracy": half}]})]
    ['accuracy', 'subsets.lambda=0.7.accuracy']
    """
    for parts, value in _leaves(scores, (path,) if path else ()):
        if isinstance(value, Estimate):
            yield ".".join(parts), value


def flat(scores: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of some scores by one name each, as trackers and `evaluate.combine` take them.

    An estimate called `accuracy` is `accuracy`, the ends of its 95 % interval `accuracy_low` and `accuracy_high`, and
    how many examples it rests on `accuracy_n`. Names within names are joined by `_`, and an entry of a list goes by the
    first of its values: `by_category_colors_accuracy`. What is None is left out; so are lists of plain numbers, which
    are curves and bins.

    >>> half, nothing = Estimate(0.5, 0.4, 0.6, 9), Estimate(None, None, None, 0)
    >>> flat({"n_c": 9, "p_f": nothing, "by": [{"kind": "a", "p_c": half}]})
    {'n_c': 9, 'p_f_n': 0, 'by_a_p_c': 0.5, 'by_a_p_c_low': 0.4, 'by_a_p_c_high': 0.6, 'by_a_p_c_n': 9}
    """
    found: dict[str, float | None] = {}
    for path, value in _leaves(scores, ()):
        name = "_".join(part.rpartition("=")[2] for part in path)
        if isinstance(value, Estimate):
            found |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high, f"{name}_n": value.n}
        else:
            found[name] = value
    return {name: value for name, value in found.items() if value is not None}


def returned(scores: Mapping[str, Any], *, structured: bool) -> dict[str, Any]:
    """Return scores as a module of `evaluate` gives them.

    Args:
        scores: as they are made, each estimate with its 95 % interval (`low`, `high`) and its number of examples (`n`).
        structured: whether as they are made, an estimate being a dict of `value`, `low`, `high` and `n`; else flat, a
            number by a name: `accuracy`, `accuracy_low`, `accuracy_high`, `accuracy_n`.
    """
    made: dict[str, Any] = to_json(scores) if structured else flat(scores)
    return made


def _leaves(scores: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every estimate with the parts of its path, and the plain numbers that are in no list."""
    if isinstance(scores, Estimate) or (isinstance(scores, int | float) and not isinstance(scores, bool)):
        yield path, scores
    elif isinstance(scores, Mapping):
        for name, value in scores.items():
            yield from _leaves(value, (*path, str(name)))
    elif isinstance(scores, list):
        for index, value in enumerate(scores):
            inner = _leaves(value, (*path, _entry(index, value)))
            yield from ((where, number) for where, number in inner if isinstance(number, Estimate))


def _entry(index: int, value: Any) -> str:
    if not isinstance(value, Mapping):
        return str(index)
    name, first = next(iter(value.items()))
    return f"{name}={first:g}" if isinstance(first, float) else f"{name}={first}"
