"""The shuffled control: the rows of a set with the words of both sentences in another order.

A model that is blind to word order answers these as it answers the rows themselves, whatever it knows of words. So what
a model answers here says how far it gets without word order (`scoring.skill`).
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from unbag.challenge_sets.perturbations.permutation import derangement
from unbag.data.text.tokens import tokenize

COLUMNS: Final = ("id", "source_id", "premise", "hypothesis")
"""What a model is asked of a row, or known by."""

SEED: Final = 13
ENOUGH: Final = 500
"""Rows from which on one draw per row is enough; of fewer rows several are drawn, and their credits averaged."""

MOST_DRAWS: Final = 5


def draws_for(rows: int) -> int:
    """Return how many draws of each row make about `ENOUGH` rows, 1 to `MOST_DRAWS`.

    >>> [draws_for(rows) for rows in (2000, 500, 200, 10)]
    [1, 1, 3, 5]
    """
    return min(MOST_DRAWS, max(1, -(-ENOUGH // max(rows, 1))))


def shuffled_rows(rows: Any, language: str, draw: int) -> Any:
    """Build one draw of the control: each row with the words of both sentences shuffled, in the order of the rows.

    Words move as in the permuted set: punctuation keeps its place, and every other token leaves its own. A sentence of
    fewer than two words stays as it is written. The order depends on the row's id and the draw alone.

    Args:
        rows: a `datasets.Dataset` with `COLUMNS`; others are left out.
        language: of the sentences, one that is cut into words here (`data.text.tokens.validate_language`).
        draw: which one, from 0.

    Returns:
        A `datasets.Dataset` with `COLUMNS`; ids are those of the rows with `#shuffled-<draw>` behind them.

    Raises:
        ImportError: for Chinese words without jieba.
        ValueError: for a language whose sentences are not cut into words here.
    """
    return rows.select_columns(list(COLUMNS)).map(
        partial(_shuffled, language=language, draw=draw), batched=True, load_from_cache_file=False, keep_in_memory=False
    )


def shuffle(row_id: str, premise: str, hypothesis: str, *, language: str = "en", draw: int = 0) -> tuple[str, str]:
    """Shuffle the words of one pair as `shuffled_rows` does.

    >>> shuffle("a", "Dogs sleep.", "No.")
    ('sleep Dogs .', 'No.')
    """
    return (
        derangement(tokenize(premise, language), (SEED, "shuffled", row_id, "premise"), draw),
        derangement(tokenize(hypothesis, language), (SEED, "shuffled", row_id, "hypothesis"), draw),
    )


def _shuffled(batch: Mapping[str, Sequence[str]], *, language: str, draw: int) -> dict[str, list[str]]:
    pairs = [
        shuffle(row_id, premise, hypothesis, language=language, draw=draw)
        for row_id, premise, hypothesis in zip(batch["id"], batch["premise"], batch["hypothesis"], strict=True)
    ]
    return {
        "id": [f"{row_id}#shuffled-{draw}" for row_id in batch["id"]],
        "premise": [premise for premise, _ in pairs],
        "hypothesis": [hypothesis for _, hypothesis in pairs],
    }
