"""Tests that results are reproducible: other processors build the same bytes, and a training depends only on its seed.

`make portability` compares more processors and sets.
"""

from itertools import islice

import pytest

from tools.portability import finish_build, main, start_build
from unbag.data import demo


@pytest.mark.nightly
def test_sets_and_report_are_identical_with_other_kernels(tmp_path):
    processes = []
    for number, name in enumerate(("no AVX2", "AVX2")):
        (folder := tmp_path / str(number)).mkdir()
        processes.append(start_build(name, folder, "--quick"))
    oldest, newer = map(finish_build, processes)
    assert set(oldest) == {f"demo {name}" for name in ("cs_lambda", "resnli", "permuted", "report.txt", "report.html")}
    assert oldest == newer


def test_main_with_difference_names_it_and_returns_1(monkeypatch, capsys):
    found = iter([{"demo plain": "a", "demo swapped": "b"}, {"demo plain": "a", "demo swapped": "c"}])
    monkeypatch.setattr("tools.portability.start_build", lambda name, folder, *arguments: None)
    monkeypatch.setattr("tools.portability.finish_build", lambda process: next(found))
    # Without AVX-512, its environment is skipped.
    monkeypatch.setattr("pathlib.Path.read_text", lambda path: "flags: fpu avx2")
    monkeypatch.setattr("sys.argv", ["portability", "--only", "this processor", "AVX-512", "no AVX2"])
    assert main() == 1
    out = capsys.readouterr().out
    assert "differ: demo swapped" in out
    assert "skipped: this processor lacks the instructions" in out


def test_weights_of_demo_reader_depend_only_on_seed():
    torch = pytest.importorskip("torch")
    from tools.demo_reader.training import train, vocabulary

    pairs = list(islice(demo.iter_demo_pairs("train"), 64))
    stages = ((pairs[:32], 1, 4e-3), (pairs, 1, 2e-3))
    first, again, other = (train(vocabulary(pairs[:32]), stages, **how).state_dict() for how in ({}, {}, {"seed": 1}))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not any(torch.equal(first[name], other[name]) for name in first)
