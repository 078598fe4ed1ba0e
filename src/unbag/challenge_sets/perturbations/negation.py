"""Pairs with negated sentences and labels proved by natural logic.

The generator negates plain sentences by one of several templates. A plain sentence is a single clause: a subject, its
verb directly after it, and no word that negates, restricts or compares. This module does not verify that the result is
the logical negation; the labeller proves the label of each pair.

The pairs have all three labels. Let S be a plain sentence ("A man is riding a horse in a field."), T a shorter sentence
that S entails ("A man is riding a horse."), and "No man …" their negations. The pairs (premise, hypothesis) are:

- contradiction: S and not S, S and not T, in either order;
- entailment: not T, not S;
- neutral: not S, not T; T and not S, in either order.

So a negation does not reveal the label: pairs of each label have a negation in the premise or in the hypothesis.

`iter_negation_rows` builds the rows of the negation set, and `create_mirror_generator` pairs like them for training.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

import numpy as np

from unbag.challenge_sets.perturbations.augmentation import (
    Candidates,
    GeneratedPair,
    LabelProver,
    PairGenerator,
    create_premise_generator,
    get_proved_label,
)
from unbag.challenge_sets.perturbations.negation_claims import Claim, find_single_clause
from unbag.challenge_sets.perturbations.negation_operations import NegationPair, build_negation_pairs
from unbag.challenge_sets.perturbations.soswap_addamod import iter_distinct_premises, parse_items
from unbag.challenge_sets.perturbations.vocabulary_split import ALL, are_in_vocabulary_half
from unbag.challenge_sets.perturbations.word_lists import FIXED_PHRASES
from unbag.data.labels import CONTRADICTION, ENTAILMENT, LABELS, NEUTRAL, get_gold_id
from unbag.data.sources import Example
from unbag.data.text.grammar import (
    NEGATIONS,
    ORIGIN,
    PEOPLE,
    adapt_article,
    decapitalize,
    get_adjective_rank,
)
from unbag.data.text.parses import BE, GrammaticalPerson, Parse, Parser, conjugate_verb, inflect
from unbag.utils import rng

NOT: Final = "not"
CONTRACTED: Final = "n't"
NO: Final = "no"
THERE_IS_NO: Final = "there is no"
NOBODY: Final = "nobody"
NOT_TRUE: Final = "it is not true that"
TEMPLATES: Final = (NOT, CONTRACTED, NO, THERE_IS_NO, NOBODY, NOT_TRUE)

_NOT_PLAIN: Final = NEGATIONS | frozenset(
    """without only except but or if unless than all every each everyone everybody someone somebody both most few many
    any other another others either same own several various different else too also still just almost nearly who which
    that what""".split()
)
"""Words that may change the meaning of a negation, or make it hard to read."""
_OTHER_CLAUSES: Final = frozenset("advcl acl appos ccomp conj csubj dep expl parataxis relcl".split())
_MARKS: Final = frozenset({"PUNCT", "SPACE", "SYM", "X"})
_COLLECTIVE: Final = frozenset("bunch couple crowd family group line lot majority number pair row team variety".split())
_COUNTS: Final = frozenset("two three four five six seven eight nine ten".split())
_DETERMINERS: Final = _COUNTS | frozenset("a an the some one".split())
_DETERMINING: Final = ("det", "nummod", "poss", "predet", "quantmod")
_OWN: Final = frozenset("his her their him them himself herself themselves".split())


def find_simple_clause(parse: Parse) -> Claim | None:
    """Find the subject and the verb of a simple sentence (a single clause). Return None for other sentences."""
    clause = find_single_clause(parse, _NOT_PLAIN, _OTHER_CLAUSES, _MARKS)
    if clause is None:
        return None
    words, (_, noun, finite, verb) = parse.lower_words, clause
    if parse.tags[noun] not in ("NN", "NNS") or parse.lemmas[noun].lower() in _COLLECTIVE:
        return None
    if (parse.tags[noun] == "NN" and not parse.has_child(noun, *_DETERMINING)) or "CCONJ" in parse.pos[:finite]:
        return None
    # The verb is in the present tense and agrees with the noun.
    if parse.tags[finite] != ("VBZ" if parse.tags[noun] == "NN" else "VBP") or not words[finite].isalpha():
        return None
    auxiliaries = [i for i in parse.children(verb) if parse.deps[i] in ("aux", "auxpass")]
    # "are happily playing" may be negated in two places.
    return None if auxiliaries and (words[finite] not in BE or auxiliaries != [verb - 1]) else clause


def build_negations(clause: Claim) -> Mapping[str, str]:
    """Build one negation of a simple sentence per suitable template. Returns a dict from templates to texts."""
    parse, finite, word = clause.parse, clause.finite, clause.parse.words[clause.finite]
    first = {0: decapitalize(parse.words[0], parse.pos[0])}
    by_template = {NOT_TRUE: f"It is not true that {_text(parse, first)}"}
    base = parse.lemmas[finite].lower()
    if parse.lower_words[finite] in BE:
        by_template |= {NOT: _text(parse, {finite: f"{word} not"}), CONTRACTED: _text(parse, {finite: f"{word}n't"})}
    elif word in (base, inflect(base, "VBZ")):
        do = "do" if parse.tags[clause.noun] == "NNS" else "does"
        by_template[NOT] = _text(parse, {finite: f"{do} not {base}"})
        by_template[CONTRACTED] = _text(parse, {finite: f"{do}n't {base}"})
    start = _without_determiner(parse, clause.noun)
    if start is None:
        return by_template
    by_template[NO] = "No " + _text(parse, first, start)
    if word in BE and parse.tags[clause.verb] == "VBG" and finite < clause.verb:
        by_template[THERE_IS_NO] = f"There {word} no " + _text(parse, first | {finite: ""}, start)
    # Without other words in the subject. Pronouns would lose their antecedent: "Nobody is standing on her head."
    is_single_noun = start == clause.noun == finite - 1 and _OWN.isdisjoint(parse.lower_words)
    if is_single_noun and parse.lemmas[clause.noun].lower() in PEOPLE:
        third = parse.tags[finite] == "VBZ"
        verb = conjugate_verb(word, base, GrammaticalPerson.SINGULAR, is_third_person=third)
        by_template[NOBODY] = "Nobody " + _text(parse, {finite: verb}, finite)
    return by_template


def _without_determiner(parse: Parse, noun: int) -> int | None:
    """Find the first token of a subject after its determiner; None if "no" cannot replace the determiner."""
    determiners = [i for i in parse.children(noun) if parse.deps[i] in _DETERMINING]
    if not determiners:
        return 0
    return 1 if determiners == [0] and parse.lower_words[0] in _DETERMINERS else None


def _text(parse: Parse, changed: Mapping[int, str], start: int = 0) -> str:
    return parse.join(range(start, len(parse.words)), changed)


_PREPOSITIONS: Final = frozenset(
    "across along around at behind beside by during in inside near on outside over through under with".split()
)
_NEEDED: Final = frozenset(
    """be become belong carry consist cover depend dress dry engage fill go hang head keep lay lead lean lie live look
    lounge participate place point put remain rest seem set sit smile stand stare stay talk wait wear work""".split()
)
"""Verbs that say little, or change their meaning, without their complement."""


def iter_shortened_parses(parse: Parse) -> Iterator[Parse]:
    """Generate shorter parses of the sentence, each with one optional modifier removed."""
    return (remove_tokens(parse, parse.subtree(i)) for i in range(len(parse.words)) if _is_optional(parse, i))


def _is_optional(parse: Parse, i: int) -> bool:
    head, span = parse.heads[i], parse.subtree(i)
    if span != list(range(span[0], span[-1] + 1)) or span[0] == 0 or head in span:
        return False
    if parse.pos[span[0] - 1] in ("ADP", "SCONJ", "CCONJ"):
        return False  # "while | on a skateboard": the previous word needs the phrase
    if parse.deps[i] == "amod":
        phrase = " ".join(parse.lower_words[i : head + 1])
        # Only adjectives of size, age, colour and the like: others form a name or a kind (martial artist, polar bear).
        is_property = get_adjective_rank(parse.words[i]) not in (None, ORIGIN) and len(span) == 1
        if not is_property or phrase in FIXED_PHRASES:
            return False
        return parse.pos[head] == "NOUN" and parse.deps[head] != "compound"  # not in "martial arts competition"
    if parse.deps[i] == "advmod":
        return len(span) == 1 and parse.lower_words[i].endswith("ly") and parse.pos[head] == "VERB"
    if parse.deps[i] != "prep" or parse.lower_words[i] not in _PREPOSITIONS or parse.child(i, "pobj") is None:
        return False
    if parse.pos[head] == "VERB":
        # Removal inside a sentence may change the attachment of the words that follow.
        at_end = all(pos == "PUNCT" for pos in parse.pos[span[-1] + 1 :])
        return at_end and (parse.child(head, "dobj") is not None or parse.lemmas[head].lower() not in _NEEDED)
    return parse.tags[head] in ("NN", "NNS") and i == head + 1


def remove_tokens(parse: Parse, token_indices: list[int]) -> Parse:
    """Remove consecutive tokens from a parse. An indefinite article before them is adapted to the next word."""
    start, stop = token_indices[0], token_indices[-1] + 1
    words, spaces = list(parse.words), list(parse.spaces)
    if start > 0:
        if stop < len(words):
            words[start - 1] = adapt_article(words[start - 1], words[stop])
        spaces[start - 1] = spaces[stop - 1]
    return replace(parse, words=tuple(words), spaces=tuple(spaces)).splice(start, stop)


NOT_PLAIN: Final = "not a plain sentence"
NO_TEMPLATE: Final = "no matching template"
NO_PROOF: Final = "no proof of the label"
_CHUNK_SIZE: Final = 64  # sentences whose pairs are proved together

T = TypeVar("T")


def create_negated_generator(
    premises: Sequence[str], parser: Parser, labeller: LabelProver, *, words: str = ALL
) -> PairGenerator:
    """Create a generator of pairs with negated sentences, whose labels the labeler proves.

    `words` restricts the templates. The seed selects template and modifier.
    """

    def generate(order: Sequence[int], seed: int) -> Iterator[Candidates]:
        for start in range(0, len(order), _CHUNK_SIZE):
            parses = parser.parse(premises[i] for i in order[start : start + _CHUNK_SIZE])
            candidates = [_build_negated_pairs(parse, seed, words) for parse in parses]
            pairs = [pair for result in candidates if not isinstance(result, str) for pair in result]
            verdicts = labeller.iter_verdicts([pair.premise for pair in pairs], [pair.hypothesis for pair in pairs])
            for result in candidates:
                if isinstance(result, str):
                    yield result
                    continue
                # The labeller yields one verdict per pair, in the order of `pairs`.
                confirmed = [pair for pair in result if get_proved_label(next(verdicts)) == pair.label]
                yield confirmed or NO_PROOF

    return PairGenerator("negated", premises, generate, balanced=True)


def _build_negated_pairs(parse: Parse, seed: int, words: str) -> Candidates:
    """Build one candidate pair per label, or return the reason why there is none."""
    clause = find_simple_clause(parse)
    if clause is None:
        return NOT_PLAIN
    by_template = {
        name: text for name, text in build_negations(clause).items() if are_in_vocabulary_half(words, [name])
    }
    if not by_template:
        return NO_TEMPLATE
    long, key = str(parse), int(rng.compute_key(seed, "negated", str(parse)))
    template = _choose(sorted(by_template), key, "template")
    not_long = by_template[template]
    pairs = [GeneratedPair(long, not_long, CONTRADICTION), GeneratedPair(not_long, long, CONTRADICTION)]
    shorter = [found for found in map(find_simple_clause, iter_shortened_parses(parse)) if found is not None]
    if shorter:
        chosen = _choose(shorter, key, "shorter")
        short, not_short = chosen.parse, build_negations(chosen).get(template)
        if not_short is not None:
            pairs += [
                GeneratedPair(long, not_short, CONTRADICTION),
                GeneratedPair(not_short, long, CONTRADICTION),
                GeneratedPair(not_short, not_long, ENTAILMENT),
                GeneratedPair(not_long, not_short, NEUTRAL),
                GeneratedPair(str(short), not_long, NEUTRAL),
                GeneratedPair(not_long, str(short), NEUTRAL),
            ]
    by_label = {label: [pair for pair in pairs if pair.label == label] for label in LABELS}
    return [_choose(candidates, key, label) for label, candidates in by_label.items() if candidates]


def _choose(items: Sequence[T], key: int, name: str) -> T:
    return items[int(rng.compute_key(key, name)) % len(items)]


logger = logging.getLogger(__name__)

DEFAULT_SEED: Final = 13


def iter_negation_rows(
    examples: Iterable[Example],
    parser: Parser,
    *,
    seed: int = DEFAULT_SEED,
    words: str = ALL,
    counts: Counter[str] | None = None,
) -> Iterator[dict[str, Any]]:
    """Build the rows of the negation set from the distinct premises of a corpus.

    The source of a row is the first example with its premise. `words` is the vocabulary of the pairs: `all`, or one
    half (`challenge_sets.perturbations.vocabulary_split`). `counts` is updated while rows are consumed. Its keys are
    `premises`, `claims`, the operations, and the excluded premises by reason (`excluded: ...`).
    """
    counts = Counter() if counts is None else counts
    for source_id, parse in parse_items(iter_distinct_premises(examples), parser):
        counts["premises"] += 1
        pairs = build_negation_pairs(parse, seed=seed, words=words)
        if isinstance(pairs, str):
            counts[f"excluded: {pairs}"] += 1
            continue
        counts["claims"] += 1
        for number, pair in enumerate(pairs):
            counts[pair.operation] += 1
            yield {
                "id": f"{source_id}#{number}",
                "source_id": source_id,
                "premise": pair.premise,
                "hypothesis": pair.hypothesis,
                "label": get_gold_id(pair.label),
                "operation": pair.operation,
                "mirror": f"{source_id}#{pair.operation}#{pair.mirror}",
                "negation": pair.negation,
                "source_premise": str(parse),
            }
    logger.info("negation: %s", dict(counts.most_common()))


NO_LABEL: Final = "no mirrored pairs with certain three-way labels"


def create_mirror_generator(premises: Sequence[str], parser: Parser, *, words: str = ALL) -> PairGenerator:
    """Create a generator of mirrors: two pairs with the same hypothesis, whose premises have the same words.

    The first premise entails the hypothesis. For the second premise, the label is contradiction or neutral. The seed
    selects the operation, the pairs and the words.
    """

    def build_pairs(parse: Parse, seed: int) -> Candidates:
        pairs = build_negation_pairs(parse, seed=seed, words=words)
        return pairs if isinstance(pairs, str) else _draw_mirror(parse, pairs, seed)

    return create_premise_generator("negation", premises, parser, build_pairs, group_size=2)


def _draw_mirror(parse: Parse, pairs: Sequence[NegationPair], seed: int) -> Candidates:
    """Draw an operation, and one of its mirrors whose labels are certain."""
    mirrors: dict[str, dict[int, list[GeneratedPair]]] = {}
    for pair in pairs:
        if pair.three_way is not None:
            mirror = mirrors.setdefault(pair.operation, {}).setdefault(pair.mirror, [])
            mirror.append(GeneratedPair(pair.premise, pair.hypothesis, pair.three_way))
    whole = {name: [each for each in some.values() if len(each) == 2] for name, some in mirrors.items()}
    names = [name for name, some in whole.items() if some]
    if not names:
        return NO_LABEL
    key = rng.compute_key(seed, "negation mirror", str(parse))
    operation, number = rng.generate_random_numbers(key, np.arange(2)).tolist()
    some = whole[names[operation % len(names)]]
    return some[number % len(some)]
