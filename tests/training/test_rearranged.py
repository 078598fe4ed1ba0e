"""Tests of training on a corpus and its reordered version: training pairs and predictions of each model."""

import json
from io import StringIO

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs unbag[models]")

import datasets
from rich.console import Console

from tests.fake_hub.client_process import runs_in
from tests.training.conftest import PAIRS
from unbag.data.labels import LABELS
from unbag.data.sources import Example
from unbag.inference.transformer import TransformerPredictor
from unbag.reports.training import build_rearranged_table
from unbag.scoring.bootstrap import Estimate
from unbag.training import rearranged
from unbag.training.data import PairDataset, TrainingData
from unbag.training.rearranged import CorpusVersion, train_on_rearranged_corpus
from unbag.training.recipes import find_recipe
from unbag.utils import terminal

RECIPE = find_recipe("rearranged")


def part(name, pairs):
    examples = [Example(f"{name}-{number}", *pair) for number, pair in enumerate(pairs)]
    return PairDataset(name, examples, 1.0, "en", {"origin": name, "splits": [], "revisions": ["1"], "excluded": {}})


def rows(name, pairs, **columns):
    ids = [f"{name}-{i}" for i in range(len(pairs))]
    texts = {"id": ids, "source_id": ids}
    texts |= {side: [pair[k] for pair in pairs] for k, side in enumerate(("premise", "hypothesis"))}
    features = datasets.Features({name: datasets.Value("string") for name in texts})
    features |= {"label": datasets.ClassLabel(names=list(LABELS))}
    features |= {name: datasets.Value("int32") for name in columns}
    labels = [LABELS.index(pair[2]) for pair in pairs]
    return datasets.Dataset.from_dict({**texts, "label": labels, **columns}, features=features)


