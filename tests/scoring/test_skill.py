import numpy as np
import pytest
from scipy import stats

from unbag.scoring.intervals import compute_widening_factor
from unbag.scoring.skill import MIN_LABEL_ROWS, RowScores, skill_score

GOLD = np.repeat([0, 1, 2], [300, 150, 2_550])  # as imbalanced as Breaking NLI
N = len(GOLD)


@pytest.fixture(autouse=True)
def _use_default_minimum(monkeypatch):
    monkeypatch.setattr("unbag.scoring.skill.MIN_LABEL_ROWS", MIN_LABEL_ROWS)  # other tests lower this value


def build_row_scores(predicted, gold=GOLD):
    return RowScores(np.asarray(predicted) == gold, gold, range(len(gold)))


def add_label_noise(share):
    """Return the gold labels, with a proportion of each label's rows replaced by each label in turn."""
    answers = GOLD.copy()
    for label in range(3):
        rows = np.flatnonzero(GOLD == label)
        guessed = rows[: round(share * len(rows))]
        answers[guessed] = np.arange(len(guessed)) % 3
    return answers


COUNTING = build_row_scores(add_label_noise(0.6))


@pytest.mark.parametrize("label", range(3))
def test_constant_prediction_has_no_skill_for_any_label_frequency(label):
    assert skill_score(build_row_scores(np.full(N, label)))["score"].value == pytest.approx(0, abs=1e-12)
    assert skill_score(build_row_scores(np.full(N, label)), COUNTING)["score"].value < 0


def test_oracle_has_skill_one():
    scores = skill_score(build_row_scores(GOLD), COUNTING)
    score = scores["score"]
    assert scores["shuffled"] is None
    assert score.value == score.high == 1
    assert 0.98 < score.low < 1 - 3 / N  # the limit of the binomial interval alone


def test_noisy_oracle_loses_proportion_of_noise():
    noisy = build_row_scores(add_label_noise(0.2))
    assert skill_score(noisy)["score"].value == pytest.approx(0.8)
    assert skill_score(noisy, COUNTING)["score"].value == pytest.approx((0.8 - 0.4) / (1 - 0.4))
    wrong = skill_score(noisy, build_row_scores((GOLD + 1) % 3))
    assert wrong["score"].value == pytest.approx(0.8)
    assert wrong["reference"] == "chance", "a baseline below chance is not the reference"
    assert wrong["baseline"] == pytest.approx(-0.5)


def test_lexical_baseline_has_no_skill_against_itself():
    scores = skill_score(COUNTING, COUNTING)
    assert scores["score"].value == 0
    assert -0.01 < scores["score"].low < 0 < scores["score"].high < 0.01
    assert scores["p"] == 1.0
    assert scores["reference"] == "baseline"


def test_reference_is_better_of_baseline_and_shuffled_control():
    better = build_row_scores(add_label_noise(0.4))
    for lexical, shuffled, floor in ((COUNTING, better, "shuffled"), (better, COUNTING, "baseline")):
        scores = skill_score(build_row_scores(add_label_noise(0.2)), lexical, shuffled)
        assert scores["reference"] == floor
        assert scores["score"].value == pytest.approx((0.8 - 0.6) / (1 - 0.6))


@pytest.mark.parametrize("lexical", [None, COUNTING, build_row_scores(add_label_noise(0.1))])
def test_order_blind_model_has_no_skill(lexical):
    model = build_row_scores(add_label_noise(0.3))
    scores = skill_score(model, lexical, shuffled_scores=model)
    assert scores["score"].value <= 0
    assert scores["score"].low < 0  # so the model is never reported as better
    assert scores["score"].high < 0.01
    assert scores["shuffled"] == scores["model"]


