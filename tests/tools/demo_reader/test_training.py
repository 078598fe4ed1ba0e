from itertools import islice

import pytest

from unbag.data import demo

torch = pytest.importorskip("torch")

from tools.demo_reader.training import train, vocabulary  # noqa: E402

PAIRS = list(islice(demo.iter_demo_pairs("train"), 64))
STAGES = ((PAIRS[:32], 1, 4e-3), (PAIRS, 1, 2e-3))


def weights(**options):
    return train(vocabulary(PAIRS[:32]), STAGES, **options).state_dict()


def test_weights_depend_only_on_seed():
    first, again, other = weights(), weights(), weights(seed=1)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not any(torch.equal(first[name], other[name]) for name in first)
