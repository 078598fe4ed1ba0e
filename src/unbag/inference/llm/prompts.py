"""Default prompts for language models: an instruction, few-shot examples, a pair, and a word for each label."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias

from unbag.data.labels import CONTRADICTION, ENTAILMENT, LABELS, NEUTRAL

Messages: TypeAlias = list[dict[str, str]]
"""Messages of a conversation in the format of chat templates and chat endpoints: `role` and `content`."""

WORDS: Final[Mapping[str, str]] = {ENTAILMENT: "Yes", NEUTRAL: "Maybe", CONTRADICTION: "No"}
"""Word for each label. These are common words with different beginnings: a single token in most vocabularies, and
different first tokens in all vocabularies."""

Words: TypeAlias = Mapping[str, tuple[str, ...]]
"""Words for each label, in the order of the label space; the first word is the usual word."""

DEFAULT_WORDS: Final[Words] = {label: (WORDS[label],) for label in LABELS}

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
"""Few-shot examples, written for this prompt: premise, hypothesis, label. The first three have each label once, and all
six have each label twice. The label probe contains none of them."""

SHOTS: Final = (0, 3, 6)


@dataclass(frozen=True)
class DefaultPrompt:
    """Default prompt for language models.

    >>> print(DefaultPrompt().build_text("A dog runs.", "It moves.").partition("word.")[2])
    <BLANKLINE>
    <BLANKLINE>
    Premise: A dog runs.
    Hypothesis: It moves.
    Answer:
    """

    num_fewshot: int = 0  # number of `EXAMPLES` before the pair, one of `SHOTS`
    words: ClassVar[Words] = DEFAULT_WORDS
    label_space: ClassVar[tuple[str, ...]] = LABELS
    json_field: ClassVar[str | None] = None  # the answer is text
    sha256: ClassVar[str | None] = None  # no file

    def __post_init__(self) -> None:
        if self.num_fewshot not in SHOTS:
            raise ValueError(
                f"expected {', '.join(map(str, SHOTS))} few-shot examples (num_fewshot), got {self.num_fewshot}; "
                "pass one of these numbers"
            )

    def build_text(self, premise: str, hypothesis: str) -> str:
        """Build the prompt text. The expected continuation is a space and one of `WORDS`."""
        solved = [f"{_pair(p, h)}\nAnswer: {WORDS[label]}" for p, h, label in EXAMPLES[: self.num_fewshot]]
        return "\n\n".join([INSTRUCTION, *solved, f"{_pair(premise, hypothesis)}\nAnswer:"])

    def build_messages(self, premise: str, hypothesis: str) -> Messages:
        """Build the prompt as chat messages. The expected reply is one of `WORDS`."""
        turns: Messages = []
        for p, h, label in EXAMPLES[: self.num_fewshot]:
            turns += [{"role": "user", "content": _pair(p, h)}, {"role": "assistant", "content": WORDS[label]}]
        turns.append({"role": "user", "content": _pair(premise, hypothesis)})
        # Some chat templates have no system turn, so the instruction is part of the first user turn.
        turns[0]["content"] = f"{INSTRUCTION}\n\n{turns[0]['content']}"
        return turns


def compute_prompt_hash(prompt: str | Messages, file_hash: str | None = None) -> str:
    """Compute the sha256 of a prompt for a placeholder pair and the label words.

    `file_hash` is the hash of the prompt's file, for a prompt with words of its own.
    """
    words = [WORDS[label] for label in LABELS] if file_hash is None else [file_hash]
    content = json.dumps([prompt, words], ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()


def _pair(premise: str, hypothesis: str) -> str:
    return f"Premise: {premise}\nHypothesis: {hypothesis}"
