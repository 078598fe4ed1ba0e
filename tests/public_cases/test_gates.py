"""Gates of a deployed model: computed from what both runs have, and a failure if they cannot be computed."""

import json
from pathlib import Path

import pytest

import unbag
from tests.factories import BARE, run_unbag, write_table
from unbag.data.labels import LABELS
from unbag.inference.function import CallablePredictor

ROWS = 27  # too few for a skill score, for which the tests require ten rows per label


def write_pairs(path, labels=LABELS):
    """Write pairs whose hypothesis names the gold label."""
    gold = [labels[row % len(labels)] for row in range(ROWS)]
    rows = [(f"Item {row} is here.", f"Item {row} is {label}.", label) for row, label in enumerate(gold)]
    return write_table(path, rows, ["premise", "hypothesis", "label"])


def evaluate(folder, pairs, predict):
    """Evaluate a model that predicts each label from the hypothesis."""

    model = CallablePredictor(lambda _, hypotheses: list(map(predict, hypotheses)), identity={"name": folder.name})
    unbag.evaluate(model, "plain", data=str(pairs), output_dir=folder, trust_labels=True, **BARE)
    return folder


def read_label(hypothesis):
    return next((label for label in LABELS if label in hypothesis), LABELS[0])


def check(*arguments):
    """Run the gates. Returns the exit code, and the outcome and the value of each gate by the name of its metric."""
    done = run_unbag("check", *arguments, "--json")
    gates = json.loads(done.stdout)["gates"]
    return done.exit_code, {each["number"]: (each["outcome"], each["estimate"]["value"]) for each in gates}


@pytest.mark.parametrize(("damaged", "code", "outcome"), [(0, 0, "passes"), (18, 1, "fails")])
def test_changed_labels_gate_without_skill_score_is_decided(tmp_path, damaged, code, outcome):
    pairs = write_pairs(tmp_path / "pairs.csv")
    hypotheses = [line.split(",")[1] for line in pairs.read_text().splitlines()[1:]]
    before = evaluate(tmp_path / "before", pairs, read_label)
    noise = {each: LABELS[(LABELS.index(read_label(each)) + 1) % 3] for each in hypotheses[:damaged]}
    after = evaluate(tmp_path / "after", pairs, lambda each: noise.get(each, read_label(each)))
    found = check(after, "--no-worse-than", before, "--max", "plain:changed_labels=.2")
    assert found == (code, {"score": ("inconclusive", None), "changed_labels": (outcome, damaged / ROWS)})


def test_gate_that_cannot_be_computed_fails(tmp_path):
    pairs = write_pairs(tmp_path / "pairs.csv")
    run = evaluate(tmp_path / "run", pairs, read_label)
    other = evaluate(tmp_path / "other", write_pairs(tmp_path / "other.csv", LABELS[::-1]), read_label)
    assert check(run, "--min", "plain:score=0")[0] == 1, "too few rows"
    assert check(run, "--no-worse-than", run) == (1, {"score": ("not computed", None)}), "too few rows"
    code, gates = check(run, "--no-worse-than", other, "--max", "plain:changed_labels=1", "--min", "plain:accuracy=0")
    assert (code, gates) == (
        1,
        {"accuracy": ("passes", 1), "score": ("not computed", None), "changed_labels": ("not computed", None)},
    )
    two_labels = write_pairs(tmp_path / "two.csv", ("entailment", "not_entailment"))
    two = evaluate(tmp_path / "two", two_labels, lambda each: "neutral" if "not_" in each else "entailment")
    assert check(two, "--max", "plain:false_contradiction=.5") == (1, {"false_contradiction": ("not computed", None)})


@pytest.fixture
def working_folder(tmp_path, monkeypatch):
    """Folder with documents, a model that predicts entailment if a claim is a sentence, and a run of this model.

    The run uses `--long-premise every-sentence`, without which the model never predicts entailment.
    """
    monkeypatch.chdir(tmp_path)
    rows = [(f"Item {n} is here. Item {n} is red.", f"Item {n + n % 2} is red.", LABELS[n % 2]) for n in range(ROWS)]
    write_table(tmp_path / "claims.csv", rows, ["document", "claim", "label"])
    name = f"verifier_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(
        "def predict(premises, hypotheses):\n"
        "    return [[one == two, one != two, 0] for one, two in zip(premises, hypotheses)]\n"
    )
    arguments = ["evaluate", f"{name}:predict", "--data", "claims.csv", "--sets", "plain", "--output-dir", "old"]
    arguments += ["--no-lexical-baseline", "--no-shuffled", "--long-premise", "every-sentence", "--trust-labels"]
    assert run_unbag(*arguments).exit_code == 0
    return name


def test_model_passes_against_itself_with_options_of_run(working_folder):
    gate = (f"{working_folder}:predict", "--no-worse-than", "old", "--metric", "accuracy")
    gate += ("--max", "plain:changed_labels=.2")
    passes = {"accuracy": ("passes", 0), "changed_labels": ("passes", 0)}
    assert check(*gate) == (0, passes)
    # The option of the command line replaces that of the run, and only that one.
    code, gates = check(*gate, "--long-premise", "truncate")
    assert (code, gates["changed_labels"]) == (1, ("fails", 14 / ROWS))
    # Without its run.yaml, a run still records the options of the model.
    Path("old/run.yaml").unlink()
    assert check(*gate, "--data", "claims.csv", "--no-lexical-baseline", "--no-shuffled") == (0, passes)


@pytest.mark.parametrize("option", [("--max-examples", "12"), ("--corpus", "mnli"), ("--labels", "E=entailment")])
def test_option_that_changes_rows_is_refused_by_name(working_folder, option):
    done = run_unbag("check", f"{working_folder}:predict", "--no-worse-than", "old", *option)
    assert (done.exit_code, f"{option[0]}: expected the rows of old, got other rows" in done.output) == (2, True)


def test_runs_with_other_options_are_named(working_folder):
    arguments = ["evaluate", f"{working_folder}:predict", "--data", "claims.csv", "--sets", "plain"]
    arguments += ["--no-lexical-baseline", "--no-shuffled", "--trust-labels", "--output-dir", "new"]
    assert run_unbag(*arguments).exit_code == 0
    done = run_unbag("check", "new", "--no-worse-than", "old")
    assert "differ in the model options long_premise (every-sentence and truncate)" in done.output
