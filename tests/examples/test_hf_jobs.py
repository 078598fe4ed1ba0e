"""Tests of the script for `hf jobs`: the Hub client accepts its arguments, and its commands exist."""

import shlex

import pytest
import typer.main

from tests.examples.programs import HF, run_script
from unbag import cli


def read_submitted_command(folder, *arguments):
    """Return the command of the job as parsed by the Hub client."""
    dry = f'[ "$1 $2" = "jobs run" ] || exit 9\nshift 2\nexec "{HF}" jobs run --dry-run --format human "$@"'
    done = run_script("hf_jobs.sh", *arguments, programs={"hf": dry}, folder=folder, HF_TOKEN="hf_of_nobody")
    assert done.returncode == 0, done.stderr
    [line] = [line for line in done.stdout.splitlines() if line.split()[:1] == ["command"]]
    return shlex.split(line)[1:]


def parse_command(words):
    """Return the parsed command of the command line."""
    command = typer.main.get_command(cli.app)
    context = command.make_context("unbag", list(words))
    while hasattr(command, "commands"):
        name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, rest, parent=context)
    return context


@pytest.mark.skipif(HF is None, reason="needs the command hf")
@pytest.mark.parametrize(
    ("arguments", "command", "values"),
    [
        (("build", "org", "permuted", "--corpus", "snli"), "dataset", {"yes": True, "num_proc": 8, "repo_id": "org"}),
        (("evaluate", "org", "org/model", "--full"), "evaluate", {"push_results": "org", "models": ["org/model"]}),
        (
            ("train", "org/name", "finetune", "--model", "org/pretrained"),
            "finetune",
            {"push_results": "org/name", "push_checkpoints": "org/name-checkpoints", "model": "org/pretrained"},
        ),
    ],
)
def test_job_is_accepted_and_its_command_exists(tmp_path, arguments, command, values):
    words = read_submitted_command(tmp_path, *arguments)
    assert words[:3] == ["bash", "-c", 'pip install --quiet "unbag[models]" && exec unbag "$@"']
    context = parse_command(words[4:])
    assert context.info_name == command
    assert {name: context.params[name] for name in values} == values


def test_unknown_job_is_rejected(tmp_path):
    done = run_script("hf_jobs.sh", "dance", "org", programs={}, folder=tmp_path)
    assert done.returncode == 2
    assert "expected build, evaluate or train" in done.stderr
