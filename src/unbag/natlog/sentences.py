"""The labeller of ordinary sentences: how a premise is related to a hypothesis and why, or what is not read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from unbag.data.text.parses import Parser
from unbag.data.text.tagging import PIPELINE
from unbag.natlog.alignment import align
from unbag.natlog.edit import CannotReadError
from unbag.natlog.edits import edits
from unbag.natlog.lexicon import Words
from unbag.natlog.proofs import Step, label_of, prove
from unbag.natlog.relations import Relation
from unbag.natlog.trees import VERBS, Tree, like, plain, read
from unbag.wordnet.database import open_wordnet
from unbag.wordnet.relations import Lexicon

_AT_ONCE: Final = 1_000
_MOST_WORDS: Final = 300  # every word of a sentence is held against every word of the other


@dataclass(frozen=True)
class Verdict:
    """What the labeller says of a pair.

    Attributes:
        label: one of `labels.LABELS`; None for a pair that it cannot read.
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
        self._words = Words(lexicon)
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
