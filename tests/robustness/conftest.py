"""Shared fixtures: a separate cache, an empty working folder, and a file of pairs."""

import pytest

LABELS = ("entailment", "neutral", "contradiction")


def write_pairs(path, numbers, *, does="runs"):
    """Write three labelled pairs per number as CSV, and return the path."""
    rows = [
        f"The {who} number {n} {does}.,A {who} is {n} or so.,{LABELS[n % 3]}" for n in range(numbers) for who in "abc"
    ]
    path.write_text("\n".join(["premise,hypothesis,label", *rows]) + "\n")
    return path


@pytest.fixture
def isolated_cache(tmp_path, monkeypatch):
    """Use a separate cache folder for the test."""
    monkeypatch.delenv("UNBAG_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def empty_working_dir(isolated_cache, tmp_path, monkeypatch):
    """Change to an empty folder, with a separate cache."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


@pytest.fixture
def sixty_pairs(isolated_cache, tmp_path):
    """Return a file of sixty pairs, with a separate cache."""
    return write_pairs(tmp_path / "pairs.csv", 20)
