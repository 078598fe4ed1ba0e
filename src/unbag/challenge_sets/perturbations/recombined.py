"""Documents that contain all words of a claim, with and without a sentence that supports the claim.

A document is k sentences: premises of different source examples, in drawn order. One of them, the evidence, entails the
claim. Each claim comes with several documents, one per k, and each document with several rows:

- `supported`: the original claim; *entailment*.
- `subject`, `object`, `number`: an argument of the claim is exchanged for that of another sentence of the document, the
  donor (`arguments`); *not entailment*. Every content word of the claim is in the document.
- `removed`: the original claim, with another sentence in the place of the evidence; *not entailment*.

The card describes which sentences and arguments are combined. Every draw is looked up by seed and source id: no row
depends on another. The documents of a claim are nested, so that only the length differs.

The pairs for training (`create_recombined_generator`) have three labels. The label of a supported claim is entailment.
The other claims are neutral: the sentences of a document come from different examples, so that no sentence is about the
event of an exchanged claim, and none denies the claim. Documents of one sentence are omitted. Annotators of SNLI take
two sentences to describe one event, so that a sentence about another event often contradicts a claim in the corpus.
"""

import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import islice
from operator import itemgetter
from typing import Any, Final, NamedTuple

import numpy as np

from unbag.challenge_sets.perturbations.arguments import (
    Argument,
    ArgumentRole,
    find_claim_arguments,
    is_counted_noun_unique,
    is_valid_replacement,
    iter_replacement_arguments,
    replace_argument,
)
from unbag.challenge_sets.perturbations.augmentation import OFFICIAL, Candidates, GeneratedPair, PairGenerator
from unbag.challenge_sets.perturbations.content_words import collect_content_stems, expand_stems
from unbag.challenge_sets.perturbations.soswap_addamod import parse_items
from unbag.challenge_sets.perturbations.vocabulary_split import is_official_sentence
from unbag.data.labels import ENTAILMENT, NEUTRAL, NOT_ENTAILMENT, get_gold_id
from unbag.data.sources import Example
from unbag.data.text.parses import Parse, Parser
from unbag.utils import rng

logger = logging.getLogger(__name__)

DEFAULT_SEED: Final = 13
DEFAULT_SIZES: Final = (1, 4, 16, 64)
"""Sentences of the documents."""

SUPPORTED: Final = "supported"
REMOVED: Final = "removed"
EXCHANGES: Final = tuple(role.value for role in ArgumentRole)
OPERATIONS: Final = (SUPPORTED, *EXCHANGES, REMOVED)
"""Operations on a claim or its document, in the order of the rows."""

POOL_SIZE: Final = 4_096
"""Maximum number of filler sentences for documents in memory, whatever the size of the corpus."""

NOT_ENTAILED: Final = "not labelled entailment"
LONG_EVIDENCE: Final = "whose premise is not one sentence of 3 to 40 words"
OTHER_WORDS: Final = "whose hypothesis has a content word that the premise lacks"
UNREAL: Final = "whose premise describes an intended action (is about to, tries to), or whose hypothesis repeats a word"
NO_DONOR: Final = "no other sentence has a matching argument to replace an argument of the claim"
FEW_SENTENCES: Final = "too few sentences that share no words with the claim"

_SENTENCE_WORDS: Final = range(3, 41)
_SHARED: Final = 2  # content words that a sentence and the evidence may not share
_END: Final = re.compile(r"[.!?…][\"'”’)]*$")
_UNREAL: Final = re.compile(
    r"\b(about to|ready to|going to|(prepar|pretend|try|tri|attempt|want|plan|hop)(e|es|s|ed|ing|ning)? to)\b",
    re.IGNORECASE,
)
"""Phrases after which a verb does not say what happens, though a claim of the same words may."""
_REPEATED: Final = re.compile(r"\b(\w+) \1\b", re.IGNORECASE)
_INNER_END: Final = re.compile(r"[.!?…][\"'”’)]*\s+\S|\n")


class PoolSentence(NamedTuple):
    """A sentence in the pool of filler sentences for documents."""

    source_id: str  # the first example with this premise
    text: str
    stems: frozenset[str]  # stems of its content words
    implied: frozenset[str]  # stems of all words that it may say in other words


