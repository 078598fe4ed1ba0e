"""G-TLSTM, the Gumbel tree-LSTM (Choi et al. 2018), which induces trees without a parser."""

import torch
from torch import Tensor, nn
from torch.nn.functional import gumbel_softmax, one_hot
from transformers import initialization

from unbag.models.layers import Mlp
from unbag.models.network import PairConfig, SentenceBatch, SentenceEncoder
from unbag.models.tree_lstm import Merges, NodeStates, TreeLstmCell


class GTlstmConfig(PairConfig):
    """Configuration of a Gumbel tree-LSTM. The default layer sizes are those of the paper's 300D model."""

    model_type = "unbag-g-tlstm"

    train_embeddings: bool = False
    classifier_size: int = 1024  # width of the hidden layer of the classifier
    temperature: float = 1.0  # temperature of the Gumbel softmax that draws merges in training
    # Whether the scores of candidate merges are divided by √(hidden size), as in the authors' code. The paper uses
    # unscaled dot products.
    scaled_scores: bool = True
    # Whether the forget gates have a bias of 1, as in the authors' code. In the tree-LSTM it is constant; in the LSTM
    # over the leaves it is the initial value. The paper has no such bias.
    unit_forget_bias: bool = True
    dropout: float = 0.1


class GTlstmForSequenceClassification(SentenceEncoder):
    """Gumbel tree-LSTM, which learns to merge adjacent nodes until one node is left.

    A trained query vector chooses the nodes.

    Choi et al. 2018, "Learning to Compose Task-Specific Tree Structures" (https://arxiv.org/abs/1707.02786). The leaves
    are the states of an LSTM over the sentence. A tree-LSTM computes a candidate parent of every two adjacent nodes,
    and the candidate whose h has the highest score with the query is merged. In training, the merge is drawn by the
    straight-through Gumbel softmax: a one-hot choice in the forward pass, a softmax in the backward pass.

    By default, the scores are scaled and the forget gates have a bias of 1, as in the authors' code
    (github.com/jihunchoi/unsupervised-treelstm, `model/treelstm.py`). The paper has neither
    (`scaled_scores=False, unit_forget_bias=False`). Scaling does not change which merge scores highest. It reduces the
    differences between scores, so that training draws merges more evenly.
    """

    config_class = GTlstmConfig

    def __init__(self, config: GTlstmConfig) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.dropout = nn.Dropout(config.dropout)
        self.leaf = LeafLstm(config.embedding_size, size)
        self.merge = TreeLstmCell(0, size, forget_bias=1.0 if config.unit_forget_bias else 0.0)
        self.query = QueryScorer(size, scaled=config.scaled_scores)
        self.classifier = Mlp([4 * size, config.classifier_size, self.num_labels], nn.ReLU, config.dropout)
        self.post_init()

    def encode(self, side: SentenceBatch) -> Tensor:
        """Compute the state of the root of each tree, shape (b, hidden)."""
        return self._merged(side)[0]

    def build_trees(self, side: SentenceBatch) -> list[Merges]:
        """Compute the binary tree that the model builds for each sentence."""
        lengths = side.mask.sum(dim=1).clamp(min=1).tolist()
        chosen = torch.stack(steps, dim=1).tolist() if (steps := self._merged(side)[1]) else [[]] * len(lengths)
        trees: list[Merges] = []
        for length, places in zip(lengths, chosen, strict=True):
            row, merges = list(range(length)), []
            for place in places[: length - 1]:
                merges.append((row[place], row[place + 1]))
                row[place : place + 2] = [length + len(merges) - 1]
            trees.append(merges)
        return trees

    def _merged(self, side: SentenceBatch) -> tuple[Tensor, list[Tensor]]:
        """Compute the root states, shape (b, hidden), and the position of the merge at each step, shape (b,)."""
        lengths = side.mask.sum(dim=1).clamp(min=1)
        nodes = self.leaf(self.dropout(self.embed(side)), lengths)
        steps = []
        for done in range(side.mask.shape[1] - 1):
            left, right = (
                NodeStates(*(state[:, rows] for state in nodes)) for rows in (slice(None, -1), slice(1, None))
            )
            parents = self.merge.merge(left, right)
            places = torch.arange(parents.h.shape[1], device=lengths.device)
            possible = places < (lengths - 1 - done).clamp(min=1)[:, None]  # (b, candidates)
            scores = self.query(parents.h).to(parents.h.dtype)  # autocast computes matrix products in half precision
            scores = scores.masked_fill(~possible, torch.finfo(scores.dtype).min)
            choice = self._choice(scores)  # one-hot
            at = choice.argmax(dim=-1)
            steps.append(at)
            before = (places < at[:, None]).to(choice.dtype)
            # Detached, because the gradient of the straight-through choice flows only through the parent.
            after = 1 - before - choice.detach()
            unfinished = (lengths - 1 > done)[:, None, None]
            # A sentence with a single node left keeps it in place 0 while others are merged.
            nodes = NodeStates(
                *(
                    torch.where(unfinished, _replaced(*each, before, choice, after), each[1])
                    for each in zip(parents, left, right, strict=True)
                )
            )
        return nodes.h[:, 0], steps

    def _choice(self, scores: Tensor) -> Tensor:
        if self.training:
            return gumbel_softmax(scores, tau=self.config.temperature, hard=True, dim=-1)
        return one_hot(scores.argmax(dim=-1), scores.shape[-1]).to(scores.dtype)

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Initialize weights, and the bias of the forget gates of the leaf LSTM."""
        super()._init_weights(module)
        if isinstance(module, nn.LSTMCell) and self.config.unit_forget_bias:
            # The order of the gates in `torch.nn.LSTMCell`.
            input_gate, forget_gate, cell_gate, output_gate = torch.zeros_like(module.bias_ih).chunk(4)
            bias = torch.cat([input_gate, forget_gate + 1, cell_gate, output_gate])
            initialization.copy_(module.bias_ih, bias)


def _replaced(parent: Tensor, left: Tensor, right: Tensor, before: Tensor, choice: Tensor, after: Tensor) -> Tensor:
    """Replace two adjacent nodes by their parent, shape (b, candidates, hidden)."""
    return before[..., None] * left + choice[..., None] * parent + after[..., None] * right


class LeafLstm(nn.Module):
    """Left-to-right LSTM that computes the states h and c of the leaves of a tree, one leaf per token.

    The cell runs step by step over all sentences at once, because `torch.nn.LSTM` returns c of the last token only.
    """

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(inputs, hidden)

    def forward(self, vectors: Tensor, lengths: Tensor) -> NodeStates:
        """Compute the states h and c of each token, shape (b, t, hidden) each."""
        state = None
        steps = []
        for place in range(vectors.shape[1]):
            state = self.cell(vectors[:, place], state)
            steps.append(state)
        return NodeStates(*(torch.stack(each, dim=1) for each in zip(*steps, strict=True)))


class QueryScorer(nn.Module):
    """Layer that scores nodes by dot products with a trained query vector, divided by √size if `scaled` is true."""

    init_std = 0.01  # as in the code published with the paper

    def __init__(self, size: int, *, scaled: bool) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.zeros(size))
        self.scale = size**-0.5 if scaled else 1.0

    def forward(self, nodes: Tensor) -> Tensor:
        """Compute the scores of nodes, shape (…), from node features, shape (…, size)."""
        return nodes @ self.vector * self.scale
