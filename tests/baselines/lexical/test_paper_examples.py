"""Test of the two examples in Figure 2 of Nie et al. 2019, with a lexical model fitted to a sample of SNLI."""

import pytest

from unbag.baselines.lexical import fitting
from unbag.baselines.lexical.fitting import LexicalTrainingOptions, fit_or_load_lexical_model, load_lexical_model
from unbag.baselines.lexical.scorer import compute_lexical_score
from unbag.baselines.lexical.words import BY_CONTEXT
from unbag.data.corpora import CORPORA
from unbag.data.labels import LABELS
from unbag.data.sources import open_data

pytestmark = pytest.mark.nightly


@pytest.mark.slow
def test_scores_agree_with_figure_2(shared, tmp_path, monkeypatch):
    """The model of the paper is fitted to SNLI and MNLI, this one to a sample, so the third feature is not compared."""
    corpus = CORPORA["snli"]
    [path] = (shared / "hub" / "datasets" / corpus.hub_id).glob("*/train-*.parquet")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(fitting, "open_training_sources", lambda _: [open_data(path, labels=corpus.labels)])
    pipeline = str(shared / "hub/models/spacy/en_core_web_sm")
    model = load_lexical_model(
        fit_or_load_lexical_model(
            LexicalTrainingOptions((str(path),), pipeline=pipeline, tags=BY_CONTEXT, max_train_pairs=11_294, l2=10.0)
        )
    )

    pair = ("Two people are sitting in a station.", "A couple of people are inside and not standing.")
    score = compute_lexical_score(model, *pair, "entailment")
    assert LABELS[score.probabilities.argmax()] == "contradiction"
    assert {each.label for each in score.misleading} == {"contradiction"}
    features = [each.feature for each in score.misleading]
    assert features[0] == ("sitting", "standing")
    assert (None, "not") in features

    pair = (
        "A group of people prepare hot air balloons for takeoff.",
        "There are hot air balloons on the ground and air.",
    )
    score = compute_lexical_score(model, *pair, "neutral")
    assert LABELS[score.probabilities.argmax()] == "entailment"
    assert (score.misleading[0].feature, score.misleading[0].label) == ((None, "there"), "entailment")
