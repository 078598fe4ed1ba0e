"""Tests of cross-validation on SICCK, and of training on a corpus and its reordered version."""

import json
from dataclasses import replace
from functools import partial

import datasets
import numpy as np
import pyarrow as pa
import pytest

from tests.factories import render, run_unbag
from tests.fake_hub.client_process import runs_in
from tests.training.conftest import PAIRS
from unbag import challenge_sets
from unbag.baselines.natlog.relations import Relation
from unbag.challenge_sets.perturbations import sicck
from unbag.challenge_sets.request import BuiltSet, SetRequest
from unbag.data.labels import LABELS
from unbag.data.predictions import SetPredictions
from unbag.data.sources import Example
from unbag.inference.transformer import TransformerPredictor
from unbag.reports.training import build_kfold_table, build_rearranged_table
from unbag.scoring.bootstrap import Estimate
from unbag.training import rearranged
from unbag.training.data import PairDataset, TrainingData
from unbag.training.kfold import compute_seed_leak_mask, cross_validate, select_fold_data
from unbag.training.rearranged import CorpusVersion, train_on_rearranged_corpus
from unbag.training.recipes import find_recipe

SICCK = challenge_sets.get_challenge_set("sicck")
RELATIONS = {
    "entailment": Relation.FORWARD_ENTAILMENT,
    "neutral": Relation.INDEPENDENCE,
    "contradiction": Relation.ALTERNATION,
}
FOLDS = 3


def _build_rows(pairs):
    schema = SICCK.get_builder_class().SCHEMA
    return datasets.Dataset(pa.Table.from_pylist(list(sicck.iter_sicck_rows(pairs, sicck.FOUR_WAY)), schema=schema))


@pytest.fixture(scope="module")
def cross_validation_rows():
    """Return 72 pairs in both directions and three folds."""
    pairs = [
        sicck.SicckPair(
            id=f"pair-{number}",
            source_id=f"seed-{number % 5}",
            premise=premise,
            hypothesis=hypothesis,
            modifier="no" if label == "contradiction" else "none",
            modifier_type="negation" if label == "contradiction" else "none",
            position="hypothesis",
            part="subject",
            relations=(RELATIONS[label],),
            fold=number // 3 % FOLDS,
        )
        for number, (premise, hypothesis, label) in enumerate(PAIRS)
    ]
    data = {"origin": "made up", "revision": "1"}
    return BuiltSet(SetRequest("sicck"), _build_rows(pairs), "en", {"folds": FOLDS}, data)


@pytest.fixture
def validate(cross_validation_rows, tiny_bert, tmp_path):
    """Return a function that cross-validates with given options and seeds, and returns the record."""

    def validate(*seeds, out_name="out", on_step=None, **changed):
        told = {"model": str(tiny_bert), "folds": FOLDS, "num_train_epochs": 1, "batch_size": 24, "learning_rate": 5e-3}
        config = find_recipe("kfold")(output_dir=tmp_path / out_name, **told | changed)
        return cross_validate(config, seeds, built_set=cross_validation_rows, on_step=on_step)

    return validate


def test_fold_trains_on_both_directions_of_other_folds(cross_validation_rows):
    met = []
    for fold in range(FOLDS):
        data = select_fold_data(cross_validation_rows, fold, protocol="spread", seed=1)
        (training,), (held_out,) = data.training, data.held_out
        learnt, out = ({example.source_id for example in part.examples} for part in (training, held_out))
        pairs = {name for name in learnt if not name.endswith("-reverse")}
        assert len(pairs) == 48
        assert learnt == pairs | {f"{name}-reverse" for name in pairs}
        assert not pairs & {name.removesuffix("-reverse") for name in out}
        assert training.record["excluded"] == {"held out": 48}
        met += out
    assert sorted(met) == sorted(cross_validation_rows.rows["id"]), "each row is predicted once"
    examples = {each.source_id: each[1:4] for each in training.examples}
    assert examples["pair-0"] == PAIRS[0]
    # The data has no equivalences, so the reverse of an entailment is neutral.
    assert examples["pair-0-reverse"] == (PAIRS[0][1], PAIRS[0][0], "neutral")


