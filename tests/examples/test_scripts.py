"""Tests of the scripts in `examples/`: for SLURM, for jobs of the Hub, and for the evaluation of well-known models."""

import importlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from itertools import islice
from pathlib import Path

import pytest

from tests.docs.blocks import parse_command
from tests.factories import write_table
from tests.fake_hub.accounts import ALICE, SAMPLE_TOKENS, Account
from tests.fake_hub.running import running_hub
from tests.fork_server import PYTHON
from tests.hub.conftest import write_tiny_hub_files
from tests.training.conftest import pairs_path, pretrained  # noqa: F401
from unbag import cli
from unbag.cli.app import run
from unbag.data import demo
from unbag.data.labels import resolve_output_labels

pytest.importorskip("torch", reason="needs unbag[models]")

EXAMPLES = Path(__file__).parents[2] / "examples"
# The program of the environment of this Python, whether it is activated or not, or else on the path.
HF = shutil.which("hf", path=Path(sys.executable).parent) or shutil.which("hf")
needs_hf = pytest.mark.skipif(HF is None, reason="needs the command hf")

SBATCH = """
# Runs the tasks of an array as processes at the same time, or a wrapped command. Prints the number of the job.
set -eu
array= wrap=
while [ $# -gt 0 ]; do
    case $1 in
    --array=0-*) array=${1#--array=0-} ;;
    --wrap) wrap=$2; shift ;;
    --*) ;;
    *) break ;;
    esac
    shift
done
if [ -n "$wrap" ]; then
    sh -c "$wrap" > score.log 2>&1
else
    for task in $(seq 0 "$array"); do
        SLURM_ARRAY_TASK_ID=$task "$@" > "shard-$task.log" 2>&1 &
    done
    wait
fi
echo 7
"""
SRUN = """
# Runs a command once per node, on this machine.
set -eu
for node in $(seq "${SLURM_NNODES:-1}"); do
    SLURM_NODEID=$((node - 1)) "$@" &
    started="${started:-} $!"
done
code=0
for each in $started; do wait "$each" || code=$?; done
exit "$code"
"""
PROGRAMS = {
    "sbatch": SBATCH,
    "srun": SRUN,
    "scontrol": "printf 'localhost\\nlocalhost\\n'",
    "unbag": f'exec "{sys.executable}" -m unbag "$@"',
    "torchrun": f'exec "{sys.executable}" -m torch.distributed.run "$@"',
}


