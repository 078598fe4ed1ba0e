"""Natural-logic labeler for arbitrary sentence pairs, the corresponding predictor, and formatted proofs.

A proof has one line per step: the edit, its context, the projected relation, and the joined relations.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from unbag.baselines.natlog.alignment import EditKind, UnsupportedPairError, align_words
from unbag.baselines.natlog.edits import find_edits
from unbag.baselines.natlog.lexicon import LexicalRelations
from unbag.baselines.natlog.parsing import VERBS, DependencyTree, parse_trees, remove_existential, reuse_premise_parse
from unbag.baselines.natlog.proofs import ProofStep, derive_label, prove_relations
from unbag.baselines.natlog.relations import Relation
from unbag.baselines.wordnet.database import open_wordnet
from unbag.baselines.wordnet.relations import Lexicon
from unbag.data.labels import LABELS
from unbag.data.text.parses import Parser
from unbag.data.text.tagging import PIPELINE
from unbag.inference.predictor import LabelSource, build_one_hot_probabilities, validate_pairs

_BATCH_SIZE: Final = 1_000  # pairs whose trees are in memory at the same time
_MOST_WORDS: Final = 300  # The alignment is quadratic in the number of words.


@dataclass(frozen=True)
class NatlogResult:
    """Label of a pair with its proof, or the unsupported construction if there is no label."""

    label: str | None  # one of `data.labels.LABELS`; None for a pair that the rules do not cover
    relation: Relation | None  # independence if no relation is proved; None if there is no label
    steps: tuple[ProofStep, ...] = ()
    unsupported: str = ""  # reason why the rules do not cover the pair; empty for a pair with a label


class NatlogLabeler:
    """Labeler of sentence pairs that proves labels from edits and their contexts.

    The attribute `identity` names the parser and the lexicon, which affect the labels.
    """

    def __init__(self, parser: Parser, lexicon: Lexicon, name: str) -> None:
        """Initialize a labeler with a lexicon, and its name and version. `load` has the default parser and lexicon."""
        self._parser = parser
        self._words = LexicalRelations(lexicon)
        self.identity = {"pipeline": parser.identity, "lexicon": name}

    @classmethod
    def load(cls, pipeline: str | Path = PIPELINE, *, cache: Path | None = None) -> "NatlogLabeler":
        """Load a labeler with a spaCy pipeline (package, folder or Hub repository) and the installed WordNet.

        `cache` is the folder for parsed sentences (default: `unbag/parses` in the user's cache folder).

        Raises:
            ImportError: If NLTK is not installed.
            ValueError: If the pipeline or WordNet is not installed.
        """
        wordnet = open_wordnet()
        return cls(Parser(pipeline, cache=cache), wordnet, wordnet.identity)

    def label(self, premise: str, hypothesis: str) -> NatlogResult:
        """Label one pair of sentences."""
        [verdict] = self.iter_verdicts([premise], [hypothesis])
        return verdict

    def iter_verdicts(self, premises: Sequence[str], hypotheses: Sequence[str]) -> Iterator[NatlogResult]:
        """Label n pairs of sentences, and yield the results in the order of the pairs."""
        for start in range(0, len(premises), _BATCH_SIZE):
            batch = [texts[start : start + _BATCH_SIZE] for texts in (premises, hypotheses)]
            distinct = list(dict.fromkeys([*batch[0], *batch[1]]))
            trees = dict(zip(distinct, parse_trees(distinct, self._parser), strict=True))
            for premise, hypothesis in zip(*batch, strict=True):
                yield self._verdict(trees[premise], trees[hypothesis])

    def _verdict(self, premise: DependencyTree, hypothesis: DependencyTree) -> NatlogResult:
        try:
            for tree in (premise, hypothesis):
                _check(tree)
            hypothesis = reuse_premise_parse(premise, hypothesis)
            # "There is a dog running" and "a dog is running" have the same meaning, but different trees.
            if premise.is_existential is not hypothesis.is_existential:
                premise, hypothesis = remove_existential(premise), remove_existential(hypothesis)
            pairs = align_words(premise, hypothesis, self._words)
            if not pairs:
                raise UnsupportedPairError("the two sentences have no aligned words")
            edits = find_edits(premise, hypothesis, pairs, self._words)
            possible, proof = prove_relations(premise, hypothesis, edits)
        except UnsupportedPairError as error:
            return NatlogResult(None, None, unsupported=str(error))
        label, relation = derive_label(possible)
        return NatlogResult(label, relation, tuple(proof))


def _check(tree: DependencyTree) -> None:
    if len(tree.words) > _MOST_WORDS:
        raise UnsupportedPairError(f"a sentence has more than {_MOST_WORDS} words")
    if tree.unattached:
        raise UnsupportedPairError(f"the syntactic head of {tree.unattached!r} is unknown")
    if "?" in tree.words:
        raise UnsupportedPairError("questions are not supported")
    if not set(tree.pos) & set(VERBS) and not all(each.is_named for each, _, _ in tree.determiners.values()):
        raise UnsupportedPairError("a sentence has no verb")
    if any(_is_unjoined(tree, verb) for verb in range(len(tree.words))):
        raise UnsupportedPairError("a sentence has two verbs without a conjunction")


def _is_unjoined(tree: DependencyTree, verb: int) -> bool:
    """Check whether a verb is a conjunct without a conjunction, which indicates a parse error."""
    # An example is "anyone caught smoking will be fined".
    head = tree.heads[verb]
    if tree.deps[verb] != "conj" or tree.pos[verb] not in VERBS or tree.pos[head] not in VERBS:
        return False
    return not any(tree.deps[i] in ("cc", "punct") or tree.words[i] in ",;" for i in range(head, verb))


class NatlogPredictor:
    """Predictor that labels pairs with natural logic, without trained parameters.

    For a pair that the rules do not cover, all labels have equal probability, as for pairs without a relation in the
    WordNet baseline. Metrics that use the most likely label then use the first label.
    """

    label_space = LABELS
    has_probabilities = False  # the predictor chooses one label or abstains
    may_abstain = True
    label_source: ClassVar[LabelSource] = "fitted"

    def __init__(self, labeler: NatlogLabeler) -> None:
        self._labeler = labeler
        self.identity = {"kind": "natlog", **labeler.identity}

    @classmethod
    def load(cls, pipeline: str | Path = PIPELINE) -> "NatlogPredictor":
        """Load the predictor with a spaCy pipeline and the installed WordNet, as `NatlogLabeler.load`."""
        return cls(NatlogLabeler.load(pipeline))

    def predict(self, premises: Sequence[str], hypotheses: Sequence[str]) -> NDArray[np.float32]:
        """Predict the label probabilities of n pairs, shape (n, 3). Unsupported pairs get probabilities of 1/3."""
        verdicts = self._labeler.iter_verdicts(*validate_pairs(premises, hypotheses))
        rows = [build_one_hot_probabilities(verdict.label) for verdict in verdicts]
        return np.array(rows, dtype=np.float32).reshape(-1, len(LABELS))


_SIGNS: Final = {
    Relation.EQUIVALENCE: "≡",
    Relation.FORWARD_ENTAILMENT: "⊏",
    Relation.REVERSE_ENTAILMENT: "⊐",
    Relation.NEGATION: "^",
    Relation.ALTERNATION: "|",
    Relation.COVER: "‿",
    Relation.INDEPENDENCE: "#",
}
"""Symbols of the relations in Table 2 of MacCartney & Manning (2009)."""
_MOST_NAMED: Final = 3


def format_explanation(result: NatlogResult) -> list[str]:
    """Format the proof of a label, one line per step. If there is no label, name the unsupported construction."""
    if result.label is None or result.relation is None:
        return [f"no label: {result.unsupported}"]
    if not result.steps:
        return ["the sentences are equivalent (≡)"]
    return [f"{number}. {_step(step)}" for number, step in enumerate(result.steps, start=1)]


def _step(step: ProofStep) -> str:
    edit = step.edit
    match edit.kind:
        case EditKind.SUBSTITUTE:
            done = f'"{edit.premise}" becomes "{edit.hypothesis}"'
        case EditKind.DELETE:
            done = f'"{edit.premise}" is deleted'
        case EditKind.INSERT:
            done = f'"{edit.hypothesis}" is inserted'
        case EditKind.DETERMINER:
            done = f'the determiner "{edit.premise}" becomes "{edit.hypothesis}"'
        case EditKind.NEGATION:
            done = f'"{edit.premise}" is removed' if edit.premise else f'"{edit.hypothesis}" is inserted'
    because = f" ({edit.source})" if edit.source else ""
    inside = "; ".join(
        f'inside "{operator.name}", {operator.monotonicity.value.replace("_", "-")}' for operator in step.context
    )
    context = f"; {inside}: {_sign(step.relation)}" if step.context else ""
    few = len(step.possible_relations) <= _MOST_NAMED
    possible = " or ".join(_sign(each) for each in Relation if each in step.possible_relations) if few else "anything"
    return f"{done}: {_sign(edit.relation)}{because}{context}. So far: {possible}"


def _sign(relation: Relation) -> str:
    return f"{relation.value.replace('_', ' ')} {_SIGNS[relation]}"
