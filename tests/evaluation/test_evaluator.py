"""Tests of the whole flow on a few pairs: build, predict, score, write results."""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import unbag
from tests.factories import run_unbag, score_file, write_pairs
from unbag.challenge_sets.request import (
    SetRequest,
    build_requested_set,
    export_challenge_set,
    is_exported_set,
    read_exported_set,
)
from unbag.data.labels import (
    TWO_WAY,
    find_label_space,
    map_label_to_space,
    parse_label_map,
)
from unbag.evaluation.evaluator import evaluate_all
from unbag.evaluation.lexical_baseline import LexicalBaseline
from unbag.evaluation.model_loading import CAUSAL, ENDPOINT
from unbag.evaluation.outcome import EvaluationCallbacks
from unbag.inference.function import CallablePredictor
from unbag.inference.label_probe import PAIRS, MislabelledError
from unbag.inference.runner import predict_rows, predict_shard
from unbag.utils.safe_io import DataError
from unbag.utils.storage import StorageFolder

SUBJECTS = ["Two young dogs", "An old woman in black", "Three of the boys", "My tall neighbour from Spain"]
ACTS = ["chase a red ball in the park", "wait for the last bus to town", "carry heavy boxes up the hill"]
LABELS = ["entailment", "neutral", "contradiction"]


@pytest.fixture(scope="module")
def set_request(tmp_path_factory):
    pairs = [
        (f"{subject} {act} today.", f"{other} {act} now.", LABELS[i % 3])
        for i, (subject, other, act) in enumerate(product(SUBJECTS, SUBJECTS, ACTS))
    ]
    pairs += [("Too short.", "Too short.", "neutral"), (*pairs[0][:2], "-")]
    path = write_pairs(tmp_path_factory.mktemp("pairs") / "ours.csv", pairs)
    return SetRequest("permuted", options={"data": str(path), "q": 5})


def predict_from_order(premises, hypotheses):
    """Return probabilities that depend on the first word, and so on word order."""
    rows = [[1 + len(p.split()[0]), 1 + len(h.split()[0]), 2] for p, h in zip(premises, hypotheses, strict=True)]
    array = np.array(rows, dtype=float)
    return array / array.sum(axis=1, keepdims=True)


def test_baseline_that_cannot_be_fitted_is_left_out_with_warning(set_request, tmp_path, monkeypatch, caplog):
    def fail(*_, **__):
        raise ValueError("no pairs")

    monkeypatch.setattr("unbag.evaluation.lexical_baseline.PAIRS", {"en": ("snli", 10, None)})
    monkeypatch.setattr("unbag.evaluation.lexical_baseline.fit_or_load_lexical_model", fail)
    [result] = evaluate_all([predict_from_order], [set_request], output_dir=tmp_path).results
    assert "lexical_baseline" not in result.scores
    assert "could not be fitted (no pairs); the skill scores of this run do not include it" in caplog.text


def test_sampled_examples_do_not_depend_on_other_rows(set_request):
    few = build_requested_set(SetRequest("permuted", options=set_request.options, max_examples=7))
    more = build_requested_set(SetRequest("permuted", options=set_request.options, max_examples=20))
    assert len(few.rows) == 7 * 6
    assert set(few.rows["source_id"][:]) < set(more.rows["source_id"][:])
    assert few.data["excluded"]["not drawn"] == 41
    other = build_requested_set(SetRequest("permuted", options=set_request.options, max_examples=7, seed=1))
    assert set(other.rows["source_id"][:]) != set(few.rows["source_id"][:])


def test_two_label_model_is_scored_in_its_label_space(tmp_path, set_request):
    predictor = CallablePredictor(lambda premises, _: ["not_entailment"] * len(premises), label_space=TWO_WAY)
    [result] = unbag.evaluate(predictor, [set_request], output_dir=tmp_path / "out")
    assert result.scores["accuracy"].value == pytest.approx(2 / 3)  # neutral and contradiction count as one label
    assert result.scores["omega_rand"].value == pytest.approx(2 / 3)


