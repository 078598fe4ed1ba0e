"""Tests of `unbag.evaluate` and its report."""

import gc
import inspect
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import unbag
from tests.fork_server import PYTHON
from unbag.challenge_sets import results
from unbag.data import demo
from unbag.data.labels import LABELS, LabelError
from unbag.evaluation.metrics import describe_metrics
from unbag.inference.function import CallablePredictor
from unbag.reports import html

DATA = demo.get_demo_file("validation")


def by_length(premises, hypotheses):
    return [LABELS[(len(p) + 2 * len(h)) % 3] for p, h in zip(premises, hypotheses, strict=True)]


def asked(model=by_length, sets=("plain", "swapped"), **options):
    return unbag.evaluate(
        model, sets, **{"data": DATA, "max_examples": 90, "lexical_baseline": False, "progress": False} | options
    )


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
    html.write_report([report.folder], tmp_path / "of-command.html")
    assert (folder / "report.html").read_bytes() == (tmp_path / "of-command.html").read_bytes()
    for file in named.folder.rglob("*"):
        if file.is_file() and "predictions" not in file.parts:
            assert (folder / file.relative_to(named.folder)).read_bytes() == file.read_bytes()
    assert (folder / "table.txt").read_text().rstrip().splitlines()[-1].strip() in str(report)
    other = unbag.evaluate(lambda p, h: ["neutral"] * len(p), "plain", data=DATA, max_examples=90, progress=False)
    assert unbag.compare(folder, other.save(tmp_path / "other")).differences
    assert report.save(report.folder) == report.folder, "in its own folder nothing is copied over itself"


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


def test_notebook_report_shows_verdict_and_escapes_names():
    def model(premises, hypotheses):
        return by_length(premises, hypotheses)

    model.__qualname__ = "<script>alert(1)</script>"
    report = asked(model)
    page = ElementTree.fromstring(f"<div>{report._repr_html_()}</div>")  # all tags are closed
    text = " ".join("".join(page.itertext()).split())
    assert page.find(".//script") is None
    for part in (model.__qualname__, report.verdict, "same prediction both ways", "drop", "lower is better"):
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
        asked(lambda premises, hypotheses: [0] * len(premises))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"model": "org/model", "num_fewshot": 3},
            "num_fewshot is for causal:ORG/LM or endpoint:NAME; org/model is a classifier",
        ),
        ({"device": "cpu"}, "device is for a Hub id or a folder or causal:ORG/LM; by_length is a function"),
        ({"corpus": "snli"}, "expected one source of pairs, got corpus and data"),
        ({"data": None, "labels": list(LABELS)}, "labels: expected data, got none; pass data, or omit labels"),
        ({"data": None, "text": ["a.txt"], "labels": list(LABELS)}, "labels: expected data, got a text; omit labels"),
        ({"sets": "permute"}, "expected one of the challenge sets"),
        ({"sets": []}, r"sets: expected one or more of .*, got none"),
        ({"treshold": 0.5}, r"expected a model option, got 'treshold', did you mean 'threshold'\?"),
        ({"threshold": 1.5}, "expected a probability of entailment from 0 to 1, or break-even, got 1.5"),
        ({"threshold": "high"}, "expected a probability of entailment from 0 to 1, or break-even, got 'high'"),
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
    with pytest.raises((ValueError, TypeError), match=said):
        asked(**options)


@pytest.mark.parametrize("model", [5, None, b"org/model", [by_length]])
def test_evaluate_invalid_model_object_is_rejected(model):
    with pytest.raises(ValueError, match=r"expected (the name of a model|a prediction for each of 1 pairs|model)"):
        asked(model)


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


# Large packages that take minutes to check. No types of users except these depend on them.
NOT_CHECKED = "torch transformers accelerate huggingface_hub tokenizers spacy rich openai sklearn scipy httpx2 datasets"
USER_SCRIPT = """
from pathlib import Path
from typing import reveal_type

import unbag

def predict(premises: list[str], hypotheses: list[str]) -> list[str]:
    return ["neutral"] * len(premises)

def main(data: Path, out: Path) -> str:
    report: unbag.Report = unbag.evaluate(predict, ["swapped", "permuted"], data=data, max_examples=100)
    report.save(out / "overlap")
    for result in report:
        (out / f"{result.set}.txt").write_text(f"{len(result.scores)} by {unbag.__version__}")
    words = unbag.evaluate("lexical", "swapped", data=data, train_data=[str(data)], lexical_baseline=False)
    compared = unbag.compare(out / "overlap", words.folder, across_data=True)
    reveal_type(report)
    reveal_type(report.verdict)
    reveal_type(report[0])
    reveal_type(compared.differences[0].p)
    return report.verdict
"""


@pytest.mark.nightly
def test_user_script_passes_strict_mypy_without_any(tmp_path, monkeypatch):
    mypy = pytest.importorskip("mypy.api")
    monkeypatch.setenv("MYPYPATH", str(Path(unbag.__file__).parents[1]))
    script, config = tmp_path / "user_script.py", tmp_path / "mypy.ini"
    script.write_text(USER_SCRIPT)
    skipped = [f"[mypy-{name}.*]\nfollow_imports = skip\n" for name in NOT_CHECKED.split()]
    config.write_text(
        "[mypy]\nstrict = True\nfollow_imports = silent\nignore_missing_imports = True\n" + "".join(skipped)
    )
    options = [f"--config-file={config}", f"--cache-dir={tmp_path}", f"--python-executable={sys.executable}"]
    said, errors, _ = mypy.run([*options, str(script)])
    assert not errors
    assert ": error:" not in said
    shown = re.findall(r'Revealed type is "(.*)"', said)
    assert [each.replace("builtins.", "") for each in shown] == [
        "unbag.reports.report.Report",
        "str",
        "unbag.challenge_sets.result.Result",
        "float | None",
    ]


@pytest.mark.nightly
def test_command_evaluates_hub_model_on_hub_corpus(shared_hub, tmp_path):
    command = "-m unbag evaluate nli-fixtures/minilm-l6-snli --sets permuted --corpus snli --max-examples 60 -o q=19"
    environment = shared_hub.env(tmp_path / "home")
    PYTHON.run(*command.split(), "--output-dir", tmp_path / "run", env=environment, check=True)
    [result] = results.read_results(tmp_path / "run" / "results.json")
    assert result.data["excluded"] == {"unlabelled": 158, "too short to permute": 6145, "not drawn": 3637}
    assert result.model["label_order"] == "contradiction,entailment,neutral"
    assert len(result.model["revision"]) == 40
    # On all 3,697 examples, A is .785 and P^c .90. With sixty examples, the tolerance is four standard errors.
    assert result.scores["accuracy"].value == pytest.approx(0.785, abs=0.21)
    assert result.scores["p_c"].value == pytest.approx(0.90, abs=0.13)
    requests = shared_hub.requests()
    assert requests
    assert not [request for request in requests if request.is_for_external_host or request.token_in_url]