def test_authors_protocol_trains_on_original_pairs_except_a_tenth(cross_validation_rows):
    for fold in range(FOLDS):
        data = select_fold_data(cross_validation_rows, fold, seed=1)
        (training,), (held_out,) = data.training, data.held_out
        learnt, out = ({example.source_id for example in part.examples} for part in (training, held_out))
        in_fold = {row["pair"] for row in cross_validation_rows.rows if row["fold"] == fold}
        assert not learnt & out
        assert learnt | out == {*cross_validation_rows.rows["pair"]} - in_fold, "no exchanged row, and none of the fold"
        assert (len(learnt), len(out)) == (43, 5), "of 48 pairs a tenth, rounded up"
        assert training.record["excluded"] == {"exchanged": 72, "predicted": 24, "held out": 5}
        assert held_out.record["excluded"] == {"exchanged": 72, "predicted": 24, "trained on": 43}
    again, other = (select_fold_data(cross_validation_rows, 2, seed=seed) for seed in (1, 2))
    assert again == data
    assert other.held_out != data.held_out
    with pytest.raises(ValueError, match="expected pairs in fold 3 and in other folds, got 0 of 144 rows in fold 3"):
        select_fold_data(cross_validation_rows, 3, seed=1)


def test_authors_protocol_keeps_reverse_entailment_label(cross_validation_rows):
    def of(relation, number):
        return sicck.SicckPair(
            *(f"pair-{number}", "seed-0", f"a {number}", f"b {number}", "no", "negation", "both", "verb", (relation,)),
            fold=number % 2,
        )

    relations = [Relation.FORWARD_ENTAILMENT, Relation.REVERSE_ENTAILMENT, Relation.NEGATION, Relation.INDEPENDENCE]
    pairs = [of(relation, number) for number, relation in enumerate(each for each in relations for _ in range(2))]
    two = replace(cross_validation_rows, rows=_build_rows(pairs))
    data = select_fold_data(two, 0, seed=1)
    examples = sorted(example for part in (*data.training, *data.held_out) for example in part.examples)
    assert [(each.premise, each.label) for each in examples] == [
        ("a 1", "entailment"), ("a 3", "entailment"), ("a 5", "contradiction"), ("a 7", "neutral"),
    ]  # fmt: skip
    [spread] = select_fold_data(two, 0, protocol="spread", seed=1).training
    ours = {each.source_id: each.label for each in spread.examples}
    assert (ours["pair-3"], ours["pair-3-reverse"]) == ("neutral", "entailment")


def test_rows_with_seed_in_other_folds_are_marked(cross_validation_rows):
    assert compute_seed_leak_mask(cross_validation_rows).all(), "each of five seeds is in all folds"
    rows = datasets.Dataset.from_dict({"source_id": ["a", "b", "c", "b"], "fold": [0, 0, 1, 2]})
    found = compute_seed_leak_mask(replace(cross_validation_rows, rows=rows))
    assert found.tolist() == [False, True, False, True]