@pytest.fixture
def protocol(pretrained, tmp_path, monkeypatch):
    """Return a function that runs the protocol on synthetic data."""
    as_it_is = CorpusVersion(
        TrainingData((part("train", PAIRS[:48]),), (part("validation", PAIRS[48:54]),)), rows("a", PAIRS[54:])
    )
    turned = CorpusVersion(
        TrainingData((part("turned", PAIRS[24:]),), (part("validation", PAIRS[18:24]),)),
        rows("b", PAIRS[:18], partition=[number // 9 for number in range(18)]),
    )
    monkeypatch.setattr(rearranged, "_original", lambda config: as_it_is)
    monkeypatch.setattr(rearranged, "_rearranged", lambda config: turned)

    def protocol(*seeds, on_step=None, **changed):
        told = {"model": str(pretrained), "num_train_epochs": 12, "batch_size": 12, "learning_rate": 5e-3} | changed
        return train_on_rearranged_corpus(RECIPE(output_dir=tmp_path / "out", **told), seeds, on_step=on_step)

    return protocol


@pytest.mark.nightly
def test_each_arrangement_is_tested_by_models_trained_on_it(protocol, tmp_path):
    done = protocol(1, 2, keep_models=True)
    out = tmp_path / "out"
    assert list(done["arrangements"]) == ["snli", "rearranged"]
    turned = done["arrangements"]["rearranged"]
    assert turned["n"] == 18
    assert turned["data"]["training"][0]["pairs"] == 48
    assert list(turned["answers"]) == ["finetune", "hex", "hex, residual head"]
    premises, hypotheses, labels = zip(*PAIRS[:18], strict=True)
    right = []
    for seed in (1, 2):
        model = out / "rearranged" / "hex" / f"seed-{seed}"
        found = TransformerPredictor.load(model, head="residual").predict(premises, hypotheses).argmax(axis=1)
        right.append(np.array([LABELS[answer] for answer in found]) == labels)
        record = json.loads(model.with_name(f"{model.name}.json").read_text())["training"]
        assert (record["recipe"], record["config"]["seed"]) == ("hex", seed)
    answers = turned["answers"]["hex, residual head"]
    assert answers["over_seeds"]["values"] == [each.mean() for each in right]
    assert answers["accuracy"]["value"] == pytest.approx(np.mean(right))
    by_hand = [{"partition": k, "accuracy": np.mean([each[9 * k : 9 * k + 9] for each in right])} for k in (0, 1)]
    assert answers["by_partition"] == by_hand
    less = [turned["answers"][name]["accuracy"]["value"] for name in ("hex, residual head", "finetune")]
    assert answers["less_finetune"]["value"] == pytest.approx(less[0] - less[1])
    assert turned["answers"]["finetune"]["less_finetune"] is None
    assert json.loads((out / "rearranged.json").read_text()) == done
    assert done["published"][-1] == {"model": "BERT + HEX", "SNLI": 0.8928, "ReSNLI": 0.6194}


@pytest.mark.nightly
def test_stopped_run_resumes_and_finished_run_is_read(protocol, tmp_path):
    names = []

    def on_step(name):
        names.append(name)

        def step(done, total, said):
            if name == "rearranged, hex, seed 13" and done == 3:
                raise KeyboardInterrupt

        return step

    with pytest.raises(KeyboardInterrupt):
        protocol(on_step=on_step)
    assert names == [
        f"{arrangement}, {recipe}, seed 13" for arrangement in ("snli", "rearranged") for recipe in ("finetune", "hex")
    ]
    done = protocol()
    assert sorted(path.name for path in (tmp_path / "out" / "snli").iterdir()) == ["finetune", "hex"]
    assert [path.name for path in (tmp_path / "out" / "snli" / "hex").iterdir()] == ["seed-13.json"], "no model is kept"
    assert protocol(on_step=lambda name: pytest.fail("nothing is left to train")) == done
    with pytest.raises(
        ValueError, match=r"seed-13\.json belongs to another run: .*num_train_epochs was 12, is 5; pass another folder"
    ):
        protocol(num_train_epochs=5)


def test_table_shows_both_columns_and_published_values():
    def answers(value, less=None):
        estimate = Estimate(value, value - 0.01, value + 0.01, 100)._asdict()
        difference = None if less is None else Estimate(less, less - 0.013, less + 0.017, 100)._asdict()
        ends = [{"partition": 0, "accuracy": value + 0.1}, {"partition": 19, "accuracy": value - 0.1}]
        spread = {"mean": value, "standard_deviation": None, "values": [value]}
        return {"accuracy": estimate, "over_seeds": spread, "less_finetune": difference, "by_partition": ends}

    def arrangement(first, second):
        named = {"finetune": answers(first), "hex": answers(second, second - first)}
        return {"n": 100, "data": {"training": [{"pairs": 1000}]}, "answers": named}

    done = {
        "config": {"model": "org/base"},
        "seeds": [1],
        "arrangements": {"snli": arrangement(0.8, 0.79), "rearranged": arrangement(0.6, 0.62)},
        "published": [{"model": "BERT", "SNLI": 0.614, "ReSNLI": 0.608}],
    }
    ours = terminal.create_console(width=120, file=StringIO())
    console = Console(width=120, file=StringIO())
    for each in (ours, console):
        each.print(build_rearranged_table(done))
    assert "HEX, f([h, 0])" in ours.file.getvalue()
    lines = [" ".join(line.split()) for line in console.file.getvalue().splitlines()]
    assert "HEX, f([h, 0]) 0.790 [0.780, 0.800] 0.620 [0.610, 0.630] 0.720 0.520" in lines
    assert "HEX, f([h, 0]) minus fine-tuned -0.010 [-0.023, 0.007] 0.020 [0.007, 0.037]" in lines
    assert "BERT (paper) 0.614 0.608" in lines
    assert any("1,000 training and 100 test pairs" in line for line in lines)


@pytest.mark.nightly
@runs_in("shared_hub_client")
def test_reordered_test_pairs_are_not_in_training(tmp_path):
    from unbag.training.rearranged import _original, _rearranged

    config = RECIPE(
        model="org/base",
        corpus=("sick",),
        rearranged_by="nli-fixtures/minilm-l6-snli",
        max_examples=400,
        test_examples=300,
        output_dir=tmp_path,
    )
    turned, own = _rearranged(config), _original(config)
    for data, test in (turned, own):
        [training], [held_out] = data.training, data.held_out
        learnt = {example.source_id for example in training.examples}
        assert len(learnt) == 400
        assert not learnt & {example.source_id for example in held_out.examples}
        assert not learnt & set(test["id"])
        assert len(test) == 300
    assert turned.data.training[0].record["excluded"] == {"not drawn": 4039}
    assert len(turned.data.held_out[0].examples) == 495
    assert {example.source_id.split("-")[1] for example in turned.data.training[0].examples} == {
        "train",
        "validation",
        "test",
    }
    assert "minilm-l6-snli@" in turned.data.training[0].record["rearranged_by"]
