"""Names of the values in nested scores: dotted paths, or flat keys as in `evaluate`."""

from collections.abc import Iterator, Mapping
from typing import Any

from unbag.scoring.bootstrap import Estimate, to_json


def iter_estimates(scores: Any, path: str = "") -> Iterator[tuple[str, Estimate]]:
    """Iterate over all estimates in nested scores, as tuples (dotted path, estimate).

    A list entry is identified by its index or, for dicts, by its first item: `subsets.lambda=0.7.accuracy`.

    >>> half = Estimate(0.5, None, None, 2)
    >>> [path for path, _ in iter_estimates({"accuracy": half, "subsets": [{"lambda": 0.7, "accuracy": half}]})]
    ['accuracy', 'subsets.lambda=0.7.accuracy']
    """
    for parts, value in _leaves(scores, (path,) if path else ()):
        if isinstance(value, Estimate):
            yield ".".join(parts), value


def find_estimate(scores: Any, path: str) -> Estimate | None:
    """Look up the estimate at a path of `iter_estimates`. Return None if there is no estimate.

    Only entries on the path are visited: the curves of a verifier have hundreds of others.

    >>> half = Estimate(0.5, None, None, 2)
    >>> scores = {"subsets": [{"lambda": 0.7, "accuracy": half}]}
    >>> find_estimate(scores, "subsets.lambda=0.7.accuracy").value, find_estimate(scores, "subsets")
    (0.5, None)
    """
    for name, value in _iter_entries(scores):
        if name == path and isinstance(value, Estimate):
            return value
        if path.startswith(f"{name}.") and (found := find_estimate(value, path[len(name) + 1 :])) is not None:
            return found
    return None


def flatten_scores(scores: Mapping[str, Any]) -> dict[str, float]:
    """Flatten nested scores to a dict of numbers, for experiment trackers and `evaluate.combine`.

    An estimate named `accuracy` becomes `accuracy`, its 95 % limits `accuracy_low` and `accuracy_high`, and its number
    of examples `accuracy_n`. Nested names are joined by `_`. A list entry is identified by its first value:
    `by_category_colors_accuracy`. Values of None and lists of plain numbers (curves and bins) are omitted.

    >>> half, nothing = Estimate(0.5, 0.4, 0.6, 9), Estimate(None, None, None, 0)
    >>> flatten_scores({"n_c": 9, "p_f": nothing, "by": [{"kind": "a", "p_c": half}]})
    {'n_c': 9, 'p_f_n': 0, 'by_a_p_c': 0.5, 'by_a_p_c_low': 0.4, 'by_a_p_c_high': 0.6, 'by_a_p_c_n': 9}
    """
    numbers: dict[str, float | None] = {}
    for path, value in _leaves(scores, ()):
        name = "_".join(part.rpartition("=")[2] for part in path)
        if isinstance(value, Estimate):
            numbers |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high, f"{name}_n": value.n}
        else:
            numbers[name] = value
    return {name: value for name, value in numbers.items() if value is not None}


def format_metric_output(scores: Mapping[str, Any], *, structured: bool) -> dict[str, Any]:
    """Convert scores to the output of an `evaluate` module.

    Args:
        scores: Scores of a metric; each estimate has a value, a 95 % interval (`low`, `high`) and a number of examples
            (`n`).
        structured: Whether to keep the nesting, with each estimate as a dict of `value`, `low`, `high` and `n`.
            Otherwise the output is flat: `accuracy`, `accuracy_low`, `accuracy_high`, `accuracy_n`.

    >>> format_metric_output({"accuracy": Estimate(0.5, 0.4, 0.6, 9)}, structured=False)
    {'accuracy': 0.5, 'accuracy_low': 0.4, 'accuracy_high': 0.6, 'accuracy_n': 9}
    """
    output: dict[str, Any] = to_json(scores) if structured else flatten_scores(scores)
    return output


def _leaves(scores: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Iterate over all estimates and all plain numbers outside lists, with the parts of their paths."""
    # bool is a subclass of int, but a flag is not a score.
    if isinstance(scores, Estimate) or (isinstance(scores, int | float) and not isinstance(scores, bool)):
        yield path, scores
        return
    for name, value in _iter_entries(scores):
        inner = _leaves(value, (*path, name))
        if isinstance(scores, list):
            # Plain numbers in lists belong to curves and bins and are not scores.
            inner = ((where, number) for where, number in inner if isinstance(number, Estimate))
        yield from inner


def _iter_entries(scores: Any) -> Iterator[tuple[str, Any]]:
    """Iterate over the entries of a dict or list, with their parts of a path."""
    if isinstance(scores, Mapping):
        yield from ((str(name), value) for name, value in scores.items())
    elif isinstance(scores, list):
        for index, value in enumerate(scores):
            entry = str(index)
            if isinstance(value, Mapping) and value:
                name, first = next(iter(value.items()))
                entry = f"{name}={first:g}" if isinstance(first, float) else f"{name}={first}"
            yield entry, value
