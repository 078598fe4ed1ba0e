"""Tests of the leaderboard, a Space that reads a results dataset."""

import pandas as pd
import pytest
from huggingface_hub import HfApi

from tests.factories import build_plain_result, build_swapped_result
from tests.fake_hub.accounts import ALICE
from tests.fork_server import PYTHON
from tests.hub.conftest import call_app, running_app
from unbag.hub import results_dataset
from unbag.hub.leaderboard_page import build_overview, build_results_table
from unbag.hub.spaces import build_leaderboard_space

_SHARED = {
    "model_revision": "sha256:0123456789abcdef",
    "head": "plain",
    "dtype": "float32",
    "options": '{"q": 100}',
    "data_sha256": "fedcba9876543210",
    "n": 100,
    "unbag_version": "0.1.0",
}
SITE = "https://huggingface.co"
P_C = {"set": "permuted", "metric": "p_c", "metric_name": "P^c", "higher_is_better": False, "is_score": True}
A = {"set": "permuted", "metric": "accuracy", "metric_name": "A", "higher_is_better": True, "is_score": False}
F1 = {"set": "sicck", "metric": "f1", "metric_name": "macro F1", "higher_is_better": True, "is_score": True}


def _build_row(model, value, config="snli", **more):
    interval = {"value": value, "low": value - 0.05, "high": value + 0.05}
    return {**_SHARED, "model": model, "config": config, **interval, **more}


@pytest.fixture(scope="module")
def results():
    return pd.DataFrame(
        [
            _build_row("org/reader", 0.4, **P_C),
            _build_row("lexical", 1.0, **P_C),
            _build_row("org/reader", 0.5, "mnli", **P_C),
            _build_row("org/reader", 0.9, **A),
            _build_row("lexical", 0.6, **A),
            _build_row("org/hex", 0.3, "default", **F1, head="residual", low=None, options='{"max_examples": 50}'),
        ]
    )


def test_results_table_puts_best_first(results):
    table = build_results_table(results)
    assert len(table) == len(results)
    table = table[(table["set"] == "permuted") & (table["config"] == "snli") & (table["metric"] == "p_c")]
    assert table["value"].tolist() == [0.4, 1.0]
    assert table["better"].tolist() == ["↓ lower"] * 2
    assert table["95 % interval"].tolist() == ["0.350 to 0.450", "0.950 to 1.050"]
    assert table["options"].tolist() == ['{"q": 100}'] * 2
    assert table["revision"].tolist() == ["01234567"] * 2


def test_overview_has_score_of_most_common_rows(results):
    table, meanings = build_overview(results)
    assert list(table.columns) == ["model", "permuted ↓", "sicck ↑"]
    values = table.set_index("model")
    assert values["permuted ↓"].dropna().to_dict() == {f"[org/reader]({SITE}/org/reader)": 0.4, "lexical": 1.0}
    assert meanings.to_numpy().tolist() == [
        ["permuted", "P^c", "snli", '{"q": 100}'],
        ["sicck", "macro F1", "default", '{"max_examples": 50}'],
    ]
    assert build_results_table(results.iloc[:0]).empty
    assert build_overview(results.iloc[:0])[0].empty


def test_build_overview_orders_by_number_of_sets_and_mean():
    def build_score_row(model, name, value):
        about = {"set": name, "metric": "skill", "metric_name": "skill score"}
        return _build_row(model, value, **about, higher_is_better=True, is_score=True)

    asked = [("a", "permuted", 0.9), ("b", "permuted", 0.1), ("b", "swapped", 0.2), ("c", "permuted", 0.3)]
    rows = [build_score_row(*each) for each in [*asked, ("c", "swapped", 0.4), ("a", "plain", 1.0)]]
    table, _ = build_overview(pd.DataFrame(rows))
    assert table["model"].tolist() == ["c", "b", "a"]
    assert table["mean"].tolist() == [0.35, 0.15, 0.9]


def test_build_overview_compares_only_equal_rows(results):
    few = _build_row("org/few", 0.1, **P_C, data_sha256="0" * 16, options='{"max_examples": 5}')
    together = pd.concat([results, pd.DataFrame([few])])
    values = build_overview(together)[0].set_index("model")["permuted ↓"]
    assert pd.isna(values[f"[org/few]({SITE}/org/few)"])
    assert values["lexical"] == 1.0
    assert set(build_results_table(together)["rows"]) == {"fedcba98", "00000000"}


def test_build_overview_has_row_per_revision_of_model():
    rows = [_build_row("org/a", value, **P_C, model_revision=name) for name, value in (("ffff", 0.2), ("aaaa", 0.7))]
    table, _ = build_overview(pd.DataFrame([*rows, _build_row("lexical", 1.0, **P_C)]))
    values = table.set_index("model")["permuted ↓"].to_dict()
    link = f"[org/a]({SITE}/org/a)"
    assert values == {f"{link} aaaa float32": 0.7, f"{link} ffff float32": 0.2, "lexical": 1.0}


@pytest.mark.nightly
def test_leaderboard_space_runs_without_unbag(hub, tmp_path):
    api, repo = HfApi(hub.endpoint, token=ALICE), f"org/{results_dataset.NAME}"
    rows = results_dataset.build_result_rows([build_plain_result(), build_swapped_result()])
    file = results_dataset.merge_result_rows(rows, None)
    api.create_repo(repo, repo_type="dataset")
    api.upload_file(path_or_fileobj=file, path_in_repo=results_dataset.FILE, repo_id=repo, repo_type="dataset")
    command = ["-m", "unbag", "publish", "leaderboard", "--repo-id", "org", "--yes"]
    PYTHON.run(*command, env=hub.env(tmp_path / "home", token=ALICE), check=True)
    folder = api.snapshot_download("org/unbag-leaderboard", repo_type="space", local_dir=tmp_path / "space")
    with running_app(folder, hub.env(tmp_path / "home")) as address:
        count, summary, meanings, table = call_app(address, "load")
    score = build_swapped_result().scores["skill"]["score"].value
    assert count == "Results: 7. Models: 1. Sets: 2."
    assert summary["value"]["headers"] == ["model", "mean", "plain ↑", "swapped ↑"]
    assert summary["value"]["data"][0][0] == f"[org/model]({hub.endpoint}/org/model)"
    assert summary["value"]["data"][0][1] == summary["value"]["data"][0][3] == round(score, 3)
    assert [row[0] for row in meanings["data"]] == ["plain", "swapped"]
    assert {row[5] for row in table["data"]} == {"plain", "swapped"}


def test_card_names_results_dataset():
    space = build_leaderboard_space("org/board", "org/numbers")
    card = space.files["README.md"].decode()
    assert "datasets:\n- org/numbers\n" in card
    assert "sdk_version:" in card
    assert b'build_page("org/numbers")' in space.files["app.py"]
    assert space.files["requirements.txt"].startswith(b"datasets>=")
