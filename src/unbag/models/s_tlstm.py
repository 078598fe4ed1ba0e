"""S-TLSTM: ESIM over syntax trees (Chen et al. 2017; Nie et al. 2019)."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import initialization

from unbag.models.config import PairConfig
from unbag.models.layers import Mlp, aligned, enhanced, max_over, mean_over
from unbag.models.network import Drawn, PairNetwork
from unbag.models.sides import Side
from unbag.models.tree_lstm import Forest, Merges, TreeLstmCell
from unbag.models.trees import tree_parser

_UNKNOWN = "unknown"


class STlstmConfig(PairConfig):
    """The config of an S-TLSTM, with the sizes of its authors.

    Attributes:
        parser: the spaCy pipeline that parses sentences: a Hub repository, an installed package, or a folder.
    """

    model_type = "unbag-s-tlstm"

    parser: str = "spacy/en_core_web_sm"


class STlstmForSequenceClassification(PairNetwork):
    """ESIM whose readers are tree-LSTMs: the nodes of two parse trees are aligned and compared in place of tokens.

    Chen et al. 2017, section 3, the syntactic tree-LSTM of their hybrid model: both encoding and composition go up the
    tree, an inner node has a learnt input in encoding (their x' of a node without a word), and the roots' states are
    pooled beside mean and maximum. Theirs are constituency parses; as Nie et al. 2019, section 2.1, have it, these are
    dependency parses, binarised (`trees.binarised`).

    The parse is part of the forward pass, of the words as the vocabulary spells them (`WordEmbeddings.spelling`): from
    a permuted sentence comes the tree that the parser finds in it, if a wrong one. A sentence is parsed once and kept.
    The token that each side begins with is merged with the sentence's root.
    """

    config_class = STlstmConfig

    def __init__(self, config: STlstmConfig) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.dropout = nn.Dropout(config.dropout)
        self.inner = InnerInput(config.embedding_size)
        self.encode = TreeLstmCell(config.embedding_size, size)
        self.project = nn.Linear(4 * size, size)
        self.compose = TreeLstmCell(size, size)
        self.classifier = Mlp([6 * size, size, self.num_labels], nn.Tanh, config.dropout)
        self.post_init()

    def logits(self, premise: Side, hypothesis: Side) -> Tensor:
        """Return the logits of pairs, shape (b, labels)."""
        forests = self._forest(premise), self._forest(hypothesis)
        a, b = (self.encoded(side, forest) for side, forest in zip((premise, hypothesis), forests, strict=True))
        masks = forests[0].mask, forests[1].mask
        alignment = aligned(a @ b.transpose(1, 2), *masks)  # equation 11, of nodes
        pooled = [
            *self._composed(a, alignment.premise @ b, forests[0]),
            *self._composed(b, alignment.hypothesis @ a, forests[1]),
        ]
        logits: Tensor = self.classifier(torch.cat(pooled, dim=-1))
        return logits

    def encoded(self, side: Side, forest: Forest) -> Tensor:
        """Return the states of all nodes of a side's trees, shape (b, 2 t − 1, hidden): of each sentence by itself."""
        words = self.dropout(self.embed(side))
        return forest.by_sentence(forest.states(self.encode, words, self.inner()))

    def decided_by(self) -> dict[str, str]:
        """Return name and version of the parser."""
        return {"parser": tree_parser(self.config.parser).identity}

    def _composed(self, own: Tensor, counterpart: Tensor, forest: Forest) -> list[Tensor]:
        compared = self.dropout(self.project(enhanced(own, counterpart)).relu())
        states = forest.states(self.compose, forest.in_order(compared))
        outputs = forest.by_sentence(states)
        return [mean_over(outputs, forest.mask), max_over(outputs, forest.mask), states[forest.roots]]

    def _forest(self, side: Side) -> Forest:
        lengths = side.mask.sum(dim=1).clamp(min=1).tolist()
        return Forest.of(self.trees(side, lengths), lengths, side.ids.device)

    def trees(self, side: Side, lengths: Sequence[int]) -> list[Merges]:
        """Return the tree of each sentence: that of its words, merged with the token it begins with."""
        spelling: Any = self.embeddings.spelling
        letters = spelling[side.ids].cpu().numpy()
        sentences = [[_spelt(letters[row, place]) for place in range(1, length)] for row, length in enumerate(lengths)]
        parsed = tree_parser(self.config.parser).trees([words for words in sentences if words])
        below = iter(parsed)
        return [_under_start(next(below), length) if length > 1 else [] for length in lengths]


class InnerInput(Drawn):
    """The input of every node that has no word."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.zeros(size))

    def forward(self) -> Tensor:
        """Return it, shape (size,)."""
        return self.vector

    def draw(self) -> None:
        """Draw it small."""
        initialization.normal_(self.vector, std=0.1)


def _spelt(letters: Any) -> str:
    return bytes(letters).rstrip(b"\0").decode(errors="ignore") or _UNKNOWN


def _under_start(words: Merges, length: int) -> Merges:
    """Return the tree of a sentence's words 0 … length − 2 as one of its tokens, the first of which is merged last."""

    def moved(node: int) -> int:  # one leaf more stands before all nodes
        return node + 1

    merges = [(moved(left), moved(right)) for left, right in words]
    return [*merges, (0, length + len(merges) - 1 if merges else 1)]
