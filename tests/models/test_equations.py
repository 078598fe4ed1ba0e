"""Tests of each network against the equations of its paper, for one pair, without padding or batches."""

import pytest
import torch
from torch.nn.functional import conv1d, conv2d, one_hot

from tests.models.conftest import PAIRS, TEXT_VARIANTS, encode, tiny_model, tiny_tokenizer
from unbag.models.dam import IntraAttention

PAIR = PAIRS[0]


def vectors(network, sentence):
    """Return the token embeddings of one sentence, including the initial token."""
    ids = tiny_tokenizer()(sentence)["input_ids"]
    return list(network.embeddings.words.weight[ids])


def get_sentence_vectors(network):
    return vectors(network, PAIR[0]), vectors(network, PAIR[1])


def read_bilstm(reader, xs, state=None):
    """Return the outputs of torch's LSTM at each token, and the last states (h, c) of both directions."""
    outputs, last = reader.lstm(torch.stack(xs), state)
    return list(outputs), last


def read_position_wise(reader, xs, state=None):
    return [(reader.linear.weight @ x + reader.linear.bias).relu() for x in xs], None


def get_reader(network):
    return read_position_wise if getattr(network.config, "bag_of_words", False) else read_bilstm


def mlp(layers, x):
    """Apply linear layers and activations. In evaluation mode, dropout has no effect."""
    for layer in layers:
        x = layer.weight @ x + layer.bias if isinstance(layer, torch.nn.Linear) else layer(x)
    return x


def pool_max(xs):
    return torch.stack(xs).max(dim=0).values


def pool_mean(xs):
    return sum(xs) / len(xs)


def combine_vectors(u, v):
    return torch.cat([u, v, abs(u - v), u * v])


def weigh(scores, xs):
    """Return the sum of vectors, weighted by the softmax of their scores."""
    return torch.stack(scores).softmax(dim=0) @ torch.stack(xs)


def align(a, b, score):
    """Align each token of either sentence, and return the weights: Chen et al. 2017, equations 11 to 13."""
    e = torch.stack([torch.stack([score(i, j) for j in range(len(b))]) for i in range(len(a))])
    to_b, to_a = e.softmax(dim=1), e.T.softmax(dim=1)
    return list(to_b @ torch.stack(b)), list(to_a @ torch.stack(a)), to_b, to_a


def compare(own, other):
    """Chen et al. 2017, equations 14 and 15."""
    return [torch.cat([x, y, x - y, x * y]) for x, y in zip(own, other, strict=True)]


def dan(network):
    """Iyyer et al. 2015, section 3: the mean of the words without the initial token."""
    p, h = get_sentence_vectors(network)
    return mlp(network.classifier, combine_vectors(pool_mean(p[1:]), pool_mean(h[1:])))


def infersent(network):
    """Conneau et al. 2017, section 3.2.2 and figure 1."""
    u, v = (pool_max(read_bilstm(network.reader, xs)[0]) for xs in get_sentence_vectors(network))
    return mlp(network.classifier, combine_vectors(u, v))


def bilstm_last(network):
    u, v = (read_bilstm(network.reader, xs)[1][0].flatten() for xs in get_sentence_vectors(network))
    return mlp(network.classifier, combine_vectors(u, v))


def hypothesis_only(network):
    return mlp(network.classifier, pool_max(read_bilstm(network.reader, get_sentence_vectors(network)[1])[0]))


def convnet(network):
    """Conneau et al. 2017, section 3.2.4: u = [u1; u2; u3; u4]."""

    def encode(xs):
        x, maxima = torch.stack(xs, dim=1), []  # (d, t)
        for layer in network.convolutions:
            x = conv1d(x[None], layer.weight, layer.bias, padding=1)[0].relu()
            maxima.append(x.max(dim=1).values)
        return torch.cat(maxima)

    return mlp(network.classifier, combine_vectors(*map(encode, get_sentence_vectors(network))))


def rse(network):
    """Nie & Bansal 2017, section 2, with residual connections: x^i = [w; h^1 + … + h^(i-1)]."""

    def encode(xs):
        outputs = []
        for layer in network.readers:
            below = [sum(each) for each in zip(*outputs, strict=True)] if outputs else None
            inputs = xs if below is None else [torch.cat(each) for each in zip(xs, below, strict=True)]
            outputs.append(get_reader(network)(layer, inputs)[0])
        return pool_max(outputs[-1])

    return mlp(network.classifier, combine_vectors(*map(encode, get_sentence_vectors(network))))