def test_each_pair_is_scored_by_model_of_other_folds(validate, cross_validation_rows, tmp_path, tiny_bert):
    done = validate(1, 2, keep_models=True)
    rows, out = cross_validation_rows.rows, tmp_path / "out"
    texts = [list(rows[side]) for side in ("premise", "hypothesis")]
    scores = {}
    for name in ("zero-shot", "seed-1"):
        probabilities = np.zeros((len(rows), 3), np.float32)
        for fold in range(FOLDS):
            here = np.array(rows["fold"]) == fold
            predictor = TransformerPredictor.load(tiny_bert if name == "zero-shot" else out / f"{name}/fold-{fold}")
            probabilities[here] = predictor.predict(*texts)[here]
        scores[name] = SICCK.score_rows(rows, SetPredictions(probabilities, LABELS, True))
    assert done["zero_shot"]["accuracy"]["value"] == scores["zero-shot"]["accuracy"].value
    assert done["runs"][0]["scores"]["f1"]["value"] == scores["seed-1"]["f1"].value
    summary = done["summary"]
    assert summary["all"]["accuracy"]["values"][0] == scores["seed-1"]["accuracy"].value
    values = summary["all"]["f1"]["values"]
    assert values == [run["scores"]["f1"]["value"] for run in done["runs"]]
    assert summary["all"]["f1"]["mean"] == pytest.approx(sum(values) / 2)
    assert summary["modifier_type"]["negation"]["pairs"] == 24
    assert summary["seed"]["seen"]["accuracy"] == summary["all"]["accuracy"], "all are"
    assert [(fold["pairs"], fold["steps"]) for fold in done["runs"][0]["folds"]] == [(24, 2)] * FOLDS, "of 43 pairs"
    assert done == json.loads((out / "kfold.json").read_text())
    kept = json.loads((out / "seed-1/fold-0.json").read_text())
    evaluations = kept["training"]["evaluations"]
    assert [each["step"] for each in evaluations] == [2], "what is held out is looked at when all is done"
    assert set(kept["probabilities"]["plain"]) == {row["id"] for row in rows if row["fold"] == 0}, "in both directions"
    assert validate(1, 2) == {**done, "config": {**done["config"], "keep_models": False}}
    assert (out / "seed-1/fold-0/model.safetensors").is_file(), "what was kept stays"
    shown = render(build_kfold_table(done))
    assert "fine-tuned" in shown
    assert "±" in shown
    assert "mean ± standard deviation over 2 training seeds" in " ".join(shown.split())
    assert "none" not in shown, "the paper has no table of the pairs without modifier"


@pytest.mark.nightly
def test_stopped_run_resumes_to_same_result(validate, tmp_path, monkeypatch):
    validate, steps = partial(validate, max_steps=12), []
    whole = validate(1, 2, out_name="whole")

    def on_step(name):
        def stop_once(done, total, said):
            steps.append((name, done))
            if steps[-1] == ("seed 2, fold 0", 7) and steps.count(steps[-1]) == 1:
                raise KeyboardInterrupt

        return stop_once

    with pytest.raises(KeyboardInterrupt):
        validate(1, 2, on_step=on_step, save_steps=2)
    assert not (tmp_path / "out/kfold.json").exists(), "nothing is shown of half a run"
    steps = steps[-1:]
    found = validate(1, 2, on_step=on_step, save_steps=2)
    assert steps[1] == ("seed 2, fold 0", 7), "from its last checkpoint; what was predicted is not trained again"
    assert {**found, "config": None} == {**whole, "config": None}
    assert {path.name for path in (tmp_path / "out/seed-1").iterdir()} == {f"fold-{n}.json" for n in range(FOLDS)}
    monkeypatch.setattr(rearranged, "run", None)
    assert validate(1, 2, save_steps=2) == found
    with pytest.raises(
        ValueError, match=r"fold-0.json belongs to another run: config.num_train_epochs was 1, is 4; pass another"
    ):
        validate(1, num_train_epochs=4)
    (tmp_path / "out/seed-1/fold-0.json").write_text('{"schema')
    with pytest.raises(ValueError, match=r"fold-0\.json: expected .*; remove the file to train this model again$"):
        validate(1, 2, save_steps=2)


def test_model_with_other_labels_is_rejected_before_training(validate, make_model):
    two = make_model(order=("entailment", "not_entailment"))
    with pytest.raises(ValueError, match="a classifier with the labels entailment, neutral, contradiction, got"):
        validate(model=str(two))


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("protocol", "by_seed"),  # row 652 is in the middle of the 88 pairs of a seed
    [("authors", {"seen": 88, "unseen": 1216}), ("spread", {"seen": 1304}), ("whole_seeds", {"unseen": 1304})],
)
def test_official_pairs_are_cross_validated_by_command(shared, tiny_bert, tmp_path, empty_caches, protocol, by_seed):
    file = shared / "data/sicck/SICCK-Ground-Truth-apr24.csv"
    told = ["--model", tiny_bert, "--output-dir", tmp_path / "out", "--official-file", file]
    told += f"--folds 2 --max-steps 1 --seeds 1 --protocol {protocol}".split()
    shown = run_unbag("train", "kfold", *told, COLUMNS="80")
    assert shown.exit_code == 0, shown.output
    assert "existential" in shown.output
    assert max(map(len, shown.output.splitlines())) <= 80 or str(tmp_path) in shown.output.splitlines()[-1]
    done = json.loads((tmp_path / "out/kfold.json").read_text())
    assert done["summary"]["all"]["pairs"] == 1304
    by_type = {name: found["pairs"] for name, found in done["summary"]["modifier_type"].items()}
    assert by_type == {"none": 15, "universal": 217, "existential": 303, "negation": 167, "adjective/adverb": 602}
    assert str(tmp_path) not in json.dumps({**done, "model": None, "config": {**done["config"], "model": None}})
    pairs = [fold["pairs"] for fold in done["runs"][0]["folds"]]
    assert sum(pairs) == 1304
    assert pairs == [652, 652] or protocol == "whole_seeds"
    assert {name: found["pairs"] for name, found in done["summary"]["seed"].items()} == by_seed