class SentencePool(NamedTuple):
    """Pool of filler sentences for documents, with the arguments of these sentences."""

    sentences: Sequence[PoolSentence]  # the sentences, in drawn order
    donors: Mapping[ArgumentRole, Sequence[tuple[int, Argument]]]  # position of the sentence and argument, by role
    objects: frozenset[tuple[str, str]]  # lemmas of the verbs and their objects in the sentences


class ModifiedClaim(NamedTuple):
    """A claim in which one argument was replaced by an argument of another sentence."""

    old: Argument
    new: Argument  # the argument of the other sentence
    donor: int  # position of the other sentence in the pool
    claim: str


def is_single_statement(text: str) -> bool:
    """Check whether a premise is a single sentence of 3 to 40 words and not a question.

    >>> [is_single_statement(text) for text in ("A man rides a bike.", "Stop. A man rides.", "Who rides a bike?")]
    [True, False, False]
    """
    text = text.strip()
    return len(text.split()) in _SENTENCE_WORDS and not text.endswith("?") and not _INNER_END.search(text)


def join_sentences(sentences: Iterable[str]) -> str:
    """Join sentences into a document. A sentence without final punctuation gets a full stop.

    >>> join_sentences(["A man rides a bike ", "Two dogs run."])
    'A man rides a bike. Two dogs run.'
    """
    return " ".join(text if _END.search(text) else f"{text}." for text in map(str.strip, sentences))


def draw_filler_sentences(
    examples: Iterable[Example], seed: int = DEFAULT_SEED, size: int = POOL_SIZE
) -> list[tuple[str, str]]:
    """Draw at most `size` filler sentences of a pool from the premises of examples, in drawn order.

    Each is a pair of the source id of the first example with the premise, and the premise. The sentences with the
    smallest hashes are taken, so that the draw depends on neither the order of the examples nor the number of times
    that a premise occurs.
    """
    drawn: dict[str, tuple[int, str]] = {}  # hash and source id of each premise
    for example in examples:
        text = example.premise
        if text not in drawn and is_single_statement(text):
            drawn[text] = int(rng.compute_key(seed, "recombined pool", text)), example.source_id
            # Dropped in between, so that memory use does not grow with the number of examples.
            if len(drawn) == 2 * size:
                drawn = dict(nsmallest(size, drawn.items(), key=itemgetter(1)))
    return [(source_id, text) for text, (_, source_id) in nsmallest(size, drawn.items(), key=itemgetter(1))]


def build_sentence_pool(texts: Sequence[tuple[str, str]], parser: Parser) -> SentencePool:
    """Build a pool of filler sentences, and find their arguments with the parser."""
    stems = [collect_content_stems(text) for _, text in texts]
    sentences = [PoolSentence(*text, each, expand_stems(each)) for text, each in zip(texts, stems, strict=True)]
    donors: dict[ArgumentRole, list[tuple[int, Argument]]] = {role: [] for role in ArgumentRole}
    for number, parse in enumerate(parser.parse(text for _, text in texts)):
        for argument in iter_replacement_arguments(parse):
            donors[argument.role].append((number, argument))
    objects = frozenset((argument.verb, argument.noun) for _, argument in donors[ArgumentRole.OBJECT])
    return SentencePool(sentences, donors, objects)


def iter_recombined_rows(
    examples: Iterable[Example],
    pool: SentencePool,
    parser: Parser,
    *,
    sizes: Sequence[int] = DEFAULT_SIZES,
    seed: int = DEFAULT_SEED,
    counts: Counter[str] | None = None,
) -> Iterator[dict[str, Any]]:
    """Build the rows of the recombined set from examples. The source is the pair of evidence and claim.

    `sizes` are the numbers of sentences of the documents. `counts` is updated while rows are taken: `claims`, the rows
    of each operation, and the examples that make no row by reason (`excluded: a negation`).
    """
    counts = Counter() if counts is None else counts

    def claims() -> Iterator[tuple[Example, str]]:
        for example in examples:
            if reason := find_example_exclusion_reason(example):
                counts[f"excluded: {reason}"] += 1
            else:
                yield example, example.hypothesis

    for example, parse in parse_items(claims(), parser):
        rows = build_claim_rows(example, parse, pool, sizes=sizes, seed=seed)
        if isinstance(rows, str):
            counts[f"excluded: {rows}"] += 1
            continue
        counts["claims"] += 1
        counts.update(row["operation"] for row in rows)
        yield from rows
    logger.info("recombined: %s", dict(counts.most_common()))


