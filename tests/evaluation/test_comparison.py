"""Tests of comparing results: paired tests with stored examples, rejected data, and groups of seeds."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

import unbag
from tests.factories import ROWS, build_result, run_unbag, write_run
from unbag.challenge_sets import results
from unbag.evaluation import comparison
from unbag.scoring.significance import mcnemar_test, run_seed_test

SEEDS = [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return a folder with the runs of two models on two sets, of fewer examples, and of five seeds."""
    folder = tmp_path_factory.mktemp("runs")
    for name, right in (("weak", 0.5), ("strong", 0.9)):
        write_run(folder / name, *(build_result(name, right, set_name=each) for each in ("plain", "swapped")))
    write_run(folder / "fewer", replace(build_result("fewer", 0.9, rows=50), config={"max_examples": 50}))
    for name, seed in SEEDS:
        model = f"runs/{name}/seed-{seed}"
        write_run(folder / f"{name}-{seed}", build_result(model, 0.6 if name == "a" else 0.8, seed=seed))
    return folder


@pytest.fixture(scope="module")
def compared(runs):
    """Return the comparison of the two models."""
    return unbag.compare(runs / "weak", runs / "strong")


def _index_by_name(found):
    return {(each.set, each.quantity): each for each in found.differences}


def test_whole_examples_are_paired_by_mcnemar(compared):
    found = _index_by_name(compared)
    accuracy = found["plain", "accuracy"]
    lots = np.random.default_rng(0).random(ROWS)
    assert accuracy.values == (pytest.approx(np.mean(lots < 0.5)), pytest.approx(np.mean(lots < 0.9)))
    assert accuracy.p == mcnemar_test(lots < 0.5, lots < 0.9)
    assert accuracy.test == "mcnemar"
    assert accuracy.difference.value == pytest.approx(accuracy.values[1] - accuracy.values[0])
    assert accuracy.difference.low > 0
    skill = found["swapped", "skill.score"]
    assert skill.test == "bootstrap"
    assert skill.difference.low < skill.difference.value < skill.difference.high
    # The correction counts all tests.
    tested = [each for each in found.values() if each.p is not None]
    assert accuracy.p_holm == pytest.approx(min(each.p for each in tested) * len(tested))
    assert all(each.p_holm >= each.p for each in tested)


def test_few_examples_and_few_resamples_add_notes(runs, compared, monkeypatch):
    assert not any("resamples" in note for note in compared.notes)
    monkeypatch.setattr(comparison, "FEW", ROWS + 1)
    found = unbag.compare(runs / "weak", runs / "strong", resamples=99)
    assert "Swapped · ours.jsonl: only 300 source examples for the bootstrap; p-values are too small" in found.notes
    [note] = [note for note in found.notes if "resamples" in note]
    tested = sum(each.p is not None for each in found.differences)
    assert f"resamples, p is at least 0.02, which is not significant among {tested} tests" in note


def test_run_does_not_differ_from_its_copy(runs, tmp_path):
    shutil.copytree(runs / "weak", tmp_path / "copy")
    found = unbag.compare(runs / "weak", tmp_path / "copy" / "results.json")
    folders = (runs / "weak", tmp_path / "copy" / "results.json")
    assert [system.name for system in found.systems] == [f"weak ({folder})" for folder in folders]
    assert found.differences
    for each in found.differences:
        gap = each.difference
        assert (gap.value, each.p, each.p_holm) == (0, 1, 1)
        assert gap.low < 0 < gap.high, "all examples agree, which is no proof that all others would"


def test_run_without_examples_is_compared_by_intervals(runs, compared, tmp_path):
    shutil.copy(runs / "strong" / "results.json", tmp_path)
    found = unbag.compare(runs / "weak", tmp_path)
    assert {each.test for each in found.differences} == {"unpaired"}
    assert all(each.p is None and found.is_significant(each) is None for each in found.differences)
    assert any("B stored no examples; intervals unpaired, without a test" in note for note in found.notes)
    alone = _index_by_name(found)["plain", "accuracy"].difference
    together = _index_by_name(compared)["plain", "accuracy"].difference
    assert alone.value == together.value
    assert alone.high - alone.low > together.high - together.low


