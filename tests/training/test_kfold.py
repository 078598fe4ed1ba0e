"""Tests of cross-validation on SICCK: training pairs of the folds, predictions, and stopped runs."""

import json
import math
from functools import partial

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("torch", reason="needs unbag[models]")

import datasets
import pyarrow as pa

from tests.factories import render
from tests.training.conftest import PAIRS
from unbag import challenge_sets, cli
from unbag.baselines.natlog.relations import Relation
from unbag.challenge_sets.perturbations import sicck
from unbag.challenge_sets.request import BuiltSet, SetRequest
from unbag.data.labels import LABELS
from unbag.data.predictions import SetPredictions
from unbag.inference.predictor import ModelError
from unbag.inference.transformer import TransformerPredictor
from unbag.reports.training import build_kfold_table
from unbag.training import rearranged
from unbag.training.kfold import compute_seed_leak_mask, cross_validate, select_fold_data
from unbag.training.recipes import find_recipe
from unbag.training.seeds import run_seeds

RECIPE = find_recipe("kfold")
RELATIONS = {
    "entailment": Relation.FORWARD_ENTAILMENT,
    "neutral": Relation.INDEPENDENCE,
    "contradiction": Relation.ALTERNATION,
}
FOLDS = 3


def _build_rows(pairs):
    schema = challenge_sets.get_challenge_set("sicck").get_builder_class().SCHEMA
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
    rows = _build_rows(pairs)
    return BuiltSet(SetRequest("sicck"), rows, "en", {"folds": FOLDS}, {"origin": "made up", "revision": "1"})


@pytest.fixture
def validate(cross_validation_rows, tiny_bert, tmp_path):
    """Return a function that cross-validates with given options and seeds, and returns the record."""

    def validate(*seeds, out_name="out", on_step=None, **changed):
        config = RECIPE(
            output_dir=tmp_path / out_name,
            **{
                "model": str(tiny_bert),
                "folds": FOLDS,
                "protocol": "spread",
                "num_train_epochs": 3,
                "batch_size": 24,
                "learning_rate": 5e-3,
                "warmup_ratio": 0.06,
                **changed,
            },
        )
        return cross_validate(config, seeds, built_set=cross_validation_rows, on_step=on_step)

    return validate


def get_texts(rows):
    return list(rows["premise"]), list(rows["hypothesis"])


@pytest.mark.parametrize("protocol", ["spread", "whole_seeds"])
def test_fold_trains_on_both_directions_of_other_folds(cross_validation_rows, protocol):
    met = []
    for fold in range(FOLDS):
        data = select_fold_data(cross_validation_rows, fold, protocol=protocol, seed=1)
        (training,), (held_out,) = data.training, data.held_out
        names = {example.source_id for example in training.examples}
        out = {example.source_id for example in held_out.examples}
        assert len(names) == len(training.examples) == 96
        assert not {name.removesuffix("-reverse") for name in names} & {name.removesuffix("-reverse") for name in out}
        assert {name for name in names if name.endswith("-reverse")} == {
            f"{name}-reverse" for name in names if not name.endswith("-reverse")
        }
        assert training.record["excluded"] == {"held out": 48}
        met += out
    assert sorted(met) == sorted(cross_validation_rows.rows["id"]), "each row is predicted once"
    examples = {
        each.source_id: each
        for each in select_fold_data(cross_validation_rows, 1, protocol=protocol, seed=2).training[0].examples
    }
    assert examples["pair-0"][1:4] == PAIRS[0]
    # The data has no equivalences, so the reverse of an entailment is neutral.
    assert examples["pair-0-reverse"][1:4] == (PAIRS[0][1], PAIRS[0][0], "neutral")
    with pytest.raises(ValueError, match="expected pairs in fold 3 and in other folds, got 0 of 144 rows in fold 3"):
        select_fold_data(cross_validation_rows, 3, protocol=protocol, seed=1)