def build_part(name, pairs):
    examples = [Example(f"{name}-{number}", *pair) for number, pair in enumerate(pairs)]
    return PairDataset(name, examples, 1.0, "en", {"origin": name, "splits": [], "revisions": ["1"], "excluded": {}})


def build_version(training, validation, test, **columns):
    ids = [f"test-{number}" for number in range(len(test))]
    texts = {side: [pair[k] for pair in test] for k, side in enumerate(("premise", "hypothesis"))}
    labels = [LABELS.index(pair[2]) for pair in test]
    rows = datasets.Dataset.from_dict({"id": ids, "source_id": ids, **texts, "label": labels, **columns})
    return CorpusVersion(TrainingData((build_part("train", training),), (build_part("validation", validation),)), rows)


@pytest.mark.nightly
def test_each_arrangement_is_tested_by_models_trained_on_it(pretrained, tmp_path, monkeypatch):
    out = tmp_path / "out"
    original = build_version(PAIRS[:48], PAIRS[48:54], PAIRS[54:])
    turned = build_version(PAIRS[24:], PAIRS[18:24], PAIRS[:18], partition=[0] * 9 + [1] * 9)
    monkeypatch.setattr(rearranged, "_original", lambda config: original)
    monkeypatch.setattr(rearranged, "_rearranged", lambda config: turned)
    options = {"num_train_epochs": 12, "batch_size": 12, "learning_rate": 5e-3, "keep_models": True}
    config = find_recipe("rearranged")(model=str(pretrained), output_dir=out, **options)
    done = train_on_rearranged_corpus(config, (1, 2))
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
    lines = [" ".join(line.split()) for line in render(build_rearranged_table(done), width=120).splitlines()]
    assert "HEX, f([h, 0]) 0.790 [0.780, 0.800] 0.620 [0.610, 0.630] 0.720 0.520" in lines
    assert "HEX, f([h, 0]) minus fine-tuned -0.010 [-0.023, 0.007] 0.020 [0.007, 0.037]" in lines
    assert "BERT (paper) 0.614 0.608" in lines
    assert any("1,000 training and 100 test pairs" in line for line in lines)


@pytest.mark.nightly
@runs_in("shared_hub_client")
def test_reordered_test_pairs_are_not_in_training(tmp_path):
    config = find_recipe("rearranged")(
        model="org/base",
        corpus=("sick",),
        rearranged_by="nli-fixtures/minilm-l6-snli",
        max_examples=400,
        test_examples=300,
        output_dir=tmp_path,
    )
    turned, own = rearranged._rearranged(config), rearranged._original(config)
    for data, test in (turned, own):
        [training], [held_out] = data.training, data.held_out
        learnt = {example.source_id for example in training.examples}
        assert len(learnt) == 400
        assert not learnt & {example.source_id for example in held_out.examples}
        assert not learnt & set(test["id"])
        assert len(test) == 300
    assert turned.data.training[0].record["excluded"] == {"not drawn": 4039}
    assert len(turned.data.held_out[0].examples) == 495
    splits = {example.source_id.split("-")[1] for example in turned.data.training[0].examples}
    assert splits == {"train", "validation", "test"}
    assert "minilm-l6-snli@" in turned.data.training[0].record["rearranged_by"]