def test_compare_other_data_is_rejected_unless_across_data(runs):
    message = r"expected results on the same plain set, got different sets \(data sha256: .* max_examples: none and 50"
    with pytest.raises(ValueError, match=message):
        unbag.compare(runs / "weak", runs / "fewer")
    found = unbag.compare(runs / "weak", runs / "fewer", across_data=True)
    assert {each.test for each in found.differences} == {"unpaired"}
    assert "differ in data sha256" in found.notes[0]


def test_seeds_form_one_system(runs):
    folders = [runs / f"{name}-{seed}" for name, seed in SEEDS]
    found = unbag.compare(*folders)
    assert [(system.name, system.seeds) for system in found.systems] == [
        ("runs/a", ["0", "1", "2"]),
        ("runs/b", ["0", "1"]),
    ]
    [difference] = [each for each in found.differences if each.quantity == "accuracy"]
    values = [results.read_results(folder / "results.json")[0].scores["accuracy"].value for folder in folders]
    scores = values[:3], values[3:]
    assert difference.test == "seeds"
    assert difference.p == run_seed_test(*scores).p
    assert difference.values == tuple(pytest.approx(np.mean(each)) for each in scores)
    assert difference.deviations == tuple(pytest.approx(np.std(each, ddof=1)) for each in scores)


def test_recipe_folder_contains_its_seeds(runs, tmp_path):
    for seed in range(3):
        shutil.copytree(runs / f"a-{seed}", tmp_path / "a" / f"seed-{seed}" / "evaluation")
    found = unbag.compare(tmp_path / "a", runs / "weak")
    assert found.systems[0].seeds == ["0", "1", "2"]
    with pytest.raises(ValueError, match="at least two models to compare, got one, runs/a, with seeds 0, 1, 2"):
        unbag.compare(tmp_path / "a")
    with pytest.raises(ValueError, match="runs/a, seed 0: expected one result on plain, got two"):
        unbag.compare(tmp_path / "a", runs / "a-0", runs / "weak")


def test_compare_selects_given_metrics(runs):
    found = unbag.compare(runs / "weak", runs / "strong", metrics=["by_label.?", "drop"])
    assert set(_index_by_name(found)) == {("plain", f"by_label.{n}") for n in range(3)} | {("swapped", "drop")}
    with pytest.raises(ValueError, match="no metric matches nonsense"):
        unbag.compare(runs / "weak", runs / "strong", metrics=["nonsense"])


def test_damaged_or_foreign_examples_are_rejected(runs, tmp_path):
    shutil.copytree(runs / "strong", tmp_path / "other")
    [file] = (tmp_path / "other" / "samples").glob("*plain.parquet")
    shutil.copy(next((runs / "weak" / "samples").glob("*plain.parquet")), file)
    with pytest.raises(ValueError, match="another value of accuracy than in the results of the run"):
        unbag.compare(runs / "weak", tmp_path / "other")
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(ValueError, match="expected readable samples"):
        unbag.compare(runs / "weak", tmp_path / "other")


def test_compare_empty_results_are_rejected(tmp_path):
    with pytest.raises(ValueError, match=r"expected the results of at least two models to compare, got none; pass"):
        comparison.compare()
    results.write_results([], tmp_path / results.FILE)
    with pytest.raises(ValueError, match=rf"{tmp_path}: expected results, got empty result files"):
        comparison.compare(tmp_path)


def test_command_output_fits_terminal(runs):
    shown = run_unbag("compare", *(runs / name for name in ("weak", "strong", "a-0", "a-1")), COLUMNS="80")
    assert shown.exit_code == 0, shown.output
    assert max(map(len, shown.output.splitlines())) <= 80
    for words in ("A  weak", "C  runs/a (seeds 0, 1)", "± over seeds"):
        assert words in shown.output
    verdict = " ".join(shown.output.split()).partition("Verdict: ")[2]
    assert "Corpus · ours.jsonl skill score (B better than A), accuracy (B better than A); Swapped" in verdict