def dam(network):
    """Parikh et al. 2016, equations 1 to 4; with intra-attention section 3.4."""

    def words(xs):
        xs = [network.project.weight @ (x / x.norm()) for x in xs]
        if network.intra is None:
            return xs
        f = [mlp(network.intra.project, x) for x in xs]
        middle = network.intra.distance
        read = []
        for i, x in enumerate(xs):
            biases = [network.intra.bias[middle + max(-middle, min(middle, i - j))] for j in range(len(xs))]
            scores = [f[i] @ other + bias for other, bias in zip(f, biases, strict=True)]
            read.append(torch.cat([x, weigh(scores, xs)]))
        return read

    a, b = map(words, get_sentence_vectors(network))
    f_a, f_b = ([mlp(network.attend, x) for x in side] for side in (a, b))
    beta, alpha, _, _ = align(a, b, lambda i, j: f_a[i] @ f_b[j])
    v = [
        sum(mlp(network.compare, torch.cat(each)) for each in zip(own, other, strict=True))
        for own, other in ((a, beta), (b, alpha))
    ]
    return mlp([network.classifier], mlp(network.aggregate, torch.cat(v)))


def esim(network):
    """Chen et al. 2017, equations 1, 2 and 11 to 20."""
    a, b = (get_reader(network)(network.encode, xs)[0] for xs in get_sentence_vectors(network))
    to_b, to_a, _, _ = align(a, b, lambda i, j: a[i] @ b[j])
    pooled = []
    for own, other in ((a, to_b), (b, to_a)):
        compared = [mlp([network.project], m).relu() for m in compare(own, other)]
        outputs, _ = get_reader(network)(network.compose, compared)
        pooled += [pool_mean(outputs), pool_max(outputs)]
    return mlp(network.classifier, torch.cat(pooled))


def dr_bilstm(network):
    """Ghaeini et al. 2018, section 2: each sentence is read after the other."""
    v, u = get_sentence_vectors(network)

    def readings(reader, v, u):
        (v_alone, s_v), (u_alone, s_u) = get_reader(network)(reader, v), get_reader(network)(reader, u)
        return v_alone, u_alone, get_reader(network)(reader, v, s_u)[0], get_reader(network)(reader, u, s_v)[0]

    _, _, v_hat, u_hat = readings(network.encode, v, u)
    to_u, to_v, _, _ = align(v_hat, u_hat, lambda i, j: v_hat[i] @ u_hat[j])
    p = [mlp([network.project], m).relu() for m in compare(v_hat, to_u)]
    q = [mlp([network.project], m).relu() for m in compare(u_hat, to_v)]
    p_bar, q_bar, p_hat, q_hat = readings(network.infer, p, q)
    pooled = []
    for alone, dependent in ((p_bar, p_hat), (q_bar, q_hat)):
        larger = [torch.maximum(x, y) for x, y in zip(alone, dependent, strict=True)]
        pooled += [pool_max(larger), pool_mean(larger)]
    return mlp(network.classifier, torch.cat(pooled))


def kim(network):
    """Chen et al. 2018, sections 3.3 to 3.5; in the authors' code, the composition also reads the relations."""
    ids = [tiny_tokenizer()(sentence)["input_ids"] for sentence in PAIR]
    size = network.config.vocab_size
    known = dict(zip(network.embeddings.related.tolist(), network.embeddings.relation, strict=True))

    def relation(w, v):
        return known.get(w * size + v, torch.zeros(5))

    a, b = (read_bilstm(network.encode, xs)[0] for xs in get_sentence_vectors(network))

    def score(i, j):
        return a[i] @ b[j] + network.config.relation_weight * bool(relation(ids[0][i], ids[1][j]).any())

    to_b, to_a, alpha, beta = align(a, b, score)
    r_a = [sum(w * relation(ids[0][i], ids[1][j]) for j, w in enumerate(row)) for i, row in enumerate(alpha)]
    r_b = [sum(w * relation(ids[1][j], ids[0][i]) for i, w in enumerate(row)) for j, row in enumerate(beta)]
    assert any(r.any() for r in r_a), "no words are related, so this test would show nothing"
    pooled = []
    for own, other, r in ((a, to_b, r_a), (b, to_a, r_b)):
        inputs = [torch.cat(each) for each in zip(compare(own, other), r, strict=True)]
        inputs = [mlp([network.project], m).relu() for m in inputs]
        if network.config.compose_relations:
            inputs = [torch.cat(each) for each in zip(inputs, r, strict=True)]
        outputs, _ = read_bilstm(network.compose, inputs)
        pooled += [pool_mean(outputs), pool_max(outputs)]
        if network.config.pool_relations:
            pooled.append(weigh([mlp(network.weigh, each)[0] for each in r], outputs))
    return mlp(network.classifier, torch.cat(pooled))