def test_skill_equals_hand_computed_value():
    gold = np.repeat([0, 1], [50, 150])
    model, words = (  # recalls of .8 and .5, and of .6 and .5
        RowScores(np.r_[np.arange(50) < n, np.arange(150) < 75].astype(float), gold, range(200)) for n in (40, 30)
    )
    scores = skill_score(model, words)
    assert scores["model"] == pytest.approx(0.3)  # (0.65 - 0.5) / 0.5
    assert scores["baseline"] == pytest.approx(0.1)
    assert scores["score"].value == pytest.approx(0.2 / 0.9)
    assert scores["score"].n == 200


def test_labels_with_few_rows_are_excluded_and_counted():
    gold = np.repeat([0, 1, 2], [60, 60, MIN_LABEL_ROWS - 1])
    scores = skill_score(build_row_scores(gold, gold)._replace(names=["e", "n", "c"]))
    assert (scores["n_labels"], scores["score"].n) == (2, 120)
    assert scores["excluded"] == [{"label": "c", "rows": MIN_LABEL_ROWS - 1, "reason": "fewer than 50 rows"}]
    assert skill_score(build_row_scores(gold[:60], gold[:60])) is None, "a single label"


def test_label_without_annotator_agreement_is_excluded():
    gold = np.repeat([0, 1, 2], 60)
    # Annotators agree on labels 0 and 2. Rows with label 1 get each label once, so their agreement is at most chance.
    votes = [[label] * 3 if label != 1 else [0, 1, 2] for label in gold.tolist()]
    scores = skill_score(build_row_scores(gold, gold), annotators=votes)
    assert (scores["n_labels"], scores["score"].n) == (2, 120)
    [excluded] = scores["excluded"]
    assert (excluded["label"], excluded["rows"]) == ("1", 60)
    assert excluded["reason"].startswith("annotators' κ -0")


def test_excluded_rows_are_ignored():
    some = build_row_scores(add_label_noise(0.2))
    alone = RowScores(some.score[::2], GOLD[::2], range(0, N, 2))
    found, expected = (
        skill_score(rows, resamples=0)["score"].value
        for rows in (some._replace(is_counted=np.arange(N) % 2 == 0), alone)
    )
    assert found == pytest.approx(expected)


def test_rows_of_one_source_are_resampled_together():
    copies = np.repeat(np.arange(N)[::10], 10)
    rows = build_row_scores(add_label_noise(0.2)[copies], GOLD[copies])
    apart, together = (skill_score(rows._replace(source=source))["score"] for source in (range(N), copies))
    assert together.high - together.low > 2 * (apart.high - apart.low)


def test_coin_on_few_sources_is_rarely_significant():
    """Fifteen sources, as in SICCK. With the plain bootstrap, at least 8 of 100 coins would be significant."""
    alarms = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        source, gold = np.repeat(np.arange(15), 24), rng.permuted(np.arange(360) % 4)
        leaning = rng.integers(0, 4, 15)[source]  # predictions within a source are correlated
        answers = np.where(rng.random(360) < 0.5, leaning, rng.integers(0, 4, 360))
        alarms += skill_score(RowScores(answers == gold, gold, source), resamples=400)["p"] <= 0.05
    assert alarms <= 300 * 0.07


@pytest.mark.parametrize("n", [5, 8, 15, 30, 1000])
def test_widening_factor_equals_students_t(n):
    expected = np.sqrt(n / (n - 1)) * stats.t.ppf(0.975, n - 1) / stats.norm.ppf(0.975)
    assert compute_widening_factor(n) == pytest.approx(expected, rel=1e-3)


def test_row_score_above_perfect_model_is_clipped_to_one():
    # A model that never predicts the gold label for shuffled text has row score 1; a perfect model guesses there: 1 -
    # 1/3.
    row_scores = RowScores(
        np.array([1.0] * 119 + [0.0]), np.repeat([0, 1], 60), range(120), chance_score=0.0, perfect_score=2 / 3
    )
    score = skill_score(row_scores)["score"]
    assert score.value == score.high == 1
    assert score.low <= 1