def run_script(name, *arguments, programs, folder, **environment):
    """Run a script of `examples/` in a folder, with stub programs first on PATH."""
    places = folder / "bin"
    places.mkdir(exist_ok=True)
    for program, text in programs.items():
        (places / program).write_text(f"#!/bin/sh\n{text}\n")
        (places / program).chmod(0o755)
    path = os.pathsep.join([str(places), os.environ["PATH"]])
    return subprocess.run(
        [str(EXAMPLES / name), *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


@needs_hf
@pytest.mark.parametrize(
    ("arguments", "command", "values"),
    [
        (
            ("build", "org", "permuted", "--corpus", "snli"),
            "publish dataset",
            {"yes": True, "num_proc": 8, "repo_id": "org"},
        ),
        (("evaluate", "org", "org/model", "--full"), "evaluate", {"push_results": "org", "models": ["org/model"]}),
        (
            ("train", "org/name", "finetune", "--model", "org/pretrained"),
            "train finetune",
            {"push_results": "org/name", "push_checkpoints": "org/name-checkpoints", "model": "org/pretrained"},
        ),
    ],
)
def test_job_is_accepted_by_hub_client_and_its_command_exists(tmp_path, arguments, command, values):
    dry = f'[ "$1 $2" = "jobs run" ] || exit 9\nshift 2\nexec "{HF}" jobs run --dry-run --format human "$@"'
    done = run_script("hf_jobs.sh", *arguments, programs={"hf": dry}, folder=tmp_path, HF_TOKEN="hf_of_nobody")
    assert done.returncode == 0, done.stderr
    [line] = [line for line in done.stdout.splitlines() if line.split()[:1] == ["command"]]
    words = shlex.split(line)[1:]
    assert words[:3] == ["bash", "-c", 'pip install --quiet "unbag[models]" && exec unbag "$@"']
    path, params = parse_command(words[4:])
    assert path == command
    assert {name: params[name] for name in values} == values


def test_unknown_job_is_rejected(tmp_path):
    done = run_script("hf_jobs.sh", "dance", "org", programs={}, folder=tmp_path)
    assert done.returncode == 2
    assert "expected build, evaluate or train" in done.stderr


@pytest.mark.nightly
def test_shard_array_gives_results_of_one_process(tiny_bert, tmp_path, monkeypatch):
    monkeypatch.setattr("unbag.scoring.skill.MIN_LABEL_ROWS", 50)  # the value in the processes of the script
    rows = [(pair.premise, pair.hypothesis, pair.label) for pair in islice(demo.iter_demo_pairs("validation"), 60)]
    pairs = write_table(tmp_path / "pairs.csv", rows, ["premise", "hypothesis", "label"])
    evaluate = [str(tiny_bert), "--sets", "plain,swapped", "--data", str(pairs), "--trust-labels"]
    evaluate.append("--no-lexical-baseline")
    done = run_script("slurm_evaluate.sh", 2, tmp_path / "out", *evaluate, programs=PROGRAMS, folder=tmp_path)
    logs = "\n".join(path.read_text() for path in tmp_path.glob("*.log"))
    assert done.returncode == 0, done.stderr + logs
    assert run(cli.app, ["evaluate", *evaluate, "--output-dir", str(tmp_path / "own")]) == 0
    ours, theirs = (json.loads((tmp_path / name / "results.json").read_text()) for name in ("own", "out"))
    assert theirs["results"] == ours["results"], logs
    assert (tmp_path / "score.log").read_text().strip(), "the last job scores"
    assert len(list(tmp_path.glob("shard-*.log"))) == 2


@pytest.mark.nightly
def test_two_nodes_train_one_model(pretrained, pairs_path, tmp_path):  # noqa: F811
    training = ["finetune", "--model", pretrained, "--corpus", pairs_path, "--validation", pairs_path]
    short = ["--max-steps", "4", "--batch-size", "12", "--output-dir", tmp_path / "model"]
    slurm = {"SLURM_JOB_ID": "7", "SLURM_NNODES": "2", "SLURM_JOB_NODELIST": "node[1-2]", "OMP_NUM_THREADS": "1"}
    done = run_script("slurm_train.sh", *training, *short, programs=PROGRAMS, folder=tmp_path, **slurm)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "model/hardware.json").read_text())["processes"] == 2
    assert json.loads((tmp_path / "model/training.json").read_text())["recipe"] == "finetune"
    assert (tmp_path / "model/model.safetensors").is_file()


WELL_KNOWN = EXAMPLES / "hf_jobs" / "evaluate_models.py"
OWNERS = {"hf_write_encoders": "cross-encoder", "hf_write_facebook": "FacebookAI"}
RIGHT, WRONG = "cross-encoder/nli-deberta-v3-base", "cross-encoder/nli-roberta-base"
OTHER = "FacebookAI/roberta-large-mnli"
SHORT = ["--sets", "plain,swapped", "--corpus", "snli", "--max-examples", "20", "--trust-labels"]


@pytest.fixture(scope="module")
def script():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(WELL_KNOWN.parent)
        return importlib.import_module(WELL_KNOWN.stem)


def test_listed_models_have_ids_labels_sources_and_rows_in_study(script):
    assert len({model.id for model in script.MODELS}) == len(script.MODELS) == 25
    for model in script.MODELS:
        assert model.source.startswith("https://huggingface.co/")
        assert model.parameters > 0
        if model.labels != script.BY_CONFIG:
            order = model.labels.split(",")
            assert len(order) == model.outputs
            assert resolve_output_labels(dict(enumerate(order))) == tuple(order)
    page = (EXAMPLES.parent / "docs" / "studies" / "well_known_models.md").read_text()
    rows = [line.split(" | ")[:4] for line in page.splitlines() if line.startswith("| [")]
    expected = script.build_table(script.MODELS, {}).splitlines()[2:]
    assert rows == [line.split(" | ")[:4] for line in expected]


def test_header_is_valid_toml_with_documented_keys():
    lines = WELL_KNOWN.read_text().split("# ///\n")[0].splitlines()[1:]
    header = tomllib.loads("\n".join(line.removeprefix("#").removeprefix(" ") for line in lines))
    assert set(header["tool"]["hf-jobs"]) == {"image", "flavor", "python", "env", "secrets", "timeout"}
    assert header["dependencies"] == ["unbag[all]"]


@needs_hf
def test_job_options_are_passed_to_script(script):
    words = ["--org", "org", "--yes", "--evaluate=--full --dtype bfloat16"]
    command = [HF, "jobs", "uv", "run", "--dry-run", "--format", "human", WELL_KNOWN, *words]
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


