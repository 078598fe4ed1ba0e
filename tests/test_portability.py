"""Tests that processors with and without AVX2 build the same bytes. `make portability` compares more processors and
sets.
"""

import pytest

from tools.portability import ENVIRONMENTS, finish_build, is_supported, main, start_build


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
    monkeypatch.setattr("sys.argv", ["portability", "--only", "this processor", "no AVX2"])
    assert main() == 1
    assert "differ: demo swapped" in capsys.readouterr().out


@pytest.mark.parametrize(("flags", "expected"), [("fpu avx2", False), ("fpu avx2 avx512f", True)])
def test_runs_here_is_false_for_unsupported_kernels(monkeypatch, flags, expected):
    monkeypatch.setattr("pathlib.Path.is_file", lambda path: True)
    monkeypatch.setattr("pathlib.Path.read_text", lambda path: flags)
    assert is_supported(ENVIRONMENTS["AVX-512"]) is expected
    assert is_supported(ENVIRONMENTS["AVX2"])
