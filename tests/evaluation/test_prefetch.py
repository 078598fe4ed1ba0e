"""Tests of listing the files that sets and models need. Nothing is downloaded."""

import json

import pytest

from unbag.challenge_sets.request import SetRequest
from unbag.challenge_sets.requirements import MissingResourceError, Requirement
from unbag.data import demo
from unbag.evaluation import prefetch
from unbag.evaluation.model_loading import validate_lexicon, validate_model

_SPACY = "the spaCy pipeline spacy/en_core_web_sm"
_SNLI = "the corpus snli, split {} (stanfordnlp/snli)"
_MNLI = "the corpus mnli, split train (nyu-mll/multi_nli)"


def list_names(*arguments, **options):
    return [need.name for need in prefetch.list_run_requirements(*arguments, **options)]


@pytest.mark.parametrize(
    ("set_request", "expected"),
    [
        (
            SetRequest("permuted", "snli-test", {"minitrees": ("snli",)}),
            [_SNLI.format("test"), _SNLI.format("train"), _SPACY],
        ),
        (SetRequest("cs_lambda", "snli-train", {"train_data": ("snli",), "pipeline": "all"}), [_SNLI.format("train")]),
        (
            SetRequest("cs_lambda", "snli-test", {"lexical": "org/model"}),
            [_SNLI.format("test"), "the lexical model org/model"],
        ),
        (
            SetRequest("resnli", "snli", {"embeddings": f"org/vectors@{'0' * 40}"}),
            [*map(_SNLI.format, ("train", "validation", "test")), f"the embeddings org/vectors@{'0' * 40}"],
        ),
        (
            SetRequest("breaking_nli", "snli-test", {"wordnet": True}),
            [_SNLI.format("test"), _SNLI.format("train"), "WordNet 3.0"],
        ),
        (SetRequest("breaking_nli", "official"), ["the pairs official of unbag_breaking_nli"]),
        (SetRequest("swapped", options={"data": str(demo.get_demo_file("validation"))}), []),
    ],
)
def test_set_requirements_are_listed(set_request, expected):
    assert list_names([set_request]) == expected


def test_model_requirements_are_listed_once():
    expected = [_SNLI.format("train"), _MNLI, _SPACY, "the model org/model at v1"]
    models = ["lexical", "org/model", "org/model"]
    assert list_names([SetRequest("plain", "snli-train")], models, revision="v1") == expected
    assert list_names([], ["natlog", "wordnet", __file__]) == ["WordNet 3.0", _SPACY]
    assert list_names([], ["causal:org/lm"], revision="v1") == ["the model org/lm at v1"]
    assert list_names([], ["causal:./lm", "endpoint:org/lm", "module:function", "org.module:function"]) == []
    assert [need.name for need in prefetch.list_training_requirements("org/model", ["snli", "mine.csv"])] == [
        "the model org/model",
        *map(_SNLI.format, ("train", "validation")),
    ]


def test_all_missing_files_are_named():
    def fail():
        raise ValueError("not\nthere")

    some = [Requirement("a", fail), Requirement("b", dict), Requirement("c", fail)]
    assert prefetch.fetch_requirements(some) == {"a": "not there", "c": "not there"}
    with pytest.raises(MissingResourceError, match="expected all files to be available offline, got 2 missing: a; c"):
        prefetch.validate_offline_requirements(some)


def test_model_that_parses_requires_parser(tmp_path, monkeypatch):
    """A local folder has its config at once; for a Hub model, it is known after the download."""
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "unbag-s-tlstm", "parser": "spacy/en_core_web_sm"}))
    (tmp_path / "model.safetensors").touch()
    assert list_names([], [str(tmp_path)]) == [_SPACY]
    loaded = []
    monkeypatch.setattr("unbag.data.text.tagging.load_pipeline", lambda name, exclude: loaded.append(name))
    monkeypatch.setattr("unbag.baselines.lexical.model.is_lexical_model", lambda model, revision: False)
    monkeypatch.setattr("huggingface_hub.HfApi.list_repo_files", lambda *arguments, **options: ["model.safetensors"])
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *arguments, **options: str(tmp_path))
    [need] = prefetch.list_run_requirements([], ["org/tree"])
    need.get()
    assert loaded == ["spacy/en_core_web_sm"]
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "unbag-esim"}))
    assert list_names([], [str(tmp_path)]) == []


def test_lexical_baseline_uses_corpus_of_same_language(monkeypatch):
    pairs = {"en": ("snli", 2, "all"), "zh": ("ocnli", 2, "all")}
    monkeypatch.setattr("unbag.evaluation.lexical_baseline.PAIRS", pairs)
    for corpus in ("snli", "ocnli"):
        [_, counted] = list_names([SetRequest("plain", f"{corpus}-validation")], lexical_baseline=True)
        assert f"the corpus {corpus}, split train" in counted


def test_model_that_needs_wordnet_is_valid_before_download(monkeypatch, tmp_path):
    """`unbag prefetch` validates the names of models, and then installs WordNet."""
    nltk = pytest.importorskip("nltk")
    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    validate_model("natlog")
    with pytest.raises(ValueError, match=r"got none; run `python -m unbag.baselines.wordnet.install`"):
        validate_lexicon("natlog")