def test_device_is_validated_unless_a_cluster_runs_the_model(tmp_path, set_request):
    class RemoteEngine:
        predict_rows = staticmethod(predict_rows)

        def load_predictor(self, model, **options):
            told.append(options["device"])
            return CallablePredictor(predict_from_order), model

    told = []
    asked = {"output_dir": tmp_path / "out", "lexical_baseline": False, "device": "cuda:99"}
    evaluate_all(["org/model"], [set_request], engine=RemoteEngine(), **asked)
    assert told == ["cuda:99"]
    with pytest.raises(ValueError, match="cannot use the device 'cuda:99'"):
        evaluate_all(["org/model"], [set_request], **asked)


def test_predictions_next_to_exported_set_are_scored(tmp_path, set_request):
    export_challenge_set(set_request, tmp_path / "set.parquet")
    table = pq.read_table(tmp_path / "set.parquet")
    mine = tmp_path / "mine.parquet"
    pq.write_table(table.append_column("prediction", pa.array(["neutral"] * len(table))), mine)
    assert is_exported_set(mine)
    scores = score_file(mine, read_exported_set(mine), output_dir=tmp_path / "a", lexical_baseline=False).scores
    assert scores == score_file(mine, set_request, output_dir=tmp_path / "b", lexical_baseline=False).scores
    assert not (tmp_path / "b" / "predictions").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda table: table.replace_schema_metadata(None), "got a file without a set record"),
        (lambda table: table.drop_columns(["hypothesis"]), "got a file without the columns hypothesis"),
        (lambda table: table.slice(1), "written by `unbag build`, got different rows or another order"),
    ],
)
def test_file_other_than_exported_set_is_rejected(tmp_path, set_request, change, said):
    export_challenge_set(set_request, tmp_path / "set.parquet")
    pq.write_table(change(pq.read_table(tmp_path / "set.parquet")), tmp_path / "changed.parquet")
    with pytest.raises(DataError, match=said):
        read_exported_set(tmp_path / "changed.parquet")


def _build_probe_model(order):
    """Return a function that predicts the label-check pairs in a given label order, and neutral for all others."""
    gold = {(premise, hypothesis): label for premise, hypothesis, label in PAIRS["en"]}
    space = find_label_space(order)

    def model(premises, hypotheses):
        labels = [gold.get(pair, "neutral") for pair in zip(premises, hypotheses, strict=True)]
        return np.eye(len(order))[[order.index(map_label_to_space(label, space)) for label in labels]]

    return model


def _build_renaming_model(names):
    """Return a function that predicts the label-check pairs with exchanged labels, and neutral for all others."""
    answers = {(premise, hypothesis): names[label] for premise, hypothesis, label in PAIRS["en"]}
    return lambda p, h: [answers.get(pair, "neutral") for pair in zip(p, h, strict=True)]


@pytest.mark.parametrize("meant", [("neutral", "contradiction", "entailment"), ("contradiction", "not_contradiction")])
def test_wrong_label_order_error_names_label_map(tmp_path, set_request, meant):
    wrong, right = parse_label_map(",".join(meant[::-1])), parse_label_map(",".join(meant))
    asked = {"models": [_build_probe_model(meant)], "sets": [set_request]}
    asked |= {"output_dir": tmp_path / "out", "lexical_baseline": False}
    with pytest.raises(MislabelledError, match=rf'pass label_map="{",".join(meant)}", or trust_labels=True if'):
        evaluate_all(**asked, label_map=wrong)
    [result] = evaluate_all(**asked, label_map=right).results
    assert result.model["label_probe"] == {"en": "12 of 12"}
    assert result.model["label_order"] == ",".join(meant)
    [trusted] = evaluate_all(**asked, label_map=wrong, trust_labels=True).results
    assert trusted.model["label_order"] == ",".join(meant[::-1])


