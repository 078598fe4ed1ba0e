"""Tests of `unbag.evaluate` and its report."""

import gc
import inspect
from html.parser import HTMLParser

import pytest

import unbag
from unbag.challenge_sets import results
from unbag.data import demo
from unbag.data.labels import LABELS, LabelError
from unbag.evaluation.metrics import describe_metrics
from unbag.inference.function import CallablePredictor
from unbag.inference.options import MODEL_OPTIONS
from unbag.reports import html
from unbag.utils.options import parse_options

DATA = demo.get_demo_file("validation")


def by_length(premises, hypotheses):
    return [LABELS[(len(p) + 2 * len(h)) % 3] for p, h in zip(premises, hypotheses, strict=True)]


def ids(premises, hypotheses):
    """Return the predictions of `by_length` as label ids in another order."""
    order = ("contradiction", "neutral", "entailment")
    return [order.index(label) for label in by_length(premises, hypotheses)]


def asked(model=by_length, sets=("plain", "swapped"), **options):
    return unbag.evaluate(
        model, sets, **{"data": DATA, "max_examples": 90, "lexical_baseline": False, "progress": False} | options
    )


@pytest.fixture(autouse=True, scope="module")
def _isolated_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path_factory.mktemp("cache"))
        patch.setenv("UNBAG_CACHE", str(tmp_path_factory.mktemp("kept")))
        yield


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """Return a report whose results are in a folder that the user named."""
    return asked(output_dir=tmp_path_factory.mktemp("named") / "out")


@pytest.fixture(scope="module")
def report():
    return asked()


def test_evaluate_without_output_dir_uses_temporary_folder(named):
    unnamed = asked(max_examples=30, shuffled=False)
    assert named.results == results.read_results(named.folder / results.FILE)
    folder = unnamed.folder
    assert (folder / "predictions").is_dir()
    del unnamed
    gc.collect()
    assert not folder.exists()


class ReadsHalf:
    """Predicts by length, and counts the pairs that it truncates."""

    label_space, identity, truncated = LABELS, None, 0

    def predict(self, premises, hypotheses):
        self.truncated += sum(len(premise) > 60 for premise in premises)
        return [[1.0 * (label == answer) for label in LABELS] for answer in by_length(premises, hypotheses)]


def test_truncated_fraction_is_in_all_outputs(tmp_path):
    report = asked(ReadsHalf(), ["plain"], shuffled=False)
    [result] = report
    assert 0 < result.truncated_share == result.model["truncated_pairs"] / 90 < 1
    share = f"{100 * result.truncated_share:.1f} %"
    assert report.verdict.endswith(f"Truncated pairs: Corpus ({share}).")
    assert f"{share} of the pairs ({result.model['truncated_pairs']}) exceed the" in str(report).replace("\n", " ")
    assert share in report.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "truncated_share" not in asked(sets=["plain"], shuffled=False)[0].model


def test_model_with_identity_stores_predictions_in_user_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("UNBAG_CACHE", str(tmp_path))
    calls = []
    known = CallablePredictor(lambda p, h: calls.append(len(p)) or by_length(p, h), identity={"model": "by length"})
    first, second = asked(known, "plain"), asked(known, "plain")
    assert first.results == second.results
    # The label probe, the rows, and five shuffled orders of each row. The second run repeats only the label probe.
    assert calls == [12, 90, 450, 12]
    assert (tmp_path / "predictions").is_dir()
    assert not (first.folder / "predictions").exists()


def test_report_save_equals_output_dir(report, named, tmp_path):
    folder = report.save(tmp_path / "run")
    assert report.results == named.results
    for file in named.folder.rglob("*"):
        if file.is_file() and "predictions" not in file.parts:
            assert (folder / file.relative_to(named.folder)).read_bytes() == file.read_bytes()
    assert (folder / "table.txt").read_text().rstrip().splitlines()[-1].strip() in str(report)
    other = unbag.evaluate(lambda p, h: ["neutral"] * len(p), "plain", data=DATA, max_examples=90, progress=False)
    assert unbag.compare(folder, other.save(tmp_path / "other")).differences
    assert report.save(report.folder) == report.folder, "in its own folder nothing is copied over itself"


def test_html_report_equals_that_of_command(report, tmp_path):
    path = report.to_html(tmp_path / "of-python.html")
    html.write_report([report.folder], tmp_path / "of-command.html")
    assert path.read_bytes() == (tmp_path / "of-command.html").read_bytes()


def test_report_dataframe_has_metrics_with_directions(report):
    table = report.to_pandas()
    assert list(table.columns) == ["set", "data", "number", "label", "value", "low", "high", "n", "direction"]
    scores = report[1].scores
    [row] = table[(table["set"] == "swapped") & (table["number"] == "accuracy_after")].to_dict("records")
    assert (row["value"], row["low"], row["high"], row["n"]) == tuple(scores["accuracy_after"])
    assert row["direction"] == "higher"
    assert set(table[table["number"] == "drop"]["direction"]) == {"lower"}
    assert not table.duplicated(["set", "number"]).any()
    assert all(
        set(table[table["set"] == name]["number"]) <= set(describe_metrics(name)) for name in ("plain", "swapped")
    )


def test_report_repr_fits_80_columns(report):
    for shown in (repr(report), str(report)):
        assert max(map(len, shown.splitlines())) <= 80
        assert report.verdict.split(";")[0] in " ".join(shown.split())
    assert len(str(report)) > len(repr(report)), "the one is all tables, the other the summary"


class _Balanced(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attrs):
        self.open += [tag]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_data(self, data):
        self.text.append(data)