def find_example_exclusion_reason(example: Example) -> str | None:
    """Find the reason to exclude an example, without parsing it. Return None if there is none."""
    if example.label != ENTAILMENT:
        return NOT_ENTAILED
    if not is_single_statement(example.premise):
        return LONG_EVIDENCE
    if not collect_content_stems(example.hypothesis) <= collect_content_stems(example.premise):
        return OTHER_WORDS
    return UNREAL if _UNREAL.search(example.premise) or _REPEATED.search(example.hypothesis) else None


def build_claim_rows(
    example: Example,
    parse: Parse,
    pool: SentencePool,
    *,
    sizes: Sequence[int] = DEFAULT_SIZES,
    seed: int = DEFAULT_SEED,
) -> list[dict[str, Any]] | str:
    """Build all rows of one claim, or return the reason why there are none.

    The example is an entailed pair for which `find_example_exclusion_reason` finds no reason. Its hypothesis, whose
    parse is given, is the claim. `sizes` are the numbers of sentences of the documents.
    """
    arguments = find_claim_arguments(parse)
    if isinstance(arguments, str):
        return arguments
    exchanges = _exchanges(example, parse, arguments, pool, seed)
    if not exchanges:
        return NO_DONOR
    fillers = list(islice(_fillers(example, exchanges, pool, seed), max(sizes)))
    if not fillers:
        return FEW_SENTENCES
    # The first stands in the place of the evidence, so that no document of the claim has it already.
    replacement, *others = fillers
    rows: list[dict[str, Any]] = []
    for k in sorted(set(sizes)):
        fit = exchanges[: k - 1]
        # A document of one sentence has no donor; a longer one without any exchange would say nothing.
        if k - 1 - len(fit) <= len(others):
            rows += _document_rows(example, fit, [*(x.donor for x in fit), *others][: k - 1], replacement, pool, seed)
    return rows if any(row["operation"] in EXCHANGES for row in rows) else FEW_SENTENCES


