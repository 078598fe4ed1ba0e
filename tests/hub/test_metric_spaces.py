"""Tests of metric Spaces in an environment without unbag."""

import inspect
import json
from importlib import import_module
from types import SimpleNamespace

import pytest

from tests.factories import MINITREES, read_metric_example
from tests.fake_hub.accounts import ALICE
from tests.fork_server import PYTHON
from tests.hub.conftest import call_app, run_without_unbag, running_app
from unbag import challenge_sets, scripts
from unbag.hub.metric_page import (
    build_score_table,
    compute_scores,
    parse_metric_card,
    parse_metric_columns,
    read_table,
    select_metric_columns,
)
from unbag.hub.spaces import build_metric_space
from unbag.hub.vendoring import bundle_modules
from unbag.scoring.nested import flatten_scores
from unbag.scoring.swap_consistency import swap_consistency

NAMES = scripts.list_script_folders("metrics")
ONE = {"predictions": [1] * 2, "references": [1] * 2, "source_id": ["a"] * 2, "swapped": [False, True]}


def _function(name):
    return getattr(import_module(f"unbag.scoring.{name}"), name)


@pytest.fixture(scope="module")
def spaces():
    return {name: build_metric_space(name, f"org/{name}") for name in NAMES}


def test_metric_spaces_load_without_unbag_and_agree(hub, tmp_path):
    command = ["-m", "unbag", "publish", "metric", "--repo-id", "org", "--yes"]
    environment = hub.env(tmp_path / "publisher", token=ALICE)
    PYTHON.run(*command, env=environment, check=True)
    inputs = {name: MINITREES if name == "pos_minitree" else read_metric_example(name) for name in NAMES}
    found = run_without_unbag([("space", f"org/{name}", each) for name, each in inputs.items()], hub, tmp_path)
    for name, given in inputs.items():
        got = found[f"org/{name}"]
        assert got["value"] == got["stated"], "the card says what comes out"
        if name != "pos_minitree":
            assert got["scores"] == json.loads(json.dumps(flatten_scores(_function(name)(**given)))), name
    assert found["org/pos_minitree"]["scores"] == {"n": 2, "ratio": 0.75}


def test_invalid_space_name_and_repeated_name_in_bundle_raise(tmp_path, monkeypatch):
    with pytest.raises(
        ValueError, match=r"Space name that is a valid module name, got 'org/natural-logic'; use org/natural_logic"
    ):
        build_metric_space("natural_logic", "org/natural-logic")
    (tmp_path / "unbag.good").write_text("A = 1\nB: int = 1\n")
    (tmp_path / "unbag.bad").write_text("from unbag.good import A\n\nB = 1\n")
    monkeypatch.setattr("unbag.hub.vendoring.find_spec", lambda name: SimpleNamespace(origin=tmp_path / name))
    with pytest.raises(ValueError, match=r"expected unique names, got 'B' in unbag\.good and unbag\.bad"):
        bundle_modules(["unbag.bad"], title="Bundle.")


@pytest.mark.nightly
def test_page_runs_without_unbag(hub, spaces, tmp_path):
    from gradio_client.exceptions import AppError

    for path, content in spaces["swap_consistency"].files.items():
        (tmp_path / path).write_bytes(content)
    table = read_table((tmp_path / "example.csv").read_text())
    header, rows = list(table.columns), table.to_numpy().tolist()
    with running_app(tmp_path, hub.env(tmp_path / "home")) as address:
        shown = call_app(address, "score", {"headers": header, "data": rows}, '{"seed": 2}')
        cells = call_app(address, "paste", "prediction\tlabel\n1\t0\n")
        with pytest.raises(AppError):
            call_app(address, "score", {"headers": header[:1], "data": [row[:1] for row in rows]}, "")
    *_, meanings = parse_metric_card((tmp_path / "README.md").read_text())
    scores = flatten_scores(swap_consistency(**parse_metric_columns(table), seed=2))
    assert shown["data"] == build_score_table(scores, meanings)
    assert cells["value"]["headers"] == ["prediction", "label"]
    assert cells["value"]["data"] == [["1", "0"]]


@pytest.mark.parametrize("name", NAMES)
def test_space_requires_only_numeric_packages_and_names_origin(spaces, name):
    files = {path: content.decode() for path, content in spaces[name].files.items()}
    assert files["requirements.txt"] == "numpy>=2.0.2\nscipy>=1.15\n"
    for path in (path for path in files if path.endswith(".py")):
        assert "unbag" in files[path].splitlines()[0]
        assert "SPDX-License-Identifier: Apache-2.0" in files[path]
        assert "\nfrom unbag." not in files[path]


@pytest.mark.parametrize("name", NAMES)
def test_page_explains_every_score_ofread_metric_example(name):
    card = (scripts.find_script_folder("metrics", name) / "README.md").read_text()
    title, lead, _, meanings = parse_metric_card(card)
    scores = flatten_scores(compute_scores(_function(name), read_metric_example(name), ""))
    rows = build_score_table(scores, meanings)
    assert rows
    assert all((title, lead, *(row[-1] for row in rows)))


@pytest.mark.parametrize(
    ("inputs", "options", "message"),
    [
        ({"predictions": [1]}, "", r"missing 3 .* 'references', 'source_id', and 'swapped' \(columns: predictions"),
        ({**ONE, "predictions": ["a", "b"]}, "{}", "expected integers"),
        (ONE, "[1]", "TypeError"),
        (ONE, "{", "JSONDecodeError"),
        (ONE, '{"resamples": "many"}', "TypeError"),
        (ONE, '{"resamples": 1000000000}', "resamples: expected at most 10,000 on this page"),
    ],
)
def test_compute_scores_with_invalid_input_raises(inputs, options, message):
    with pytest.raises(ValueError, match=message):
        compute_scores(_function("swap_consistency"), inputs, options)


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "got 0 rows"), ("a,b\n", "got 0 rows"), ("a,b\n1,2\n3\n", "line 3: expected 2 cells, got 1")],
)
def test_read_table_with_malformed_csv_raises(text, message):
    with pytest.raises(ValueError, match=message):
        read_table(text)


@pytest.mark.parametrize("name", [name for name in challenge_sets.list_set_names() if name != "plain"])
def test_metric_reads_columns_of_its_set(name):
    described = challenge_sets.get_challenge_set(name)
    of_set = {*described.get_builder_class().SCHEMA.names, "predictions"}
    metric = _function(described.metrics[0])
    taken = select_metric_columns(metric, {column: [] for column in of_set})
    required = inspect.signature(metric).parameters.values()
    assert {one.name for one in required if one.default is one.empty} <= set(taken)
