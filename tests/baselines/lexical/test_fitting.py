import json

import numpy as np
import pytest

from unbag.baselines.lexical.fitting import (
    LexicalTrainingOptions,
    TrainingFold,
    compute_fold_index,
    fit_or_load_lexical_model,
    load_lexical_model,
)
from unbag.baselines.lexical.hub import is_lexical_model, locate_lexical_model
from unbag.baselines.lexical.model import LexicalModel
from unbag.baselines.lexical.predictors import BASELINES
from unbag.baselines.lexical.scorer import ExampleScorer, compute_lexical_score, fit_or_load_scorer_models
from unbag.data.labels import LabelError
from unbag.data.sources import Example, open_data

NOUNS, VERBS = ["cat", "dog", "man", "girl", "boy", "bird"], ["naps", "runs", "sings", "walks"]
GOLD = {(0, 1): "contradiction", (0, 0): "entailment", (2, 3): "neutral"}


@pytest.fixture(autouse=True)
def _isolated_cache(tmp_path, monkeypatch):
    pytest.importorskip("spacy")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def pairs(tmp_path):
    """Write a file of 120 pairs whose verbs determine the label."""
    rng = np.random.default_rng(3)
    path = tmp_path / "pairs.jsonl"
    with path.open("w") as file:
        for number in range(120):
            (one, other), label = list(GOLD.items())[number % 3]
            subjects = [NOUNS[place] for place in rng.integers(0, len(NOUNS), 2)]
            row = {"premise": f"The {subjects[0]} {VERBS[one]}.", "hypothesis": f"The {subjects[1]} {VERBS[other]}."}
            file.write(json.dumps({**row, "label": label}) + "\n")
    return path


def recipe(path, **options):
    return LexicalTrainingOptions((str(path),), pipeline="all", l2=1.0, **options)


def test_model_is_fitted_once(pairs):
    folder = fit_or_load_lexical_model(recipe(pairs))
    written = (folder / "config.json").stat().st_mtime_ns
    assert fit_or_load_lexical_model(recipe(pairs)) == folder
    assert (folder / "config.json").stat().st_mtime_ns == written
    pairs.write_text(pairs.read_text().replace("girl", "woman"))
    assert fit_or_load_lexical_model(recipe(pairs)) != folder, "other training pairs make another model"
    assert fit_or_load_lexical_model(recipe(pairs, hypothesis_only=True)) != fit_or_load_lexical_model(recipe(pairs))


def test_two_fits_give_same_bits(pairs, tmp_path):
    one, other = (fit_or_load_lexical_model(recipe(pairs), cache=tmp_path / name) for name in ("a", "b"))
    assert (one / "model.safetensors").read_bytes() == (other / "model.safetensors").read_bytes()


def test_fold_depends_only_on_sentences():
    assert {compute_fold_index(Example(str(n), "A dog runs.", "A dog.", "neutral"), 5, 13) for n in range(9)} == {
        compute_fold_index(Example("other", "A dog runs.", "A dog.", "entailment"), 5, 13)
    }
    counts = np.bincount(
        [compute_fold_index(Example("", f"Dog {n}.", "A dog.", "neutral"), 5, 13) for n in range(5000)]
    )
    assert abs(counts - 1000).max() < 4 * np.sqrt(5000 * 0.2 * 0.8)


def test_example_is_scored_by_model_without_it(pairs, tmp_path):
    """The model that scores a fold equals, bit for bit, the model fitted to a file without that fold."""
    source = open_data(pairs)
    folders = fit_or_load_scorer_models(recipe(pairs), source, n_folds=3)
    assert len(folders) == 3
    examples = list(source.iter_examples())
    for number, folder in enumerate(folders):
        fold = TrainingFold(number, 3, 13)
        rest = tmp_path / f"without_{number}.jsonl"
        kept = [example for example in examples if not fold.contains(example)]
        assert 0 < len(kept) < len(examples)
        rest.write_text("".join(json.dumps({"premise": e[1], "hypothesis": e[2], "label": e[3]}) + "\n" for e in kept))
        alone = LexicalModel.load(fit_or_load_lexical_model(recipe(rest)))
        assert load_lexical_model(folder).regression.weights.tobytes() == alone.regression.weights.tobytes()
        assert load_lexical_model(folder).vocabulary.words == alone.vocabulary.words
    scores = ExampleScorer([load_lexical_model(folder) for folder in folders], seed=13).score(examples)
    for example, score in zip(examples, scores, strict=True):
        model = load_lexical_model(folders[compute_fold_index(example, 3, 13)])
        assert compute_lexical_score(model, *example[1:4]).probabilities.tobytes() == score.probabilities.tobytes()


def test_smaller_training_sample_is_subset_of_larger(pairs):
    few, more = (load_lexical_model(fit_or_load_lexical_model(recipe(pairs, max_train_pairs=n))) for n in (30, 60))
    assert (few.record["pairs"], more.record["pairs"]) == (30, 60)
    assert set(few.vocabulary.words) <= set(more.vocabulary.words)
    with pytest.raises(ValueError, match="max_train_pairs: expected at most 120 pairs, got 121"):
        fit_or_load_lexical_model(recipe(pairs, max_train_pairs=121))


def test_fitted_model_opens_from_folder(pairs, tmp_path):
    folder = fit_or_load_lexical_model(recipe(pairs))
    assert is_lexical_model(folder)
    assert locate_lexical_model(folder) == folder
    with pytest.raises(ValueError, match=r"got one fitted to pairs\.jsonl"):
        locate_lexical_model(folder, test_source=open_data(pairs))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.json").write_text('{"model_type": "bert"}')
    assert not is_lexical_model(tmp_path / "other")
    with pytest.raises(ValueError, match="lexical model: expected a folder"):
        locate_lexical_model(tmp_path / "other")


def test_baselines_use_only_their_inputs(pairs):
    texts = (["The dog naps.", "The dog runs."], ["The man runs.", "The man runs."])
    lexical = BASELINES["lexical"](recipe(pairs)).predict(*texts)
    assert lexical.argmax(axis=1).tolist()[0] == 2
    blind = BASELINES["hypothesis-only"](recipe(pairs)).predict(*texts)
    assert blind[0].tobytes() == blind[1].tobytes()
    always = BASELINES["majority"](recipe(pairs)).predict(*texts)
    assert always == pytest.approx(np.full((2, 3), 1 / 3))


def test_recipe_has_language_of_its_corpora():
    assert LexicalTrainingOptions().language == "en"
    assert LexicalTrainingOptions(("ocnli",)).language == "zh"
    assert LexicalTrainingOptions(("pairs.csv",)).language == "en"
    assert LexicalTrainingOptions(("snli",), language="zh").language == "zh"
    with pytest.raises(ValueError, match="expected corpora in one language, got en and zh"):
        LexicalTrainingOptions(("snli", "ocnli"))


def test_majority_of_two_label_pairs_is_rejected(tmp_path):
    path = tmp_path / "claims.csv"
    path.write_text("document,claim,label\nA dog runs.,A dog moves.,supported\nA dog runs.,A cat runs.,unsupported\n")
    with pytest.raises(LabelError, match="labelled entailment, neutral, contradiction, got not_entailment"):
        BASELINES["majority"](LexicalTrainingOptions((str(path),)))
