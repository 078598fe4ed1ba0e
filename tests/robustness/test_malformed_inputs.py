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
from tests.robustness.malformed_inputs.running import Outcome, classes, drawn, failures, lay, table, told
from tests.robustness.malformed_inputs.verdicts import judged, seen
from unbag.cli import app
from unbag.cli.app import run

INPUTS = 1200 if ALL else 60
SLOW = re.compile(r"places_of_pairs")  # some of these would hang if they were not rejected


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Return valid files and a cache that all inputs share."""
    folder = tmp_path_factory.mktemp("attack")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.delenv("UNBAG_CACHE", raising=False)
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        patch.setattr("datasets.config.HF_HUB_OFFLINE", True)
        patch.setenv("COLUMNS", "200")

        def here(command):
            with contextlib.chdir(folder / "valid_files"):
                assert run(app, list(command)) == 0, command

        valid_files.make_light(folder / "valid_files", here)
        yield folder / "valid_files"


def give(given: Input, sound, place, capfd) -> Outcome:
    """Run an input in this process."""
    lay(given, sound, place)
    before, said = seen(place), ""
    capfd.readouterr()
    with contextlib.chdir(place):
        try:
            code = run_python(given.told[0]) if given.door == "python" else run(app, list(given.told))
        except BaseException:
            code, said = 1, traceback.format_exc()
    err = capfd.readouterr().err + said
    verdict = judged(given, code, err, before, seen(place))
    shutil.rmtree(place)
    return Outcome(given, verdict, err)


@pytest.mark.nightly
def test_every_input_succeeds_or_fails_with_one_line(sound, tmp_path, capfd):
    light = {name: make for name, make in classes(sound, heavy=False).items() if not SLOW.search(name)}
    inputs = [
        each
        for each in drawn(light, INPUTS, seed=int(SEED or 1))
        if not {"bert", "dan", "trained"} & {*each.uses} and not re.search("'(fifo|zero)'", repr(each.files))
    ]
    assert len({each.kind for each in inputs}) > 12
    outcomes = [give(each, sound, tmp_path / str(n), capfd) for n, each in enumerate(inputs)]
    if ALL:
        with capfd.disabled():
            sys.stdout.write(f"\nseed {SEED}, in one process\n\n{table(outcomes)}\n")
    found = failures(outcomes)
    assert not found, "\n".join(f"{name}\n{told(alike[0])}" for name, alike in found.items())


def test_failures_are_described(sound, tmp_path, capfd):
    wrong = {
        "silent": Input("x", ("print(1)",), must="refuse", door="python"),
        "traceback": Input("x", ("{}['a']",), door="python"),
        "unclear": Input("x", ("raise ValueError(\"'a'\")",), door="python"),
        "partial": Input(
            "x", ("open('a', 'w').close()\nraise ValueError('expected this, found that')",), door="python"
        ),
        "refused": Input("x", ("raise ValueError('expected this, found that')",), must="refuse", door="python"),
        "success": Input("x", ("open('a', 'w').close()",), must="succeed", door="python"),
    }
    for verdict, given in wrong.items():
        assert give(given, sound, tmp_path / verdict, capfd).verdict == verdict
    unclear = give(
        Input("x", ("raise ValueError('expected this, found that')",), must="succeed", door="python"),
        *(sound, tmp_path / "last", capfd),
    )
    assert unclear.verdict == "unclear"


def test_same_seed_samples_same_inputs(sound):
    once, again, other = (list(drawn(classes(sound, heavy=False), 60, seed)) for seed in (3, 3, 4))
    assert once == again
    assert once != other
