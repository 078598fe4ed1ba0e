"""Tests of lexical models from other users: they run no code, and invalid files give no traceback."""

import json
from itertools import product

import pytest

from tests.robustness.command import run_rejected
from unbag.baselines.lexical.fitting import LexicalTrainingOptions, fit_or_load_lexical_model
from unbag.baselines.lexical.model import locate_lexical_model
from unbag.evaluation.model_loading import load_predictor

FIELDS = ("pipeline", "tags", "language", "words", "hypothesis_only", "pairs", "l2", "training")


@pytest.fixture
def model(sixty_pairs):
    folder = fit_or_load_lexical_model(LexicalTrainingOptions((str(sixty_pairs),), pipeline="all", l2=1.0))
    (folder / "checksums.json").unlink()  # models of other users have no checksums
    return folder


def record(folder, **values):
    config = json.loads((folder / "config.json").read_text())
    config["record"] |= values
    (folder / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize(
    ("pipeline", "tags"),
    [("os", "context"), ("evil/repository", None), ("./here", "context"), ("spacy/../evil", None), ("", "context")],
)
def test_model_cannot_choose_package_or_repository(model, monkeypatch, capsys, pipeline, tags):
    record(model, pipeline=pipeline, tags=tags)
    monkeypatch.setattr("unbag.data.text.tagging.load_pipeline", lambda *_: pytest.fail("loaded"))
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: pytest.fail("fetched"))
    with pytest.raises(ValueError, match="which would execute code on this machine; if you trust it"):
        load_predictor(model)
    said = run_rejected(capsys, "lexical", "score", "--premise", "A.", "--hypothesis", "B.", "--model", model)
    assert "if you trust it" in said


def test_pipeline_named_by_user_is_loaded(model):
    record(model, pipeline="their/own", tags="context")
    assert locate_lexical_model(model, pipeline="their/own") == model


WRONG = (None, 1, "x", [], {}, [[]], [None], [{"origin": 1}], True, "\x1b[31m", {"a": {}})


def test_invalid_record_value_is_read_or_named(model):
    def predict():
        return load_predictor(model)[0].predict(["A dog runs."], ["A cat runs."])

    assert predict().shape == (1, 3)
    content = (model / "config.json").read_text()
    messages = {name: [] for name in FIELDS}
    for name, value in product(FIELDS, WRONG):
        record(model, **{name: value})
        try:
            predict()
        except ValueError as error:
            messages[name].append(str(error))
        (model / "config.json").write_text(content)
    assert all(messages.values())
    assert [said for name in FIELDS for said in messages[name] if name not in said] == []


@pytest.mark.parametrize("name", ["tags", "training"])
def test_model_without_record_field_is_rejected(model, sixty_pairs, capsys, name):
    config = json.loads((model / "config.json").read_text())
    del config["record"][name]
    (model / "config.json").write_text(json.dumps(config))
    score = ("lexical", "score", "--premise", "A.", "--hypothesis", "B.", "--model", model)
    evaluate = (
        "evaluate",
        model,
        "--sets",
        "plain",
        "--data",
        sixty_pairs,
        "--output-dir",
        sixty_pairs.with_name("out"),
    )
    for command in (score, evaluate):
        said = " ".join(run_rejected(capsys, *command).split())
        assert f"expected the record of a lexical model, got record.{name}: field required" in said
        assert "fit the model again with `unbag lexical fit`" in said
    assert not sixty_pairs.with_name("out").exists()
