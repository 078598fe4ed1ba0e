"""Shuffled control: the rows of a set with shuffled words in both sentences.

A model that ignores word order gives the same predictions on the control as on the rows. So the score on the control
shows how much of a model's score needs no word order (`scoring.skill`).
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from unbag.challenge_sets.perturbations.permutation import draw_derangement
from unbag.data.text.tokens import tokenize

COLUMNS: Final = ("id", "source_id", "premise", "hypothesis")
"""Columns of the control: the inputs of a model, and the ids."""

SEED: Final = 13
TARGET_ROWS: Final = 500
"""Number of rows from which one draw per row suffices. With fewer rows, the scores of several draws are averaged."""

MAX_DRAWS: Final = 5


def compute_num_shuffles(n_rows: int) -> int:
    """Compute the number of shuffles per row, from 1 to `MAX_DRAWS`, that gives about `TARGET_ROWS` shuffled rows.

    >>> [compute_num_shuffles(rows) for rows in (2000, 500, 200, 10)]
    [1, 1, 3, 5]
    """
    return min(MAX_DRAWS, max(1, -(-TARGET_ROWS // max(n_rows, 1))))  # -(-a // b) rounds up


def shuffle_rows(rows: Any, language: str, draw_index: int) -> Any:
    """Shuffle the words of both sentences in each row of a `datasets.Dataset`. The rows keep their order.

    Words move as in the permuted set: punctuation keeps its position, and every other token leaves its position. A
    sentence of fewer than two words is unchanged. The order of the words depends only on the row's id and the index of
    the draw, from 0.

    Returns:
        A `datasets.Dataset` with `COLUMNS`. The ids are those of the rows with the suffix `#shuffled-<draw>`.

    Raises:
        ImportError: If the rows are Chinese and rjieba is not installed.
        ValueError: If unbag cannot split sentences of the language into words.
    """
    return rows.select_columns(list(COLUMNS)).map(
        partial(_shuffle_batch, language=language, draw=draw_index),
        batched=True,
        # The rows are cheap to compute, and the cache key of `datasets` does not contain the version of the tokenizer.
        load_from_cache_file=False,
        keep_in_memory=False,
    )


def shuffle_pair(
    row_id: str, premise: str, hypothesis: str, *, language: str = "en", draw_index: int = 0
) -> tuple[str, str]:
    """Shuffle the words of one pair in the same way as `shuffle_rows`.

    >>> shuffle_pair("a", "Dogs sleep.", "No.")
    ('sleep Dogs .', 'No.')
    """
    return (
        draw_derangement(tokenize(premise, language), (SEED, "shuffled", row_id, "premise"), draw_index),
        draw_derangement(tokenize(hypothesis, language), (SEED, "shuffled", row_id, "hypothesis"), draw_index),
    )


def _shuffle_batch(batch: Mapping[str, Sequence[str]], *, language: str, draw: int) -> dict[str, list[str]]:
    pairs = [
        shuffle_pair(row_id, premise, hypothesis, language=language, draw_index=draw)
        for row_id, premise, hypothesis in zip(batch["id"], batch["premise"], batch["hypothesis"], strict=True)
    ]
    return {
        "id": [f"{row_id}#shuffled-{draw}" for row_id in batch["id"]],
        "premise": [premise for premise, _ in pairs],
        "hypothesis": [hypothesis for _, hypothesis in pairs],
    }
