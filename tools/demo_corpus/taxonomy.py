"""Taxonomy of concepts with hypernymy and mutual exclusion."""

from collections.abc import Iterable, Mapping, Sequence


class Taxonomy:
    """Finite set of concepts with two relations: `is_a` (a partial order) and `excludes` (symmetric).

    Exclusion is declared for groups of concepts and is inherited: if dog and cat exclude each other, so do puppy and
    kitten. By construction, no concept has two hypernyms that exclude each other, and no concept excludes a hypernym.

    Args:
        parents: Direct hypernyms of each concept. Every concept has an entry.
        exclusive: Groups of concepts that exclude each other pairwise.

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
                raise ValueError(f"exclusive: expected concepts with an entry, got {unknown}; add entries")
            below = [(name, self.list_descendants(name)) for name in group]
            for name, members in below:
                others = {other for theirs, others in below if theirs != name for other in others}
                if both := sorted(others.intersection(members)):
                    raise ValueError(
                        f"exclusive: expected disjoint concepts, got {both} below two of {group}; remove one"
                    )
                for member in members:
                    self._excluded[member] |= others

    def _climb(self, name: str, path: tuple[str, ...]) -> frozenset[str]:
        if name not in self._parents:
            raise ValueError(f"parents: expected an entry for {name!r}, the parent of {path[-1]!r}, got none; add it")
        if name in path:
            raise ValueError(f"parents: expected no cycle, got {' < '.join((*path, name))}; remove a parent")
        return frozenset({name}).union(*(self._climb(above, (*path, name)) for above in self._parents[name]))

    def is_a(self, narrow: str, wide: str) -> bool:
        """Check whether `wide` equals `narrow` or is a hypernym of `narrow`."""
        return wide in self._ancestors[narrow]

    def excludes(self, one: str, other: str) -> bool:
        """Check whether two concepts exclude each other."""
        return other in self._excluded[one]

    def are_related(self, one: str, other: str) -> bool:
        """Check whether one of two concepts is a hyponym of the other, or both are equal."""
        return self.is_a(one, other) or self.is_a(other, one)

    def list_ancestors(self, name: str) -> list[str]:
        """List the hypernyms of a concept, sorted by name."""
        return sorted(self._ancestors[name] - {name})

    def list_descendants(self, name: str) -> list[str]:
        """List a concept and its hyponyms, in the order of declaration."""
        return [other for other, above in self._ancestors.items() if name in above]

    def list_exclusive(self, name: str) -> list[str]:
        """List the concepts that exclude a concept, sorted by name."""
        return sorted(self._excluded[name])