def diin(network):
    """Gong et al. 2018, section 3: the embedding, encoding, interaction, feature extraction and output layers."""
    tables, config = network.embeddings, network.config
    ids = [tiny_tokenizer()(sentence)["input_ids"] for sentence in PAIR]

    def word(number, others):
        spelt = network.characters.embedding(tables.spelling[number].long()).T
        convolution = network.characters.convolution
        characters = conv1d(spelt[None], convolution.weight, convolution.bias, padding=2)[0].relu().max(dim=1).values
        match = number > 2 and any(other > 2 and tables.stem[number] == tables.stem[other] for other in others)
        tag = one_hot(tables.tag[number], config.tags)
        x = torch.cat([tables.words.weight[number], characters, tag, torch.tensor([match])])
        for layer in network.highway:
            gate = mlp([layer.gate], x).sigmoid()
            x = gate * mlp([layer.change], x).relu() + (1 - gate) * x
        return x

    def encode(encoder, xs):
        encoded = []
        for x in xs:
            scores = [(encoder.other.weight @ y + encoder.both.vector @ (x * y))[0] for y in xs]
            pair = torch.cat([x, weigh(scores, xs)])
            r, f = (mlp([gate], pair).sigmoid() for gate in (encoder.keep, encoder.add))
            encoded.append(r * x + f * mlp([encoder.new], pair).tanh())
        return encoded

    p, h = (
        encode(encoder, [word(number, other) for number in own])
        for encoder, own, other in zip(network.encoders, ids, ids[::-1], strict=True)
    )
    x = torch.zeros(1, len(p[0]), config.length, config.length)
    for i, one in enumerate(p):
        for j, other in enumerate(h):
            x[0, :, i, j] = one * other
    first, *blocks = network.extract
    x = conv2d(x, first.weight, first.bias)
    for block, transition in zip(blocks[::2], blocks[1::2], strict=True):
        for layer in block.layers:
            x = torch.cat([x, conv2d(x, layer.weight, layer.bias, padding=1).relu()], dim=1)
        x = conv2d(x, transition.convolution.weight, transition.convolution.bias)
        x = x.relu() if config.transition_relu else x
        x = x.unfold(2, 2, 2).unfold(3, 2, 2).amax(dim=(4, 5))
    return mlp([network.classifier], x.flatten())


FORMULATIONS = {
    "dan": dan,
    "hypothesis-only": hypothesis_only,
    "infersent": infersent,
    "bilstm-last": bilstm_last,
    "convnet": convnet,
    "rse": rse,
    "rse-bow": rse,
    "dam": dam,
    "dam-intra": dam,
    "esim": esim,
    "esim-bow": esim,
    "dr-bilstm": dr_bilstm,
    "dr-bilstm-bow": dr_bilstm,
    "kim": kim,
    "diin": diin,
}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in FORMULATIONS),
        *((name, options) for name, options in TEXT_VARIANTS.items() if name in FORMULATIONS),
        ("kim", {"pool_relations": False}),
    ],
)
def test_logits_equal_equations_of_paper(name, options):
    network = tiny_model(name, **options)
    with torch.no_grad():
        logits = network(**encode())[0][0]  # in a batch with the other pairs, so that there is padding
        torch.testing.assert_close(logits, FORMULATIONS[name](network), atol=1e-5, rtol=1e-4)


def test_far_distances_share_one_bias():
    """Parikh et al. 2016, section 3.4: "all distances greater than 10 words share the same bias"."""
    attention = IntraAttention(2, distance=1, dropout=0.0)
    with torch.no_grad():
        for parameter in attention.project.parameters():
            parameter.zero_()
        # of words after, the word itself, and words before
        attention.bias.copy_(torch.log(torch.tensor([3.0, 1.0, 2.0])))
    words = torch.eye(4)[None, :, :2].clone()
    words[0, 2:] = 0
    weights = attention(words, torch.ones(1, 4, dtype=torch.bool))[0, :, 2:]  # of words 0 and 1
    torch.testing.assert_close(weights[0], torch.tensor([1.0, 3.0]) / 10)
    torch.testing.assert_close(weights[3], torch.tensor([2.0, 2.0]) / 7)
