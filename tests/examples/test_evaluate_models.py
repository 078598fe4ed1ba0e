"""Tests of the script that evaluates well-known models: its list, its header, and a run with tiny models."""

import importlib.util
import json
import os
import shlex
import subprocess
import sys
import tomllib

import pytest

from tests.examples.programs import EXAMPLES, HF
from tests.fake_hub.accounts import ALICE, SAMPLE_TOKENS, Account
from tests.fake_hub.running import running_hub
from tests.fork_server import PYTHON
from tests.hub.conftest import write_tiny_hub_files
from unbag.data.labels import resolve_output_labels

SCRIPT = EXAMPLES / "hf_jobs" / "evaluate_models.py"
OWNERS = {"hf_write_encoders": "cross-encoder", "hf_write_facebook": "FacebookAI"}
RIGHT, OTHER, WRONG = (
    "cross-encoder/nli-deberta-v3-base",
    "FacebookAI/roberta-large-mnli",
    "cross-encoder/nli-roberta-base",
)
SHORT = ["--sets", "plain,swapped", "--corpus", "snli", "--max-examples", "20", "--trust-labels"]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("evaluate_models", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look up their module in sys.modules
    spec.loader.exec_module(module)
    return module


def test_listed_models_have_ids_labels_and_sources(script):
    assert len({model.id for model in script.MODELS}) == len(script.MODELS) == 25
    for model in script.MODELS:
        assert model.source.startswith("https://huggingface.co/")
        assert model.parameters > 0
        if model.labels != script.BY_CONFIG:
            order = model.labels.split(",")
            assert len(order) == model.outputs
            assert resolve_output_labels(dict(enumerate(order))) == tuple(order)


def test_header_is_valid_toml_with_documented_keys():
    lines = SCRIPT.read_text().split("# ///\n")[0].splitlines()[1:]
    header = tomllib.loads("\n".join(line.removeprefix("#").removeprefix(" ") for line in lines))
    assert set(header["tool"]["hf-jobs"]) == {"image", "flavor", "python", "env", "secrets", "timeout"}
    assert header["dependencies"] == ["unbag[all]"]


@pytest.mark.skipif(HF is None, reason="needs the command hf")
def test_job_options_are_passed_to_script(script):
    words = ["--org", "org", "--yes", "--evaluate=--full --dtype bfloat16"]
    command = [HF, "jobs", "uv", "run", "--dry-run", "--format", "human", SCRIPT, *words]
    environment = {**os.environ, "HF_TOKEN": "hf_of_nobody"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    [line] = [line for line in done.stdout.splitlines() if line.split()[:1] == ["args"]]
    options = script.parse_arguments(shlex.split(line)[1:])
    assert (options.org, options.yes) == ("org", True)
    assert options.evaluate == ["--full", "--dtype", "bfloat16"]


def test_estimate_hours_equals_hand_computed_value(script):
    model = script.Model("a/b", "mit", script.BY_CONFIG, 3, 100, "")
    pairs = 36_000_000 // script.TOKENS  # 2 x 1e8 x 3.6e7 operations take 7,200 s at 1e12 per second
    assert script.estimate_hours(model, pairs, tflops=1, overhead=0) == pytest.approx(2, rel=1e-4)
    assert script.estimate_hours(model, 0, tflops=1, overhead=30) == pytest.approx(0.5)


def test_without_yes_only_estimate_is_printed(script, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["evaluate_models.py", "--org", "org", "--models", RIGHT, "--price", "2"])
    monkeypatch.setattr(script, "stored_runs", lambda org: pytest.fail("the Hub was read"))
    assert script.main() == 0
    out = capsys.readouterr().out
    assert "at 2.00 $ per hour (--price)" in out
    assert "Nothing was evaluated" in out


def test_without_token_no_model_is_evaluated(script, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["evaluate_models.py", "--org", "org", "--yes"])
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    monkeypatch.setattr(script, "evaluate_models", lambda *_: pytest.fail("a model was evaluated"))
    assert script.main() == 1
    assert "--org org: expected a token, got none" in capsys.readouterr().err


def test_stored_runs_with_other_options_are_rejected(script, tmp_path):
    runs = {RIGHT: (tmp_path, {"options": ["--full"]})}
    script.validate_settings(runs, ["--full"])
    with pytest.raises(ValueError, match=r"expected the options \[\], got \['--full'\]"):
        script.validate_settings(runs, [])


def test_study_has_row_for_each_listed_model(script):
    page = (EXAMPLES.parent / "docs" / "studies" / "well_known_models.md").read_text()
    rows = [line.split(" | ")[:4] for line in page.splitlines() if line.startswith("| [")]
    expected = script.build_table(script.MODELS, {}).splitlines()[2:]
    assert rows == [line.split(" | ")[:4] for line in expected]


@pytest.fixture(scope="module")
def model_hub(make_model, tmp_path_factory):
    """Run a Hub with three tiny models of several owners. The labels of one model differ from the list."""
    from huggingface_hub import HfApi

    root = tmp_path_factory.mktemp("models_hub")
    write_tiny_hub_files(root)
    tokens = {**SAMPLE_TOKENS, **{token: Account(name, role="write") for token, name in OWNERS.items()}}
    encoders, facebook = OWNERS
    with running_hub(mount=root, tokens=tokens) as hub:
        for repo, token, order, seed in (
            (RIGHT, encoders, ("contradiction", "entailment", "neutral"), 0),
            (WRONG, encoders, ("entailment", "neutral", "contradiction"), 1),
            (OTHER, facebook, ("CONTRADICTION", "NEUTRAL", "ENTAILMENT"), 2),
        ):
            api = HfApi(hub.endpoint, token=token)
            api.create_repo(repo)
            api.upload_folder(repo_id=repo, folder_path=make_model(order=order, seed=seed))
        yield hub


@pytest.mark.nightly
def test_run_continues_after_failure_and_resumes(model_hub, tmp_path):
    from huggingface_hub import HfApi

    api = HfApi(model_hub.endpoint, token=ALICE)
    env = model_hub.env(tmp_path / "hf", token=ALICE) | {
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "UNBAG_LEXICAL_BASELINE": "0",
    }

    def run(*arguments):
        done = PYTHON.run(SCRIPT, "--org", "org", "--models", f"{WRONG},{RIGHT},{OTHER}", *arguments, env=env)
        assert ALICE not in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    done = run("--yes", "--pull-requests", f"--evaluate={shlex.join(SHORT)}")
    assert done.returncode == 1, done.stderr
    assert f"{WRONG}: expected the labels contradiction,entailment,neutral, got entailment," in done.stderr
    assert "1 failed" in done.stderr, done.stderr

    files = set(api.list_repo_files("org/unbag-runs", repo_type="dataset"))
    folders = [f"results/{model.replace('/', '--')}" for model in (RIGHT, OTHER)]
    assert {path for path in files if path.startswith("results/")} == {
        f"{folder}/{name}" for folder in folders for name in ("results.json", "run.json")
    }
    record = api.hf_hub_download("org/unbag-runs", f"{folders[0]}/run.json", repo_type="dataset", cache_dir=tmp_path)
    with open(record) as file:
        assert json.load(file)["options"] == SHORT
    assert "app.py" in api.list_repo_files("org/unbag-leaderboard", repo_type="space")
    for repo in (RIGHT, OTHER):
        [proposal] = api.get_repo_discussions(repo)
        assert proposal.is_pull_request
        card = api.hf_hub_download(repo, "README.md", revision="refs/pr/1", cache_dir=tmp_path / repo)
        with open(card) as file:
            assert "model-index" in file.read()

    def commits():
        kinds = {"unbag-runs": "dataset", "unbag-results": "dataset", "unbag-leaderboard": "space"}
        return {name: len(api.list_repo_commits(f"org/{name}", repo_type=kind)) for name, kind in kinds.items()}

    before = commits()
    again = run("--yes", f"--evaluate={shlex.join(SHORT)}")
    assert again.returncode == 1
    assert "2 of 25 models are stored and skipped" in again.stdout
    assert commits() == before
    assert "expected the options" in run("--yes", "--evaluate=--full").stderr

    table = run("--table")
    assert table.returncode == 0, table.stderr
    rows = {line.split("](")[0]: line for line in table.stdout.splitlines() if line.startswith("| [")}
    assert rows[f"| [{WRONG}"].endswith("| not yet |")
    assert ", unbag " in rows[f"| [{RIGHT}"].rpartition(" | ")[2]
