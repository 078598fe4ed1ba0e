"""POS mini-trees: whether the words of a permuted sentence stand among the parts of speech they are used to.

Sinha et al. (2021), section 6: the neighbours' part-of-speech tags are a word's mini-tree, a rough syntax. The paper's
text and its authors' released code compute it differently (`Definition`); the code's is what its Figure 4 shows, and
the default here.

Ties among the top k are broken in the order of `TAGS`. The authors' code uses `numpy.argpartition`, whose order among
ties depends on the processor: where this order gives a mean ratio of 0.838, it gives 0.801 or 0.808 (the metric's card
has the data).
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, NotRequired, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

TAGS: Final = (
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM"),
    *("PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"),
)
"""The 17 universal part-of-speech tags, in the order that breaks ties."""
DEFAULT_RADIUS: Final = 2
DEFAULT_K: Final = 4
RATIO_WIDTH: Final = 0.1
Definition = Literal["code", "text"]
"""Whose β^k: as the authors' code computes it, or as the paper's text says.

`code`: a permuted sentence is tagged again, as it stands; a word's neighbours are pooled over its occurrences, in the
sentence as in training; a word that training does not have counts 0; a sentence's β^k is the mean over its word types.
`text`: a word keeps the tag it has in order; ψ in training is the mean of its occurrences' distributions; a sentence's
β^k is the mean over its words, of which those unknown to training, on which the text is silent, are left out.
"""
DEFINITIONS: Final[tuple[Definition, ...]] = ("code", "text")
_NUMBERS: Final = {tag: number for number, tag in enumerate(TAGS)}


def numbered(tags: Sequence[str]) -> NDArray[np.int64]:
    """Return the index of each tag in `TAGS`, shape (n,).

    Raises:
        ValueError: if one of them is no universal tag.
    """
    if unknown := sorted(set(tags) - set(TAGS)):
        raise ValueError(f"expected universal part-of-speech tags, found {unknown}")
    return np.array([_NUMBERS[tag] for tag in tags], dtype=np.int64)


def neighbourhoods(tags: ArrayLike, radius: int = DEFAULT_RADIUS) -> NDArray[np.float64]:
    """Return ψ^r of each word: how the tags are distributed over the words at most `radius` to its left and right.

    The word itself is none of its neighbours; at the ends of a sentence there are fewer.

    Args:
        tags: numbers of tags (`numbered`), the words of a sentence along the last axis, shape (…, n).
        radius: r.

    Returns:
        Shape (…, n, 17); each row sums to 1, or to 0 where a word has no neighbour.

    >>> neighbourhoods(numbered(["DET", "NOUN", "VERB"]), radius=1)[1, [5, 15]].tolist()
    [0.5, 0.5]
    """
    counts = neighbour_counts(tags, radius).astype(np.float64)
    total = counts.sum(axis=-1, keepdims=True)
    shares: NDArray[np.float64] = np.divide(counts, total, out=np.zeros(counts.shape), where=total > 0)
    return shares


def neighbour_counts(tags: ArrayLike, radius: int = DEFAULT_RADIUS) -> NDArray[np.int8]:
    """Return how many of the words at most `radius` places away have each tag: ψ^r before it is shares.

    Arguments and shape are those of `neighbourhoods`.
    """
    if radius < 1:
        raise ValueError(f"expected a radius of at least 1, found {radius}")
    tags = np.asarray(tags)
    n = tags.shape[-1]
    is_tag = (tags[..., None] == np.arange(len(TAGS))).astype(np.int8)  # (…, n, 17)
    counts = np.zeros(is_tag.shape, dtype=np.int8)
    for distance in range(1, min(radius, n - 1) + 1):
        counts[..., distance:, :] += is_tag[..., : n - distance, :]
        counts[..., : n - distance, :] += is_tag[..., distance:, :]
    return counts


def top_tags(weights: ArrayLike, k: int = DEFAULT_K) -> NDArray[np.uint32]:
    """Return the k heaviest tags of each row as the bits of a number.

    Ties are broken in the order of `TAGS`, tags that do not occur included: equal rows have the same k tags on every
    processor, and every row has k. `numpy.argpartition`, as in the authors' code, promises no order among ties.

    Args:
        weights: shape (…, 17).
        k: from 1 to 17.

    Returns:
        Shape (…); bit t is set where tag t is among the k.
    """
    if not 1 <= k <= len(TAGS):
        raise ValueError(f"expected k from 1 to {len(TAGS)}, found {k}")
    order = np.argsort(-np.asarray(weights), axis=-1, kind="stable")[..., :k]
    bits: NDArray[np.uint32] = np.left_shift(np.uint32(1), order.astype(np.uint32)).sum(axis=-1, dtype=np.uint32)
    return bits


def signatures(
    tags: ArrayLike, usual: ArrayLike, known: ArrayLike, *, radius: int = DEFAULT_RADIUS, k: int = DEFAULT_K
) -> NDArray[np.float64]:
    """Return β^k of sentences as the paper's text has it, many at once.

    It says how far the words' neighbours have the tags that their neighbours have in training. For one word it is
    |top-k of ψ in the sentence ∩ top-k of ψ in training| / k; a sentence's is the mean over its words. Words that
    training does not know have no usual tags and are left out.

    Args:
        tags: numbers of the words' tags, shape (…, n).
        usual: `top_tags` of the words' ψ in training, shape (…, n).
        known: whether training knows the word, shape (…, n).
        radius: r.
        k: k.

    Returns:
        Shape (…), from 0 to 1; NaN for a sentence without a known word.
    """
    top = top_tags(neighbour_counts(tags, radius), k)
    shared = np.bitwise_count(top & np.asarray(usual, dtype=np.uint32)) / k
    count = np.asarray(known, dtype=bool).sum(axis=-1)
    total = np.where(known, shared, 0.0).sum(axis=-1)
    means: NDArray[np.float64] = np.divide(total, count, out=np.full(np.shape(total), np.nan), where=count > 0)
    return means


def signature_of_types(
    words: Sequence[str], tags: ArrayLike, usual: Mapping[str, int], *, radius: int = DEFAULT_RADIUS, k: int = DEFAULT_K
) -> float:
    """Return β^k of one sentence as the authors' code computes it: over its word types, unknown ones counting 0.

    Args:
        words: its words, shape (n,).
        tags: the numbers of their tags, shape (n,).
        usual: `top_tags` of ψ of words in training, the words in lower case.
        radius: r.
        k: k.

    Returns:
        From 0 to 1; NaN for no words.
    """
    if not words:
        return float("nan")
    types: dict[str, int] = {}
    number = [types.setdefault(word.lower(), len(types)) for word in words]
    pooled = np.zeros((len(types), len(TAGS)), dtype=np.int64)
    np.add.at(pooled, number, neighbour_counts(tags, radius))
    expected = np.array([usual.get(word, 0) for word in types], dtype=np.uint32)  # no tag in common with an unknown one
    return float(np.bitwise_count(top_tags(pooled, k) & expected).mean() / k)


def sentence_signature(
    words: Sequence[str],
    tags: Sequence[str],
    usual: Mapping[str, ArrayLike],
    *,
    radius: int = DEFAULT_RADIUS,
    k: int = DEFAULT_K,
    definition: Definition = "code",
) -> float:
    """Return β^k of one sentence: how far its words' neighbours have the tags that their neighbours have in training.

    For one word it is |top-k of ψ in the sentence ∩ top-k of ψ in training| / k (Sinha et al. 2021, equation 4); a
    sentence's is the mean over its word types (`code`) or its words (`text`).

    Args:
        words: its words, shape (n,).
        tags: their universal part-of-speech tags, shape (n,); of a permuted sentence those that a tagger gives it as it
            stands (`code`), or those that its words have in order (`text`).
        usual: ψ of words in training, shape (17,) each, the words in lower case.
        radius: r.
        k: k.
        definition: whose (`Definition`); that of `usual` should be the same.

    Raises:
        ValueError: if words and tags are not equally many, a tag is no universal one, or there is no such definition.

    >>> usual = {"cat": np.eye(17)[5] * 0.6 + np.eye(17)[15] * 0.4}  # among determiners and verbs
    >>> sentence = ["the", "cat", "sleeps"], ["DET", "NOUN", "VERB"]
    >>> [sentence_signature(*sentence, usual, radius=1, k=2, definition=one) for one in ("code", "text")]
    [0.3333333333333333, 1.0]
    """
    if len(words) != len(tags):
        raise ValueError(f"expected a tag for each word, found {len(words)} words and {len(tags)} tags")
    if check_definition(definition) == "code":
        known_words = {word for word in map(str.lower, words) if word in usual}
        bits = {word: int(top_tags(usual[word], k)) for word in known_words}
        return signature_of_types(words, numbered(tags), bits, radius=radius, k=k)
    known = [word.lower() in usual for word in words]
    shares = [
        usual[word.lower()] if is_known else np.zeros(len(TAGS)) for word, is_known in zip(words, known, strict=True)
    ]
    weights = np.asarray(shares, dtype=np.float64).reshape(len(words), len(TAGS))
    return float(signatures(numbered(tags), top_tags(weights, k), known, radius=radius, k=k))


def check_definition(definition: str) -> Definition:
    """Return the definition of a name.

    Raises:
        ValueError: if there is none of that name.
    """
    for known in DEFINITIONS:
        if definition == known:
            return known
    raise ValueError(f"expected one of the definitions {', '.join(DEFINITIONS)}, found {definition!r}")


class MiniTreeBin(NamedTuple):
    """The permutations whose ratio is in [low, high): how many, and the share of them accepted."""

    low: float
    high: float
    n: int
    acceptance: float


class MiniTreeScores(TypedDict):
    """The ratio of permuted sentences: β^k of each by β^k of its original.

    1 is a permutation that keeps the words among the tags they are used to; above 1 they are better placed than in the
    original.

    Attributes:
        n: how many permutations have a ratio.
        ratio: the mean of them; None where there is none.
        ratios: one a permutation, None where the original's β is 0 or either is not known.
        by_ratio: a `MiniTreeBin` for each bin that is not empty, where it is given what was accepted (Figure 4).
    """

    n: int
    ratio: float | None
    ratios: list[float | None]
    by_ratio: NotRequired[list[MiniTreeBin]]


def pos_minitree(
    permuted: ArrayLike, original: ArrayLike, *, accepted: ArrayLike | None = None, width: float = RATIO_WIDTH
) -> MiniTreeScores:
    """Compare the mini-trees of permuted sentences with those of the sentences in order.

    Sinha et al. (2021), section 6. A pair's ratio is, in the authors' code, that of two means: give the mean of β^k of
    the permuted premise and hypothesis, and the mean of those in order.

    Args:
        permuted: β^k of each permuted sentence (`sentence_signature`), shape (n,).
        original: that of its original, shape (n,).
        accepted: whether the permutation got the gold label, shape (n,), for `by_ratio`.
        width: of the bins of the ratio.

    Raises:
        ValueError: if lengths differ, there is no permutation, or the width is not positive.

    >>> scores = pos_minitree([0.5, 0.25, 0.5], [0.5, 0.5, 1.0], accepted=[True, True, False])
    >>> scores["ratios"], scores["ratio"]
    ([1.0, 0.5, 0.5], 0.6666666666666666)
    >>> [tuple(row) for row in scores["by_ratio"]]
    [(0.5, 0.6, 2, 0.5), (1.0, 1.1, 1, 1.0)]
    """
    above, below = np.asarray(permuted, dtype=np.float64), np.asarray(original, dtype=np.float64)
    lengths = {"permuted": len(above), "original": len(below)}
    if accepted is not None:
        lengths["accepted"] = len(np.asarray(accepted))
    if len(set(lengths.values())) > 1:
        raise ValueError(f"expected the same number of permutations everywhere, found {lengths}")
    if not len(above):
        raise ValueError("expected at least one permutation, found none")
    if not width > 0:
        raise ValueError(f"expected a positive width of bins, found {width}")
    ratios = np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)
    has_ratio = ~np.isnan(ratios)
    scores: MiniTreeScores = {
        "n": int(has_ratio.sum()),
        "ratio": float(ratios[has_ratio].mean()) if has_ratio.any() else None,
        "ratios": [None if np.isnan(ratio) else float(ratio) for ratio in ratios],
    }
    if accepted is not None:
        scores["by_ratio"] = _by_ratio(ratios[has_ratio], np.asarray(accepted, dtype=bool)[has_ratio], width)
    return scores


def _by_ratio(ratios: NDArray[np.float64], accepted: NDArray[np.bool_], width: float) -> list[MiniTreeBin]:
    # The nudge keeps 0.3 / 0.1 = 2.9999… in the bin that begins at 0.3.
    index = np.floor(ratios / width + 1e-9).astype(np.int64)
    counts = np.bincount(index)
    shares = np.bincount(index, weights=accepted)
    return [
        MiniTreeBin(
            low=round(float(i * width), 6),
            high=round(float((i + 1) * width), 6),
            n=int(counts[i]),
            acceptance=float(shares[i] / counts[i]),
        )
        for i in np.flatnonzero(counts)
    ]
