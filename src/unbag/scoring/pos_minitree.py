"""POS mini-trees: whether the neighbors of permuted words have the same parts of speech as in training data.

Sinha et al. (2021), https://aclanthology.org/2021.acl-long.569, section 6: the part-of-speech tags of a word's
neighbors are its mini-tree, an approximation of syntax. The paper's text and its authors' released code define it
differently (`Definition`). The paper's Figure 4 uses the definition of the code, which is the default here.

Ties among the top k are broken in the order of `TAGS`. The authors' code uses `numpy.argpartition`, whose order among
ties depends on the processor. On the data described in the metric's card, the mean ratio is 0.838 with the order of
`TAGS`, and 0.801 or 0.808 with `numpy.argpartition`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unbag.scoring.validation import validate_lengths

TAGS: Final = (
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM"),
    *("PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"),
)
"""The 17 universal part-of-speech tags, in the order that breaks ties."""
DEFAULT_RADIUS: Final = 2
DEFAULT_K: Final = 4
RATIO_WIDTH: Final = 0.1
Definition = Literal["code", "text"]
"""Definition of β^k: as in the authors' code or as in the text of the paper. The card of the metric compares them."""
DEFINITIONS: Final[tuple[Definition, ...]] = ("code", "text")
_NUMBERS: Final = {tag: number for number, tag in enumerate(TAGS)}


def encode_tags(tags: Sequence[str]) -> NDArray[np.int64]:
    """Convert tag names to indices into `TAGS`, shape (n,)."""
    if unknown := sorted(set(tags) - set(TAGS)):
        raise ValueError(f"tags: expected universal part-of-speech tags, got {unknown}; convert the tags")
    return np.array([_NUMBERS[tag] for tag in tags], dtype=np.int64)


def compute_neighbor_distributions(tags: ArrayLike, radius: int = DEFAULT_RADIUS) -> NDArray[np.float64]:
    """Compute ψ^r of each word, shape (…, n, 17): the distribution of POS tags of neighbors within `radius` words.

    The words of a sentence are along the last axis of the tag indices (`encode_tags`). A word without neighbors has
    zeros.

    >>> compute_neighbor_distributions(encode_tags(["DET", "NOUN", "VERB"]), radius=1)[1, [5, 15]].tolist()
    [0.5, 0.5]
    """
    counts = count_neighbor_tags(tags, radius).astype(np.float64)
    total = counts.sum(axis=-1, keepdims=True)
    shares: NDArray[np.float64] = np.divide(counts, total, out=np.zeros(counts.shape), where=total > 0)
    return shares


def count_neighbor_tags(tags: ArrayLike, radius: int = DEFAULT_RADIUS) -> NDArray[np.int8]:
    """Count the neighbors of each word within `radius` words by POS tag (ψ^r before normalization).

    Arguments and shape are the same as in `compute_neighbor_distributions`.
    """
    if radius < 1:
        raise ValueError(f"radius: expected at least 1, got {radius}")
    tags = np.asarray(tags)
    n = tags.shape[-1]
    is_tag = (tags[..., None] == np.arange(len(TAGS))).astype(np.int8)  # (…, n, 17)
    # int8, because this array of n × 17 counts is the largest array of a batch, and a count is at most 2 × radius.
    counts = np.zeros(is_tag.shape, dtype=np.int8)
    for distance in range(1, min(radius, n - 1) + 1):
        counts[..., distance:, :] += is_tag[..., : n - distance, :]
        counts[..., : n - distance, :] += is_tag[..., distance:, :]
    return counts


def find_top_tags(weights: ArrayLike, k: int = DEFAULT_K) -> NDArray[np.uint32]:
    """Find the k tags with the largest weights in each row of shape (…, 17), encoded as a bit mask, shape (…).

    Ties, including those among weights of 0, are broken in the order of `TAGS`, unlike `numpy.argpartition`, which the
    authors' code uses. Bit t is set if tag t is one of the k tags.

    >>> int(find_top_tags([0, 3, 1, 2] + [0] * 13, k=2))  # bits 1 and 3
    10
    """
    if not 1 <= k <= len(TAGS):
        raise ValueError(f"k: expected a value from 1 to {len(TAGS)}, got {k}")
    # A stable sort of the negated weights keeps ties in the order of TAGS.
    order = np.argsort(-np.asarray(weights), axis=-1, kind="stable")[..., :k]
    bits: NDArray[np.uint32] = np.left_shift(np.uint32(1), order.astype(np.uint32)).sum(axis=-1, dtype=np.uint32)
    return bits