def test_notebook_report_shows_verdict_and_escapes_names():
    def model(premises, hypotheses):
        return by_length(premises, hypotheses)

    model.__qualname__ = "<script>alert(1)</script>"
    report = asked(model)
    page = _Balanced()
    page.feed(report._repr_html_())
    text = " ".join("".join(page.text).split())
    assert not page.open
    assert "script" not in {tag for tag in report._repr_html_().replace("<", " ").split() if tag == "script>"}
    assert model.__qualname__ in text
    for part in (report.verdict, "same prediction both ways", "drop", "lower is better"):
        assert part in text


def test_report_without_results_names_reason():
    skipped = results.SkippedSet("sicck", None, "no such file")
    empty = unbag.Report((), demo.get_demo_file("train").parent, [skipped])
    assert repr(empty) == str(empty) == "Skipped: sicck (no such file)"
    assert "sicck (no such file)" in empty._repr_html_()
    with pytest.raises(ValueError, match=r"got none \(sicck \(no such file\)\)"):
        empty.save("nowhere")


def test_evaluate_ids_without_label_map_are_rejected_before_building(monkeypatch):
    monkeypatch.setattr("unbag.evaluation.evaluator.build_requested_set", lambda request: pytest.fail("a set was made"))
    with pytest.raises(LabelError, match=r"expected label names, got label ids.*return names, or .*label_map"):
        asked(ids)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"model": "org/model", "num_fewshot": 3},
            "num_fewshot is for causal:ORG/LM or endpoint:NAME; org/model is a classifier",
        ),
        ({"model": "causal:org/lm", "base_url": "http://x/v1"}, "base_url is for endpoint:NAME; causal:org/lm is"),
        ({"model": "org/model", "train_data": ["snli"]}, "train_data is for lexical, hypothesis-only or majority; org"),
        ({"device": "cpu"}, "device is for a Hub id or a folder or causal:ORG/LM; by_length is a function"),
        ({"corpus": "snli"}, "expected one source of pairs, got corpus and data"),
        ({"data": None, "labels": list(LABELS)}, "labels: expected data, got none; pass data, or omit labels"),
        ({"options": {"Q": 3}}, "no option 'Q'"),
        ({"sets": "permute"}, "expected one of the challenge sets"),
        ({"full": True}, "full: cannot be combined with sets"),
        ({"sets": None, "language": "English"}, "expected a language code such as .* got 'English'"),
        (
            {"sets": [unbag.SetRequest("plain", "snli")]},
            "sets: the request for plain cannot be combined with corpus, data or max_examples",
        ),
    ],
)
def test_evaluate_invalid_argument_is_rejected_before_loading(options, said, monkeypatch):
    monkeypatch.setattr("unbag.evaluation.evaluator.load_predictor", lambda *_, **__: pytest.fail("a model was loaded"))
    with pytest.raises(ValueError, match=said):
        asked(**options)


class Thing:
    """An object that is not callable and no model."""


@pytest.mark.parametrize("model", [5, None, Thing(), b"org/model", [by_length]])
def test_evaluate_invalid_model_object_is_rejected(model):
    with pytest.raises(ValueError, match=r"expected (the name of a model|a prediction for each of 1 pairs|model)"):
        asked(model)


def test_evaluate_missing_file_is_reported_before_building(monkeypatch, tmp_path):
    monkeypatch.setattr("unbag.evaluation.evaluator.build_requested_set", lambda request: pytest.fail("a set was made"))
    (tmp_path / "SICCK-Ground-Truth-apr24.csv").write_text("another file")
    for path, said in (("nowhere", "no such file or folder"), (tmp_path, "expected SICCK-Ground-Truth-apr24.csv with")):
        with pytest.raises(ValueError, match=said):
            unbag.evaluate(by_length, ["plain", "sicck"], options={"file": path}, progress=False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dtype": "float23"}, "dtype: expected one of float32, bfloat16, float16, got 'float23'"),
        ({"batch_tokens": 0}, "batch_tokens: expected a whole number of at least 1, got 0"),
        ({"revision": ""}, "revision: expected non-empty printable text, got ''"),
        ({"threshold": 1.5}, "expected a probability of entailment from 0 to 1, or break-even, got 1.5"),
        ({"threshold": "high"}, "expected a probability of entailment from 0 to 1, or break-even, got 'high'"),
    ],
)
def test_invalid_model_option_is_rejected(options, said):
    with pytest.raises(ValueError, match=said):
        parse_options(MODEL_OPTIONS, options)


def test_public_names_are_listed_and_importable():
    pytest.importorskip("sentence_transformers")  # required by one of them
    assert dir(unbag) == sorted(unbag.__all__)
    for name in unbag.__all__:
        assert getattr(unbag, name)
    kinds = [parameter.kind.name for parameter in inspect.signature(unbag.evaluate).parameters.values()]
    assert kinds[:2] == ["POSITIONAL_OR_KEYWORD"] * 2
    assert set(kinds[2:]) == {"KEYWORD_ONLY"}
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        unbag.evalute  # noqa: B018


def test_progress_callback_reports_rows():
    told = []
    asked(sets="plain", progress_callback=lambda *each: told.append(each))
    assert told[0] == ("plain", 0, 90)
    assert ("plain", 90, 90) in told
    assert told[-1] == ("plain, words shuffled", 450, 450)


def test_evaluate_empty_sets_are_rejected():
    with pytest.raises(ValueError, match=r"sets: expected one or more of .*, got none"):
        unbag.evaluate("majority", [])


def test_unknown_model_option_is_rejected():
    with pytest.raises(TypeError, match=r"expected a model option, got 'treshold', did you mean 'threshold'\?"):
        asked(treshold=0.5)