def test_wrong_labels_error_names_remedy_of_function_and_of_predictor(tmp_path, set_request):
    class ReorderedModel:
        label_space = tuple(LABELS)
        identity = None

        def predict(self, premises, hypotheses):
            return _build_probe_model(tuple(LABELS))(premises, hypotheses)[:, [2, 0, 1]]

    renamed = {"entailment": "contradiction", "contradiction": "entailment", "neutral": "neutral"}
    for model, message in (
        (_build_renaming_model(renamed), "make the function return contradiction for its entailment, enta"),
        (ReorderedModel(), "set label_space to the order of the prediction columns, "),
    ):
        with pytest.raises(MislabelledError, match=message):
            unbag.evaluate(model, [set_request], output_dir=tmp_path / "out")


def test_lookup_function_is_not_probed(tmp_path, set_request):
    rows = build_requested_set(set_request).rows
    known = dict.fromkeys(zip(rows["premise"][:], rows["hypothesis"][:], strict=True), "neutral")

    def predict_known(premises, hypotheses):
        return [known[pair] for pair in zip(premises, hypotheses, strict=True)]

    [result] = unbag.evaluate(predict_known, [set_request], output_dir=tmp_path / "out", shuffled=False)
    assert "label_probe" not in result.model


@pytest.mark.parametrize("kind", ["causal", "endpoint"])
def test_confused_words_warning_names_language_model_options(tmp_path, set_request, caplog, kind):
    taken_for = {"entailment": "entailment", "neutral": "contradiction", "contradiction": "neutral"}
    model = CallablePredictor(_build_renaming_model(taken_for))
    model.identity, model.label_source = {"kind": kind, "name": "tiny"}, "generated"
    [result] = unbag.evaluate(model, [set_request], output_dir=tmp_path / "out")
    assert result.model["label_probe"] == {"en": "4 of 12"}
    [said] = [record.getMessage() for record in caplog.records if record.name == "unbag.inference.label_probe"]
    assert "4 of 12 obvious pairs correctly, but 12 of 12 if 'Maybe' means contradiction and 'No' means neutral" in said
    options = {option.removeprefix("no-").replace("-", "_") for option in re.findall(r"--([a-z-]+)", said)}
    assert options == ({"num_fewshot", "apply_chat_template"} if kind == "causal" else {"num_fewshot"})
    assert options <= {"causal": CAUSAL, "endpoint": ENDPOINT}[kind].options


def test_abstained_pairs_count_as_wrong(tmp_path, set_request, caplog):
    model = CallablePredictor(lambda premises, _: np.full((len(premises), 3), 1 / 3, dtype=np.float32))
    model.may_abstain = True
    [result] = unbag.evaluate(model, [set_request], output_dir=tmp_path / "out")
    assert result.scores["accuracy"].value == 0  # although argmax of equal probabilities is entailment
    assert result.model["n_abstained"] == len(build_requested_set(set_request).rows)
    assert "answers contain no label and count as wrong" in caplog.text


def test_bag_of_words_trained_on_evaluated_data_is_named(tmp_path, set_request, caplog):
    path = Path(set_request.options["data"])
    trained = {"train_data": [str(path.parent / ".." / path.parent.name / path.name)], "pipeline": "all"}
    unbag.evaluate("lexical", [set_request], **trained, lexical_baseline=False, output_dir=tmp_path / "out")
    assert "is also the evaluated data" in caplog.text