def _document_rows(
    example: Example,
    exchanges: Sequence[ModifiedClaim],
    others: Sequence[int],
    replacement: int,
    pool: SentencePool,
    seed: int,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a claim and one document, whose sentences but the evidence are `others`."""
    k = len(others) + 1
    slots = _drawn_order(k, seed, example.source_id, "positions", k).tolist()  # of the evidence, then of each other

    def join(first: str) -> str:
        texts = [first, *(pool.sentences[number].text for number in others)]
        return join_sentences(text for _, text in sorted(zip(slots, texts, strict=True)))

    document = join(example.premise)
    group = f"{example.source_id}#{k}"

    def row(operation: str, premise: str, hypothesis: str, label: str) -> dict[str, Any]:
        return {
            "id": f"{group}#{operation}",
            "source_id": example.source_id,
            "premise": premise,
            "hypothesis": hypothesis,
            "label": get_gold_id(label),
            "group": group,
            "k": k,
            "position": slots[0],
            "operation": operation,
        }

    yield row(SUPPORTED, document, example.hypothesis, ENTAILMENT)
    for old, new, donor, claim in exchanges:
        yield row(old.role.value, document, claim, NOT_ENTAILMENT) | {
            "donor_position": slots[1 + others.index(donor)],
            "donor_id": pool.sentences[donor].source_id,
            "replaced": old.text,
            "replacement": new.text,
        }
    yield row(REMOVED, join(pool.sentences[replacement].text), example.hypothesis, NOT_ENTAILMENT)


def _exchanges(
    example: Example, parse: Parse, arguments: Sequence[Argument], pool: SentencePool, seed: int
) -> list[ModifiedClaim]:
    """Find a donor for each argument of a claim that has one."""
    claim, evidence = collect_content_stems(example.hypothesis), collect_content_stems(example.premise)
    implied = expand_stems(evidence)
    exchanges: list[ModifiedClaim] = []
    for old in arguments:
        if old.role is ArgumentRole.NUMBER and not is_counted_noun_unique(example.premise, old):
            continue
        candidates = pool.donors[old.role]
        for index in _drawn_order(len(candidates), seed, example.source_id, old.role).tolist():
            number, new = candidates[index]
            phrase, sentence = collect_content_stems(new.text), pool.sentences[number]
            if (
                is_valid_replacement(old, new, pool.objects)
                # The evidence may speak of somebody else too, of whom the exchanged claim would be true.
                and implied.isdisjoint(phrase)
                and _is_foreign(sentence, claim, evidence)
                # Neither this donor nor those before it have the words of each other's arguments.
                and all(
                    number != other.donor
                    and sentence.implied.isdisjoint(collect_content_stems(other.new.text))
                    and pool.sentences[other.donor].implied.isdisjoint(phrase)
                    for other in exchanges
                )
            ):
                exchanges.append(ModifiedClaim(old, new, number, replace_argument(parse, old, new)))
                break
    return exchanges


def _fillers(example: Example, exchanges: Sequence[ModifiedClaim], pool: SentencePool, seed: int) -> Iterator[int]:
    """Yield the sentences of a pool that say nothing of a claim or its exchanges, in drawn order."""
    evidence = collect_content_stems(example.premise)
    phrases = [example.hypothesis, *(each.new.text for each in exchanges)]
    stems = frozenset[str]().union(*map(collect_content_stems, phrases))
    for number in _drawn_order(len(pool.sentences), seed, example.source_id, "sentences").tolist():
        if _is_foreign(pool.sentences[number], stems, evidence):
            yield number


def _is_foreign(sentence: PoolSentence, stems: frozenset[str], evidence: frozenset[str]) -> bool:
    """Check whether a sentence has none of some words, and not two of the evidence's."""
    return sentence.implied.isdisjoint(stems) and len(sentence.stems & evidence) < _SHARED


def _drawn_order(n: int, seed: int, *place: object) -> Any:
    """Draw an order of the numbers 0 to n - 1, shape (n,), by seed and place alone."""
    numbers = rng.generate_random_numbers(rng.compute_key(seed, "recombined", *place), np.arange(n))
    return np.argsort(numbers, kind="stable")  # equal numbers have one order on every machine


SIZES: Final = (4, 16)
"""Sentences of the documents. Documents of 64 sentences exceed the maximum length of most models."""


def create_recombined_generator(examples: Sequence[Example], parser: Parser) -> PairGenerator:
    """Create a generator of pairs of a document and a supported or unsupported claim.

    The entailed hypotheses of the examples are the claims. Their premises are the evidence and the other sentences,
    which are drawn and parsed first. The seed selects the document size, the sentences, the arguments and the pair.
    """
    # The sampler looks up whole documents, so that official sentences inside them are excluded here.
    usable = (example for example in examples if not is_official_sentence(example.premise))
    pool = build_sentence_pool(draw_filler_sentences(usable), parser)
    reasons = [
        find_example_exclusion_reason(example) or (OFFICIAL if is_official_sentence(example.premise) else None)
        for example in examples
    ]

    def generate(order: Sequence[int], seed: int) -> Iterator[Candidates]:
        parses = parser.parse(examples[i].hypothesis for i in order if reasons[i] is None)
        for i in order:
            yield reasons[i] or _draw_pair(examples[i], next(parses), pool, seed)

    return PairGenerator("recombined", examples, generate)


def _draw_pair(example: Example, parse: Parse, pool: SentencePool, seed: int) -> Candidates:
    """Draw one of the set's rows of a claim. All have the same probability, so that labels are as in the set."""
    rows = build_claim_rows(example, parse, pool, sizes=SIZES, seed=seed)
    if isinstance(rows, str):
        return rows
    row = rows[int(rng.compute_key(seed, "recombined pair", example.source_id)) % len(rows)]
    label = ENTAILMENT if row["operation"] == SUPPORTED else NEUTRAL
    return [GeneratedPair(row["premise"], row["hypothesis"], label)]
