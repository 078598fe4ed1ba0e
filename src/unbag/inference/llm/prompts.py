"""What a language model is asked: an instruction, worked examples, a pair, and a word for each label."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from unbag.data.labels import CONTRADICTION, ENTAILMENT, LABELS, NEUTRAL

Messages: TypeAlias = list[dict[str, str]]
"""The turns of a conversation, as chat templates and chat endpoints take them: `role` and `content`."""

WORDS: Final[Mapping[str, str]] = {ENTAILMENT: "Yes", NEUTRAL: "Maybe", CONTRADICTION: "No"}
"""What stands for each label. Everyday words with different beginnings: one token each in most vocabularies, and told
apart by their first token in all."""

INSTRUCTION: Final = (
    "You are given a premise and a hypothesis. Take the premise as true. Answer Yes if the hypothesis must then be "
    "true, No if it cannot be true, and Maybe if the premise leaves it open. Answer with that one word."
)

EXAMPLES: Final = (
    ("A boy in a yellow coat is feeding pigeons beside a fountain.", "A child is giving food to birds.", ENTAILMENT),
    ("A waiter is carrying a tray of empty glasses.", "The waiter has worked here for ten years.", NEUTRAL),
    ("The shop is closed and its lights are off.", "The shop is open.", CONTRADICTION),
    ("Two women are painting a fence in the sun.", "It is the middle of the night.", CONTRADICTION),
    ("Every seat on the bus is taken.", "There is no free seat on the bus.", ENTAILMENT),
    ("A man is waiting at a railway station with a suitcase.", "The man is travelling for work.", NEUTRAL),
)
"""Worked examples, written for this: premise, hypothesis, label. The first three have each label once, as all six have
each twice; none is among the pairs of the label probe."""

SHOTS: Final = (0, 3, 6)


@dataclass(frozen=True)
class Prompt:
    """The question put to a language model.

    Attributes:
        num_fewshot: how many of `EXAMPLES` go before the pair: 0, 3 or 6.

    >>> print(Prompt().text("A dog runs.", "It moves.").partition("word.")[2])
    <BLANKLINE>
    <BLANKLINE>
    Premise: A dog runs.
    Hypothesis: It moves.
    Answer:
    """

    num_fewshot: int = 0

    def __post_init__(self) -> None:
        if self.num_fewshot not in SHOTS:
            raise ValueError(
                f"expected {', '.join(map(str, SHOTS))} worked examples (num_fewshot), found {self.num_fewshot}"
            )

    def text(self, premise: str, hypothesis: str) -> str:
        """Return the question as text to be continued with a space and one of `WORDS`."""
        worked = [f"{_pair(p, h)}\nAnswer: {WORDS[label]}" for p, h, label in EXAMPLES[: self.num_fewshot]]
        return "\n\n".join([INSTRUCTION, *worked, f"{_pair(premise, hypothesis)}\nAnswer:"])

    def messages(self, premise: str, hypothesis: str) -> Messages:
        """Return the question as a conversation whose next turn is one of `WORDS`.

        The instruction is part of the first question: not every chat template knows a system's turn.
        """
        turns: Messages = []
        for p, h, label in EXAMPLES[: self.num_fewshot]:
            turns += [{"role": "user", "content": _pair(p, h)}, {"role": "assistant", "content": WORDS[label]}]
        turns.append({"role": "user", "content": _pair(premise, hypothesis)})
        turns[0]["content"] = f"{INSTRUCTION}\n\n{turns[0]['content']}"
        return turns


def fingerprint(question: str | Messages) -> str:
    """Return the sha256 of a question with the words that answer it: another wording is another one."""
    content = json.dumps([question, [WORDS[label] for label in LABELS]], ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()


def _pair(premise: str, hypothesis: str) -> str:
    return f"Premise: {premise}\nHypothesis: {hypothesis}"
