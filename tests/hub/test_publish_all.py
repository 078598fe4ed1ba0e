"""Everything to one organisation; a set that cannot be made does not cost the others."""

import json

import pytest

from tests.fork_server import PYTHON
from unbag import challenge_sets, scripts


@pytest.mark.nightly
def test_all_that_can_be_made_is_published_and_the_rest_is_told(commands, tmp_path):
    vectors = tmp_path / "words.txt"
    vectors.write_text("a 1 0\nman 0 1\nwoman 1 1\ndog -1 0\n")
    given = ["--corpus", "snli", *"-o training=snli -o q=2 -o min_words=6 -o".split(), f"embeddings={vectors}"]
    # A pipeline for cs_lambda alone, which SOSwap and AddAmod cannot parse with.
    given += ["-o", "pipeline=all", "-o", "pairs=200", "-o", "folds=2"]
    asked = ["-m", "unbag", "publish", "all", "--to", "alice", *given, "--yes", "--json"]
    done = PYTHON.run(*asked, env=commands.env)
    assert done.returncode == 1
    assert "soswap_addamod: not published: " in done.stderr
    published = {each["repo"].removeprefix("alice/"): each["commit"] for each in json.loads(done.stdout)}
    assert set(published) | {"plain", "soswap_addamod", "sicck"} == {
        *challenge_sets.names(),
        *scripts.names("metrics"),
        "sicck",
    }
    assert all(published.values())


@pytest.mark.nightly
def test_one_repository_for_all_is_refused(commands):
    refused = PYTHON.run("-m", "unbag", "publish", "all", "--to", "org/name", env=commands.env)
    assert "expected --to ORG" in refused.stderr
