"""Lexical relations from WordNet, and from a short list of prepositions that are not in WordNet.

All senses of a part of speech are considered, with preference for common senses. If both "a is a kind of b" and "b is a
kind of a" have a path in WordNet, the path with fewer edges and more common senses is used.
"""

from collections.abc import Collection, Hashable
from functools import lru_cache
from typing import Any, Final, NamedTuple

from unbag.baselines.natlog.relations import Relation
from unbag.baselines.wordnet.relations import Lexicon, are_antonyms, compute_ancestor_distances

_PARTS: Final = {"NOUN": "n", "PROPN": "n", "NUM": "n", "VERB": "v", "AUX": "v", "ADJ": "as", "ADV": "r"}
_RARE: Final = 6
"""Maximum number of senses per word; WordNet lists common senses first, and rare ones are ignored."""
_ANYTHING: Final = frozenset({"thing", "object", "entity", "something"})
_PLACES: Final = (
    frozenset({"in", "inside", "within", "into"}),
    frozenset({"on", "onto", "upon", "atop"}),
    frozenset({"by", "beside", "next"}),
    frozenset({"under", "underneath", "beneath", "below"}),
    frozenset({"near", "nearby", "close"}),
    frozenset({"toward", "towards"}),
    frozenset({"through", "throughout"}),
    frozenset({"among", "amongst"}),
)
_OPPOSITE: Final = tuple(
    map(frozenset, (("in", "out"), ("inside", "outside"), ("up", "down"), ("with", "without"), ("under", "over")))
)


class SourcedRelation(NamedTuple):
    """Lexical relation of one word to another, with the source of this information."""

    relation: Relation
    source: str


class LexicalRelations:
    """Lookup of lexical relations in a lexicon such as WordNet."""

    def __init__(self, lexicon: Lexicon) -> None:
        """Initialize the caches. The senses of the lexicon may have a method `pos`, as in NLTK."""
        self._lexicon = lexicon
        self.find_relation = lru_cache(maxsize=1 << 16)(self._relation)
        self._above = lru_cache(maxsize=1 << 14)(self._ancestors)
        self._senses = lru_cache(maxsize=1 << 15)(self._of_part)

    def has_entry(self, phrase: str, pos: str = "NOUN") -> bool:
        """Check whether a phrase has a sense with the given part of speech."""
        return bool(self._senses(phrase, _PARTS.get(pos, "")))

    def is_living(self, noun: str) -> bool:
        """Check whether the most common sense of a noun is a living thing."""
        living = set(self._senses("living thing", "n"))
        return any(above in living for above in compute_ancestor_distances(self._lexicon, self._senses(noun, "n")[:1]))

    def is_kind_of(self, phrase: str, kind: str) -> bool:
        """Check whether a noun phrase is a hyponym of another noun phrase."""
        related = self.find_relation(phrase, kind, "NOUN")
        return related is not None and related.relation is Relation.FORWARD_ENTAILMENT

    def _relation(self, first: str, second: str, pos: str) -> SourcedRelation | None:
        """Look up the relation of two lowercase words or phrases with one universal POS tag. None if it is unknown."""
        if first == second:
            return SourcedRelation(Relation.EQUIVALENCE, "the same word")
        if pos in ("ADP", "SCONJ", "PART", "ADV") and (place := _place(first, second)):
            return place
        parts = _PARTS.get(pos, "")
        if parts == "n" and second in _ANYTHING and self._senses(first, parts):
            return SourcedRelation(Relation.FORWARD_ENTAILMENT, "any noun is a kind of thing")
        if parts == "n" and first in _ANYTHING and self._senses(second, parts):
            return SourcedRelation(Relation.REVERSE_ENTAILMENT, "any noun is a kind of thing")
        up, down = self._distance(first, second, parts), self._distance(second, first, parts)
        ways = [(cost, direction) for direction, cost in (("up", up), ("down", down)) if cost is not None]
        if ways:
            if up == down or self._share(first, second, parts):
                return SourcedRelation(Relation.EQUIVALENCE, "WordNet: synonyms")
            _, direction = min(ways)
            if direction == "up":
                return SourcedRelation(Relation.FORWARD_ENTAILMENT, f"WordNet: {first} is a kind of {second}")
            return SourcedRelation(Relation.REVERSE_ENTAILMENT, f"WordNet: {second} is a kind of {first}")
        if are_antonyms(self._lexicon, first, second):
            return SourcedRelation(Relation.ALTERNATION, "WordNet: antonyms")
        return None

    def _share(self, first: str, second: str, parts: str) -> bool:
        """Check whether two words share one of their two most common senses."""
        return not set(self._senses(first, parts)[:2]).isdisjoint(self._senses(second, parts)[:2])

    def _distance(self, first: str, second: str, parts: str) -> int | None:
        """Compute the minimum cost of a hypernym path: the edges plus the ranks of both senses. None without a path."""
        ranks = {sense: rank for rank, sense in enumerate(self._senses(second, parts))}
        costs = [edges + rank + ranks[s] for s, (edges, rank) in self._above(first, parts).items() if s in ranks]
        return min(costs, default=None)

    def _ancestors(self, phrase: str, parts: str) -> dict[Hashable, tuple[int, int]]:
        """Collect the senses of a phrase and their ancestors, each with distance and rank of the starting sense."""
        ancestors: dict[Hashable, tuple[int, int]] = {}
        for rank, sense in enumerate(self._senses(phrase, parts)):
            for above, edges in compute_ancestor_distances(self._lexicon, [sense]).items():
                if above not in ancestors or sum(ancestors[above]) > edges + rank:
                    ancestors[above] = (edges, rank)
        return ancestors

    def _of_part(self, phrase: str, parts: str) -> list[Hashable]:
        senses: Collection[Any] = self._lexicon.senses(phrase)
        return [sense for sense in senses if not hasattr(sense, "pos") or sense.pos() in parts][:_RARE]


def _place(first: str, second: str) -> SourcedRelation | None:
    if any({first, second} <= group for group in _PLACES):
        return SourcedRelation(Relation.EQUIVALENCE, "synonymous prepositions")
    if {first, second} in _OPPOSITE:
        return SourcedRelation(Relation.ALTERNATION, "opposite prepositions")
    return None
