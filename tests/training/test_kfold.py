"""Cross-validation on SICCK: which pairs a fold's model learns, what becomes of its predictions, and stopped runs."""

import json
from dataclasses import fields

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("torch", reason="needs unbag[models]")

import datasets
import pyarrow as pa
from accelerate.state import AcceleratorState
from rich.console import Console

from tests.training.conftest import PAIRS
from unbag import challenge_sets, cli, scripts
from unbag.answers import Answers
from unbag.inference import TransformerPredictor
from unbag.inference.loading import ModelError
from unbag.inference.probe import ProbeReport
from unbag.labels import LABELS, LabelError
from unbag.natlog.relations import Relation
from unbag.perturb import modified
from unbag.report.kfold import table
from unbag.request import BuiltSet, Request
from unbag.scoring.bootstrap import Estimate
from unbag.training import kfold
from unbag.training.config import TrainConfig
from unbag.training.kfold import cross_validate, fold_data, out_of_fold, summarise

RECIPE = scripts.file("trainers", "kfold").RECIPE
RELATIONS = {
    "entailment": Relation.FORWARD_ENTAILMENT,
    "neutral": Relation.INDEPENDENCE,
    "contradiction": Relation.ALTERNATION,
}
FOLDS = 3


@pytest.fixture(scope="module")
def built():
    """Give 72 pairs in both directions, of three folds."""
    pairs = [
        modified.Pair(
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
    rows = datasets.Dataset(pa.concat_tables(modified.tables(pairs, modified.FOUR_WAY)))
    return BuiltSet(Request("sicck"), rows, "en", {"folds": FOLDS}, {"origin": "made up", "revision": "1"})


@pytest.fixture
def validate(built, tiny_bert, tmp_path):
    """Give a function that cross-validates with some options and seeds, and returns the record."""

    def validate(*seeds, out="out", on_step=None, **changed):
        config = RECIPE.config(
            out=tmp_path / out,
            **{
                "model": str(tiny_bert),
                "folds": FOLDS,
                "epochs": 3,
                "batch_size": 24,
                "learning_rate": 5e-3,
                **changed,
            },
        )
        return cross_validate(RECIPE, config, seeds, built=built, on_step=on_step)

    AcceleratorState._reset_state(reset_partial_state=True)
    yield validate
    AcceleratorState._reset_state(reset_partial_state=True)


def texts(rows):
    return list(rows["premise"]), list(rows["hypothesis"])


def test_a_fold_is_learnt_from_both_directions_of_the_pairs_of_the_others(built):
    met = []
    for fold in range(FOLDS):
        data = fold_data(built, fold)
        (training,), (held_out,) = data.training, data.held_out
        names = {example.source_id for example in training.examples}
        out = {example.source_id for example in held_out.examples}
        assert len(names) == len(training.examples) == 96
        assert not {name.removesuffix("-reverse") for name in names} & {name.removesuffix("-reverse") for name in out}
        assert {name for name in names if name.endswith("-reverse")} == {
            f"{name}-reverse" for name in names if not name.endswith("-reverse")
        }
        assert training.record["left_out"] == {"held out": 48}
        met += out
    assert sorted(met) == sorted(built.rows["id"]), "each row is predicted once"
    examples = {each.source_id: each for each in fold_data(built, 1).training[0].examples}
    assert examples["pair-0"][1:4] == PAIRS[0]
    # Entailed by what it entails is nobody: of three labels, the other direction has neutral.
    assert examples["pair-0-reverse"][1:4] == (PAIRS[0][1], PAIRS[0][0], "neutral")
    with pytest.raises(ValueError, match="expected pairs in fold 3 and in others, found 0 of 144 rows in it"):
        fold_data(built, 3)


def test_the_predictions_of_the_folds_come_in_the_order_of_the_rows(built):
    names = built.rows["id"]
    folds = [
        {"probabilities": {name: [n, fold, 0.0] for n, name in enumerate(names) if n % 3 == fold}} for fold in (2, 0, 1)
    ]
    found = out_of_fold(built, folds)
    assert found[:, 0].tolist() == list(range(len(names)))
    assert found[:4, 1].tolist() == [0, 1, 2, 0]


def test_the_summary_is_mean_and_standard_deviation_of_a_sample():
    def scores(value):
        four = {name: Estimate(value, None, None, 7) for name in ("f1", "precision", "recall", "accuracy")}
        return {**four, "by": {"modifier_type": {"negation": four}, "part": {"verb": four}, "position": {"both": four}}}

    found = summarise(scores(0.25), [scores(0.5), scores(0.75)])
    assert list(found) == ["all", "modifier_type", "part"]
    for group in (found["all"], found["modifier_type"]["negation"], found["part"]["verb"]):
        assert group["pairs"] == 7
        assert group["f1"] == {
            "zero_shot": 0.25,
            "mean": 0.625,
            "standard_deviation": pytest.approx(0.125 * 2**0.5),
            "values": [0.5, 0.75],
        }
    assert summarise(scores(0.25), [scores(0.5)])["all"]["recall"]["standard_deviation"] is None


def test_each_pair_is_scored_by_the_model_that_did_not_learn_it(validate, built, tmp_path, tiny_bert):
    done = validate(1, keep_models=True)
    rows, out = built.rows, tmp_path / "out"
    by_hand = np.zeros((len(rows), 3), np.float32)
    for fold in range(FOLDS):
        here = np.array(rows["fold"]) == fold
        predictor = TransformerPredictor.load(out / f"seed-1/fold-{fold}")
        by_hand[here] = predictor.predict(*texts(rows.select(np.flatnonzero(here))))
    scores = challenge_sets.get("sicck").score_rows(rows, Answers(by_hand, LABELS, True))
    assert done["runs"][0]["scores"]["f1"]["value"] == scores["f1"].value
    as_it_is = TransformerPredictor.load(tiny_bert).predict(*texts(rows))
    before = challenge_sets.get("sicck").score_rows(rows, Answers(as_it_is, LABELS, True))
    assert done["zero_shot"]["accuracy"]["value"] == before["accuracy"].value
    assert done["summary"]["all"]["accuracy"]["values"] == [scores["accuracy"].value]
    assert scores["accuracy"].value > before["accuracy"].value, "the words tell, and they are the same in all folds"
    assert [fold["pairs"] for fold in done["runs"][0]["folds"]] == [24] * FOLDS
    assert [fold["steps"] for fold in done["runs"][0]["folds"]] == [12] * FOLDS, (
        "three epochs of 96 rows in batches of 24"
    )
    assert done == json.loads((out / "kfold.json").read_text())
    evaluations = json.loads((out / "seed-1/fold-0.json").read_text())["training"]["evaluations"]
    assert [each["step"] for each in evaluations] == [12], "the predicted fold is looked at when all is done"
    assert validate(1) == {**done, "config": {**done["config"], "keep_models": False}}
    assert (out / "seed-1/fold-0/model.safetensors").is_file(), "what was kept stays"


def test_a_stopped_run_goes_on_to_the_same_result(validate, tmp_path, monkeypatch):
    whole = validate(1, 2, out="whole")

    def stop_in(name, step):
        def on_step(which):
            def tell(done, total, said):
                if (which, done) == (name, step):
                    raise KeyboardInterrupt

            return tell

        return on_step

    for name in ("seed 1, fold 1", "seed 2, fold 0"):
        with pytest.raises(KeyboardInterrupt):
            validate(1, 2, on_step=stop_in(name, 7), checkpoint_every=2)
        AcceleratorState._reset_state(reset_partial_state=True)
    assert not (tmp_path / "out/kfold.json").exists(), "nothing is shown of half a run"
    steps = []
    found = validate(
        1, 2, checkpoint_every=2, on_step=lambda name: lambda done, total, said: steps.append((name, done))
    )
    assert steps[0] == ("seed 2, fold 0", 7), "from its last checkpoint; what was predicted is not trained again"
    assert {**found, "config": None} == {**whole, "config": None}
    assert {path.name for path in (tmp_path / "out/seed-1").iterdir()} == {f"fold-{n}.json" for n in range(FOLDS)}
    monkeypatch.setattr(kfold, "run", None)
    assert validate(1, 2, checkpoint_every=2) == found
    with pytest.raises(ValueError, match=r"fold-0.json is of another run: config.epochs was 3, is 4; name another"):
        validate(1, epochs=4)


def test_seeds_differ_and_are_summarised(validate):
    done = validate(1, 2, max_steps=2)
    values = done["summary"]["all"]["f1"]["values"]
    assert values == [run["scores"]["f1"]["value"] for run in done["runs"]]
    assert done["summary"]["all"]["f1"]["mean"] == pytest.approx(sum(values) / 2)
    assert done["summary"]["modifier_type"]["negation"]["pairs"] == 24
    console = Console(width=80)
    with console.capture() as capture:
        console.print(table(done))
    shown = capture.get()
    assert "fine-tuned" in shown
    assert "±" in shown
    assert "mean ± standard deviation over 2 training seeds" in " ".join(shown.split())
    assert "none" not in shown, "the paper has no table of the pairs without modifier"
    with pytest.raises(ValueError, match=r"expected seeds that differ, found \[1, 1\]"):
        validate(1, 1)


def test_a_model_that_is_no_nli_classifier_is_refused_before_any_training(validate, pretrained, make_model):
    with pytest.raises(ModelError, match="hold no weights for"):
        validate(model=str(pretrained))
    two = make_model(order=("entailment", "not_entailment"))
    with pytest.raises(ValueError, match="expected a classifier of entailment, neutral, contradiction, found one of"):
        validate(model=str(two))


def test_a_mislabelled_model_is_refused_with_an_option_that_there_is(validate, monkeypatch):
    report = ProbeReport(LABELS, 0, LABELS[::-1], 12, 12, mislabelled=True)
    monkeypatch.setattr(kfold, "probe", lambda predictor, language: report)
    with pytest.raises(LabelError, match=f"or --label-map {','.join(LABELS)} if the declared order is right") as error:
        validate()
    assert "--trust-labels" not in str(error.value)


def test_what_the_protocol_leaves_no_choice_of_is_no_option(tmp_path):
    fixed = {each.name for each in fields(RECIPE.config) if not each.init}
    assert fixed >= {"corpus", "validation", "augment", "order", "hypothesis_only", "patience", "evaluate_every"}
    for name in ("patience", "corpus"):
        with pytest.raises(TypeError, match=name):
            RECIPE.config(model="m", out=tmp_path, **{name: 1})
    declared = {each.name: each.default for each in fields(TrainConfig)}
    told = RECIPE.config(model="m", out=tmp_path)
    for name in fixed - {"corpus", "evaluate_every"}:
        assert getattr(told, name) == declared[name], "as it is for who says nothing"
    with pytest.raises(ValueError, match="found epochs = 0; expected at least 2 folds, found 1"):
        RECIPE.config(model="m", out=tmp_path, epochs=0, folds=1)


@pytest.mark.parametrize("whole_seeds", [False, True])
def test_the_official_pairs_are_cross_validated_by_one_command(shared, tiny_bert, tmp_path, monkeypatch, whole_seeds):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "datasets")
    file = shared / "data/sicck/SICCK-Ground-Truth-apr24.csv"
    told = ["--model", str(tiny_bert), "--out", str(tmp_path / "out"), "--file", str(file), "--folds", "2"]
    told += ["--max-steps", "1", "--seeds", "1", *(["--whole-seeds"] if whole_seeds else [])]
    try:
        shown = CliRunner(env={"COLUMNS": "80"}).invoke(cli.app, ["train", "kfold", *told], catch_exceptions=False)
    finally:
        AcceleratorState._reset_state(reset_partial_state=True)
    assert shown.exit_code == 0
    assert "existential" in shown.output
    assert max(map(len, shown.output.splitlines())) <= 80 or str(tmp_path) in shown.output.splitlines()[-1]
    done = json.loads((tmp_path / "out/kfold.json").read_text())
    assert done["summary"]["all"]["pairs"] == 1304
    assert {name: found["pairs"] for name, found in done["summary"]["modifier_type"].items()} == {
        "none": 15,
        "universal": 217,
        "existential": 303,
        "negation": 167,
        "adjective/adverb": 602,
    }
    assert sum(fold["pairs"] for fold in done["runs"][0]["folds"]) == 1304
    assert str(tmp_path) not in json.dumps({**done, "model": None, "config": {**done["config"], "model": None}})
    if not whole_seeds:
        assert [fold["pairs"] for fold in done["runs"][0]["folds"]] == [652, 652]
