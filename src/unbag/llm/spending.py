"""What a run asked of an endpoint, and what that costs."""

import threading
from dataclasses import dataclass, field

from unbag.llm.answers import Answer

_MILLION = 1_000_000


@dataclass
class Spending:
    """Requests and tokens of one run, counted by the endpoint itself; for any number of threads.

    Attributes:
        price_in: of a million tokens of questions, in any currency; None where unknown.
        price_out: of a million tokens of answers.
        answered: requests that were answered in this run.
        kept: answers that were there from earlier runs and cost nothing now.
        tokens_in: tokens of the questions that were answered in this run.
        tokens_out: tokens of their answers.

    >>> spending = Spending(price_in=2.0, price_out=8.0)
    >>> spending.add(Answer("Yes", (), "stop", tokens_in=1_000_000, tokens_out=500_000))
    >>> spending.cost, str(spending)
    (6.0, '1 request answered (0 more kept from earlier runs), 1,000,000 tokens in, 500,000 out: 6.0000')
    """

    price_in: float | None = None
    price_out: float | None = None
    answered: int = 0
    kept: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, answer: Answer) -> None:
        """Count an answer that was paid for."""
        with self._lock:
            self.answered += 1
            self.tokens_in += answer.tokens_in
            self.tokens_out += answer.tokens_out

    def add_kept(self) -> None:
        """Count an answer that was there already."""
        with self._lock:
            self.kept += 1

    @property
    def cost(self) -> float | None:
        """What the tokens of this run cost, in the currency of the prices; None without prices."""
        if self.price_in is None and self.price_out is None:
            return None
        return (self.tokens_in * (self.price_in or 0) + self.tokens_out * (self.price_out or 0)) / _MILLION

    def __str__(self) -> str:
        requests = f"{self.answered:,} request{'' if self.answered == 1 else 's'} answered"
        tokens = f"{self.tokens_in:,} tokens in, {self.tokens_out:,} out"
        summary = f"{requests} ({self.kept:,} more kept from earlier runs), {tokens}"
        return summary if self.cost is None else f"{summary}: {self.cost:.4f}"