def test_without_yes_or_token_no_model_is_evaluated(script, monkeypatch, capsys):
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    for name in ("stored_runs", "evaluate_models"):
        monkeypatch.setattr(script, name, lambda *_: pytest.fail("the Hub was read, or a model evaluated"))
    monkeypatch.setattr(sys, "argv", ["evaluate_models.py", "--org", "org", "--models", RIGHT, "--price", "2"])
    assert script.main() == 0
    out = capsys.readouterr().out
    assert "at 2.00 $ per hour (--price)" in out
    assert "Nothing was evaluated" in out
    monkeypatch.setattr(sys, "argv", ["evaluate_models.py", "--org", "org", "--yes"])
    assert script.main() == 1
    assert "--org org: expected a token, got none" in capsys.readouterr().err


@pytest.mark.nightly
def test_evaluation_continues_after_failure_and_resumes(make_model, tmp_path):
    """Three tiny models of several owners are published on a Hub. The labels of one model differ from the list."""
    from huggingface_hub import HfApi

    write_tiny_hub_files(tmp_path / "hub")
    tokens = {**SAMPLE_TOKENS, **{token: Account(name, role="write") for token, name in OWNERS.items()}}
    encoders, facebook = OWNERS
    with running_hub(mount=tmp_path / "hub", tokens=tokens) as hub:
        for repo, token, order, seed in (
            (RIGHT, encoders, ("contradiction", "entailment", "neutral"), 0),
            (WRONG, encoders, ("entailment", "neutral", "contradiction"), 1),
            (OTHER, facebook, ("CONTRADICTION", "NEUTRAL", "ENTAILMENT"), 2),
        ):
            owner = HfApi(hub.endpoint, token=token)
            owner.create_repo(repo)
            owner.upload_folder(repo_id=repo, folder_path=make_model(order=order, seed=seed))
        api = HfApi(hub.endpoint, token=ALICE)
        env = hub.env(tmp_path / "hf", token=ALICE) | {
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "UNBAG_LEXICAL_BASELINE": "0",
        }

        def evaluate(*arguments):
            done = PYTHON.run(WELL_KNOWN, "--org", "org", "--models", f"{WRONG},{RIGHT},{OTHER}", *arguments, env=env)
            assert ALICE not in done.stdout + done.stderr
            assert "Traceback" not in done.stderr
            return done

        def read(repo, path, **where):
            return Path(api.hf_hub_download(repo, path, cache_dir=tmp_path / "downloads", **where)).read_text()

        def count_commits():
            kinds = {"unbag-runs": "dataset", "unbag-results": "dataset", "unbag-leaderboard": "space"}
            return {name: len(api.list_repo_commits(f"org/{name}", repo_type=kind)) for name, kind in kinds.items()}

        done = evaluate("--yes", "--pull-requests", f"--evaluate={shlex.join(SHORT)}")
        assert done.returncode == 1, done.stderr
        assert f"{WRONG}: expected the labels contradiction,entailment,neutral, got entailment," in done.stderr
        assert "1 failed" in done.stderr, done.stderr
        files = api.list_repo_files("org/unbag-runs", repo_type="dataset")
        folders = [f"results/{model.replace('/', '--')}" for model in (RIGHT, OTHER)]
        assert {path for path in files if path.startswith("results/")} == {
            f"{folder}/{name}" for folder in folders for name in ("results.json", "run.json")
        }
        run_record = json.loads(read("org/unbag-runs", f"{folders[0]}/run.json", repo_type="dataset"))
        assert run_record["options"] == SHORT
        assert "app.py" in api.list_repo_files("org/unbag-leaderboard", repo_type="space")
        for repo in (RIGHT, OTHER):
            [proposal] = api.get_repo_discussions(repo)
            assert proposal.is_pull_request
            assert "model-index" in read(repo, "README.md", revision="refs/pr/1")

        before = count_commits()
        again = evaluate("--yes", f"--evaluate={shlex.join(SHORT)}")
        assert again.returncode == 1
        assert "2 of 25 models are stored and skipped" in again.stdout
        assert count_commits() == before
        assert "expected the options" in evaluate("--yes", "--evaluate=--full").stderr
        table = evaluate("--table")
        assert table.returncode == 0, table.stderr
        rows = {line.split("](")[0]: line for line in table.stdout.splitlines() if line.startswith("| [")}
        assert rows[f"| [{WRONG}"].endswith("| not yet |")
        assert ", unbag " in rows[f"| [{RIGHT}"].rpartition(" | ")[2]
