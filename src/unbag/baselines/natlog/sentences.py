"""The labeller of ordinary sentences, as a predictor, with proofs in words.

A proof has a line per step: the edit, its context, what follows from it, and the relation so far.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from unbag.baselines.natlog.alignment import CannotReadError, Sort, align
from unbag.baselines.natlog.edits import edits
from unbag.baselines.natlog.lexicon import LexicalRelations
from unbag.baselines.natlog.parsing import VERBS, Tree, like, plain, read
from unbag.baselines.natlog.proofs import Step, label_of, prove
from unbag.baselines.natlog.relations import Relation
from unbag.baselines.wordnet.database import open_wordnet
from unbag.baselines.wordnet.relations import Lexicon
from unbag.data.labels import LABELS
from unbag.data.text.parses import Parser
from unbag.data.text.tagging import PIPELINE
from unbag.inference.predictor import one_hot_probabilities, validate_pairs

_AT_ONCE: Final = 1_000
_MOST_WORDS: Final = 300  # every word of a sentence is held against every word of the other


@dataclass(frozen=True)
class Verdict:
    """What the labeller says of a pair.

    Attributes:
        label: one of `data.labels.LABELS`; None for a pair that it cannot read.
        relation: of the premise to the hypothesis; None likewise. Independence where none is proved.
        steps: the proof.
        unread: what it cannot read, in words; empty where it can.
    """

    label: str | None
    relation: Relation | None
    steps: tuple[Step, ...] = ()
    unread: str = ""


class Labeller:
    """Labels pairs by edits in their contexts.

    Attributes:
        identity: what decides its answers.
    """

    def __init__(self, parser: Parser, lexicon: Lexicon, name: str) -> None:
        """Take a parser and a lexicon of that name; `load` finds both."""
        self._parser = parser
        self._words = LexicalRelations(lexicon)
        self.identity = {"pipeline": parser.identity, "lexicon": name}

    @classmethod
    def load(cls, pipeline: str | Path = PIPELINE, *, cache: Path | None = None) -> "Labeller":
        """Return one with a spaCy pipeline and the WordNet of this machine.

        Args:
            pipeline: an installed package, a folder, or a Hub repository.
            cache: the folder for parsed sentences.

        Raises:
            ImportError: without NLTK.
            ValueError: without the pipeline or WordNet; the message names the step that installs it.
        """
        wordnet = open_wordnet()
        return cls(Parser(pipeline, cache=cache), wordnet, wordnet.identity)

    def label(self, premise: str, hypothesis: str) -> Verdict:
        """Return what it says of a pair."""
        [verdict] = self.labels([premise], [hypothesis])
        return verdict

    def labels(self, premises: Sequence[str], hypotheses: Sequence[str]) -> Iterator[Verdict]:
        """Yield what it says of n pairs, in order."""
        for start in range(0, len(premises), _AT_ONCE):
            some = [texts[start : start + _AT_ONCE] for texts in (premises, hypotheses)]
            distinct = list(dict.fromkeys([*some[0], *some[1]]))
            trees = dict(zip(distinct, read(distinct, self._parser), strict=True))
            for premise, hypothesis in zip(*some, strict=True):
                yield self._verdict(trees[premise], trees[hypothesis])

    def _verdict(self, premise: Tree, hypothesis: Tree) -> Verdict:
        try:
            for tree in (premise, hypothesis):
                _check(tree)
            hypothesis = like(premise, hypothesis)
            if premise.existential is not hypothesis.existential:
                premise, hypothesis = plain(premise), plain(hypothesis)
            pairs = align(premise, hypothesis, self._words)
            if not pairs:
                raise CannotReadError("what the two sentences have in common")
            found = edits(premise, hypothesis, pairs, self._words)
            possible, steps = prove(premise, hypothesis, found)
        except CannotReadError as error:
            return Verdict(None, None, unread=str(error))
        label, relation = label_of(possible)
        return Verdict(label, relation, tuple(steps))


def _check(tree: Tree) -> None:
    if len(tree.words) > _MOST_WORDS:
        raise CannotReadError(f"a sentence of more than {_MOST_WORDS} words")
    if tree.unread:
        raise CannotReadError(f"what {tree.unread!r} belongs to")
    if "?" in tree.words:
        raise CannotReadError("a question")
    if not set(tree.pos) & set(VERBS) and not all(each.named for each, _, _ in tree.determiners.values()):
        raise CannotReadError("the verb of a sentence")
    if any(_is_unjoined(tree, verb) for verb in range(len(tree.words))):
        raise CannotReadError("which of two verbs is the main one")


def _is_unjoined(tree: Tree, verb: int) -> bool:
    """Check whether a verb is a conjunct that nothing joins: "anyone caught smoking will be punished" misread."""
    head = tree.heads[verb]
    if tree.deps[verb] != "conj" or tree.pos[verb] not in VERBS or tree.pos[head] not in VERBS:
        return False
    return not any(tree.deps[i] in ("cc", "punct") or tree.words[i] in ",;" for i in range(head, verb))


class NatlogPredictor:
    """Answer a pair by natural logic.

    A pair that it cannot read has no answer. Its probabilities are all equal, as those of the WordNet baseline are for
    what has no relation; metrics that take the likeliest label then see the first one.

    Attributes:
        has_probabilities: False: a label is chosen or none is.
        identity: what decides its answers.
    """

    label_space = LABELS
    has_probabilities = False

    def __init__(self, labeller: Labeller) -> None:
        """Take a labeller."""
        self._labeller = labeller
        self.identity = {"kind": "natlog", **labeller.identity}

    @classmethod
    def load(cls, pipeline: str | Path = PIPELINE) -> "NatlogPredictor":
        """Return the predictor with a spaCy pipeline and the WordNet of this machine.

        Raises:
            ImportError: without NLTK.
            ValueError: without the pipeline or WordNet; the message names the step that installs it.
        """
        return cls(Labeller.load(pipeline))

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Return the probabilities of n pairs, shape (n, 3): 1 for the label that is proved, or 1/3 for each."""
        verdicts = self._labeller.labels(*validate_pairs(premises, hypotheses))
        rows = [one_hot_probabilities(verdict.label) for verdict in verdicts]
        return np.array(rows, dtype=np.float32).reshape(-1, len(LABELS))