def compute_signatures(
    tags: ArrayLike,
    training_tags: ArrayLike,
    is_in_training: ArrayLike,
    *,
    radius: int = DEFAULT_RADIUS,
    k: int = DEFAULT_K,
) -> NDArray[np.float64]:
    """Compute β^k of each sentence in a batch, as defined in the text of the paper (`compute_sentence_signature`).

    Args:
        tags: Tag indices of the words, shape (…, n).
        training_tags: `find_top_tags` of ψ in training of each word, shape (…, n).
        is_in_training: Whether each word occurs in training, shape (…, n).

    Returns:
        Fractions in [0, 1], shape (…). NaN for a sentence without a word that occurs in training.
    """
    top = find_top_tags(count_neighbor_tags(tags, radius), k)
    shared = np.bitwise_count(top & np.asarray(training_tags, dtype=np.uint32)) / k
    count = np.asarray(is_in_training, dtype=bool).sum(axis=-1)
    total = np.where(is_in_training, shared, 0.0).sum(axis=-1)
    means: NDArray[np.float64] = np.divide(total, count, out=np.full(np.shape(total), np.nan), where=count > 0)
    return means


def compute_type_signature(
    words: Sequence[str],
    tags: ArrayLike,
    training_tags: Mapping[str, int],
    *,
    radius: int = DEFAULT_RADIUS,
    k: int = DEFAULT_K,
) -> float:
    """Compute β^k of one sentence as in the code published with the paper: the mean over word types, NaN without words.

    Unknown words count as 0. `training_tags` contains `find_top_tags` of ψ in training by lowercase word.
    """
    if not words:
        return float("nan")
    types: dict[str, int] = {}
    number = [types.setdefault(word.lower(), len(types)) for word in words]
    pooled = np.zeros((len(types), len(TAGS)), dtype=np.int64)
    np.add.at(pooled, number, count_neighbor_tags(tags, radius))
    # A word that does not occur in training has the mask 0, which shares no tag.
    expected = np.array([training_tags.get(word, 0) for word in types], dtype=np.uint32)
    # A bitwise AND of the masks is the intersection of the top-k sets, and its number of bits their overlap.
    return float(np.bitwise_count(find_top_tags(pooled, k) & expected).mean() / k)


def compute_sentence_signature(
    words: Sequence[str],
    tags: Sequence[str],
    training_distributions: Mapping[str, ArrayLike],
    *,
    radius: int = DEFAULT_RADIUS,
    k: int = DEFAULT_K,
    definition: Definition = "code",
) -> float:
    """Compute the POS mini-tree overlap β^k between one sentence and the training data.

    For a word it is |top-k of ψ in the sentence ∩ top-k of ψ in training| / k (Sinha et al. 2021,
    https://aclanthology.org/2021.acl-long.569, equation 4). For a sentence it is the mean over its word types (`code`)
    or its words (`text`).

    Args:
        words: Words of the sentence, shape (n,).
        tags: Universal part-of-speech tags of the words, shape (n,). For a permuted sentence: those predicted in the
            permuted order (`code`), or those in the original order (`text`).
        training_distributions: ψ in training by lowercase word, shape (17,) each, of the same definition.
        radius: Maximum distance r in words (default: 2).
        k: Number of compared tags, from 1 to 17 (default: 4).
        definition: `code` or `text` (`Definition`).

    Returns:
        A fraction in [0, 1]; higher means more similar neighbors. NaN without words (`code`) or without words that
        occur in training (`text`).

    >>> usual = {"cat": np.eye(17)[5] * 0.6 + np.eye(17)[15] * 0.4}  # among determiners and verbs
    >>> sentence = ["the", "cat", "sleeps"], ["DET", "NOUN", "VERB"]
    >>> [compute_sentence_signature(*sentence, usual, radius=1, k=2, definition=one) for one in ("code", "text")]
    [0.3333333333333333, 1.0]
    """
    if len(words) != len(tags):
        raise ValueError(
            f"tags: expected one tag per word, got {len(words)} words and {len(tags)} tags; tag the same words"
        )
    if definition not in DEFINITIONS:
        raise ValueError(f"definition: expected one of {', '.join(DEFINITIONS)}, got {definition!r}")
    if definition == "code":
        known_words = {word for word in map(str.lower, words) if word in training_distributions}
        bits = {word: int(find_top_tags(training_distributions[word], k)) for word in known_words}
        return compute_type_signature(words, encode_tags(tags), bits, radius=radius, k=k)
    shares = [training_distributions.get(word.lower(), np.zeros(len(TAGS))) for word in words]
    in_training = [word.lower() in training_distributions for word in words]
    weights = np.asarray(shares, dtype=np.float64).reshape(len(words), len(TAGS))
    return float(compute_signatures(encode_tags(tags), find_top_tags(weights, k), in_training, radius=radius, k=k))


