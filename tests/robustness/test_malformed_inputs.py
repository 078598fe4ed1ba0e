"""Tests with the light classes of the attack, in this process. `make attack` runs all classes in separate processes."""

import contextlib
import re
import shutil
import sys
import traceback

import pytest

from tests.robustness.command import ALL, SEED
from tests.robustness.malformed_inputs import valid_files
from tests.robustness.malformed_inputs.inputs import Input
from tests.robustness.malformed_inputs.python_runner import run as run_python
from tests.robustness.malformed_inputs.running import (
    Outcome,
    describe_outcome,
    format_table,
    group_failures,
    list_classes,
    sample_inputs,
    write_input_files,
)
from tests.robustness.malformed_inputs.verdicts import judge, read_folder
from unbag.cli import app
from unbag.cli.app import run

INPUTS = 1200 if ALL else 60
SLOW = re.compile(r"places_of_pairs")  # some of these would hang if they were not rejected


@pytest.fixture(scope="module")
def valid_folder(tmp_path_factory):
    """Return valid files and a cache that all inputs share."""
    folder = tmp_path_factory.mktemp("attack")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.delenv("UNBAG_CACHE", raising=False)
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        patch.setattr("datasets.config.HF_HUB_OFFLINE", True)
        patch.setenv("COLUMNS", "200")

        def run_command(command):
            with contextlib.chdir(folder / "valid_files"):
                assert run(app, list(command)) == 0, command

        valid_files.create_light_files(folder / "valid_files", run_command)
        yield folder / "valid_files"


def run_input(sample: Input, valid_folder, place, capfd) -> Outcome:
    """Run an input in this process."""
    write_input_files(sample, valid_folder, place)
    before, said = read_folder(place), ""
    capfd.readouterr()
    with contextlib.chdir(place):
        try:
            code = run_python(sample.arguments[0]) if sample.door == "python" else run(app, list(sample.arguments))
        except BaseException:
            code, said = 1, traceback.format_exc()
    err = capfd.readouterr().err + said
    verdict = judge(sample, code, err, before, read_folder(place))
    shutil.rmtree(place)
    return Outcome(sample, verdict, err)


@pytest.mark.nightly
def test_every_input_succeeds_or_fails_with_one_line(valid_folder, tmp_path, capfd):
    light = {name: make for name, make in list_classes(valid_folder, heavy=False).items() if not SLOW.search(name)}
    inputs = [
        each
        for each in sample_inputs(light, INPUTS, seed=int(SEED or 1))
        if not {"bert", "dan", "trained"} & {*each.uses} and not re.search("'(fifo|zero)'", repr(each.files))
    ]
    assert len({each.kind for each in inputs}) > 12
    outcomes = [run_input(each, valid_folder, tmp_path / str(n), capfd) for n, each in enumerate(inputs)]
    if ALL:
        with capfd.disabled():
            sys.stdout.write(f"\nseed {SEED}, in one process\n\n{format_table(outcomes)}\n")
    found = group_failures(outcomes)
    assert not found, "\n".join(f"{name}\n{describe_outcome(alike[0])}" for name, alike in found.items())


def test_failures_are_described(valid_folder, tmp_path, capfd):
    wrong = {
        "silent": Input("x", ("print(1)",), expected="refuse", door="python"),
        "traceback": Input("x", ("{}['a']",), door="python"),
        "unclear": Input("x", ("raise ValueError(\"'a'\")",), door="python"),
        "partial": Input(
            "x", ("open('a', 'w').close()\nraise ValueError('expected this, found that')",), door="python"
        ),
        "refused": Input("x", ("raise ValueError('expected this, found that')",), expected="refuse", door="python"),
        "success": Input("x", ("open('a', 'w').close()",), expected="succeed", door="python"),
    }
    for verdict, sample in wrong.items():
        assert run_input(sample, valid_folder, tmp_path / verdict, capfd).verdict == verdict
    unclear = run_input(
        Input("x", ("raise ValueError('expected this, found that')",), expected="succeed", door="python"),
        *(valid_folder, tmp_path / "last", capfd),
    )
    assert unclear.verdict == "unclear"


def test_same_seed_samples_same_inputs(valid_folder):
    once, again, other = (list(sample_inputs(list_classes(valid_folder, heavy=False), 60, seed)) for seed in (3, 3, 4))
    assert once == again
    assert once != other