_SAID: Final = {
    Relation.EQUIVALENCE: "≡",
    Relation.FORWARD_ENTAILMENT: "⊏",
    Relation.REVERSE_ENTAILMENT: "⊐",
    Relation.NEGATION: "^",
    Relation.ALTERNATION: "|",
    Relation.COVER: "‿",
    Relation.INDEPENDENCE: "#",
}
"""The signs of MacCartney & Manning (2009), Table 2."""
_MOST_NAMED: Final = 3


def explanation(verdict: Verdict) -> list[str]:
    """Return a verdict's proof, a line a step; for a pair that is not read, what is not."""
    if verdict.label is None or verdict.relation is None:
        return [f"cannot read: {verdict.unread}"]
    if not verdict.steps:
        return ["the two say the same: equivalence (≡)"]
    return [f"{number}. {_step(step)}" for number, step in enumerate(verdict.steps, start=1)]


def _step(step: Step) -> str:
    edit = step.edit
    match edit.sort:
        case Sort.SUBSTITUTE:
            done = f'"{edit.premise}" becomes "{edit.hypothesis}"'
        case Sort.DELETE:
            done = f'"{edit.premise}" is left out'
        case Sort.INSERT:
            done = f'"{edit.hypothesis}" is put in'
        case Sort.DETERMINER:
            done = f'the determiner "{edit.premise}" becomes "{edit.hypothesis}"'
        case Sort.NEGATION:
            done = f'"{edit.premise}" is taken away' if edit.premise else f'"{edit.hypothesis}" is put in'
    because = f" ({edit.source})" if edit.source else ""
    inside = "; ".join(
        f'inside "{operator.name}", {operator.mark.value.replace("_", "-")}' for operator in step.context
    )
    context = f"; {inside}: {_sign(step.relation)}" if step.context else ""
    few = len(step.joined) <= _MOST_NAMED
    known = " or ".join(_sign(each) for each in Relation if each in step.joined) if few else "anything"
    return f"{done}: {_sign(edit.relation)}{because}{context}. So far: {known}"


def _sign(relation: Relation) -> str:
    return f"{relation.value.replace('_', ' ')} {_SAID[relation]}"