def pos_minitree(
    permuted: ArrayLike, original: ArrayLike, *, accepted: ArrayLike | None = None, width: float = RATIO_WIDTH
) -> dict[str, Any]:
    """Compute the ratios β^k(permuted) / β^k(original) of mini-tree overlap and, optionally, acceptance by ratio.

    Sinha et al. (2021), https://aclanthology.org/2021.acl-long.569, section 6. In the authors' code, the ratio of a
    pair is a ratio of means. For pairs, pass the mean β^k of premise and hypothesis.

    Args:
        permuted: β^k of each permuted sentence (`compute_sentence_signature`), in [0, 1], shape (n,).
        original: β^k of each original sentence, in [0, 1], shape (n,).
        accepted: Whether the gold label is predicted for each permutation, shape (n,), for `by_ratio`.
        width: Width of the ratio bins, above 0 (default: 0.1).

    Returns:
        The scores of the card `metrics/pos_minitree/README.md`.

    >>> scores = pos_minitree([0.5, 0.25, 0.5], [0.5, 0.5, 1.0], accepted=[True, True, False])
    >>> scores["ratios"], scores["ratio"]
    ([1.0, 0.5, 0.5], 0.6666666666666666)
    >>> [tuple(row.values()) for row in scores["by_ratio"]]
    [(0.5, 0.6, 2, 0.5), (1.0, 1.1, 1, 1.0)]
    """
    above, below = np.asarray(permuted, dtype=np.float64), np.asarray(original, dtype=np.float64)
    is_accepted = None if accepted is None else np.asarray(accepted, dtype=bool)
    validate_lengths({"permuted": above, "original": below, "accepted": is_accepted})
    if not len(above):
        raise ValueError("pos_minitree: expected at least one permutation, got none; pass permuted sentences")
    if not width > 0:
        raise ValueError(f"width: expected a positive number, got {width}")
    ratios = np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)
    has_ratio = ~np.isnan(ratios)
    scores: dict[str, Any] = {
        "n": int(has_ratio.sum()),
        "ratio": float(ratios[has_ratio].mean()) if has_ratio.any() else None,
        "ratios": [None if np.isnan(ratio) else float(ratio) for ratio in ratios],
    }
    if is_accepted is not None:
        # The small constant puts 0.3 / 0.1 = 2.9999… into the bin that starts at 0.3.
        index = np.floor(ratios[has_ratio] / width + 1e-9).astype(np.int64)
        counts = np.bincount(index)
        hits = np.bincount(index, weights=is_accepted[has_ratio])
        scores["by_ratio"] = [
            {
                "low": round(float(i * width), 6),
                "high": round(float((i + 1) * width), 6),
                "n": int(counts[i]),
                "acceptance": float(hits[i] / counts[i]),
            }
            for i in np.flatnonzero(counts)
        ]
    return scores
