"""Recombined pairs for training with three labels: a document of training premises, and a claim.

The label of a supported claim is entailment. The other claims are neutral: the sentences of a document come from
different examples, so that no sentence is about the event of an exchanged claim, and none denies the claim.

Documents of one sentence are omitted. Annotators of SNLI take two sentences to describe one event, so that a sentence
about another event often contradicts a claim in the corpus.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from unbag.challenge_sets.perturbations.augmentation import OFFICIAL, GeneratedPair
from unbag.challenge_sets.perturbations.recombined import (
    SUPPORTED,
    build_claim_rows,
    build_pool,
    draw_pool_texts,
    find_exclusion,
)
from unbag.challenge_sets.perturbations.vocabulary_split import is_official
from unbag.data.labels import ENTAILMENT, NEUTRAL
from unbag.data.sources import Example
from unbag.data.text.parses import Parse, Parser
from unbag.utils import rng

SIZES: Final = (4, 16)
"""Sentences of the documents. Documents of 64 sentences exceed the maximum length of most models."""


class RecombinedPairs:
    """Generator that builds documents with supported and unsupported claims."""

    kind = "recombined"
    balanced = False
    group_size = 1

    def __init__(self, examples: Sequence[Example], parser: Parser, *, sizes: Sequence[int] = SIZES) -> None:
        """Draw the sentences that documents are filled with, and parse them.

        Args:
            examples: Pairs of a corpus. Their entailed hypotheses are the claims; their premises are the evidence and
                the other sentences.
            parser: Parser of claims and sentences, with a cache on disk.
            sizes: Numbers of sentences of the documents, each above 1 (default: `SIZES`).
        """
        self._examples, self._parser, self._sizes = examples, parser, sizes
        # The sampler looks up whole documents, so that official sentences inside them are excluded here.
        usable = (example for example in examples if not is_official(example.premise))
        self._pool = build_pool(draw_pool_texts(usable), parser)
        self._reasons = [
            find_exclusion(example) or (OFFICIAL if is_official(example.premise) else None) for example in examples
        ]

    def __len__(self) -> int:
        return len(self._examples)

    def generate(self, order: Sequence[int], seed: int) -> Iterator[list[GeneratedPair] | str]:
        """Generate one pair for each claim.

        The seed selects the document size, the sentences, the arguments and the pair.
        """
        parses = self._parser.parse(self._examples[i].hypothesis for i in order if self._reasons[i] is None)
        for i in order:
            yield self._reasons[i] or self._draw_pair(self._examples[i], next(parses), seed)

    def _draw_pair(self, example: Example, parse: Parse, seed: int) -> list[GeneratedPair] | str:
        """Draw one of the set's rows of a claim. All have the same probability, so that labels are as in the set."""
        rows = build_claim_rows(example, parse, self._pool, sizes=self._sizes, seed=seed)
        if isinstance(rows, str):
            return rows
        row = rows[int(rng.compute_key(seed, "recombined pair", example.source_id)) % len(rows)]
        label = ENTAILMENT if row["operation"] == SUPPORTED else NEUTRAL
        return [GeneratedPair(row["premise"], row["hypothesis"], label)]
