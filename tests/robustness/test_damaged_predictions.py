"""Tests of damaged stored predictions."""

import pytest

from tests.inference.test_runner import CountingPredictor, run_prediction
from tests.robustness.command import sample_inputs
from tests.robustness.damage import DAMAGES, apply_damage
from unbag.inference import StoredPredictions


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