def test_score_command_scores_shards_and_predicts_the_rest(tmp_path, set_request, monkeypatch):
    for predict in (predict_rows, predict_shard):
        monkeypatch.setitem(predict.__kwdefaults__, "chunk_rows", 10)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lengths.py").write_text(
        "def answer(premises, hypotheses):\n"
        "    return [['entailment', 'neutral'][len(p) > len(h)] for p, h in zip(premises, hypotheses)]\n"
    )
    words = ["evaluate", "lengths:answer", "--sets", "plain", "--data", set_request.options["data"]]
    words += ["--no-lexical-baseline", "--trust-labels", "--output-dir"]
    assert run_unbag(*words, "one").exit_code == 0
    assert str(tmp_path.parent) not in Path("one/results.json").read_text(), "a path of the machine"
    done = run_unbag(*words, "shared", "--shard", "0/2")
    assert done.exit_code == 0, done.output
    assert "score them: unbag score --run-dir shared" in " ".join(done.output.split())
    for out in ("shared", "other"):
        done = run_unbag("score", "--run-dir", "shared", "--output-dir", out)
        assert done.exit_code == 0, done.output
        assert (tmp_path / out / "results.json").read_bytes() == (tmp_path / "one" / "results.json").read_bytes()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("evaluate majority --output-dir nosuch://x/y", "nosuch"),
        ("score --run-dir x --set plain", "--run-dir: cannot be combined with FILE, --set, --by-order, --threshold"),
        ("score --run-dir x --no-lexical-baseline", "--no-lexical-baseline: cannot be combined with --run-dir"),
        ("score", "expected FILE or --run-dir, got neither"),
        ("score --run-dir nowhere", "got nowhere without run.yaml"),
        ("report runs --output s3://bucket/report.html", "expected a local path"),
    ],
)
def test_command_error_is_one_line(command, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run_unbag(*command.split())
    assert done.exit_code != 0
    assert said in " ".join((done.output + str(done.exception)).replace("│", " ").split())


def test_set_is_built_to_address(tmp_path, set_request):
    data = set_request.options["data"]
    for place in (f"memory://{tmp_path.name}/set.parquet", str(tmp_path / "set.parquet")):
        done = run_unbag("build", "permuted", "--data", data, "--output", place)
        assert done.exit_code == 0, done.output
        assert f"{place}: 48 examples" in " ".join(done.output.split())
    assert StorageFolder(f"memory://{tmp_path.name}").read("set.parquet") == (tmp_path / "set.parquet").read_bytes()


def test_sets_predicted_during_fit_by_second_process_have_same_results(tmp_path, set_request, monkeypatch):
    pairs = set_request.options["data"]
    requests = [SetRequest("plain", options={"data": pairs}), SetRequest("swapped", options={"data": pairs})]
    events = []

    def run(folder):
        events.clear()
        callbacks = EvaluationCallbacks(
            on_set=lambda name: events.append(f"begin {name}"),
            on_result=lambda result: events.append(f"result {result.set}"),
        )
        out = tmp_path / folder
        outcome = evaluate_all([predict_from_order], requests, output_dir=out, callbacks=callbacks)
        return [result.scores for result in outcome.results]

    monkeypatch.setattr("unbag.evaluation.lexical_baseline.PAIRS", {"en": (pairs, 40, "all")})
    immediate = run("immediate")
    assert events == ["begin plain", "result plain", "begin swapped", "result swapped"]
    states = iter([True, True])  # one per set; `predict` does not read the state
    monkeypatch.setattr(LexicalBaseline, "is_fitting", property(lambda self: next(states)))
    assert run("deferred") == immediate
    assert immediate[0]["skill"]["baseline"] is not None
    assert events == ["begin plain", "begin swapped", "result plain", "result swapped"]


@pytest.mark.usefixtures("empty_caches")
def test_process_that_dies_leaves_the_fit_to_this_process(tmp_path, set_request):
    baseline = LexicalBaseline({"train_data": (set_request.options["data"],), "pipeline": "all"})
    baseline.start_fitting("en", ())
    assert baseline.is_fitting
    baseline.stop()
    assert not baseline.is_fitting
    assert baseline.predict(build_requested_set(set_request), tmp_path / "predictions").answers is not None