def test_authors_protocol_trains_on_original_pairs_except_a_tenth(cross_validation_rows):
    tenths = {}
    for fold in range(FOLDS):
        (training,), (held_out,) = (
            (data := select_fold_data(cross_validation_rows, fold, seed=1)).training,
            data.held_out,
        )
        learnt, out = ({example.source_id for example in part.examples} for part in (training, held_out))
        in_fold = {row["pair"] for row in cross_validation_rows.rows if row["fold"] == fold}
        assert not learnt & out
        assert learnt | out == set(cross_validation_rows.rows["pair"]) - in_fold, (
            "no exchanged row, and none of the fold"
        )
        assert (len(learnt), len(out)) == (43, 5), "of 48 pairs a tenth, rounded up"
        assert training.record["excluded"] == {"exchanged": 72, "predicted": 24, "held out": 5}
        assert held_out.record["excluded"] == {"exchanged": 72, "predicted": 24, "trained on": 43}
        tenths[fold] = out
    assert select_fold_data(cross_validation_rows, 0, seed=1) == select_fold_data(cross_validation_rows, 0, seed=1)
    assert {
        each.source_id for each in select_fold_data(cross_validation_rows, 0, seed=2).held_out[0].examples
    } != tenths[0]
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
    rows = _build_rows(pairs)
    two = BuiltSet(cross_validation_rows.request, rows, "en", {}, cross_validation_rows.data)
    data = select_fold_data(two, 0, seed=1)
    examples = sorted(example for part in (*data.training, *data.held_out) for example in part.examples)
    assert [(each.premise, each.label) for each in examples] == [
        ("a 1", "entailment"), ("a 3", "entailment"), ("a 5", "contradiction"), ("a 7", "neutral"),
    ]  # fmt: skip
    ours = {
        each.source_id: each.label for each in select_fold_data(two, 0, protocol="spread", seed=1).training[0].examples
    }
    assert (ours["pair-3"], ours["pair-3-reverse"]) == ("neutral", "entailment")


def test_rows_with_seed_in_other_folds_are_marked(cross_validation_rows):
    assert compute_seed_leak_mask(cross_validation_rows).all(), "each of five seeds is in all folds"
    alone = cross_validation_rows.rows.map(
        lambda row: {"source_id": f"seed-{row['fold']}" if row["fold"] else "seed-1"}
    )
    rows = compute_seed_leak_mask(BuiltSet(cross_validation_rows.request, alone, "en", {}, cross_validation_rows.data))
    assert rows.tolist() == [fold < 2 for fold in cross_validation_rows.rows["fold"]]


@pytest.mark.parametrize(
    ("protocol", "pairs"), [("authors", 43), pytest.param("spread", 96, marks=pytest.mark.nightly)]
)
def test_each_pair_is_scored_by_model_of_other_folds(
    validate, cross_validation_rows, tmp_path, tiny_bert, protocol, pairs
):
    validate = partial(validate, protocol=protocol)
    steps = 3 * math.ceil(pairs / 24)
    done = validate(1, keep_models=True)
    rows, out = cross_validation_rows.rows, tmp_path / "out"
    by_hand = np.zeros((len(rows), 3), np.float32)
    for fold in range(FOLDS):
        here = np.array(rows["fold"]) == fold
        predictor = TransformerPredictor.load(out / f"seed-1/fold-{fold}")
        by_hand[here] = predictor.predict(*get_texts(rows.select(np.flatnonzero(here))))
    scores = challenge_sets.get_challenge_set("sicck").score_rows(rows, SetPredictions(by_hand, LABELS, True))
    assert done["runs"][0]["scores"]["f1"]["value"] == scores["f1"].value
    as_it_is = TransformerPredictor.load(tiny_bert).predict(*get_texts(rows))
    before = challenge_sets.get_challenge_set("sicck").score_rows(rows, SetPredictions(as_it_is, LABELS, True))
    assert done["zero_shot"]["accuracy"]["value"] == before["accuracy"].value
    assert done["summary"]["all"]["accuracy"]["values"] == [scores["accuracy"].value]
    assert [fold["pairs"] for fold in done["runs"][0]["folds"]] == [24] * FOLDS
    assert [fold["steps"] for fold in done["runs"][0]["folds"]] == [steps] * FOLDS, "3 epochs in batches of 24"
    assert done["summary"]["seed"]["seen"]["accuracy"] == done["summary"]["all"]["accuracy"], "all are"
    assert done == json.loads((out / "kfold.json").read_text())
    kept = json.loads((out / "seed-1/fold-0.json").read_text())
    evaluations = kept["training"]["evaluations"]
    assert [each["step"] for each in evaluations] == [steps], "what is held out is looked at when all is done"
    assert set(kept["probabilities"]["plain"]) == {row["id"] for row in rows if row["fold"] == 0}, "in both directions"
    assert validate(1) == {**done, "config": {**done["config"], "keep_models": False}}
    assert (out / "seed-1/fold-0/model.safetensors").is_file(), "what was kept stays"


