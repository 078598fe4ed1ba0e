"""S-TLSTM, the syntactic tree-LSTM: ESIM over parse trees (Chen et al. 2017; Nie et al. 2019)."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from unbag.models.layers import Mlp, build_comparison_features, compute_soft_alignment, max_pool, mean_pool
from unbag.models.network import PairConfig, PairNetwork, SentenceBatch
from unbag.models.tree_lstm import Merges, TreeBatch, TreeLstmCell
from unbag.models.trees import load_tree_parser

_UNKNOWN = "unknown"


class STlstmConfig(PairConfig):
    """Configuration of an S-TLSTM. The default layer sizes are those of the paper."""

    model_type = "unbag-s-tlstm"

    # spaCy pipeline that parses the sentences: a Hub repository, an installed package, or a folder.
    parser: str = "spacy/en_core_web_sm"


class STlstmForSequenceClassification(PairNetwork):
    """ESIM with tree-LSTM encoders: the nodes of two parse trees are aligned and compared instead of tokens.

    Chen et al. 2017 (https://aclanthology.org/P17-1152), section 3: the syntactic tree-LSTM of their hybrid model.
    Encoding and composition both proceed bottom-up through the trees. In encoding, an inner node has a trained input
    (x' for a node without a word in the paper). Pooling includes the states of the roots in addition to mean and
    maximum. Chen et al. use constituency parses. This network uses binarized dependency parses
    (`tree_lstm.binarize_parse`), as in Nie et al. 2019, section 2.1.

    Parsing is part of the forward pass and uses the spelling of the words in the vocabulary
    (`WordEmbeddings.spelling`). For a permuted sentence, the tree is the one that the parser predicts, even if it is
    wrong. Parses are cached. The token at the beginning of each sentence is merged with the root.
    """

    config_class = STlstmConfig

    def __init__(self, config: STlstmConfig) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.dropout = nn.Dropout(config.dropout)
        self.inner = InnerNodeInput(config.embedding_size)
        self.encode = TreeLstmCell(config.embedding_size, size)
        self.project = nn.Linear(4 * size, size)
        self.compose = TreeLstmCell(size, size)
        self.classifier = Mlp([6 * size, size, self.num_labels], nn.Tanh, config.dropout)
        self.post_init()

    def logits(self, premise: SentenceBatch, hypothesis: SentenceBatch) -> Tensor:
        """Compute the logits of pairs, shape (b, labels)."""
        forests = self._forest(premise), self._forest(hypothesis)
        a, b = (self.encode_nodes(side, forest) for side, forest in zip((premise, hypothesis), forests, strict=True))
        masks = forests[0].mask, forests[1].mask
        alignment = compute_soft_alignment(a @ b.transpose(1, 2), *masks)  # equation 11, of nodes
        pooled = [
            *self._composed(a, alignment.premise @ b, forests[0]),
            *self._composed(b, alignment.hypothesis @ a, forests[1]),
        ]
        logits: Tensor = self.classifier(torch.cat(pooled, dim=-1))
        return logits

    def encode_nodes(self, side: SentenceBatch, forest: TreeBatch) -> Tensor:
        """Compute the states of all nodes of the parse trees, shape (b, 2 t − 1, hidden)."""
        words = self.dropout(self.embed(side))
        return forest.group_by_sentence(forest.compute_states(self.encode, words, self.inner()))

    def extra_identity(self) -> dict[str, str]:
        """Get the name and version of the parser, because the parse trees affect the logits."""
        return {"parser": load_tree_parser(self.config.parser).identity}

    def _composed(self, own: Tensor, counterpart: Tensor, forest: TreeBatch) -> list[Tensor]:
        compared = self.dropout(self.project(build_comparison_features(own, counterpart)).relu())
        states = forest.compute_states(self.compose, forest.flatten(compared))
        outputs = forest.group_by_sentence(states)
        return [mean_pool(outputs, forest.mask), max_pool(outputs, forest.mask), states[forest.roots]]

    def _forest(self, side: SentenceBatch) -> TreeBatch:
        lengths = side.mask.sum(dim=1).clamp(min=1).tolist()
        return TreeBatch.from_trees(self.build_trees(side, lengths), lengths, side.ids.device)

    def build_trees(self, side: SentenceBatch, lengths: Sequence[int]) -> list[Merges]:
        """Parse each sentence into a binary tree that includes the special token at the beginning."""
        spelling: Any = self.embeddings.spelling
        letters = spelling[side.ids].cpu().numpy()
        # Position 0 is the token at the beginning of each sentence, which is not parsed.
        sentences = [[_spelt(letters[row, place]) for place in range(1, length)] for row, length in enumerate(lengths)]
        parsed = load_tree_parser(self.config.parser).parse_trees([words for words in sentences if words])
        below = iter(parsed)
        return [_under_start(next(below), length) if length > 1 else [] for length in lengths]


class InnerNodeInput(nn.Module):
    """Trained input vector that all inner nodes (nodes without a word) share."""

    init_std = 0.1

    def __init__(self, size: int) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.zeros(size))

    def forward(self) -> Tensor:
        """Get the input vector, shape (size,)."""
        return self.vector


def _spelt(letters: Any) -> str:
    # A long word is cut after a number of bytes, perhaps inside a character.
    return bytes(letters).rstrip(b"\0").decode(errors="ignore") or _UNKNOWN


def _under_start(words: Merges, length: int) -> Merges:
    """Shift the tree of the words 0 … length − 2 by one token, and merge the first token last."""
    merges = [(left + 1, right + 1) for left, right in words]  # the first token is leaf 0
    return [*merges, (0, length + len(merges) - 1 if merges else 1)]
