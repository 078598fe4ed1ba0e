"""Concepts under concepts, and which of them nothing can be at once."""

from collections.abc import Iterable, Mapping, Sequence


class Taxonomy:
    """A finite set of concepts with two relations: `is_a` (a partial order) and `excludes` (symmetric).

    Exclusion is declared for groups of concepts and holds for all that lies below: where dog and cat exclude each
    other, so do puppy and kitten. The laws that make labels safe hold by construction: nothing is two things that
    exclude each other, hence no concept both falls under another and excludes it.

    Args:
        parents: the concepts directly above each concept; every concept has an entry.
        exclusive: groups whose members exclude each other pairwise.

    Raises:
        ValueError: if a name has no entry, a concept lies above itself, or falls under two that exclude each other.

    >>> animals = Taxonomy({"dog": (), "cat": (), "puppy": ("dog",)}, [("dog", "cat")])
    >>> animals.is_a("puppy", "dog"), animals.is_a("dog", "puppy"), animals.excludes("puppy", "cat")
    (True, False, True)
    """

    def __init__(self, parents: Mapping[str, Sequence[str]], exclusive: Iterable[Sequence[str]]) -> None:
        self._parents = {name: tuple(above) for name, above in parents.items()}
        self._ancestors: dict[str, frozenset[str]] = {}
        for name in self._parents:
            self._ancestors[name] = self._climb(name, ())
        self._excluded: dict[str, set[str]] = {name: set() for name in self._parents}
        for group in exclusive:
            if unknown := [name for name in group if name not in self._parents]:
                raise ValueError(f"an exclusive group names {unknown}, which have no entry")
            below = [(name, self.below(name)) for name in group]
            for name, members in below:
                others = {other for theirs, others in below if theirs != name for other in others}
                if both := sorted(others.intersection(members)):
                    raise ValueError(f"{both} fall under {name!r} and under another of the exclusive group {group}")
                for member in members:
                    self._excluded[member] |= others

    def _climb(self, name: str, path: tuple[str, ...]) -> frozenset[str]:
        if name not in self._parents:
            raise ValueError(f"{path[-1]!r} has the parent {name!r}, which has no entry")
        if name in path:
            raise ValueError(f"{name!r} lies above itself: {' < '.join((*path, name))}")
        return frozenset({name}).union(*(self._climb(above, (*path, name)) for above in self._parents[name]))

    def is_a(self, narrow: str, wide: str) -> bool:
        """Tell whether whatever is `narrow` is `wide`; true of a concept and itself."""
        return wide in self._ancestors[narrow]

    def excludes(self, one: str, other: str) -> bool:
        """Tell whether nothing can be both."""
        return other in self._excluded[one]

    def related(self, one: str, other: str) -> bool:
        """Tell whether one of the two falls under the other."""
        return self.is_a(one, other) or self.is_a(other, one)

    def above(self, name: str) -> list[str]:
        """Return what lies strictly above, sorted by name."""
        return sorted(self._ancestors[name] - {name})

    def below(self, name: str) -> list[str]:
        """Return the concept itself and what lies below it, in the order of declaration."""
        return [other for other, above in self._ancestors.items() if name in above]

    def excluded(self, name: str) -> list[str]:
        """Return what cannot be together with `name`, sorted by name."""
        return sorted(self._excluded[name])