@pytest.mark.nightly
def test_stopped_run_resumes_to_same_result(validate, tmp_path, monkeypatch):
    validate = partial(validate, protocol="authors", max_steps=12)
    whole = validate(1, 2, out_name="whole")

    def stop_in(name, step):
        def on_step(which):
            def tell(done, total, said):
                if (which, done) == (name, step):
                    raise KeyboardInterrupt

            return tell

        return on_step

    for name in ("seed 1, fold 1", "seed 2, fold 0"):
        with pytest.raises(KeyboardInterrupt):
            validate(1, 2, on_step=stop_in(name, 7), save_steps=2)
    assert not (tmp_path / "out/kfold.json").exists(), "nothing is shown of half a run"
    steps = []
    found = validate(1, 2, save_steps=2, on_step=lambda name: lambda done, total, said: steps.append((name, done)))
    assert steps[0] == ("seed 2, fold 0", 7), "from its last checkpoint; what was predicted is not trained again"
    assert {**found, "config": None} == {**whole, "config": None}
    assert {path.name for path in (tmp_path / "out/seed-1").iterdir()} == {f"fold-{n}.json" for n in range(FOLDS)}
    monkeypatch.setattr(rearranged, "run", None)
    assert validate(1, 2, save_steps=2) == found
    with pytest.raises(
        ValueError, match=r"fold-0.json belongs to another run: config.num_train_epochs was 3, is 4; pass another"
    ):
        validate(1, num_train_epochs=4)
    (tmp_path / "out/seed-1/fold-0.json").write_text('{"schema')
    with pytest.raises(ValueError, match=r"fold-0\.json: expected .*; remove the file to train this model again$"):
        validate(1, 2, save_steps=2)


def test_seeds_differ_and_are_summarized(validate, tmp_path):
    done = validate(1, 2, max_steps=2)
    values = done["summary"]["all"]["f1"]["values"]
    assert values == [run["scores"]["f1"]["value"] for run in done["runs"]]
    assert done["summary"]["all"]["f1"]["mean"] == pytest.approx(sum(values) / 2)
    assert done["summary"]["modifier_type"]["negation"]["pairs"] == 24
    shown = render(build_kfold_table(done))
    assert "fine-tuned" in shown
    assert "±" in shown
    assert "mean ± standard deviation over 2 training seeds" in " ".join(shown.split())
    assert "none" not in shown, "the paper has no table of the pairs without modifier"
    with pytest.raises(ValueError, match=r"expected distinct seeds, got \[1, 1\]"):
        run_seeds(RECIPE(model="m", output_dir=tmp_path), (1, 1))


def test_model_other_than_nli_classifier_is_rejected_before_training(validate, pretrained, make_model):
    with pytest.raises(ModelError, match="got an encoder without a classification head"):
        validate(model=str(pretrained))
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
    told = ["--model", str(tiny_bert), "--output-dir", str(tmp_path / "out"), "--official-file", str(file)]
    told += f"--folds 2 --max-steps 1 --seeds 1 --protocol {protocol}".split()
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(cli.app, ["train", "kfold", *told], catch_exceptions=False)
    assert shown.exit_code == 0
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
