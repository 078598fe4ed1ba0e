"""Tests of damaged stored predictions, which are predicted again and never used for other texts."""

import pytest

from tests.inference.test_runner import ROWS, CountingPredictor, run_prediction
from tests.robustness.command import sample_inputs
from tests.robustness.damage import DAMAGES, apply_damage
from unbag.inference import StoredPredictions
from unbag.inference import runner as running


def test_hash_collision_does_not_reuse_predictions(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "compute_store_key", lambda key_fields: "a" * 64)  # simulates a hash collision
    run_prediction(tmp_path)
    other = ROWS.map(lambda row: {"premise": f"{row['premise']} or so"})
    again = CountingPredictor()
    assert run_prediction(tmp_path, again, rows=other).reused == 0
    assert sum(again.calls) == len(ROWS)


@pytest.mark.parametrize("damage", sample_inputs(DAMAGES, 2), ids=lambda damage: damage.__name__)
def test_damaged_manifest_is_rewritten(tmp_path, damage):
    expected = run_prediction(tmp_path).load_table()
    [manifest] = tmp_path.glob("*/manifest.json")
    for seed in range(5):
        apply_damage(damage, manifest, seed)
        again = CountingPredictor()
        found = run_prediction(tmp_path, again)
        assert again.calls == [], "the parts are whole"
        assert StoredPredictions.from_folder(found.path).load_table().equals(expected)
